"""The disk that is measured: the local one, or one in memory on which each request takes as
long as on a volume of a cloud."""
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure.limits import mounts
from millrace_bench.measure.server import dies_with_us

# what serves the disk: {program: the Debian package that has it}
PROGRAMS = {'nbdkit': 'nbdkit', 'nbdfuse': 'libnbd-bin', 'losetup': 'mount',
            'mkfs.ext4': 'e2fsprogs'}
SECONDS = 20    # to start it, and until the last server has left it
# nbdfuse has ten threads, and gives each request the next connection, which answers one after
# the other: with many more of them ten requests at once seldom wait
CONNECTIONS = 16
# bytes of the disk; it takes memory only for what is written
LARGEST = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2 >> 20 << 20


class Disk:
    """`place` is a directory on the disk that is measured; use as a context.

    Where requests of `volume` take no time of their own it is `work`.  Else it is a new ext4
    file system on a loop device below `work`, whose requests nbdkit answers from memory after
    `volume.ms`: buffered and direct, synchronous, libaio's and io_uring's.  A flush takes no
    time, as on a volume that keeps what it has confirmed.  Raises Failure where the disk cannot
    be had.  Needs root and /dev/fuse."""

    def __init__(self, volume, work):
        self.volume, self.home = volume, work.resolve() / '.millrace-volume'
        self.emulated = bool(volume and volume.ms)
        self.place = self.home / 'files' if self.emulated else work
        self.processes = []

    def __enter__(self):
        if self.emulated:
            # what is left of a run that was killed
            self._unmount()
            shutil.rmtree(self.home, ignore_errors=True)
            try:
                self._serve()
                self._mount()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_):
        if not self.emulated:
            return
        try:
            self._unmount()
        finally:
            # nbdkit waits for nbdfuse
            for process in reversed(self.processes):
                process.kill()
                process.wait()
            shutil.rmtree(self.home, ignore_errors=True)

    def check(self):
        """Raises Failure where the disk cannot be had."""
        if not self.emulated:
            return
        reasons = []
        if os.geteuid():
            reasons.append('this is not root')
        if not os.path.exists('/dev/fuse'):
            reasons.append('this machine has no /dev/fuse')
        reasons += [f'{name} is not in PATH; the Debian package {package} has it'
                    for name, package in PROGRAMS.items() if not shutil.which(name)]
        if reasons:
            raise Failure(f'{self.volume.asked}: a disk whose requests take '
                          f'{self.volume.ms:g} ms cannot be made here', *reasons)

    def _serve(self):
        """Starts nbdkit, and nbdfuse, which makes a file of it."""
        file = self.home / 'fuse/disk'
        for path in (file.parent, self.place):
            path.mkdir(parents=True, exist_ok=True)
        # the kernel cuts the path of a socket at 107 bytes
        with tempfile.TemporaryDirectory(prefix='millrace-bench-') as place:
            socket = Path(place, 's')
            self._start('nbdkit', '--foreground', '--threads=1', '--unix', socket,
                        '--filter=delay', 'memory', LARGEST,
                        f'delay-read={self.volume.ms:g}ms', f'delay-write={self.volume.ms:g}ms')
            self._wait_for(socket)
            self._start('nbdfuse', f'--connections={CONNECTIONS}', file, '--unix', socket)
            self._wait_for(file)

    def _start(self, *command):
        """Starts a program of the disk, before all others of the machine in its turn for a
        processor.  It ends when we do."""
        with (self.home / 'log').open('ab') as output:
            self.processes.append(subprocess.Popen(
                ['nice', '-n', '-20', *map(str, command)], stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
                preexec_fn=dies_with_us()))

    def _wait_for(self, file):
        end = time.monotonic() + SECONDS
        while not file.exists():
            if self.processes[-1].poll() is not None or time.monotonic() > end:
                raise Failure(f'{self.volume.asked}: {self.processes[-1].args[3]} did not start',
                              *(self.home / 'log').read_text(errors='replace').splitlines()[-5:])
            time.sleep(0.01)

    def _mount(self):
        device = self._run('losetup', '--find', '--show', '--direct-io=on',
                           self.home / 'fuse/disk').strip()
        try:
            # all at once: nothing is to be written in the background later
            self._run('mkfs.ext4', '-q', '-m', '0', '-T', 'largefile', '-E',
                      'nodiscard,lazy_itable_init=0,lazy_journal_init=0', device)
            # so that the memory of removed files is free again
            self._run('mount', '-o', 'discard', device, self.place)
        finally:
            self._detach()

    def _unmount(self):
        """Unmounts the file system, whose last servers may just be ending, and nbdfuse's file,
        with which nbdfuse ends."""
        self._detach()
        for kind, place in (('ext4', self.place), ('fuse', self.home / 'fuse')):
            end = time.monotonic() + SECONDS
            while place in (mounted for mounted, _ in mounts(kind)):
                try:
                    self._run('umount', place)
                except Failure:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.1)

    def _detach(self):
        """Frees the loop device of a run that was killed, as soon as nothing is mounted."""
        for file in Path('/sys/block').glob('loop*/loop/backing_file'):
            if os.fsdecode(file.read_bytes()).rstrip('\n') == str(self.home / 'fuse/disk'):
                self._run('losetup', '--detach', f'/dev/{file.parts[3]}')

    def _run(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise Failure(f'{self.volume.asked}: {command[0]} failed (status {done.returncode})',
                          *done.stderr.splitlines()[-5:])
        return done.stdout
