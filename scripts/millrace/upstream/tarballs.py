"""Upstream's tarballs: fetched and verified by build/fetch, unpacked file by file."""
import os
import subprocess
from pathlib import Path

from millrace import TOP
from millrace.command import environment, output, step
from millrace.errors import Failure
from millrace.upstream import pins


def cache(environ=None):
    """The directory where downloads are kept: MILLRACE_CACHE, or cache/ of the checkout."""
    environ = os.environ if environ is None else environ
    return Path(os.path.abspath(environ.get('MILLRACE_CACHE') or TOP / 'cache'))


def tarball(version):
    """Where the tarball of a release is kept."""
    return cache() / f'mariadb-{version}.tar.gz'


def fetch(tree, version=None):
    """Brings a release to the cache, verified: the pinned one, or another by its signature alone.

    TARBALL of the environment counts for the other one only."""
    own, pin = os.environ.get('TARBALL', '') if version else '', pins.read(tree)
    known = pin['SHA256'] if version in (None, pin['VERSION']) else None
    if own or not is_verified(version or pin['VERSION'], known):
        # of whatever patches: a new tree has none
        step('fetch', *([version] if version else []), TREE=tree, PATCHES='none', VERSION='',
             SHA256='', TARBALL=own)


def is_verified(version, known=None):
    """Whether the cache has a release as build/fetch leaves it, which asks for the same: with its
    signature, and a hash that was written when its content was; it is the `known` one, if any."""
    file, note = tarball(version), Path(f'{tarball(version)}.verified')
    try:
        return Path(f'{file}.asc').is_file() and known in (None, sha256(version)) \
            and file.stat().st_mtime_ns == note.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def sha256(version):
    """The hash of a fetched tarball, as it was verified."""
    return Path(f'{tarball(version)}.verified').read_text(encoding='ascii').strip()


def members(version):
    """The names of all files of a release."""
    listing = output('tar', '-tzf', tarball(version))
    return {name.partition('/')[2] for name in listing.splitlines() if not name.endswith('/')}


def extract(version, paths, target):
    """Unpacks these files of a release under target, all where paths is None; leaves out those
    that it does not have.  Raises Failure."""
    target.mkdir(parents=True, exist_ok=True)
    if paths is not None and not paths:
        return
    names = ''.join(f'mariadb-{version}/{path}\n' for path in sorted(paths or ()))
    done = subprocess.run(
        ['tar', '-xzf', tarball(version), '-C', target, '--strip-components=1', '--no-same-owner',
         *(['--verbatim-files-from', '-T', '-'] if names else [])], input=names, text=True,
        capture_output=True, check=False, env=environment(LC_ALL='C'))
    faults = [line for line in done.stderr.splitlines()
              if not line.endswith(('Not found in archive', 'due to previous errors'))]
    if faults:
        raise Failure(f'{tarball(version)} cannot be unpacked', *faults[:5], 'is the disk full?')
