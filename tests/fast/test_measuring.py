"""The parts of the benchmark runner that need no server: statistics, sysbench's output, results, names of builds."""
import copy
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from conftest import TOP, TREE
from millrace import series
from millrace_bench import builds, limits, progress, result, runner, server, stats, suites, sysbench, training
from millrace_bench.case import Case, Context, Scale
from millrace_bench.client import SqlError
from millrace_bench.errors import BenchError

OUTPUT = (Path(__file__).parent / 'data/sysbench-read-write.txt').read_text()


@pytest.mark.parametrize('freedom, t95, t99', [
    (1, 12.7062, 63.6567), (2, 4.30265, 9.92484), (3, 3.18245, 5.84091), (4, 2.77645, 4.60409), (5, 2.57058, 4.03214),
    (10, 2.22814, 3.16927), (30, 2.04227, 2.75000), (120, 1.97993, 2.61742)])
def test_quantiles_of_student(freedom, t95, t99):
    assert stats.t_quantile(0.95, freedom) == pytest.approx(t95, rel=1e-5)
    assert stats.t_quantile(0.99, freedom) == pytest.approx(t99, rel=1e-5)


def test_ratio_and_interval():
    found = stats.compare([1.02, 0.99, 1.05])
    assert found['ratio'] == pytest.approx((1.02 * 0.99 * 1.05) ** (1 / 3))
    assert (found['low'], found['high']) == (pytest.approx(0.947837, abs=1e-6), pytest.approx(1.097024, abs=1e-6))
    assert found['includes_one'] and found['confidence'] == 0.95
    assert not stats.compare([1.10, 1.11, 1.09])['includes_one']
    assert not stats.compare([0.90, 0.91, 0.92])['includes_one']


def test_twice_as_fast_and_half_as_fast_are_as_far_from_one():
    up, down = stats.compare([2.0, 2.2, 1.9]), stats.compare([1 / 2.0, 1 / 2.2, 1 / 1.9])
    assert up['low'] == pytest.approx(1 / down['high']) and up['ratio'] == pytest.approx(1 / down['ratio'])


def test_the_same_runs_have_no_spread():
    found = stats.compare([1.0, 1.0])
    assert (found['low'], found['ratio'], found['high'], found['includes_one']) == (1, 1, 1, True)


def test_percentiles_that_fall_into_the_same_buckets_have_a_spread():
    """Two buckets next to each other are no proof of a difference."""
    buckets = [ms for ms, _ in sysbench.parse(OUTPUT).histogram]
    assert stats.STEP == pytest.approx(min(math.log(high / low) for low, high in zip(buckets[50:], buckets[51:])), rel=0.01)
    runs = [{'build': build, 'round': number, 'value': ms} for build, ms in (('a', buckets[50]), ('b', buckets[51])) for number in (1, 2, 3)]
    [percentile, other] = stats.comparisons(runs, 'a', ['a', 'b'], dict.fromkeys(('p99_ms', 'lock_ms'), lambda run: run['value']))
    assert percentile['ratio'] == other['ratio'] == pytest.approx(math.exp(stats.STEP), abs=5e-4)
    assert percentile['includes_one'] and not other['includes_one']
    # the error of a mean of three, and Student's t of it
    assert math.log(percentile['high'] / percentile['ratio']) == pytest.approx(4.30265 * stats.STEP / math.sqrt(6 * 3), rel=1e-4)
    assert stats.compare([1.0182, 1.0182], step=stats.STEP)['includes_one']
    assert stats.compare([1.02, 0.99, 1.05], step=stats.STEP) == stats.compare([1.02, 0.99, 1.05])


