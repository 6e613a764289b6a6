"""The server's own tests: those of the whole series' patches, and a chosen part of upstream's.

Each patch alone, and vanilla, are for `make prove-tests`: they take a server each.
"""
import os
import subprocess
from pathlib import Path

from conftest import TOP, TREE
from millrace import series
from millrace.tested import for_release, verdicts

NAMES = series.names(TREE)


def mysql_test(*arguments):
    """Runs scripts/mysql-test with the whole series; what failed, where it does not succeed: the tests that passed in each of their combinations."""
    done = subprocess.run([TOP / 'scripts/mysql-test', *arguments], text=True, capture_output=True, check=False,
                          env={**os.environ, 'TREE': TREE, 'PATCHES': 'all'}, timeout=3000)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    found = verdicts(done.stdout)    # its status alone may be 0 where it ended early
    return found['pass'] - found['fail']


def test_the_patches_own_tests():
    wanted = {test for name in NAMES for test in for_release(series.patch_file(TREE, name))}
    assert wanted - mysql_test() == set()


def test_a_chosen_part_of_upstreams():
    lines = Path(__file__).with_name('innodb-tests').read_text().splitlines()
    chosen = {line for line in lines if line and not line.startswith('#')}
    assert chosen - mysql_test(*sorted(chosen)) == set()
