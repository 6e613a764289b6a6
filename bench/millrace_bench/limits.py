"""A control group for the server: it counts the server's disk requests, and can hold it to a number of
them a second, as a cloud volume does."""
import os
import re
from pathlib import Path

from .errors import BenchError
from .machine import block_device


def _mounts(kind):
    for line in Path('/proc/self/mounts').read_text().splitlines():
        _, place, found, options = line.split()[:4]
        if found == kind:
            yield Path(place), options.split(',')


class Limit:
    """A control group with `iops` reads and as many writes a second for the disk under `path`, or with
    no limit (None).  A limit that cannot be had is an error; without one, what is missing is the count
    of requests.  Use as a context; `enter` puts the calling process into it."""

    def __init__(self, iops, path):
        self.iops, self.path = iops, path
        self.by = self.group = self.device = None

    def __enter__(self):
        device = block_device(self.path)
        self.device = device and device[1]
        reasons = []
        if not device:
            reasons = ['no disk stands behind the file system of the data: overlay, tmpfs and btrfs hide theirs',
                       'DATA= names a directory on ext4 or XFS']
        for way in (self._unified, self._blkio) if device else ():
            try:
                if way():
                    return self
            except OSError as error:
                reasons.append(f'{self.by}: {error.strerror} ({error.filename})')
                self.__exit__()
        if self.iops:
            raise BenchError(f'IOPS={self.iops}: the disk requests of a server cannot be limited here',
                             *(reasons or ['neither cgroup v2 with the controller io nor cgroup v1 blkio is mounted']),
                             'be root, outside of a container without control groups of its own; or leave IOPS out')
        return self

    def __exit__(self, *_):
        try:
            if self.group:
                self.group.rmdir()
        except OSError:
            pass    # never made, or a process of it has not ended yet: it does no harm
        self.group = None

    def _unified(self):
        for place, _ in _mounts('cgroup2'):
            if 'io' in (place / 'cgroup.controllers').read_text().split():
                self.by = 'cgroup v2 io.max'
                self._make(place, {'io.max': f'{self.device} riops={self.iops} wiops={self.iops}'},
                           place / 'cgroup.subtree_control')
                return True
        return False

    def _blkio(self):
        for place, options in _mounts('cgroup'):
            if 'blkio' in options:
                self.by = 'cgroup v1 blkio'
                self._make(place, {f'blkio.throttle.{way}_iops_device': f'{self.device} {self.iops}' for way in ('read', 'write')})
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
        """Disk requests of all that ran in the group, as they were submitted; empty where they are not counted."""
        if not self.group:
            return {}
        for name, reads, writes in (('io.stat', r' rios=(\d+)', r' wios=(\d+)'),
                                    ('blkio.throttle.io_serviced', r' Read (\d+)', r' Write (\d+)')):
            if (self.group / name).exists():
                text = (self.group / name).read_text()
                lines = {kind: re.findall(rf'^{re.escape(self.device)}\b.*{pattern}', text, re.MULTILINE)
                         for kind, pattern in (('read_requests', reads), ('write_requests', writes))}
                # the kernel may have the file and count nothing, cgroup v1 where there is no limit: no line is not 0
                return {kind: sum(map(int, found)) for kind, found in lines.items() if found}
        return {}

    def record(self):
        """The limit as result.json has it."""
        return {'iops': self.iops, 'by': self.by if self.iops else None}