def test_pairs_are_of_one_round_only():
    runs = [{'build': build, 'round': number, 'value': value, 'figures': {'none': 0}} for number, build, value in (
        (1, 'a', 10.0), (1, 'b', 20.0), (2, 'b', 30.0), (2, 'a', 10.0), (3, 'a', 99.0))]
    measures = {'speed': lambda run: run['value'], 'none': lambda run: run['figures']['none']}
    [found] = stats.comparisons(runs, 'a', ['a', 'b'], measures)
    assert (found['base'], found['build'], found['measure'], found['pairs']) == ('a', 'b', 'speed', [2.0, 3.0])
    assert found['ratio'] == pytest.approx(math.sqrt(6))
    assert stats.comparisons(runs[:2], 'a', ['a', 'b'], measures) == []


def test_what_is_0_is_not_compared_and_that_is_said():
    """It may be the whole of a difference: a build that reads nothing beside one that reads."""
    case = Case('scan', 'Scan', 'seconds', 'lower', None, None, 1, compare=('read_bytes', 'write_bytes', 'read_requests'))
    runs = [{'build': build, 'round': number, 'value': 1.0 + number, 'figures': {'read_bytes': read, 'write_bytes': 5}}
            for build, reads in (('a', (7, 7, 7)), ('b', (0, 9, 0))) for number, read in enumerate(reads, 1)]
    found = stats.comparisons(runs, 'a', ['a', 'b'], runner.measures(case))
    assert [one['measure'] for one in found] == ['seconds', 'write_bytes']
    said = runner.summary({'builds': [{'name': 'a'}, {'name': 'b'}], 'cases': [{'runs': runs, 'comparisons': found}]}, [case]).splitlines()
    assert len(said) == 3 and said[2].split() == 'Scan read_bytes b no ratio 0 in 2 of 3 runs'.split()


def test_percentiles():
    assert stats.percentile([4, 1, 3, 2], 0.5) == 2.5
    assert stats.percentile([4, 1, 3, 2], 0) == 1 and stats.percentile([4, 1, 3, 2], 1) == 4
    buckets = [(1.0, 90), (2.0, 5), (3.0, 4), (9.0, 1)]
    assert [stats.histogram_percentile(buckets, share) for share in (0.5, 0.9, 0.95, 0.99, 1)] == [1.0, 1.0, 2.0, 3.0, 9.0]


def test_what_sysbench_prints():
    found = sysbench.parse(OUTPUT)
    assert (found.transactions, found.seconds, found.errors) == (1413, 1.0108, 0)
    assert found.intervals == [(1, 1392.80)]
    assert (len(found.histogram), found.histogram[0], found.histogram[-1]) == (157, (1.044, 1), (53.850, 1))
    assert sum(count for _, count in found.histogram) == found.transactions
    # sysbench itself says 21.11, within the bucket
    assert found.latency()['p95_ms'] == pytest.approx(21.11, rel=0.02)


def test_several_runs_are_one():
    first, second = sysbench.parse(OUTPUT), sysbench.Result(587, 2.0, 3, [(1, 290.0), (2, 297.0)], [(0.5, 500), (53.850, 87)], 'second')
    first.processor, second.processor = {'cpu': 1.5, 'user': 1.0}, {'cpu': 0.5, 'user': 0.25}
    both = sysbench.together([first, second])
    assert (both.transactions, both.seconds, both.errors) == (2000, pytest.approx(3.0108), 3)
    assert both.intervals == [(1, 1392.80), (2, 290.0), (3, 297.0)] and both.processor == {'cpu': 2.0, 'user': 1.25}
    assert sum(count for _, count in both.histogram) == 2000
    assert (len(both.histogram), both.histogram[0], both.histogram[-1]) == (158, (0.5, 500), (53.850, 88))
    assert both.text == first.text + '\nsecond'


