"""The server's own tests: those of the patches, and a part of upstream's, on the whole series.

`make prove TESTS=1` runs the tests of each patch alone, and on vanilla: that takes a server each.
"""
import os
import subprocess
from pathlib import Path

from millrace import TOP
from millrace.patches import series
from millrace.prove.tests import for_release, verdicts
from support.checkout import TREE

NAMES = series.names(TREE)


def mysql_test(*arguments):
    """Names of the tests that pass in each of their combinations, with the whole series."""
    done = subprocess.run([TOP / 'scripts/mysql-test', *arguments], text=True,
                          capture_output=True, check=False, timeout=3000,
                          env={**os.environ, 'TREE': TREE, 'PATCHES': 'all'})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    found = verdicts(done.stdout)    # the status may be 0 though mysql-test-run ended early
    return found['pass'] - found['fail']


def test_tests_of_the_patches_pass():
    wanted = {test for name in NAMES for test in for_release(series.patch_file(TREE, name))}
    assert wanted - mysql_test() == set()


def test_tests_of_upstream_pass():
    lines = Path(__file__).with_name('innodb-tests').read_text().splitlines()
    chosen = {line for line in lines if line and not line.startswith('#')}
    assert chosen - mysql_test(*sorted(chosen)) == set()
