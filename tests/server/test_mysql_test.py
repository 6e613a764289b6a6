"""The server's own tests: the patches' in every subset, and a chosen part of upstream's."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import TOP, TREE
from millrace import header, series

NAMES = series.names()
SUBSETS = series.closed_subsets(series.depends(TREE))[1:]


def mysql_test(patches, *arguments):
    """Runs scripts/mysql-test: the names of the tests that passed, failed and were skipped."""
    done = subprocess.run([TOP / 'scripts/mysql-test', *arguments], text=True, capture_output=True, check=False,
                          env={**os.environ, 'TREE': TREE, 'PATCHES': ' '.join(patches) or 'none'}, timeout=3000)
    verdicts = {'pass': set(), 'fail': set(), 'skipped': set()}
    for name, verdict in re.findall(r"^(\w+\.[\w-]+)(?: '[^']*')?(?: +w\d+)? +\[ (pass|fail|skipped) \]",
                                    done.stdout, re.MULTILINE):
        verdicts[verdict].add(name)
    verdicts['text'] = done.stdout[-6000:] + done.stderr[-3000:]
    verdicts['status'] = done.returncode
    return verdicts


@pytest.mark.parametrize('subset', SUBSETS, ids='+'.join)
def test_the_patches_own_tests(subset):
    wanted = {test for name in subset
              for test in header.read_header(series.patch_file(TREE, name)).fields['Test'].split()}
    verdicts = mysql_test(subset)
    if len(subset) < len(NAMES):
        # 3 GB each; the whole series' is `make packages`' own
        shutil.rmtree(TOP / 'work' / TREE / '+'.join(subset))
    assert verdicts['status'] == 0, verdicts['text']
    assert wanted <= verdicts['pass'], verdicts['text']


def test_a_chosen_part_of_upstreams():
    lines = Path(__file__).with_name('innodb-tests').read_text().splitlines()
    chosen = [line for line in lines if line and not line.startswith('#')]
    verdicts = mysql_test(NAMES, *chosen)
    assert verdicts['status'] == 0, verdicts['text']
    assert set(chosen) <= verdicts['pass'], verdicts['text']
