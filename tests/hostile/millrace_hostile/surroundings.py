"""What a server is put into: file systems, control groups, limits, and calls that are refused.

A part of the surroundings has enter(), which the process of the server calls before it becomes
the server.  What this machine cannot do raises NotHere.
"""
import contextlib
import ctypes
import errno
import os
import platform
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure.limits import V1, Limit, Volume, mounts

MIB = 1 << 20
PROGRAMS = {'ext2': 'e2fsprogs', 'ext4': 'e2fsprogs', 'xfs': 'xfsprogs', 'btrfs': 'btrfs-progs'}


class NotHere(Failure):
    """This machine cannot make such surroundings."""


def need_root():
    """Raises NotHere where this is not root."""
    if os.getuid():
        raise NotHere('only root may mount, limit and make control groups')


class Inside:
    """All parts of the surroundings of one process."""

    def __init__(self, *parts):
        self.parts = parts

    def enter(self):
        """Puts the calling process into them (called between fork and exec)."""
        for part in self.parts:
            part.enter()

    def requests(self):
        """For counts() of a server."""
        return {}


class ResourceLimit:
    """RLIMIT_<name>, also for root: the rights to raise it, or not to heed it, are taken away."""
    RIGHTS = {'MEMLOCK': 14, 'FSIZE': 24, 'NOFILE': 24}     # CAP_IPC_LOCK, CAP_SYS_RESOURCE

    def __init__(self, name, value):
        self.kind, self.value = getattr(resource, f'RLIMIT_{name}'), value
        self.right = self.RIGHTS[name]

    def enter(self):
        """Limits the calling process; a write past RLIMIT_FSIZE fails, and is no signal."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(self.kind, (self.value, self.value))
        drop_right(self.right)


def drop_right(right):
    """Takes a capability from what the calling process will have after exec."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(24, right, 0, 0, 0)         # PR_CAPBSET_DROP


class Refused:
    """System calls that fail: {name: error}, as a container's seccomp profile makes them fail.

    punch_hole stands for fallocate() with FALLOC_FL_PUNCH_HOLE."""
    # by machine: AUDIT_ARCH, and the numbers of the calls
    MACHINES = {'x86_64': (0xc000003e, {'io_uring_setup': 425, 'io_setup': 206,
                                        'punch_hole': 285}),
                'aarch64': (0xc00000b7, {'io_uring_setup': 425, 'io_setup': 0,
                                         'punch_hole': 47})}
    LOAD, EQUAL, ANY_OF, RETURN = 0x20, 0x15, 0x45, 0x06
    ALLOW, FAIL = 0x7fff0000, 0x00050000
    NUMBER, ARCHITECTURE, SECOND_ARGUMENT = 0, 4, 24        # in struct seccomp_data

    def __init__(self, **calls):
        if platform.machine() not in self.MACHINES:
            raise NotHere(f'the numbers of system calls of {platform.machine()} are not known')
        architecture, numbers = self.MACHINES[platform.machine()]
        program = [(self.LOAD, 0, 0, self.ARCHITECTURE), (self.EQUAL, 1, 0, architecture),
                   (self.RETURN, 0, 0, self.ALLOW)]
        for name, error in calls.items():
            fail = (self.RETURN, 0, 0, self.FAIL | getattr(errno, error))
            program += [(self.LOAD, 0, 0, self.NUMBER)]
            if name == 'punch_hole':
                program += [(self.EQUAL, 0, 3, numbers[name]),
                            (self.LOAD, 0, 0, self.SECOND_ARGUMENT), (self.ANY_OF, 0, 1, 2), fail]
            else:
                program += [(self.EQUAL, 0, 1, numbers[name]), fail]
        program += [(self.RETURN, 0, 0, self.ALLOW)]
        self._code = ctypes.create_string_buffer(
            b''.join(struct.pack('HBBI', *each) for each in program))
        self._filter = ctypes.create_string_buffer(
            struct.pack('HxxxxxxP', len(program), ctypes.addressof(self._code)))

    def enter(self):
        """Lets the calls of the calling process fail from now on."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)                          # PR_SET_NO_NEW_PRIVS
        if libc.prctl(22, 2, self._filter):                 # PR_SET_SECCOMP, filter
            raise OSError(ctypes.get_errno(), 'seccomp')


class Memory:
    """A control group whose processes, and their files on a tmpfs, have so many bytes."""

    def __init__(self, limit):
        need_root()
        self.limit = int(limit)
        self.group = None

    def __enter__(self):
        for place, options in mounts('cgroup'):
            if 'memory' in options:
                return self._make(place, {'memory.limit_in_bytes': self.limit})
        for place, _ in mounts('cgroup2'):
            if 'memory' in (place / 'cgroup.controllers').read_text().split():
                (place / 'cgroup.subtree_control').write_text('+memory')
                return self._make(place, {'memory.max': self.limit, 'memory.swap.max': 0})
        raise NotHere('no control group limits memory here')

    def _make(self, place, limits):
        self.group = place / f'millrace-hostile-{os.getpid()}'
        try:
            self.group.mkdir(exist_ok=True)
            for name, limit in limits.items():
                (self.group / name).write_text(str(limit))
        except OSError as error:
            raise NotHere(f'{self.group}: {error.strerror}') from None
        return self

    def enter(self):
        """Puts the calling process into the group."""
        (self.group / 'cgroup.procs').write_text(str(os.getpid()))

    def __exit__(self, *_):
        for _ in range(50):         # a process that was killed may not have left it yet
            try:
                self.group.rmdir()
                return
            except OSError:
                time.sleep(.1)


class Sampled:
    """A process whose memory is looked at while it runs: `most` is the most it had, in bytes."""

    def __init__(self):
        self.most = 0
        self._reader, self._writer = os.pipe()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def enter(self):
        """Tells the number of the calling process."""
        os.write(self._writer, b'%10d' % os.getpid())

    def _look(self):
        number = os.read(self._reader, 10).strip().decode()
        while number and not self._ended.wait(.02):
            try:
                self.most = most_memory(number)
            except (OSError, TypeError):
                pass        # it is gone, or has no memory any more

    def __exit__(self, *_):
        self._ended.set()
        os.close(self._writer)
        self._thread.join()
        os.close(self._reader)


def most_memory(process):
    """The most memory that a running process has had, in bytes."""
    status = Path('/proc', str(process), 'status').read_text(encoding='utf-8')
    return int(re.search(r'VmHWM:\s+(\d+) kB', status)[1]) << 10


class Disk(Limit):
    """The benchmarks' limit of requests a second on the disk under `path`; stop() and go on."""
    ENDLESS = (1 << 63) - 1

    def __init__(self, iops, path):
        super().__init__(Volume('', iops), path)

    def __enter__(self):
        need_root()
        try:
            return super().__enter__()
        except Failure as error:
            raise NotHere(*error.lines) from None

    def stop(self, stopped=True):
        """Lets no request pass any more, or all again: a byte a second is none in a run."""
        if self.by == V1:
            for way in ('read', 'write'):
                (self.group / f'blkio.throttle.{way}_bps_device').write_text(
                    f'{self.device} {1 if stopped else self.ENDLESS}')
        else:
            rate = 1 if stopped else 'max'
            (self.group / 'io.max').write_text(f'{self.device} rbps={rate} wbps={rate}')


