"""A control group for the server: it counts the server's disk requests, and can hold it to a
number of them a second, as a cloud volume does."""
import os
import re
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure.machine import block_device

V1, V2 = 'cgroup v1 blkio', 'cgroup v2 io.max'
# in the record of every limit, so that a reader knows what is free of charge; the kernel's
# Documentation/admin-guide/cgroup-v2.rst, "Writeback", names the file systems
NOT_COUNTED = {
    V1: 'buffered writes, as of temporary files: the kernel writes them back outside of the group',
    V2: 'buffered writes, as of temporary files, on a file system that the kernel does not write '
        'back by group: any but ext2, ext4, XFS, btrfs and f2fs'}


def mounts(kind):
    """Places and options of the mounted file systems of a kind."""
    for line in Path('/proc/self/mounts').read_text().splitlines():
        _, place, mounted, options = line.split()[:4]
        if mounted == kind:
            yield Path(place), options.split(',')


class Limit:
    """A control group in which the disk under `path` takes `iops` reads and as many writes a
    second, or without a limit (None).

    Use as a context.  A limit that cannot be had raises Failure; without a limit only the count
    of requests is missing then.  enter() puts the calling process into the group.  The limit is
    one of requests that reach the disk from the group: see NOT_COUNTED."""

    def __init__(self, iops, path):
        self.iops, self.path = iops, path
        self.by = self.group = self.device = None

    def __enter__(self):
        device = block_device(self.path)
        self.device = device and device[1]
        reasons = []
        if not device:
            reasons = ['no disk stands behind the file system of the data: overlay, tmpfs and '
                       'btrfs hide theirs', 'DATA= names a directory on ext4 or XFS']
        for way in (self._unified, self._blkio) if device else ():
            try:
                if way():
                    return self
            except OSError as error:
                reasons.append(f'{self.by}: {error.strerror} ({error.filename})')
                self.__exit__()
        if self.iops:
            raise Failure(f'IOPS={self.iops}: the disk requests of a server cannot be limited '
                          'here', *(reasons or ['neither cgroup v2 with the controller io nor '
                                                'cgroup v1 blkio is mounted']),
                          'be root, outside of a container without control groups of its own; '
                          'or leave IOPS out')
        return self

    def __exit__(self, *_):
        try:
            if self.group:
                self.group.rmdir()
        except OSError:
            pass    # never made, or a process of it has not ended yet: it does no harm
        self.group = None

    def _unified(self):
        for place, _ in mounts('cgroup2'):
            if 'io' in (place / 'cgroup.controllers').read_text().split():
                self.by = V2
                self._make(place, {'io.max': f'{self.device} riops={self.iops} '
                                             f'wiops={self.iops}'},
                           place / 'cgroup.subtree_control')
                return True
        return False

    def _blkio(self):
        for place, options in mounts('cgroup'):
            if 'blkio' in options:
                self.by = V1
                self._make(place, {f'blkio.throttle.{way}_iops_device':
                                   f'{self.device} {self.iops}' for way in ('read', 'write')})
                return True
        return False

    def _make(self, place, limits, controllers=None):
        if controllers:
            controllers.write_text('+io')
        self.group = place / f'millrace-bench-{os.getpid()}'
        self.group.mkdir()
        for name, text in limits.items() if self.iops else ():
            (self.group / name).write_text(text)

    def enter(self):
        """Puts the calling process into the group (called between fork and exec)."""
        if self.group:
            (self.group / 'cgroup.procs').write_text(str(os.getpid()))

    def requests(self):
        """Disk requests of all processes of the group, as they were submitted; empty where they
        are not counted."""
        if not self.group:
            return {}
        for name, reads, writes in (
                ('io.stat', r' rios=(\d+)', r' wios=(\d+)'),
                ('blkio.throttle.io_serviced', r' Read (\d+)', r' Write (\d+)')):
            if (self.group / name).exists():
                text = (self.group / name).read_text()
                device = re.escape(self.device)
                lines = {kind: re.findall(rf'^{device}\b.*{pattern}', text, re.MULTILINE)
                         for kind, pattern in (('read_requests', reads),
                                               ('write_requests', writes))}
                # cgroup v1 without a limit has the file and counts nothing: no line is not 0
                return {kind: sum(map(int, counts)) for kind, counts in lines.items() if counts}
        return {}

    def record(self):
        """The limit as result.json has it."""
        return {'iops': self.iops, 'by': self.by if self.iops else None,
                **({'not_counted': NOT_COUNTED[self.by]} if self.iops else {})}
