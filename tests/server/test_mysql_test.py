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


def run(tests, **environment):
    """Runs tests: the names of those that pass in each of their combinations.

    There are more servers than cores: tests of InnoDB wait for restarts and for disks, and other
    tests run beside these."""
    done = subprocess.run([TOP / 'scripts/mysql-test', *sorted(tests), '--parallel=4'], text=True,
                          capture_output=True, check=False, timeout=3000,
                          env={**os.environ, 'TREE': TREE, 'PATCHES': 'all', **environment})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    found = verdicts(done.stdout)
    # the status may be 0 though mysql-test-run, or one of its workers, ended early
    lost = set(tests).difference(*found.values())
    assert not lost, f'no verdict: {lost}\n{done.stdout[-20000:]}{done.stderr[-3000:]}'
    # pytest shows it where a test fails
    print(*(line for line in done.stdout.splitlines() if '[ skipped ]' in line), sep='\n')
    return found['pass'] - found['fail']


@pytest.fixture(scope='module')
def passed():
    """The tests of the patches and of upstream's that pass, with the whole series.

    Those of fast-recovery want their data on a disk, for the others memory is faster."""
    on_disk = set(header.read_header(series.patch_file(TREE, 'fast-recovery')).fields['Test']
                  .split())
    named = {test for file in FILES for test in header.read_header(file).fields['Test'].split()}
    with tempfile.TemporaryDirectory(prefix='mysql-test-', dir=memory(6 << 30)) as data:
        return run(on_disk) | run((named | upstreams()) - on_disk, VARDIR=f'{data}/var')


def test_tests_of_the_patches_pass(passed):
    assert {test for file in FILES for test in for_release(file)} - passed == set()


def test_tests_of_upstream_pass(passed):
    assert upstreams() - passed == set()
