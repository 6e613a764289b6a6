"""The server's own tests: those of the patches, and a part of upstream's, on the whole series.

`make prove TESTS=1` runs the tests of each patch alone, and on vanilla: that takes a server each.
"""
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import memory
from millrace import TOP
from millrace.patches import header, series
from millrace.prove.tests import for_release, verdicts
from support.checkout import TREE

# they look at one run
pytestmark = pytest.mark.xdist_group('mysql_test')
FILES = [series.patch_file(TREE, name) for name in series.names(TREE)]


def upstreams():
    """The tests of upstream's that are run."""
    lines = Path(__file__).with_name('innodb-tests').read_text().splitlines()
    return {line for line in lines if line and not line.startswith('#')}


@pytest.fixture(scope='module')
def passed():
    """Names of the tests that pass in each of their combinations, with the whole series.

    One run for all, which makes a data directory once and has something to do for each of its
    servers until the end.  There are more servers than cores: tests of InnoDB wait for restarts
    and for disks, and other tests run beside these."""
    named = {test for file in FILES for test in header.read_header(file).fields['Test'].split()}
    with tempfile.TemporaryDirectory(prefix='mysql-test-', dir=memory(6 << 30)) as data:
        done = subprocess.run([TOP / 'scripts/mysql-test', *sorted(named | upstreams()),
                               '--parallel=4'], text=True, capture_output=True, check=False,
                              timeout=3000, env={**os.environ, 'TREE': TREE, 'PATCHES': 'all',
                                                 'VARDIR': f'{data}/var'})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    found = verdicts(done.stdout)    # the status may be 0 though mysql-test-run ended early
    return found['pass'] - found['fail']


def test_tests_of_the_patches_pass(passed):
    assert {test for file in FILES for test in for_release(file)} - passed == set()


def test_tests_of_upstream_pass(passed):
    assert upstreams() - passed == set()
