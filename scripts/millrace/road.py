"""What build/lib.sh knows, for commands in Python, and the steps of the road."""
import os
import subprocess

from millrace.series import TOP

# everything that lib.sh sets, with the place of the proofs as the place of work
ASK = '''set -a; . build/lib.sh
WORK=$TOP/work/$TREE/prove SOURCE=$WORK/mariadb-$VERSION
use_ccache
env -0'''


class RoadError(Exception):
    """A step that failed; the text names cause and mend."""


class NoTarball(RoadError):
    """A release that cannot be had here."""


def environment(tree):
    """The variables of build/lib.sh for the proofs of a tree, as an environment to run in."""
    done = subprocess.run(['bash', '-c', ASK, 'prove'], cwd=TOP, text=True, capture_output=True, check=False,
                          env={**os.environ, 'TREE': tree, 'PATCHES': 'none'})
    if done.returncode:
        raise RoadError(done.stderr.strip())
    return dict(pair.split('=', 1) for pair in done.stdout.split('\0') if '=' in pair)


def fetch(environ):
    """Brings the tree's tarball into the cache, verified."""
    if subprocess.run([TOP / 'build/fetch'], env=environ, stdin=subprocess.DEVNULL, check=False).returncode:
        raise NoTarball(f'{environ["TREE"]}: not proven, for its tarball cannot be had')
