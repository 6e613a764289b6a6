"""Shared by the tests: the checkout, copies of it to break, and running its commands."""
import atexit
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from millrace import TOP
from millrace.command import forget_stray_variables
from millrace.patches import diff, series
from millrace.upstream import pins, tarballs
from support.checkout import CACHE, TREE, Checkout

pytest_plugins = ['support.shop']

# files of upstream's that tests touch, besides those of the series
TOUCHED = ('CREDITS', 'README.md', 'mysql-test/suite/innodb/t/instant_alter.test',
           'scripts/galera_new_cluster.sh', 'support-files/mariadb.service.in',
           *(f'storage/innobase/{name}.cc' for name in (
               'buf/buf0dump', 'buf/buf0flu', 'buf/buf0lru', 'buf/buf0rea', 'log/log0log',
               'log/log0recv', 'os/os0file', 'trx/trx0rseg', 'trx/trx0trx')))


# tests, files and directories, in the order in which they begin
ORDER = (
    # several servers for minutes: all of the others run beside it
    'test_mysql_test',
    # find most faults, and soonest; first of all the files that stay in one process
    'test_edits', 'test_apply', 'test_profile', 'test_maintaining', 'test_rebase', 'fast',
    # the longest first, so that the processes end together
    'test_deb_install', 'test_every_workload_of_the_training_runs', 'test_rpm_install',
    'test_the_series_survives_what_vanilla_survives', 'pages', 'test_exported',
    'test_lintian', 'test_the_bundle_takes_nothing_of_the_machine', 'test_crash', 'bench',
    'packages', 'server')


def memory(room):
    """A directory in memory that has `room` bytes and runs programs; None where there is none.

    Writing thousands of small files into it takes a twentieth of the processor time that ext4
    may take."""
    place = '/dev/shm'
    if not os.path.isdir(place) or not os.access(place, os.W_OK):
        return None
    there = os.statvfs(place)
    available = int(re.search(r'^MemAvailable: *(\d+) kB', Path('/proc/meminfo').read_text(),
                              re.MULTILINE).group(1)) << 10
    fits = min(there.f_bavail * there.f_frsize, available) >= room
    return place if fits and not there.f_flag & os.ST_NOEXEC else None


def pytest_configure(config):
    """Puts temporary files into memory, where there is room for them.

    Called by a hook of git, the tests do not write into its index."""
    forget_stray_variables()
    fast = Path(__file__).parent / 'fast'
    if config.option.basetemp or 'TMPDIR' in os.environ:
        return
    small = all(Path(name.partition('::')[0]).resolve().is_relative_to(fast)
                for name in config.args)
    if place := memory((4 if small else 14) << 30):
        os.environ['TMPDIR'] = tempfile.tempdir = place
        # a short path, for the sockets of gpg's agent
        config.option.basetemp = tempfile.mkdtemp(prefix='pytest-')
        atexit.register(shutil.rmtree, config.option.basetemp, ignore_errors=True)


def pytest_collection_modifyitems(items):
    """Puts the tests into ORDER, in which the processes take them, one by one.

    A file that stays in one process, as its tests share a server or a build, has the mark
    xdist_group."""
    def place(item):
        names = (item.originalname, item.path.stem, item.path.parent.name)
        return next(ORDER.index(name) for name in names if name in ORDER)
    items.sort(key=place)


