"""What the tests share: the checkout, copies of it to break, and running its commands."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from millrace import TOP
from millrace.upstream import pins
from support.checkout import CACHE, TREE, Checkout


def pytest_collection_modifyitems(items):
    """Puts the fast tests first, then those that take longest: the processes end together."""
    order = ['fast', 'server', 'packages', 'bench', 'pages']
    items.sort(key=lambda item: order.index(item.path.parent.name))


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


def unpack(unpacked, target):
    """A copy of the vanilla source, of hard links: patch and quilt write new files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(['cp', '-al', unpacked, target], check=True)