def _run(*command):
    """Runs a command of the system; raises NotHere where it fails."""
    done = subprocess.run(list(map(str, command)), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise NotHere((done.stdout.strip() or f'{command[0]} failed').splitlines()[0])


@contextlib.contextmanager
def _mounted(place, *arguments):
    need_root()
    place.mkdir(parents=True, exist_ok=True)
    _run('mount', *arguments, place)
    try:
        yield place
    finally:
        for _ in range(50):
            if not subprocess.run(['umount', place], check=False, capture_output=True).returncode:
                break
            time.sleep(.2)
        else:
            subprocess.run(['umount', '-l', place], check=False)


def tmpfs(place, size, *options):
    """A context: a tmpfs of so many bytes, mounted at `place`, a Path."""
    return _mounted(place, '-t', 'tmpfs', '-o', ','.join([f'size={size}', *options]), 'tmpfs')


@contextlib.contextmanager
def image(place, kind, size, make=(), options=()):
    """A context: a file system of so many bytes in a file, mounted at `place`, a Path.

    `make` are options of mkfs, `options` those of mount."""
    need_root()
    program = f'mkfs.{kind}'
    if not shutil.which(program):
        raise NotHere(f'there is no {program}: the package {PROGRAMS[kind]} has it')
    file = place.with_name(f'{place.name}.img')
    with open(file, 'wb') as new:
        new.truncate(size)
    try:
        _run(program, '-q', *make, file)
        with _mounted(place, '-t', kind, '-o', ','.join(['loop', *options]), file):
            yield place
    finally:
        file.unlink()


def fill(place, leave):
    """Fills the file system at `place` but for so many bytes, by a file that may be removed."""
    ballast = place / 'ballast'
    with open(ballast, 'wb', buffering=0) as file:
        room = os.statvfs(place)
        length = room.f_bavail * room.f_frsize - leave
        if length > 0:
            os.posix_fallocate(file.fileno(), 0, length)
    return ballast


def with_quota(disk):
    """A directory on a btrfs that may get a quota(), which statvfs() does not tell of."""
    _run('btrfs', 'quota', 'enable', disk)
    _run('btrfs', 'subvolume', 'create', disk / 'subvolume')
    # otherwise a page or log block that is written again needs room
    _run('chattr', '+C', disk / 'subvolume')
    return disk / 'subvolume'


def quota(directory, size):
    """Lets a directory of with_quota() have so many bytes, or any number (None)."""
    _run('btrfs', 'qgroup', 'limit', size or 'none', directory)


class Listener:
    """What a server says to systemd while it starts: a socket for NOTIFY_SOCKET.

    `extensions` are the seconds at which it asked for more time, counted from begin()."""

    def __init__(self, path):
        self.path, self.extensions, self.ready = Path(path), [], None
        self._heard = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while True:
            message = self._socket.recv(65536).decode(errors='replace')
            if message == 'end':
                return
            if 'EXTEND_TIMEOUT_USEC=' in message:
                self.extensions.append(time.monotonic() - self._began)
            if 'READY=1' in message and self.ready is None:
                self.ready = time.monotonic() - self._began
                self._heard.set()

    def is_ready(self, seconds=5):
        """Whether the server has said that it is ready; this thread may hear it late."""
        return self._heard.wait(seconds)

    def begin(self):
        """Counts from now on."""
        self._began = time.monotonic()

    def end(self):
        """Stops listening."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b'end', str(self.path))
        self._thread.join()
        self._socket.close()
        self.path.unlink()

    def gap(self):
        """The longest time without a word, in seconds, until it was ready."""
        times = [0, *self.extensions, self.ready or time.monotonic() - self._began]
        return max(later - earlier for earlier, later in zip(times, times[1:]))


class Notifying:
    """The environment of a server that systemd started."""

    def __init__(self, listener):
        self.listener = listener

    def enter(self):
        """Sets NOTIFY_SOCKET in the calling process."""
        os.environ['NOTIFY_SOCKET'] = str(self.listener.path)
