"""The quick scenarios of tests/hostile/, and the faults that each verdict is for."""
import json
import os
import subprocess

import pytest
from conftest import path_without, wrapped
from millrace import TOP
from millrace_hostile.run import BETTER, SAME, WORSE, judge
from millrace_hostile.surroundings import Disk, NotHere
from millrace_hostile.trial import REGISTERED, Outcome, Scenario
from support.checkout import TREE

KEPT = TOP / f'test-results/hostile/{TREE}.json'
# a server that refuses what vanilla takes: a tmpdir without room
REFUSING = """#!/bin/bash
for word; do
    [[ $word = --tmpdir=* && $(stat -f -c %%a "${word#*=}") = 0 ]] && exit 1
done
exec %s "$@"
"""


def hostile(*arguments, **environment):
    """Runs tests/hostile/run; returns the finished process."""
    return subprocess.run([TOP / 'tests/hostile/run', *map(str, arguments)], text=True,
                          capture_output=True, check=False, timeout=600,
                          env={**os.environ, **environment})


def test_the_series_survives_what_vanilla_survives(server_tree, tmp_path):
    if not KEPT.exists():
        pytest.fail(f'{KEPT} is missing, which says what vanilla survives: '
                    f'make hostile TREE={TREE}')
    result = tmp_path / 'result.json'
    done = hostile(server_tree, KEPT, '--only', 'quick', '--data', tmp_path / 'data',
                   '--result', result)
    assert done.returncode == 0, done.stdout + done.stderr
    records = json.loads(result.read_text())['scenarios']
    assert set(records) == {each.name for each in REGISTERED.values() if each.quick}
    assert records['set-variables']['series']['figures']['variables that were set'] > 2
    assert not (tmp_path / 'data').exists()


def test_a_server_that_refuses_what_vanilla_takes_is_worse(server_tree, tmp_path):
    if os.getuid():
        pytest.skip('only root may mount a tmpfs')
    refusing = wrapped(server_tree, tmp_path / 'refusing', REFUSING)
    done = hostile(refusing, server_tree, '--only', 'tmpdir-full', '--keep', tmp_path / 'logs',
                   '--data', tmp_path / 'data')
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == 'hostile: error: WORSE than vanilla: tmpdir-full\n'
    assert 'WORSE: start: the server died (status 1)' in done.stdout
    assert (tmp_path / 'logs/tmpdir-full-vanilla.log').exists()


def test_what_this_machine_cannot_do_is_said(server_tree, tmp_path):
    path = path_without(tmp_path / 'bin', 'mkfs.xfs')
    done = hostile(server_tree, server_tree, '--only', 'file-system-xfs', PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    reason = 'only root may mount' if os.getuid() else 'mkfs.xfs was run'
    assert ' not run here ' in done.stdout and reason in done.stdout
    done = hostile(server_tree, server_tree, '--only', 'nothing')
    assert done.returncode == 1 and done.stderr.startswith('hostile: error: nothing: no such ')


def test_a_disk_is_slow_and_stops(tmp_path):
    try:
        with Disk(300, tmp_path) as disk:
            assert disk.volume.iops == 300
            disk.stop()
            disk.stop(False)
    except NotHere as error:
        pytest.skip(': '.join(error.lines))


OK = {'start': 'ok', 'rows': 'ok'}
BAD = {'start': 'the server died (signal 9)'}


@pytest.mark.parametrize('vanilla, series, verdict', [
    ((OK,), (OK,), SAME),
    ((BAD,), (BAD,), SAME),
    ((BAD,), (OK,), BETTER),
    ((OK,), (BAD,), WORSE),
    ((OK,), ({'start': 'ok'},), WORSE),
    (({'start': BAD['start'], 'later': 'ok'},), (BAD,), WORSE),
    ((OK, {'sum': 1}), (OK, {'sum': 1}), SAME),
    ((OK, {'sum': 1}), (OK, {'sum': 2}), WORSE),
    ((OK, {}, {'gap': 10}), (OK, {}, {'gap': 12}), SAME),
    ((OK, {}, {'gap': 10}), (OK, {}, {'gap': 16}), WORSE),
    ((OK, {}, {'room': 10}), (OK, {}, {'room': 9}), SAME),
    ((OK, {}, {'room': 10}), (OK, {}, {'room': 8}), WORSE)])
def test_the_verdict(vanilla, series, verdict):
    scenario = Scenario('any', '', None, bounds={'gap': lambda gap: 1.5 * gap,
                                                 'room at least': lambda room: .9 * room})
    assert judge(scenario, Outcome(*vanilla), Outcome(*series))[0] == verdict


def test_some_things_must_be_survived_though_vanilla_does_not():
    scenario = Scenario('any', '', None, must=True)
    assert judge(scenario, Outcome(BAD), Outcome(OK))[0] == BETTER
    assert judge(scenario, Outcome(BAD), Outcome(BAD))[0] == WORSE
