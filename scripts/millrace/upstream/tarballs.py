"""Upstream's tarballs: fetched and verified by build/fetch, unpacked file by file."""
import os
import subprocess
from pathlib import Path

from millrace.command import Failure, output, step
from millrace.series import TOP

CACHE = Path(os.environ.get('MILLRACE_CACHE') or TOP / 'cache')


def tarball(version):
    """Where the tarball of a release is kept."""
    return CACHE / f'mariadb-{version}.tar.gz'


def fetch(tree, version=None):
    """Brings a release to the cache, verified; the pinned one, or another: that one by its signature alone."""
    step('fetch', *([version] if version else []), TREE=tree, VERSION='', SHA256='',
         TARBALL=os.environ.get('TARBALL', '') if version else '')


def sha256(version):
    """The hash of a fetched tarball, as it was verified."""
    return Path(f'{tarball(version)}.verified').read_text(encoding='ascii').strip()


def members(version):
    """The names of all files of a release."""
    listing = output('tar', '-tzf', tarball(version))
    return {name.partition('/')[2] for name in listing.splitlines() if not name.endswith('/')}


def extract(version, paths, target):
    """Unpacks these files of a release under target; those that it does not have are left out."""
    target.mkdir(parents=True, exist_ok=True)
    if not paths:
        return
    done = subprocess.run(['tar', '-xzf', tarball(version), '-C', target, '--strip-components=1', '--no-same-owner',
                           '-T', '-'], input=''.join(f'mariadb-{version}/{path}\n' for path in sorted(paths)),
                          text=True, capture_output=True, check=False, env={**os.environ, 'LC_ALL': 'C'})
    faults = [line for line in done.stderr.splitlines()
              if not line.endswith(('Not found in archive', 'due to previous errors'))]
    if faults:
        raise Failure(f'{tarball(version)} cannot be unpacked', *faults[:5], 'is the disk full?')
