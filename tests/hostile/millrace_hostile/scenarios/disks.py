"""Disks that are full, or fill up, and file systems of other kinds, in loop files."""
import contextlib
import os

from millrace_bench.measure.client import SqlError
from millrace_bench.measure.data import size as size_of
from millrace_crash.datadir import SCHEMA
from millrace_hostile.data import LARGE_POOL, backup, own_all
from millrace_hostile.prepare import prepares
from millrace_hostile.surroundings import (MIB, NotHere, Refused, fill, image, quota,
                                           with_quota)
from millrace_hostile.trial import START_SECONDS, STOP_SECONDS, scenario, work

FILE_SYSTEMS = {
    'ext2': ('ext2', (), ()), 'ext4-no-extents': ('ext4', ('-O', '^extent,^64bit'), ()),
    'xfs': ('xfs', (), ()), 'btrfs': ('btrfs', (), ()),
}
# by name: what is left besides the room that the data files need.  The first is less than the log;
# the second is enough for a copy of it as long as the files have not grown.
ROOMS = {'': 40 * MIB, '-later': 175 * MIB}


def grow(server):
    """Inserts until the disk is full, or far too much is in; returns whether it was full."""
    with server.connect(SCHEMA) as connection:
        connection.query('CREATE TABLE IF NOT EXISTS grows(a INT AUTO_INCREMENT PRIMARY KEY, '
                         'b VARCHAR(2000) CHARACTER SET latin1) ENGINE=InnoDB')
        for _ in range(400):
            try:
                connection.query('INSERT INTO grows(b) SELECT REPEAT(MD5(seq), 60) '
                                 'FROM seq_1_to_1000')
            except SqlError as error:
                server.check(error.lost)
                return True
    return False


def _fills(trial, datadir, crash, make_room):
    """A server fills its disk, goes on when there is room again, and shuts down."""
    with trial.server(datadir) as server:
        with trial.step('start'):
            server.start(START_SECONDS)
        with trial.step('fill'):
            if not grow(server):
                raise NotHere('the disk did not get full')
        with trial.step('rows'):
            crash.check(server)
        with trial.step('rows of the table that is full'), server.connect(SCHEMA) as connection:
            connection.query('SELECT SUM(LENGTH(b)) FROM grows')
        make_room()
        with trial.step('go on'):
            work(server)
        with trial.step('drop'), server.connect(SCHEMA) as connection:
            connection.query('DROP TABLE grows')
        with trial.step('shutdown'):
            server.stop(STOP_SECONDS)
    with trial.step('files'):
        datadir.check_files()


@contextlib.contextmanager
def _nearly_full(trial, room):
    """An ext4 with a copy of crashed data and so many bytes of room: the data directory, the
    crash, and the file whose removal makes room again."""
    with image(trial.place / 'disk', 'ext4', 400 * MIB, ('-m', '0')) as disk:
        datadir, crash = trial.crashed('small', disk / 'copy')
        own_all(datadir.data)
        yield datadir, crash, fill(disk, room)


@scenario('disk-full', 'the disk of the data gets full under INSERT, then there is room again')
def full(trial):
    """The server must not end."""
    with _nearly_full(trial, 60 * MIB) as (datadir, crash, ballast):
        _fills(trial, datadir, crash, ballast.unlink)


@scenario('disk-quota', 'the same, by a quota on btrfs')
def by_quota(trial):
    """The file system has room, as statvfs() tells it."""
    with image(trial.place / 'disk', 'btrfs', 600 * MIB) as disk:
        own = with_quota(disk)
        datadir, crash = trial.crashed('small', own / 'copy')
        own_all(datadir.data)
        os.sync()
        quota(own, size_of(own) + 80 * MIB)
        _fills(trial, datadir, crash, lambda: quota(own, None))


@contextlib.contextmanager
def _little_room(trial, crash, room):
    """A disk with a copy of crashed data, and room for what the files grow by and a little."""
    size = size_of(crash.datadir.data) + crash.growth + 300 * MIB
    with image(trial.place / 'disk', 'ext4', size, ('-m', '0')) as disk:
        datadir, _ = trial.crashed('large', disk / 'copy')
        own_all(datadir.data)
        fill(disk, crash.growth + room)
        yield datadir


def _register_rooms(name, room):
    more = f'and {room >> 20} MiB; tmpdir is there, too'

    @scenario(f'disk-fills-in-recovery{name}', 'recovery makes the files larger, on a disk with '
              f'room for that {more}')
    def recovery(trial):
        crash = trial.crashes.get('large')
        with _little_room(trial, crash, room) as datadir:
            trial.recovers(datadir, crash, goes_on=True, uses_tmpdir=False,
                           innodb_buffer_pool_size=LARGE_POOL)
            (datadir.place.parent / 'ballast').unlink()
            trial.returns(datadir, crash)

    @scenario(f'prepare-fills-disk{name}', f'the same of mariadb-backup --prepare, {more}')
    def prepare(trial):
        crash = trial.crashes.get('large')
        with _little_room(trial, crash, room) as datadir:
            backup(datadir)
            tmpdir = datadir.place / 'tmpdir'
            tmpdir.mkdir()
            prepares(trial, datadir, LARGE_POOL, crash, goes_on=True, tmpdir=tmpdir)
    return recovery, prepare


for _name, _room in ROOMS.items():
    _register_rooms(_name, _room)


@scenario('disk-full-recovery', 'recovery on a disk with 20 MiB of room, for tmpdir as well')
def full_in_recovery(trial):
    """No file has to grow."""
    with _nearly_full(trial, 20 * MIB) as (datadir, crash, ballast):
        trial.recovers(datadir, crash, goes_on=True, uses_tmpdir=False)
        ballast.unlink()
        trial.returns(datadir, crash)


def _register(name, kind, make, options):
    @scenario(f'file-system-{name}', f'{name}: clients write tables of each format, a kill')
    def lives(trial):
        with image(trial.place / 'disk', kind, 400 * MIB, make, options) as disk:
            trial.lives(trial.new(encrypts=True, place=disk / 'copy'))
    return lives


for _name, _how in FILE_SYSTEMS.items():
    _register(_name, *_how)


@scenario('punch-hole-refused', 'no holes can be made in files (EOPNOTSUPP), tables are '
          'page_compressed', quick=True)
def punch_hole(trial):
    """As on ext2, and on ext4 without extents."""
    trial.lives(trial.new(encrypts=True), (Refused(punch_hole='EOPNOTSUPP'),))
