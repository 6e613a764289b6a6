"""The packages of dist/, installed by a script of tests/packages/."""
import os
import subprocess

from millrace import TOP
from support.checkout import CACHE, TREE

DIST = TOP / 'dist' / TREE


def install_by(script):
    """Runs a script of tests/packages/ on the packages of the tree: each of its checks passes."""
    done = subprocess.run([TOP / 'tests/packages' / script, DIST], text=True, capture_output=True,
                          check=False, env={**os.environ, 'MILLRACE_CACHE': str(CACHE)},
                          timeout=1500)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text[-8000:]
    assert 'PASS' in text and 'FAIL' not in text, text[-8000:]
