"""The models in tests/models hold for every order of events, and show the faults that are
planted in them: a model that cannot fail proves nothing."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parent.parent / 'models' / 'buffer_block.pml'

# each planted fault: the scenario that shows it, and what spin reports
FAULTS = {
    'LOOK_FIRST': ('MISS', 'assertion violated'),
    'BLOCK_KEPT': ('MISS', 'assertion violated'),
    'SLEEP_WITH_MUTEX': ('WAIT', 'invalid end state'),
    'NO_BROADCAST': ('WAIT', 'invalid end state'),
    'NOT_TOLD': ('WAIT', 'invalid end state'),
    'WAIT_PREPARED': ('BATCH', 'invalid end state'),
    'WAIT_HELD_BACK': ('BATCH', 'invalid end state'),
    'CARELESS': ('READ_AHEAD', 'invalid end state'),
    'NOT_SUBMITTED': ('READ_AHEAD', 'invalid end state'),
    'SHRINK_IGNORED': ('RESIZE', 'assertion violated'),
    'LATCH_LATE': ('READ_AHEAD', 'assertion violated'),
}


def check(tmp_path, *defines):
    """The output of the checker that spin makes of the model, after all states or a fault."""
    if not shutil.which('spin'):
        pytest.skip('there is no spin: build/setup tests')
    subprocess.run(['spin', '-a', *(f'-D{define}' for define in defines), str(MODEL)],
                   cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(['gcc', '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c'], cwd=tmp_path,
                   check=True)
    done = subprocess.run(['./pan', '-m1000000'], cwd=tmp_path, text=True, capture_output=True,
                          timeout=600, check=True)
    assert 'Search not completed' not in done.stdout.split('errors:', maxsplit=1)[0] \
        or 'errors: 1' in done.stdout
    assert 'max search depth too small' not in done.stdout
    return done.stdout


@pytest.mark.parametrize('scenario', ['MISS', 'WAIT', 'READ_AHEAD', 'BATCH', 'RESIZE'])
def test_no_block_is_lost_or_shared(tmp_path, scenario):
    out = check(tmp_path, f'SCENARIO={scenario}')
    assert 'errors: 0' in out, out


@pytest.mark.parametrize('fault', FAULTS)
def test_a_planted_fault_shows(tmp_path, fault):
    scenario, report = FAULTS[fault]
    out = check(tmp_path, f'SCENARIO={scenario}', f'FAULT={fault}')
    assert re.search(r'errors: [1-9]', out) and report in out, out


def test_every_fault_of_the_model_is_here():
    assert set(re.findall(r'FAULT [!=]= (\w+)', MODEL.read_text())) == set(FAULTS)