def on_disk():
    """For data of servers: a directory that is not in memory, where InnoDB takes its log for
    persistent."""
    return tempfile.TemporaryDirectory(prefix='pytest-', dir='/var/tmp',
                                       ignore_cleanup_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Notes that a test failed, for tmp_path."""
    report = (yield).get_result()
    item.failed = getattr(item, 'failed', False) or report.failed


@pytest.fixture
def tmp_path(request, tmp_path):
    """pytest's, removed at once: an unpacked source is 700 MB, and pytest keeps three runs.  For
    tests/server it is on_disk(), and kept where the test failed, with "-failed" after its name."""
    if request.path.parent.name == 'server':
        with on_disk() as path:
            yield Path(path)
            if request.node.failed:
                os.rename(path, f'{path}-failed')
    else:
        yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def heed_interrupts():
    """For preexec_fn: SIGINT as from a terminal; a test run in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def path_without(directory, *programs):
    """A PATH on which these programs fail, so that what succeeds with it has not used them."""
    directory.mkdir()
    for name in programs:
        (directory / name).write_text(f'#!/bin/sh\necho "{name} was run" >&2\nexit 125\n')
        (directory / name).chmod(0o755)
    return f'{directory}:{os.environ["PATH"]}'


@pytest.fixture
def checkout(tmp_path):
    """A copy of the project."""
    path = tmp_path / 'millrace'
    path.mkdir()
    return Checkout(path)


def release():
    """VERSION and SHA256 that the tree under test is pinned to."""
    pin = pins.read(TREE)
    return pin['VERSION'], pin['SHA256']


@pytest.fixture(scope='session')
def shared(tmp_path_factory):
    """A function: the directory of this name that make(directory) fills, once in a run of the
    tests, whichever process needs it first."""
    def made(name, make):
        top = tmp_path_factory.getbasetemp()
        top = top.parent if 'PYTEST_XDIST_WORKER' in os.environ else top
        target = top / 'shared' / name
        target.parent.mkdir(exist_ok=True)
        with target.with_name(f'{name}.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                part = target.with_name(f'{name}.part')
                shutil.rmtree(part, ignore_errors=True)     # of a process that failed
                part.mkdir()
                make(part)
                part.rename(target)
        return target
    return made


@pytest.fixture(scope='session')
def server_tree(shared):
    """The tarball of dist/, unpacked."""
    def unpack_server(place):
        (place / 'one').mkdir()
        archive = next((TOP / 'dist' / TREE).glob('millrace-[0-9]*.tar.zst'))
        subprocess.run(['tar', '-xf', archive, '-C', place / 'one', '--strip-components=1'],
                       check=True)
    return shared('builds', unpack_server) / 'one'


def wrapped(server_tree, place, script):
    """A copy of a build whose server is a script; %s in it stands for the server."""
    shutil.copytree(server_tree, place,
                    copy_function=lambda source, target: Path(target).symlink_to(source),
                    ignore=shutil.ignore_patterns('mysql-test', 'mariadb-test'))
    program = place / 'libexec/mariadbd'
    program.unlink()
    program.write_text(script % (server_tree / 'libexec/mariadbd'))
    program.chmod(0o755)
    return place


@pytest.fixture(scope='session')
def tarball():
    """Upstream's tarball, fetched and verified."""
    subprocess.run([TOP / 'build/fetch'], check=True, env={**os.environ, 'TREE': TREE})
    return CACHE / f'mariadb-{release()[0]}.tar.gz'


@pytest.fixture(scope='session')
def touched(tarball, shared):
    """The files of the vanilla source that the series and the tests of patches touch."""
    paths = set().union(*(diff.paths(diff.read(series.patch_file(TREE, name)))
                          for name in series.names(TREE)))
    name = f'mariadb-{release()[0]}'
    return shared('touched', lambda place: tarballs.extract(
        release()[0], paths.union(TOUCHED), place / name)) / name


@pytest.fixture(scope='session')
def small_release(touched, shared):
    """A cache with a release of nothing but these files, and the hash of its tarball."""
    def pack(cache):
        small = cache / f'{touched.name}.tar.gz'
        with tarfile.open(small, 'w:gz', compresslevel=1) as archive:
            archive.add(touched, touched.name)
        verified = cache / f'{small.name}.verified'
        verified.write_text(f'{hashlib.sha256(small.read_bytes()).hexdigest()}\n')
        (cache / f'{small.name}.asc').write_text('verified before')
        for file in (small, verified):          # as build/fetch leaves what it has verified
            os.utime(file, (1_000_000_000, 1_000_000_000))
    cache = shared('small', pack)
    return cache, (cache / f'{touched.name}.tar.gz.verified').read_text().strip()


def small(release_of_few_files, place):
    """A checkout for the small_release, in a directory, with its cache beside it."""
    (place / 'millrace').mkdir()
    checkout, (cache, sha256) = Checkout(place / 'millrace'), release_of_few_files
    checkout.cache = shutil.copytree(cache, place / 'cache')
    conf = checkout.path / f'trees/{TREE}/pin.conf'
    conf.write_text(conf.read_text().replace(release()[1], sha256))
    return checkout


@pytest.fixture
def small_checkout(small_release, tmp_path):
    """A checkout for that release: the proofs and imports read nothing else of it."""
    return small(small_release, tmp_path)


def unpack(vanilla, target):
    """A copy of vanilla files, of hard links: patch and quilt write new files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(['cp', '-al', vanilla, target], check=True)
