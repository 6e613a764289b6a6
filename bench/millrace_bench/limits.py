"""Holds the server to a number of disk requests a second, as a cloud volume does."""
import os
from pathlib import Path

from .errors import BenchError
from .machine import block_device


def _mounts(kind):
    for line in Path('/proc/self/mounts').read_text().splitlines():
        _, place, found, options = line.split()[:4]
        if found == kind:
            yield Path(place), options.split(',')


class Limit:
    """A control group with a limit of requests a second for the disk under `path`; with no limit
    (iops None) it does nothing.  Use as a context; `enter` puts the calling process into it."""

    def __init__(self, iops, path):
        self.iops, self.path = iops, path
        self.by = self.group = None

    def __enter__(self):
        if not self.iops:
            return self
        device = block_device(self.path)
        if not device:
            raise BenchError(f'IOPS={self.iops}: no disk stands behind the file system of the data',
                             'a control group limits a disk; overlay, tmpfs and btrfs hide theirs',
                             'put the checkout on ext4 or XFS, or leave IOPS out')
        reasons = []
        for way in (self._unified, self._blkio):
            try:
                if way(device[1]):
                    return self
            except OSError as error:
                reasons.append(f'{self.by}: {error.strerror} ({error.filename})')
                self._remove()
        self.by = None
        raise BenchError(f'IOPS={self.iops}: this machine lets nobody limit requests here',
                         *(reasons or ['neither cgroup v2 with the controller io nor cgroup v1 blkio is mounted']),
                         'as root, outside a container without control groups of its own; or leave IOPS out')

    def __exit__(self, *_):
        self._remove()

    def _remove(self):
        if self.group:
            try:
                self.group.rmdir()
            except OSError:
                pass
        self.group = None

    def _unified(self, device):
        for place, _ in _mounts('cgroup2'):
            controllers = (place / 'cgroup.controllers').read_text().split()
            if 'io' in controllers:
                self.by = 'cgroup v2 io.max'
                (place / 'cgroup.subtree_control').write_text('+io')
                self._make(place, {'io.max': f'{device} riops={self.iops} wiops={self.iops}'})
                return True
        return False

    def _blkio(self, device):
        for place, options in _mounts('cgroup'):
            if 'blkio' in options:
                self.by = 'cgroup v1 blkio'
                self._make(place, {f'blkio.throttle.{way}_iops_device': f'{device} {self.iops}'
                                   for way in ('read', 'write')})
                return True
        return False

    def _make(self, place, limits):
        self.group = place / f'millrace-bench-{os.getpid()}'
        self.group.mkdir()
        for name, text in limits.items():
            (self.group / name).write_text(text)

    def enter(self):
        """Puts the calling process under the limit (called between fork and exec)."""
        if self.group:
            (self.group / 'cgroup.procs').write_text(str(os.getpid()))

    def record(self):
        """The limit as result.json has it."""
        return {'iops': self.iops, 'by': self.by}