class Bursts:
    """A context whose server does nothing, and whose bursts each take as long as they were asked to."""

    def __init__(self, seconds, clock):
        self.scale, self.clock, self.number = Scale(seconds), clock, 0
        self.measured = lambda *arguments, **figures: Context.measured(self, *arguments, **figures)

    def start(self):
        """A server that has created 500 undo segments by the end."""
        connection, created = MagicMock(), iter((0, 500))
        return types.SimpleNamespace(data='/nowhere', connect=lambda *_: connection, status=lambda: {
            'innodb_undo_truncations': 0, 'innodb_undo_segments_created': next(created)})

    def load(self, _server, _name, time, **_):
        """A burst of 100 transactions a second, each burst slower than the one before."""
        self.number += 1
        self.clock.now += time
        result = sysbench.Result(100 * time, float(time), 1, histogram=[(float(self.number), 100 * time)], text=f'burst {self.number}',
                                 processor={'cpu': 0.5, 'user': 0.25})
        return result, [(second, 100.0, 0.5, 0, 0) for second in range(1, time + 1)]


def test_all_bursts_of_a_day_count(monkeypatch):
    """Not the last one alone; and each of their seconds stands where it was."""
    clock = types.SimpleNamespace(now=1000.0, monotonic=lambda: clock.now)
    clock.sleep = lambda seconds: setattr(clock, 'now', clock.now + seconds)
    monkeypatch.setattr(suites.suite('undospace'), 'time', clock)
    found = suites.suite('undospace').measure(Bursts(60, clock))
    # six hours of 10 s, half of each a burst
    assert [second for second, *_ in found.timeline] == [10 * hour + second for hour in range(6) for second in range(1, 6)]
    assert (found.figures['transactions'], found.seconds, found.figures['restarted']) == (3000, 30, 6)
    assert found.figures['cpu_ms_per_transaction'] == 1000 * 6 * 0.5 / 3000
    assert found.figures['segments_created_per_transaction'] == 500 / 3000
    assert found.figures['p95_ms'] == 6.0 and found.histogram == [(float(number), 500) for number in range(1, 7)]
    assert [f'burst {number}' in found.text for number in range(1, 7)] == [True] * 6


def test_sysbench_that_did_not_finish():
    with pytest.raises(BenchError, match='did not finish'):
        sysbench.parse(OUTPUT[:400] + '\nFATAL: mysql_stmt_execute() returned error 2013\n')


def a_server(tmp_path, script='exec sleep 60'):
    """A server that is no more than a process with an error log."""
    one = server.Server(types.SimpleNamespace(name='one'), tmp_path, {})
    one.log.write_text('its last words\n')
    one.process = subprocess.Popen(['sh', '-c', script])
    return one


def test_a_load_has_as_long_as_it_was_asked_to_run_and_an_hour(tmp_path, monkeypatch):
    (tmp_path / 'sysbench').write_text('echo of a load; [ "$1" = "${1#*write}" ] || exec sleep 60\n')
    monkeypatch.setattr(sysbench, 'command', lambda: ['sh', str(tmp_path / 'sysbench')])
    monkeypatch.setattr(sysbench, 'LONGEST_SECONDS', 0.2)
    with a_server(tmp_path) as one:
        assert sysbench.run(one, 'oltp_read_only', action='prepare', time=3600) == 'of a load\n'
        with pytest.raises(BenchError, match='(?s)one: sysbench oltp_write_only run did not end in 0.2 s.*stands still.*SIZE.*of a load'):
            sysbench.run(one, 'oltp_write_only')
        begun = time.monotonic()
        with pytest.raises(BenchError, match='did not end in 1.2 s'):
            sysbench.run(one, 'oltp_write_only', time=1)
        assert time.monotonic() - begun > 1


LOST, REFUSED = SqlError(2013, 'Lost connection to server during query', 'SELECT 1'), SqlError(1146, "Table 'x' doesn't exist", 'SELECT 1')
DEATH = r'one: the server died \(signal 11\)\n  its error log:\n  its last words'
# what the server does while a statement of ours fails, the statement's error, and what is said of it
FAILING = [('kill -SEGV $$', LOST, DEATH), ('sleep 0.5; kill -SEGV $$', LOST, DEATH),
           ('exec sleep 60', REFUSED, r"one: {where}: a statement failed\n  error 1146: Table 'x' doesn't exist\n  SELECT 1")]


