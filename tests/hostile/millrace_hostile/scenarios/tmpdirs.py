"""A directory for temporary files that is full, small, read-only, or missing.

Recovery reads a log larger than the pool, then statements sort; --prepare gets --use-memory=8M.
"""
import contextlib

from millrace_hostile.data import LARGE_POOL, backup
from millrace_hostile.prepare import prepares
from millrace_hostile.surroundings import MIB, fill, image, quota, tmpfs, with_quota
from millrace_hostile.trial import scenario


@contextlib.contextmanager
def _full(place):
    with tmpfs(place, 200 * MIB):
        fill(place, 0)
        yield place


@contextlib.contextmanager
def _quota(place):
    with image(place, 'btrfs', 600 * MIB):
        own = with_quota(place)
        quota(own, 20 * MIB)
        yield own


# by name: what it is, and a context that makes it at a place
TMPDIRS = {
    'missing': ('does not exist', contextlib.nullcontext),
    'read-only': ('is read-only', lambda place: tmpfs(place, MIB, 'ro')),
    'full': ('is full', _full),
    'small': ('has 4 MiB', lambda place: tmpfs(place, 4 * MIB)),
    # enough to begin with, and too little for all
    'fills': ('has 140 MiB, less than the log', lambda place: tmpfs(place, 140 * MIB)),
    'quota': ('is on a large disk, with a quota of 20 MiB', _quota),
}
QUICK = ('missing', 'full')


def _register(kind, about, make):
    data, pool = ('large', LARGE_POOL) if kind == 'fills' else ('small', '8M')

    def recovers(trial, option):
        datadir, crash = trial.crashed(data)
        with make(trial.place / 'tmpdir') as tmpdir:
            trial.recovers(datadir, crash, goes_on=True, innodb_buffer_pool_size=pool,
                           **{option: tmpdir})
        trial.returns(datadir, crash)

    @scenario(f'tmpdir-{kind}', f'recovery, tmpdir {about}', quick=kind in QUICK)
    def recovery(trial):
        recovers(trial, 'tmpdir')

    # only that of the patch is elsewhere: a server checks its tmpdir when it starts
    @scenario(f'innodb-tmpdir-{kind}', f'recovery, innodb_tmpdir {about}')
    def innodb(trial):
        recovers(trial, 'innodb_tmpdir')

    @scenario(f'prepare-tmpdir-{kind}', f'mariadb-backup --prepare, tmpdir {about}',
              quick=kind == 'full')
    def prepare(trial):
        datadir, crash = trial.crashed(data)
        backup(datadir)
        with make(trial.place / 'tmpdir') as tmpdir:
            prepares(trial, datadir, pool, crash, goes_on=True, tmpdir=tmpdir)
    return recovery, innodb, prepare


for _kind, (_about, _make) in TMPDIRS.items():
    _register(_kind, _about, _make)
