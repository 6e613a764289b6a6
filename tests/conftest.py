"""Shared by the tests: the checkout, copies of it to break, and running its commands."""
import hashlib
import os
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest
from millrace import TOP
from millrace.patches import diff, series
from millrace.upstream import pins, tarballs
from support.checkout import CACHE, TREE, Checkout


# files of upstream's that tests touch, besides those of the series
TOUCHED = ('CREDITS', 'README.md', 'mysql-test/suite/innodb/t/instant_alter.test',
           *(f'storage/innobase/{name}.cc' for name in (
               'buf/buf0dump', 'buf/buf0flu', 'buf/buf0lru', 'buf/buf0rea', 'log/log0log',
               'log/log0recv', 'os/os0file', 'trx/trx0rseg', 'trx/trx0trx')))


def pytest_collection_modifyitems(items):
    """Puts the fast tests first, then those that take longest, and in each directory the files
    that take longest: the processes end together."""
    order = ['fast', 'server', 'packages', 'bench', 'pages']
    longest = ['rebase', 'exchange', 'edits', 'compile', 'profile', 'prove', 'apply', 'models',
               'mysql_test', 'crash', 'deb_install', 'rpm_install', 'repo', 'exported']
    places = {f'test_{name}': place for place, name in enumerate(longest)}
    items.sort(key=lambda item: (order.index(item.path.parent.name),
                                 places.get(item.path.stem, len(places))))


@pytest.fixture
def tmp_path(tmp_path):
    """pytest's, removed at once: an unpacked source is 700 MB, and pytest keeps three runs."""
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
def server_tree(tmp_path_factory):
    """The tarball of dist/, unpacked."""
    tree = tmp_path_factory.mktemp('builds') / 'one'
    tree.mkdir()
    archive = next((TOP / 'dist' / TREE).glob('millrace-[0-9]*.tar.zst'))
    subprocess.run(['tar', '-xf', archive, '-C', tree, '--strip-components=1'], check=True)
    return tree


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
def unpacked(tarball, tmp_path_factory):
    """The vanilla source, unpacked once for all tests."""
    tree = tmp_path_factory.mktemp('unpacked')
    subprocess.run(['tar', '-xzf', tarball, '-C', tree], check=True)
    yield tree / f'mariadb-{release()[0]}'
    shutil.rmtree(tree)


@pytest.fixture(scope='session')
def touched(tarball, tmp_path_factory):
    """The files of the vanilla source that the series and the tests of patches touch."""
    paths = set().union(*(diff.paths(diff.read(series.patch_file(TREE, name)))
                          for name in series.names(TREE)))
    place = tmp_path_factory.mktemp('touched') / f'mariadb-{release()[0]}'
    tarballs.extract(release()[0], paths.union(TOUCHED), place)
    return place


@pytest.fixture(scope='session')
def small_release(touched, tmp_path_factory):
    """A cache with a release of nothing but these files, and the hash of its tarball."""
    cache = tmp_path_factory.mktemp('small') / 'cache'
    cache.mkdir()
    small = cache / f'{touched.name}.tar.gz'
    with tarfile.open(small, 'w:gz', compresslevel=1) as archive:
        archive.add(touched, touched.name)
    sha256 = hashlib.sha256(small.read_bytes()).hexdigest()
    (cache / f'{small.name}.asc').write_text('verified before')
    verified = cache / f'{small.name}.verified'
    verified.write_text(f'{sha256}\n')
    for file in (small, verified):          # as build/fetch leaves what it has verified
        os.utime(file, (1_000_000_000, 1_000_000_000))
    return cache, sha256


@pytest.fixture
def small_checkout(checkout, small_release, tmp_path):
    """A checkout for that release: the proofs and imports read nothing else of it."""
    cache, sha256 = small_release
    checkout.cache = shutil.copytree(cache, tmp_path / 'cache')
    conf = checkout.path / f'trees/{TREE}/pin.conf'
    conf.write_text(conf.read_text().replace(release()[1], sha256))
    return checkout


def unpack(unpacked, target):
    """A copy of the vanilla source, of hard links: patch and quilt write new files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(['cp', '-al', unpacked, target], check=True)