@pytest.mark.parametrize('script, error, said', FAILING)
def test_a_server_that_dies_under_a_statement_of_ours(script, error, said, tmp_path, monkeypatch):
    """In a case: the error is the server's death, or has build, case and round; and the log is kept."""
    def measure(context):
        context.servers.append(a_server(tmp_path, script))
        raise error
    suite = types.SimpleNamespace(ROUNDS=2, SECONDS=1, SERVER={}, LOAD={}, cases=lambda _: [Case('slow', 'Slow', 'seconds', 'lower', 'data', measure, 1)])
    (tmp_path / 'data').mkdir()
    monkeypatch.setattr(runner.data, 'prepare', lambda *_: (tmp_path / 'data', {}))
    monkeypatch.setattr(sysbench, 'version', lambda: 'none')
    one = types.SimpleNamespace(name='one', root=tmp_path / 'one', describe=lambda: {
        'name': 'one', 'version': '', 'comment': '', 'patches': [], 'sha256': 'ab' * 32})
    run = runner.Runner(suite, 'slow', TREE, '1', [one], tmp_path, tmp_path / 'results')
    with pytest.raises(BenchError, match=said.format(where='slow, round 1')):
        run.run()
    assert re.match(said.format(where='slow, round 1'), run.record['error'])
    assert 'its last words' in subprocess.run(['zcat', run.results.path / 'raw/slow-1-one.log.gz'], text=True, capture_output=True, check=True).stdout


@pytest.mark.parametrize('script, error, said', FAILING)
@pytest.mark.parametrize('which', ['trained', 'beside it'])
def test_a_server_that_dies_under_a_statement_of_the_training(which, script, error, said, tmp_path):
    def started(of_process):
        one = a_server(tmp_path, of_process)
        one.start = lambda: one
        return one
    running = []
    with pytest.raises(BenchError, match=said.format(where='workload scan')), \
            training.ended(started(script if which == 'trained' else 'exec sleep 60'), running, 'one: workload scan'), \
            training.ended(started(script if which != 'trained' else 'exec sleep 60'), running, 'one: workload scan'):
        time.sleep(0.7)
        raise error
    assert running == []


def test_the_builds_take_turns():
    assert runner.order(['a', 'b', 'c'], 1) + runner.order(['a', 'b', 'c'], 2) == ['a', 'b', 'c', 'c', 'b', 'a']


def some_result():
    return json.loads((Path(__file__).parent / 'data/result.json').read_text())


def test_the_schema_takes_a_real_result():
    assert result.faults(some_result(), json.loads(result.SCHEMA.read_text())) == []


@pytest.mark.parametrize('spoil, words', [
    (lambda r: r.pop('machine'), 'result: no machine'),
    (lambda r: r.update(format=2), 'result.format: 2 is not 1'),
    (lambda r: r.update(complete='yes'), 'result.complete: "yes" is not boolean'),
    (lambda r: r.update(extra=1), 'result: unknown member extra'),
    (lambda r: r['machine'].update(cores=0), 'result.machine.cores: 0 is less than 1'),
    (lambda r: r['limit'].update(by='magic'), 'result.limit.by: \'magic\' is none of'),
    (lambda r: r['builds'][0].update(sha256='x'), 'result.builds[0].sha256: \'x\' does not match'),
    (lambda r: r['cases'][0]['runs'][1]['figures'].update(p95_ms=None), 'result.cases[0].runs[1].figures.p95_ms: null is not number'),
    (lambda r: r['cases'][0]['comparisons'][0].update(pairs=[1.0]), 'pairs: 1 members, fewer than 2'),
])
def test_the_schema_refuses(spoil, words):
    spoiled = copy.deepcopy(some_result())
    spoil(spoiled)
    assert any(words in fault for fault in result.faults(spoiled, json.loads(result.SCHEMA.read_text())))


