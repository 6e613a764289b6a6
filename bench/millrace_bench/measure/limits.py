"""A control group for the server: it counts the server's disk requests, and can hold it to a
number of them and of their bytes a second, as a cloud volume does."""
import os
import re
from dataclasses import dataclass

from millrace.errors import Failure
from millrace_bench.measure.machine import block_device, mounted

V1, V2 = 'cgroup v1 blkio', 'cgroup v2 io.max'
# in the record of every limit, so that a reader knows what is free of charge; the kernel's
# Documentation/admin-guide/cgroup-v2.rst, "Writeback", names the file systems
NOT_COUNTED = {
    V1: 'buffered writes, as of temporary files: the kernel writes them back outside of the group',
    V2: 'buffered writes, as of temporary files, on a file system that the kernel does not write '
        'back by group: any but ext2, ext4, XFS, btrfs and f2fs'}
# {file of a group: {count: the pattern of its number, on the line of the disk}}
COUNTS = {
    'io.stat': {'read_requests': r'rios=(\d+)', 'write_requests': r'wios=(\d+)',
                'read_request_bytes': r'rbytes=(\d+)', 'write_request_bytes': r'wbytes=(\d+)'},
    'blkio.throttle.io_serviced': {'read_requests': r'Read (\d+)',
                                   'write_requests': r'Write (\d+)'},
    'blkio.throttle.io_service_bytes': {'read_request_bytes': r'Read (\d+)',
                                        'write_request_bytes': r'Write (\d+)'}}


@dataclass(frozen=True)
class Volume:
    """The speed of a volume: requests a second, and bytes a second or None.

    `name` is that of a cloud volume; without one the numbers are the user's own.  `ms` is the
    time that a request takes there: see disk.Disk."""
    name: str
    iops: int
    bandwidth: int = None
    ms: float = None

    @property
    def asked(self):
        """How it is asked for: 'VOLUME=gp3'."""
        return f'VOLUME={self.name}' if self.name else f'IOPS={self.iops}'


VOLUMES = {volume.name: volume for volume in (
    Volume('gp3', 3000, 125_000_000, 1),        # AWS, the smallest
    Volume('gp3-500', 3000, 500_000_000, 1),    # with bandwidth bought
    Volume('p10', 500, 100_000_000, 2))}        # Azure


def suffix(record):
    """The limit of a record in the name of its set: '-gp3', '-iops3000', or nothing."""
    if record.get('volume'):
        return f'-{record["volume"]}'
    return f'-iops{record["iops"]}' if record['iops'] else ''


def mounts(kind):
    """Places and options of the mounted file systems of a kind."""
    return ((place, options) for place, its, options in mounted() if its == kind)


class Limit:
    """A control group in which the disk under `path` is as fast as a Volume for reads, and as
    fast again for writes; or as fast as it is (None).

    Use as a context.  A limit that cannot be had raises Failure; without a limit only the count
    of requests is missing then.  enter() puts the calling process into the group.  The limit is
    one of requests that reach the disk from the group: see NOT_COUNTED."""

    def __init__(self, volume, path):
        self.volume, self.path = volume, path
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
        if self.volume:
            raise Failure(f'{self.volume.asked}: the disk requests of a server cannot be limited '
                          'here', *(reasons or ['neither cgroup v2 with the controller io nor '
                                                'cgroup v1 blkio is mounted']),
                          'be root, outside of a container without control groups of its own; '
                          'or leave IOPS and VOLUME out')
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
                self._make(place, place / 'cgroup.subtree_control')
                return True
        return False

    def _blkio(self):
        for place, options in mounts('cgroup'):
            if 'blkio' in options:
                self.by = V1
                self._make(place)
                return True
        return False

    def _make(self, place, controllers=None):
        if controllers:
            controllers.write_text('+io')
        self.group = place / f'millrace-bench-{os.getpid()}'
        self.group.mkdir()
        for name, text in self.files().items():
            (self.group / name).write_text(text)

    def files(self):
        """{name: text} of the files of the group that set the limit."""
        held = {'iops': self.volume.iops, 'bps': self.volume.bandwidth} if self.volume else {}
        held = {kind: number for kind, number in held.items() if number}
        if self.by == V1:
            return {f'blkio.throttle.{way}_{kind}_device': f'{self.device} {number}'
                    for kind, number in held.items() for way in ('read', 'write')}
        words = [f'{way}{kind}={number}' for kind, number in held.items() for way in 'rw']
        return {'io.max': ' '.join([self.device, *words])} if words else {}

    def enter(self):
        """Puts the calling process into the group (called between fork and exec)."""
        if self.group:
            (self.group / 'cgroup.procs').write_text(str(os.getpid()))

    def requests(self):
        """Disk requests of all processes of the group, as they were submitted, and their bytes;
        empty where they are not counted."""
        counted = {}
        for name, patterns in COUNTS.items() if self.group else ():
            if (self.group / name).exists():
                text = (self.group / name).read_text()
                for kind, pattern in patterns.items():
                    lines = re.findall(rf'^{re.escape(self.device)}\b.* {pattern}', text,
                                       re.MULTILINE)
                    # cgroup v1 without a limit has the file and counts nothing: no line is not 0
                    if lines:
                        counted[kind] = sum(map(int, lines))
        return counted

    def record(self):
        """The limit as result.json has it."""
        if not self.volume:
            return {'iops': None, 'by': None}
        of_cloud = {'volume': self.volume.name, 'bandwidth': self.volume.bandwidth,
                    'ms': self.volume.ms} if self.volume.name else {}
        not_counted = {'not_counted': NOT_COUNTED[self.by]} if self.by else {}
        return {'iops': self.volume.iops, 'by': self.by, **of_cloud, **not_counted}