def test_every_result_that_is_kept_is_what_the_schema_says():
    for path in sorted((TOP / 'test-results').glob('*/result.json')):
        kept = json.loads(path.read_text())
        result.validate(kept)
        for run in (run for case in kept['cases'] for run in case['runs']):
            for name in [run['timeline'], run['histogram'], *run['logs']]:
                assert name is None or (path.parent / name).is_file(), f'{path.parent.name}: {name} is missing'
        assert str(TOP) not in path.read_text()


def test_a_log_names_no_place_of_the_machine(tmp_path):
    results = result.ResultSet(tmp_path / 'r', 'x', {tmp_path / 'work': 'WORK'})
    name = results.log('a', f'in {tmp_path}/work/run and /tmp/millrace-bench-abc_12/s')
    text = subprocess.run(['zcat', results.path / name], capture_output=True, text=True, check=True).stdout
    assert text == 'in WORK/run and RUN/s'
    assert result.ResultSet(tmp_path / 'r', 'x', {}).path.name == 'x-2'


@pytest.mark.parametrize('name', suites.NAMES)
def test_suites(name):
    suite = suites.suite(name)
    cases = suite.cases(Scale(suite.SECONDS))
    assert suite.__doc__ and suite.TITLE and len({case.name for case in cases}) == len(cases) > 0
    assert f' {name}' in (TOP / 'Makefile').read_text()
    # two builds, without the preparation of the data
    assert sum(case.estimate for case in cases) * suite.ROUNDS * 2 < 15 * 60


def pools(name, size):
    """MiB of the buffer pool and rows of sysbench's tables, of each case of a suite at a size."""
    suite = suites.suite(name)
    return {case.name: (int({**suite.SERVER, **case.options}['innodb_buffer_pool_size'].removesuffix('M')),
                        case.data.made_from.get('tables', 1) * case.data.made_from['rows']) for case in suite.cases(Scale(1, size))}


@pytest.mark.parametrize('size', [0.5, 1, 3, 20])
@pytest.mark.parametrize('name, mib', [('scan', 64), ('contention', 64), ('oltp', 1024), ('unseen', 512)])
def test_a_pool_has_the_same_part_in_the_data_at_every_size(name, mib, size):
    """A quarter of them, or all; not less than all of them where there are few."""
    usual, found = pools(name, 1), pools(name, size)
    least = mib if name in ('oltp', 'unseen') else 0
    assert {pool for pool, _ in usual.values()} == {mib} and {pool for pool, _ in found.values()} == {max(least, mib * size)}
    assert {case: rows for case, (_, rows) in found.items()} == {case: rows * size for case, (_, rows) in usual.items()}


@pytest.mark.parametrize('name, words', [
    ('plain:debian', ['plain:debian: no such build', 'plain:<one of the first four>']),
    ('plain:only:nothing', ['nothing']),
    ('vanila', ['vanila: no such build', 'known: vanilla, millrace']),
    ('only:nix', ["no patch 'nix' in the series", 'known patches: ']),
    ('without:nix', ['without:nix: no patch nix in the series', 'known patches: ']),
    ('/no/such/place', ['/no/such/place: no such directory']),
    (str(TOP / 'docs'), ['the server program is not in', 'a build is a directory']),
])
def test_builds_that_are_none(name, words, tmp_path):
    with pytest.raises(BenchError) as error:
        builds.resolve(name, TREE, tmp_path)
    assert all(word in str(error.value) for word in words)


@pytest.fixture
def key(checkout, tmp_path, monkeypatch):
    """The hash by which a build of the whole series in a copy of the project is known, with compilers that can be changed."""
    monkeypatch.setattr(builds, 'TOP', checkout.path)
    for variable in ('VERSION', 'PATCHES', 'CC', 'CXX'):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / 'bin').mkdir()
    for name in ('cc', 'c++'):
        (tmp_path / 'bin' / name).write_text(f'#!/bin/sh\necho {name} 12.2.0\n')
        (tmp_path / 'bin' / name).chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}/bin:{os.environ["PATH"]}')
    return lambda plain=False: builds._made_from(builds._road(TREE, None, plain))


def test_a_build_is_known_by_all_that_it_is_made_from(key, checkout, tmp_path):
    patch = f'patches/{TREE}/{series.names(TREE)[0]}.patch'
    steps = [f'build/{name}' for name in ('lib.sh', 'cached-compiler', 'tarball', 'server.cmake', 'layout-tarball.cmake')]
    with_profile = ['build/with-profile', 'build/profiled-compiler', f'profiles/{TREE}-gcc12.tar.xz']
    for plain in (False, True):
        for path in (f'trees/{TREE}.conf', patch, *steps, *with_profile, '../bin/cc', '../bin/c++'):
            file = checkout.path / path
            was, before = file.read_bytes(), key(plain)
            file.write_bytes(was + b'\n#\necho changed\n' if file.parent.name == 'bin' else was + b'\n# changed\n')
            assert (key(plain) != before) == (not plain or path not in with_profile), path
            file.write_bytes(was)
            assert key(plain) == before
        assert key(plain=False) != key(plain=True)


def test_a_build_of_a_release_that_is_coming_is_known_by_its_own_patches(key, checkout, monkeypatch):
    """While a rebase is open."""
    home, name = checkout.path / f'work/{TREE}/rebase-{TREE}.99', series.names(TREE)[0]
    shutil.copytree(checkout.path / f'patches/{TREE}', home / 'patches')
    shutil.copy(checkout.path / 'series', home / 'series')
    checkout.write(home / 'tree.conf', (checkout.path / f'trees/{TREE}.conf').read_text() + f'VERSION={TREE}.99\n')
    pinned = key()
    monkeypatch.setenv('VERSION', f'{TREE}.99')
    before = key()
    assert before != pinned
    for file, changes in ((checkout.path / f'patches/{TREE}/{name}.patch', False), (home / f'patches/{name}.patch', True), (home / 'tree.conf', True)):
        file.write_text(file.read_text() + '\n# changed\n')
        assert (key() != before) == changes, file
        before = key()


def test_a_limit_where_no_disk_is():
    with pytest.raises(BenchError, match='(?s)IOPS=3000.*no disk stands behind'), limits.Limit(3000, '/proc'):
        pass


@pytest.mark.parametrize('name, text, counted', [
    ('blkio.throttle.io_serviced', '254:0 Read 3\n254:0 Write 4\n254:0 Sync 7\n254:0 Total 7\n7:0 Read 9\nTotal 16\n', (3, 4)),
    ('blkio.throttle.io_serviced', '254:0 Read 0\n254:0 Write 0\nTotal 0\n', (0, 0)),
    ('blkio.throttle.io_serviced', 'Total 0\n', ()),
    ('io.stat', '254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n', (1, 0)),
    ('io.stat', '7:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n', ())])
def test_requests_that_are_not_counted_are_not_0(name, text, counted, tmp_path):
    limit = limits.Limit(None, '/proc')
    limit.group, limit.device = tmp_path, '254:0'
    (tmp_path / name).write_text(text)
    assert limit.requests() == dict(zip(('read_requests', 'write_requests'), counted))


def test_progress(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(progress, 'time', types.SimpleNamespace(monotonic=lambda: now))
    stream = io.StringIO()
    shown = progress.Progress([10, 10, 20], stream)
    shown.start('first')
    assert stream.getvalue() == 'bench: 1/3 first, 40 s left\n'
    now += 20    # twice what was thought
    shown.finish()
    assert shown.left() == pytest.approx(60)
    now += 5
    assert shown.left() == pytest.approx(55)
    assert [progress.words(seconds) for seconds in (5, 65, 3600, -1)] == ['5 s', '1 min 05 s', '60 min 00 s', '0 s']


@pytest.mark.parametrize('arguments, words', [
    (['--seconds', '0'], '0 is less than 1'), (['--seconds', 'x'], "invalid int value: 'x'"), (['--size', '0'], 'less than 0.001')])
def test_the_training_refuses(arguments, words):
    done = subprocess.run([TOP / 'bench/train', *arguments, '--check', '/no/such/place'], text=True, capture_output=True, check=False)
    assert done.returncode == 2 and words in done.stderr and 'Traceback' not in done.stderr


@pytest.mark.parametrize('arguments, words', [
    (['--suite', 'nix'], 'invalid choice'), (['--builds', 'a a'], 'each once'), (['--builds', 'vanilla only:nix'], "no patch 'nix'"), (['--rounds', '0'], 'less than 1')])
def test_the_command_refuses(arguments, words):
    done = subprocess.run([TOP / 'bench/run', *arguments], text=True, capture_output=True, check=False)
    assert done.returncode and words in done.stderr and 'Traceback' not in done.stderr


@pytest.mark.parametrize('sent, ignored, status', [
    (signal.SIGINT, (), 130), (signal.SIGTERM, (), 130), (signal.SIGHUP, (), 130),
    (signal.SIGTERM, (signal.SIGINT, signal.SIGHUP, signal.SIGTERM), 130),    # a background job of a script
    (signal.SIGHUP, (signal.SIGHUP,), 0)])    # nohup
def test_signals(sent, ignored, status):
    program = f'import sys; sys.path.insert(0, "{TOP}/bench")\nfrom millrace_bench import command\ncommand.run("x", lambda _: print("up", flush=True) or input())'
    with subprocess.Popen([sys.executable, '-c', program], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: [signal.signal(name, signal.SIG_IGN if name in ignored else signal.SIG_DFL)
                                              for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]) as process:
        assert process.stdout.readline() == 'up\n'
        process.send_signal(sent)
        _, errors = process.communicate('\n' if not status else None, timeout=60)
    assert (process.returncode, errors) == (status, 'x: interrupted\n' if status else '')


@pytest.fixture
def hanging(tmp_path):
    """An unpacked server whose program writes its process into `up` beside it, and then does what stands in `then`."""
    root = tmp_path / 'hanging'
    for name in ('bin/mariadbd', 'share/english/errmsg.sys', 'share/mariadb_system_tables.sql', 'share/mariadb_performance_tables.sql'):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f'#!/bin/sh\necho $$ > {root}/new; mv {root}/new {root}/up; . {root}/then\n')
        (root / name).chmod(0o755)
    (root / 'then').write_text('exec sleep 60\n')
    return root


COMMANDS = {'run': lambda server, place: ['run', '--suite', 'undo', '--builds', server, '--data', place, '--results', place / 'results'],
            'check': lambda server, place: ['train', '--check', server],
            'train': lambda server, place: ['train', '--server', server, '--objects', server]}


@pytest.mark.parametrize('name', COMMANDS)
@pytest.mark.parametrize('how', ['interrupted', 'failed'])
def test_nothing_is_left_of_a_command_that_did_not_come_to_its_end(name, how, hanging, tmp_path):
    """SIGTERM also where SIGINT is ignored, as in a background job of a script."""
    if how == 'failed':
        (hanging / 'then').write_text('exit 7\n')
    command, *arguments = COMMANDS[name](hanging, tmp_path / 'place')
    with subprocess.Popen([TOP / 'bench' / command, '--tree', TREE, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as process:
        while not (hanging / 'up').exists():
            assert process.poll() is None or how == 'failed', process.stderr.read()
            time.sleep(0.02)
        if how == 'interrupted':
            process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if how == 'interrupted' else 1) and 'Traceback' not in errors, errors
    assert ('interrupted' if how == 'interrupted' else 'the data directory cannot be made') in errors
    assert not Path('/proc', (hanging / 'up').read_text().strip()).exists()
    assert not list((TOP / 'work').glob(f'training-*-{process.pid}'))
    if name == 'run':
        [path] = (tmp_path / 'place/results').glob('*/result.json')
        assert json.loads(path.read_text())['complete'] is False
        assert list((tmp_path / 'place/data').iterdir()) == [] and not (tmp_path / 'place/run').exists()
