"""The parts of the benchmark runner that need no server: statistics, sysbench's output, results,
names of builds."""
import csv
import gzip
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import types
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from conftest import TOP, TREE
from millrace import progress
from millrace.errors import Failure
from millrace.patches import series
from millrace_bench import builds, suites
from millrace_bench.builds import made
from millrace_bench.measure import case as parts
from millrace_bench.measure import data, limits, result, runner, server, stats, sysbench
from millrace_bench.measure.case import Case, Scale, Suite
from millrace_bench.measure.client import SqlError
from millrace_bench.run import chosen_cases
from millrace_bench.suites import bulk, contention, iibench, undospace
from millrace_bench.train import training
from millrace_bench.train import __main__ as train

OUTPUT = (Path(__file__).parent / 'data/sysbench-read-write.txt').read_text()


@pytest.mark.parametrize('freedom, t95, t99', [
    (1, 12.7062, 63.6567), (2, 4.30265, 9.92484), (3, 3.18245, 5.84091), (4, 2.77645, 4.60409),
    (5, 2.57058, 4.03214), (10, 2.22814, 3.16927), (30, 2.04227, 2.75000),
    (120, 1.97993, 2.61742)])
def test_quantiles_of_student(freedom, t95, t99):
    assert stats.t_quantile(0.95, freedom) == pytest.approx(t95, rel=1e-5)
    assert stats.t_quantile(0.99, freedom) == pytest.approx(t99, rel=1e-5)


def test_ratio_and_interval():
    found = stats.compare([1.02, 0.99, 1.05])
    assert found['ratio'] == pytest.approx((1.02 * 0.99 * 1.05) ** (1 / 3))
    assert found['low'] == pytest.approx(0.947837, abs=1e-6)
    assert found['high'] == pytest.approx(1.097024, abs=1e-6)
    assert found['includes_one'] and found['confidence'] == 0.95
    assert not stats.compare([1.10, 1.11, 1.09])['includes_one']
    assert not stats.compare([0.90, 0.91, 0.92])['includes_one']


def test_twice_as_fast_and_half_as_fast_are_as_far_from_one():
    up, down = stats.compare([2.0, 2.2, 1.9]), stats.compare([1 / 2.0, 1 / 2.2, 1 / 1.9])
    assert up['low'] == pytest.approx(1 / down['high'])
    assert up['ratio'] == pytest.approx(1 / down['ratio'])


def test_the_same_runs_have_no_spread():
    found = stats.compare([1.0, 1.0])
    assert (found['low'], found['ratio'], found['high']) == (1, 1, 1) and found['includes_one']


def test_percentiles_that_fall_into_the_same_buckets_have_a_spread():
    """Two buckets next to each other are no proof of a difference."""
    buckets = [ms for ms, _ in sysbench.parse(OUTPUT).histogram]
    steps = [math.log(high / low) for low, high in zip(buckets[50:], buckets[51:])]
    assert stats.STEP == pytest.approx(min(steps), rel=0.01)
    runs = [{'build': build, 'round': number, 'value': ms}
            for build, ms in (('a', buckets[50]), ('b', buckets[51])) for number in (1, 2, 3)]
    measures = dict.fromkeys(('p99_ms', 'lock_ms'), lambda run: run['value'])
    [percentile, other] = stats.comparisons(runs, 'a', ['a', 'b'], measures)
    assert percentile['ratio'] == other['ratio'] == pytest.approx(math.exp(stats.STEP), abs=5e-4)
    assert percentile['includes_one'] and not other['includes_one']
    # the error of a mean of three, and Student's t of it
    reach = math.log(percentile['high'] / percentile['ratio'])
    assert reach == pytest.approx(4.30265 * stats.STEP / math.sqrt(6 * 3), rel=1e-4)
    assert stats.compare([1.0182, 1.0182], step=stats.STEP)['includes_one']
    usual = stats.compare([1.02, 0.99, 1.05])
    assert stats.compare([1.02, 0.99, 1.05], step=stats.STEP) == usual


def test_pairs_are_of_one_round_only():
    runs = [{'build': build, 'round': number, 'value': value, 'figures': {'none': 0}}
            for number, build, value in ((1, 'a', 10.0), (1, 'b', 20.0), (2, 'b', 30.0),
                                         (2, 'a', 10.0), (3, 'a', 99.0))]
    measures = {'speed': lambda run: run['value'],
                'none': lambda run: run['figures']['none']}
    [found] = stats.comparisons(runs, 'a', ['a', 'b'], measures)
    assert (found['base'], found['build'], found['measure']) == ('a', 'b', 'speed')
    assert found['pairs'] == [2.0, 3.0]
    assert found['ratio'] == pytest.approx(math.sqrt(6))
    assert stats.comparisons(runs[:2], 'a', ['a', 'b'], measures) == []


class Reads(Case):
    """A case that compares some figures."""
    name, title, unit, better = 'scan', 'Scan', 'seconds', 'lower'
    compare, estimate = ('read_bytes', 'write_bytes', 'read_requests'), 1


def test_a_measure_that_is_0_is_listed_without_a_ratio():
    """It may be the whole of a difference: a build that reads nothing beside one that reads."""
    case = Reads()
    runs = [{'build': build, 'round': number, 'value': 1.0 + number,
             'figures': {'read_bytes': read, 'write_bytes': 5}}
            for build, reads in (('a', (7, 7, 7)), ('b', (0, 9, 0)))
            for number, read in enumerate(reads, 1)]
    compared = stats.comparisons(runs, 'a', ['a', 'b'], case.values())
    assert [one['measure'] for one in compared] == ['seconds', 'write_bytes']
    record = {'builds': [{'name': 'a'}, {'name': 'b'}],
              'cases': [{'runs': runs, 'comparisons': compared}]}
    lines = runner.summary(record, [case]).splitlines()
    assert len(lines) == 3
    assert lines[2].split() == 'Scan read_bytes b no ratio 0 in 2 of 3 runs'.split()


def test_percentiles():
    assert stats.percentile([4, 1, 3, 2], 50) == 2.5
    assert stats.percentile([4, 1, 3, 2], 1) == pytest.approx(1.03)
    assert stats.percentile([4, 1, 3, 2], 99) == pytest.approx(3.97)
    assert stats.percentile([7], 1) == 7
    buckets = [(1.0, 90), (2.0, 5), (3.0, 4), (9.0, 1)]
    assert [stats.histogram_percentile(buckets, share) for share in (0.5, 0.9, 0.95, 0.99, 1)] \
        == [1.0, 1.0, 2.0, 3.0, 9.0]


def test_what_sysbench_prints():
    found = sysbench.parse(OUTPUT)
    assert (found.transactions, found.seconds, found.errors) == (1413, 1.0108, 0)
    assert (len(found.histogram), found.histogram[0]) == (157, (1.044, 1))
    assert found.histogram[-1] == (53.850, 1)
    assert sum(count for _, count in found.histogram) == found.transactions
    # sysbench itself says 21.11, within the bucket
    assert found.latency()['p95_ms'] == pytest.approx(21.11, rel=0.02)


def test_several_runs_are_one():
    first = sysbench.parse(OUTPUT)
    second = sysbench.Result(587, 2.0, 3, [(0.5, 500), (53.850, 87)], 'second')
    first.processor, second.processor = {'cpu': 1.5, 'user': 1.0}, {'cpu': 0.5, 'user': 0.25}
    both = sysbench.sum_results([first, second])
    assert (both.transactions, both.seconds, both.errors) == (2000, pytest.approx(3.0108), 3)
    assert both.processor == {'cpu': 2.0, 'user': 1.25}
    assert sum(count for _, count in both.histogram) == 2000
    assert (len(both.histogram), both.histogram[0]) == (158, (0.5, 500))
    assert both.histogram[-1] == (53.850, 88)
    assert both.text == first.text + '\nsecond'


class Bursts:
    """A context whose server does nothing, and whose bursts each take the time they are given."""

    def __init__(self, seconds, clock):
        self.scale, self.clock, self.number = Scale(seconds), clock, 0

    def start(self):
        """A server that has created 500 undo segments by the end."""
        connection, created = MagicMock(), iter((0, 500))
        connection.__enter__.return_value.query = \
            lambda text: [(str(next(created)), '0', '0')] if 'innodb_rseg' in text else []
        return types.SimpleNamespace(data='/nowhere', connect=lambda *_: connection,
                                     status=lambda: {'innodb_undo_truncations': 0})

    def load(self, _server, _name, time, **_):
        """A burst of 100 transactions a second, each burst slower than the one before."""
        self.number += 1
        self.clock.now += time
        burst = sysbench.Result(
            100 * time, float(time), 1, histogram=[(float(self.number), 100 * time)],
            text=f'burst {self.number}', processor={'cpu': 0.5, 'user': 0.25})
        return burst, [(second, 100.0, 0.5, 0, 0) for second in range(1, time + 1)]


def test_all_bursts_of_a_day_count(monkeypatch):
    """Not the last one alone; and each of their seconds stands where it was."""
    clock = types.SimpleNamespace(now=1000.0, monotonic=lambda: clock.now)
    clock.sleep = lambda seconds: setattr(clock, 'now', clock.now + seconds)
    monkeypatch.setattr(undospace, 'time', clock)
    monkeypatch.setattr(sysbench, 'version', lambda: 'none')
    found = undospace.Day(Scale(60)).measure(Bursts(60, clock))
    # six hours of 10 s, half of each a burst
    assert [second for second, *_ in found.timeline] \
        == [10 * hour + second for hour in range(6) for second in range(1, 6)]
    assert (found.figures['transactions'], found.seconds) == (3000, 30)
    assert found.figures['restarted'] == 6
    assert found.figures['cpu_ms_per_transaction'] == 1000 * 6 * 0.5 / 3000
    assert found.figures['segments_created_per_transaction'] == 500 / 3000
    assert found.figures['p95_ms'] == 6.0
    assert found.histogram == [(float(number), 500) for number in range(1, 7)]
    assert [f'burst {number}' in found.text for number in range(1, 7)] == [True] * 6


def test_a_reader_keeps_its_view_for_two_of_three_hours():
    opened = []
    reader = undospace.Reader(types.SimpleNamespace(
        connect=lambda _: opened.append(MagicMock()) or opened[-1]))
    seen = []
    for hour in range(7):
        reader.hour(hour)
        seen.append((len(opened), reader.connection is not None))
    assert seen == [(1, True), (1, True), (1, False), (2, True), (2, True), (2, False), (3, True)]
    assert [connection.close.called for connection in opened] == [True, True, False]


class Machine:
    """A disk, a control group and processes that have counted so much, as a context of Work."""

    def __init__(self, monkeypatch):
        self.data, self.limit = '/proc', self
        self.disk, self.group, self.children, self.own = 100, 1000, 10, 1
        monkeypatch.setattr(parts.machine, 'device_counts', lambda _: {'device_reads': self.disk})
        monkeypatch.setattr(parts, 'ended', lambda: {'cpu_seconds': self.children})

    def requests(self):
        return {'read_requests': self.group}

    def server(self):
        """A running server that has counted `own` of everything."""
        counters = [name for names in parts.OWN_COUNTERS.values() for name in names]
        return types.SimpleNamespace(
            process=True, counts=lambda: {'cpu_seconds': self.own, 'read_requests': self.group},
            status=lambda: {name: self.own for name in counters})

    def work(self):
        """Works: 5 of everything."""
        self.disk, self.group, self.own = self.disk + 5, self.group + 5, self.own + 5


@pytest.fixture
def counted(monkeypatch):
    return Machine(monkeypatch)


def test_a_piece_of_work_takes_what_was_counted_meanwhile(counted):
    with parts.Work(counted, counted.server()) as work:
        counted.work()
        counted.children += 7    # a client: not the server's
    assert work.figures == {**dict.fromkeys(parts.OWN_COUNTERS, 5), 'pages_by_read_ahead': 10,
                            'read_requests': 5, 'device_reads': 5, 'cpu_seconds': 5}
    assert work.measurement(more=1).figures == {**work.figures, 'more': 1}
    assert work.measurement(value=3).seconds == 3


def test_a_server_that_the_work_starts_counts_from_its_start(counted):
    with parts.Work(counted) as work:
        work.server = counted.server()
        counted.work()
    assert (work.figures['pages_read'], work.figures['cpu_seconds']) == (6, 6)
    assert (work.figures['read_requests'], work.figures['device_reads']) == (5, 5)


def test_a_server_that_the_work_ends_counts_to_its_end(counted):
    server = counted.server()
    with parts.Work(counted, server, programs=True) as work:
        counted.work()
        server.process = None
        counted.children += counted.own
    assert work.figures == {'read_requests': 5, 'device_reads': 5, 'cpu_seconds': 5}


def test_a_program_that_the_work_runs_counts(counted):
    with parts.Work(counted, counted.server(), programs=True) as work:
        counted.work()
        counted.children += 7
    assert work.figures['cpu_seconds'] == 5 + 7


class Answers(list):
    """A connection that answers one statement after the other."""

    def query(self, _):
        return self.pop(0)


@pytest.mark.parametrize('rows, answers, said', [
    (10, [[], [('10',)]], None), (10, [[], [('9',)]], '9 rows were changed, and not 10'),
    (None, [[('bench.t', 'check', 'status', 'OK')]], None),
    (None, [[('bench.t', 'check', 'error', 'Corrupt')]], 'Corrupt'),
    (None, [[('bench.t', 'check', 'warning', 'wrong count')]], 'wrong count')])
def test_a_piece_of_work_that_went_wrong_gives_no_figure(rows, answers, said):
    piece = bulk.Piece('a', 'a', None, Scale(1), 'do', rows)
    server = types.SimpleNamespace(build=types.SimpleNamespace(name='one'))
    if said is None:
        piece.piece(None, server, Answers(answers))
    else:
        with pytest.raises(Failure, match=said):
            piece.piece(None, server, Answers(answers))


def test_inserts_are_counted_in_rows(counted, monkeypatch):
    """In the table, and over time by the load; a row that is missing gives no figure."""
    server, rows = counted.server(), iter((2000, 1999))
    server.build = types.SimpleNamespace(name='one')
    monkeypatch.setattr(iibench, 'last_id', lambda _: 10)
    monkeypatch.setattr(iibench, 'rows_after', lambda *_: next(rows))
    counted.start, counted.warm_up = lambda: server, lambda *_, **__: None

    def load(*_, **__):
        counted.work()
        return sysbench.Result(20, 4.0, 0), [(n, rate, 0.5, 0, 0)
                                             for n, rate in enumerate((8, 6, 4, 2), 1)]
    counted.load = load
    inserts = iibench.Iibench(Scale(4)).cases()[0]
    found = inserts.measure(counted)
    assert (found.value, found.seconds) == (500, 4)
    assert [rate for _, rate, *_ in found.timeline] == [800, 600, 400, 200]
    assert found.figures['last_quarter_rows_per_second'] == 200
    assert found.figures['worst_over_mean'] == 0.4
    assert found.figures['read_requests_per_row'] == 5 / 2000
    with pytest.raises(Failure, match='1999 rows are there'):
        inserts.measure(counted)


def test_a_build_that_lacks_a_program(tmp_path):
    for name in ('bin/mariadbd', 'share/english/errmsg.sys', 'usr/bin/mariadb-dump'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    build = builds.Build('one', tmp_path)
    assert build.program('mariadb-dump') == [str(tmp_path / 'usr/bin/mariadb-dump')]
    with pytest.raises(Failure, match='one: mariadb-backup is not in '):
        build.program('mariadb-backup')


def test_the_accounting_of_mutexes():
    """The difference of two snapshots, by page and by transaction."""
    def shot(pages, ahead, **mutexes):
        return contention.Snapshot(mutexes, {'innodb_pages_read': pages,
                                             'innodb_buffer_pool_read_ahead': ahead})
    before = shot(100, 10, buf_pool_mutex=(1000, 5_000_000), trx_sys_mutex=(7, 7))
    after = shot(150, 20, buf_pool_mutex=(1200, 105_000_000), trx_sys_mutex=(7, 7),
                 fil_system_mutex=(50, 1_000_000))
    figures = contention.accounting(before, after, {'buf_pool_mutex': 0.1}, 10)
    assert figures == {
        'pages_read': 50, 'read_ahead_per_page': 0.2, 'buf_pool_mutex_acquisitions': 200,
        'buf_pool_mutex_ms': 0.1, 'buf_pool_acquisitions_per_page': 4,
        'buf_pool_us_per_page': 2, 'buf_pool_waits_per_page': pytest.approx(0.4),
        'fil_system_mutex_acquisitions': 50, 'fil_system_mutex_ms': 0.001,
        'fil_system_acquisitions_per_page': 1, 'fil_system_us_per_page': pytest.approx(0.02),
        'fil_system_waits_per_page': 0,
        'acquisitions_per_transaction': 25, 'mutex_us_per_transaction': pytest.approx(10.1)}
    assert contention.accounting(before, after, {}, 0)['acquisitions_per_transaction'] == 250


def test_sysbench_that_did_not_finish():
    with pytest.raises(Failure, match='did not finish'):
        sysbench.parse(OUTPUT[:400] + '\nFATAL: mysql_stmt_execute() returned error 2013\n')


def a_server(tmp_path, script='exec sleep 60'):
    """A server that is no more than a process with an error log."""
    one = server.Server(types.SimpleNamespace(name='one'), tmp_path / 'run', {})
    one.log.write_text('its last words\n')
    one.process = subprocess.Popen(['sh', '-c', script])
    return one


def test_temporary_files_lie_on_the_disk_of_the_data(tmp_path):
    """In a directory of their own beside the data, which goes with the server."""
    program = tmp_path / 'mariadbd'
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\n')
    program.chmod(0o755)
    build = types.SimpleNamespace(name='one', command=[str(program)], places=lambda: [])
    (tmp_path / 'work').mkdir()
    with server.Server(build, tmp_path / 'work/run', {}) as one:
        one.launch()
        one.process.wait(60)
        [given] = [line.removeprefix('--tmpdir=') for line in
                   (tmp_path / 'given').read_text().splitlines() if line.startswith('--tmpdir=')]
        assert Path(given).is_dir() and Path(given).parent == tmp_path / 'work'
        assert not Path(given).is_relative_to(tmp_path / 'work/run')
    assert list((tmp_path / 'work').iterdir()) == []


def test_a_copy_shares_nothing_with_the_original(tmp_path, monkeypatch):
    """A shared extent would be copied at its first write, while it is measured."""
    (tmp_path / 'prepared').mkdir()
    (tmp_path / 'prepared/ibdata1').write_text('pages')
    commands, run = [], subprocess.run
    monkeypatch.setattr(data.subprocess, 'run',
                        lambda command, **how: commands.append(command) or run(command, **how))
    (tmp_path / 'run.tmp-12345678').mkdir()
    data.copy(tmp_path / 'prepared', tmp_path / 'run')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['prepared', 'run']
    assert [command[0] for command in commands] == ['cp'] and '--reflink=never' in commands[0]
    assert (tmp_path / 'run/ibdata1').read_text() == 'pages'


def test_a_load_has_as_long_as_it_was_asked_to_run_and_an_hour(tmp_path, monkeypatch):
    (tmp_path / 'sysbench').write_text('echo of a load; [ "$1" = "${1#*write}" ]'
                                       ' || exec sleep 60\n')
    monkeypatch.setattr(sysbench, 'command', lambda: ['sh', str(tmp_path / 'sysbench')])
    monkeypatch.setattr(sysbench, 'LONGEST_SECONDS', 0.2)
    with a_server(tmp_path) as one:
        assert sysbench.run(one, 'oltp_read_only', action='prepare', time=3600) == 'of a load\n'
        with pytest.raises(Failure, match='(?s)one: sysbench oltp_write_only run .*in 0.2 s.*'
                                          'SIZE.*of a load'):
            sysbench.run(one, 'oltp_write_only')
        begun = time.monotonic()
        with pytest.raises(Failure, match='in 1.2 s'):
            sysbench.run(one, 'oltp_write_only', time=1)
        assert time.monotonic() - begun > 1


LOST = SqlError(2013, 'Lost connection to server during query', 'SELECT 1')
REFUSED = SqlError(1146, "Table 'x' doesn't exist", 'SELECT 1')
DEATH = r'one: the server died \(signal 11\)\n  its error log:\n  its last words'
# what the server does while a statement of ours fails, the statement's error, and ours
FAILING = [('kill -SEGV $$', LOST, DEATH), ('sleep 0.5; kill -SEGV $$', LOST, DEATH),
           ('exec sleep 60', REFUSED, r"one: {where}: a statement failed\n"
            r"  error 1146: Table 'x' doesn't exist\n  SELECT 1")]


def log_of(path):
    """The log of a result set."""
    return gzip.decompress((path / 'log.gz').read_bytes()).decode()


class Failing(Case):
    """A case whose statement fails while the server does something."""
    name, title, unit, better, data, estimate = 'slow', 'Slow', 'seconds', 'lower', 'data', 1

    def __init__(self, tmp_path, script, error):
        self.tmp_path, self.script, self.error = tmp_path, script, error

    def measure(self, context):
        context.servers.append(a_server(self.tmp_path, self.script))
        raise self.error


class OneCase(Suite):
    """A suite of a case."""
    name, title, rounds, seconds = 'slow', 'Slow', 2, 1

    def __init__(self, case):
        super().__init__(Scale(1))
        self.case = case

    def cases(self):
        return [self.case]


@pytest.mark.parametrize('script, error, said', FAILING)
def test_a_server_that_dies_under_a_statement_of_ours(script, error, said, tmp_path, monkeypatch):
    """In a case: the error is the server's death, or has build, case and round; and the log is
    kept."""
    (tmp_path / 'data').mkdir()
    monkeypatch.setattr(runner.data, 'prepare', lambda *_: (tmp_path / 'data', {}))
    monkeypatch.setattr(sysbench, 'version', lambda: 'none')
    one = types.SimpleNamespace(name='one', root=tmp_path / 'one', describe=lambda: {
        'name': 'one', 'version': '', 'comment': '', 'patches': [], 'sha256': 'ab' * 32})
    suite = OneCase(Failing(tmp_path, script, error))
    run = runner.Runner(runner.Plan(suite, TREE, '1', [one], tmp_path, tmp_path / 'results'))
    with pytest.raises(Failure, match=said.format(where='slow, round 1')):
        run.run()
    assert re.match(said.format(where='slow, round 1'), run.record['error'])
    assert log_of(run.results.path).startswith('=== slow, round 1, one\n')
    assert 'its last words' in log_of(run.results.path)
    assert json.loads((run.results.path / 'result.json').read_text())['complete'] is False


@pytest.mark.parametrize('script, error, said', FAILING)
@pytest.mark.parametrize('which', ['trained', 'beside it'])
def test_a_server_that_dies_under_a_statement_of_the_training(which, script, error, said,
                                                              tmp_path):
    def started(of_process):
        one = a_server(tmp_path, of_process)
        one.start = lambda: one
        return one
    running, where = [], 'one: workload scan'
    scripts = (script, 'exec sleep 60') if which == 'trained' else ('exec sleep 60', script)
    with pytest.raises(Failure, match=said.format(where='workload scan')), \
            training.ended(started(scripts[0]), running, where), \
            training.ended(started(scripts[1]), running, where):
        time.sleep(0.7)
        raise error
    assert running == []


def test_the_builds_take_turns():
    both = runner.order(['a', 'b', 'c'], 1) + runner.order(['a', 'b', 'c'], 2)
    assert both == ['a', 'b', 'c', 'c', 'b', 'a']


def test_a_log_names_no_place_of_the_machine(tmp_path):
    results = result.Writer(tmp_path / 'r', 'x', {tmp_path / 'work': 'WORK'})
    run = f'{tempfile.gettempdir()}/millrace-bench-abc_12'
    results.add_log('a', 1, 'one', f'in {tmp_path}/work/run and {run}/s')
    results.add_log('a', 1, 'other', 'nothing')
    assert log_of(results.path) == '=== a, round 1, one\nin WORK/run and RUN/s\n\n' \
                                   '=== a, round 1, other\nnothing\n'
    assert result.Writer(tmp_path / 'r', 'x', {}).path.name == 'x-2'


def test_the_runs_of_a_set_are_a_table(tmp_path):
    """It is whole after each run, and the same runs give the same bytes."""
    content = []
    for name in ('x', 'y'):
        results = result.Writer(tmp_path, name, {})
        results.write({'value': 1 / 3})
        assert json.loads((results.path / 'result.json').read_text()) == {'value': 0.333333}
        results.add_rows('a', 1, 'one', [(1, 90.5, 0.5, 7, 8)], [(0.5, 3)])
        results.add_rows('a', 1, 'other', [], [(0.6, 4)])
        content.append((results.path / 'runs.csv.gz').read_bytes())
        assert sorted(file.name for file in results.path.iterdir()) \
            == ['log.gz', 'result.json', 'runs.csv.gz']
    assert content[0] == content[1]
    rows = list(csv.reader(io.StringIO(gzip.decompress(content[0]).decode())))
    assert rows == [list(result.COLUMNS), 'a one 1 1 90.5 0.5 7 8'.split() + ['', ''],
                    'a one 1'.split() + [''] * 5 + ['0.5', '3'],
                    'a other 1'.split() + [''] * 5 + ['0.6', '4']]


@pytest.mark.parametrize('name', suites.NAMES)
def test_suites(name):
    suite = suites.SUITES[name]
    cases = suite(Scale(suite.seconds)).cases()
    assert suite.__doc__ and suite.title
    assert len({case.name for case in cases}) == len(cases) > 0
    assert all(case.title and case.data and case.values() for case in cases)
    assert f'| {name} |' in (TOP / 'docs/measure.md').read_text()
    # two builds, without the preparation of the data
    assert sum(case.estimate for case in cases) * suite.rounds * 2 < 15 * 60


def test_chosen_cases():
    """In the order of the suite; a name that it lacks is named, beside those it has."""
    cases = suites.SUITES['scan'](Scale(1)).cases()
    assert chosen_cases('random ascending', cases) == [cases[0], cases[2]]
    assert chosen_cases('descending random ascending', cases) is None
    for text, said in (('ascending scan', 'suite: scan\n'), (' ', r'suite: \(empty\)\n')):
        with pytest.raises(Failure, match=f'{said}.*some of: ascending descending random'):
            chosen_cases(text, cases)


def pools(name, size):
    """MiB of the buffer pool and rows of sysbench's tables, of each case of a suite at a size."""
    found = {}
    for case in suites.SUITES[name](Scale(1, size)).cases():
        options = {**suites.SUITES[name].server, **case.options}
        facts = case.data.made_from
        found[case.name] = (int(options['innodb_buffer_pool_size'].removesuffix('M')),
                            facts.get('tables', 1) * facts['rows'])
    return found


@pytest.mark.parametrize('size', [0.5, 1, 3, 20])
@pytest.mark.parametrize('name, mib', [('scan', 64), ('contention', 64), ('iibench', 48),
                                       ('oltp', 1024), ('unseen', 512)])
def test_a_pool_has_the_same_part_in_the_data_at_every_size(name, mib, size):
    """A quarter of them, or all; at least all of them where there are few."""
    usual, found = pools(name, 1), pools(name, size)
    least = mib if name in ('oltp', 'unseen') else 0
    assert {pool for pool, _ in usual.values()} == {mib}
    assert {pool for pool, _ in found.values()} == {max(least, mib * size)}
    assert {case: rows for case, (_, rows) in found.items()} \
        == {case: rows * size for case, (_, rows) in usual.items()}


@pytest.mark.parametrize('name, words', [
    ('plain:debian', ['plain:debian', 'plain:<one of the first four>']),
    ('plain:only:nothing', ['nothing']),
    ('vanila', ['vanila', 'known: vanilla, millrace']),
    ('only:nix', ["'nix'", 'known patches: ']),
    ('without:nix', ['without:nix', 'known patches: ']),
    ('/no/such/place', ['/no/such/place']),
    (str(TOP / 'docs'), ['the server program', 'libexec/']),
])
def test_builds_that_are_none(name, words, tmp_path):
    with pytest.raises(Failure) as error:
        builds.resolve(name, TREE, tmp_path)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize('name, patches, plain', [
    ('vanilla', 'none', True), ('millrace', None, False), ('plain:millrace', None, True),
    ('only:a+b', 'a b', False), ('plain:only:a', 'a', True)])
def test_the_patches_of_a_build(name, patches, plain, monkeypatch):
    monkeypatch.setenv('PATCHES', 'of the caller')
    monkeypatch.setenv('PROFILE', 'none')
    assert made.parsed(name, TREE) == (patches, plain)
    variables = made.environment(patches, plain)
    assert (variables.get('PATCHES'), variables.get('PROFILE')) \
        == (patches, 'none' if plain else None)


@pytest.mark.parametrize('tree', series.trees_with('show-patches'))
def test_a_build_without_a_patch_has_the_others_of_its_tree(tree):
    others = [name for name in series.names(tree) if name != 'show-patches']
    assert made.parsed('without:show-patches', tree) == (' '.join(others), False)
    made.check('without:show-patches', tree)


@pytest.fixture
def key(checkout, tmp_path):
    """The identity of a build of the whole series in a copy of the project, with compilers that
    can be changed."""
    (tmp_path / 'bin').mkdir()
    for name in ('cc', 'c++'):
        (tmp_path / 'bin' / name).write_text(f'#!/bin/sh\necho {name} 12.2.0\n')
        (tmp_path / 'bin' / name).chmod(0o755)
    shutil.copytree(TOP / 'bench/millrace_bench', checkout.path / 'bench/millrace_bench')
    code = 'import sys; from millrace_bench.builds import made; ' \
        'print(made.digest("tarball", made.context(None, None, bool(sys.argv[1:]))))'

    def identity(plain=False, version=''):
        status, text = checkout.run(
            'scripts/python', '-c', code, *(['plain'] if plain else []), VERSION=version,
            CC='cc', CXX='c++', PATH=f'{tmp_path}/bin:{os.environ["PATH"]}')
        assert status == 0, text
        return text
    return identity


def test_a_build_is_known_by_all_that_it_is_made_from(key, checkout):
    patch = f'patches/{TREE}/{series.names(TREE)[0]}.patch'
    steps = [f'build/{name}' for name in ('tarball', 'compiler/cached', 'cmake/server.cmake',
                                          'cmake/layout-tarball.cmake')]
    profile = [f'trees/{TREE}/profile-gcc12.tar.xz']
    keys = {plain: key(plain) for plain in (False, True)}
    assert keys[False] != keys[True]
    for path in (patch, *steps, *profile, '../bin/cc', '../bin/c++'):
        file = checkout.path / path
        was = file.read_bytes()
        program = file.parent.name == 'bin'
        file.write_bytes(was + (b'\n#\necho changed\n' if program else b'\n# changed\n'))
        for plain, before in keys.items():
            assert (key(plain) != before) == (not plain or path not in profile), path
        file.write_bytes(was)
    assert {plain: key(plain) for plain in keys} == keys


def test_a_build_of_a_release_that_is_coming_is_known_by_its_own_patches(key, checkout):
    """While a rebase is open."""
    version, name = f'{TREE}.99', series.names(TREE)[0]
    home = checkout.path / f'work/{TREE}/rebase-{version}'
    shutil.copytree(checkout.path / f'patches/{TREE}', home / 'patches')
    shutil.copy(checkout.path / 'series', home / 'series')
    pin = (checkout.path / f'trees/{TREE}/pin.conf').read_text()
    checkout.write(home / 'tree.conf', f'{pin}VERSION={version}\n')
    before = key(version=version)
    assert before != key()
    for file, changes in ((checkout.path / f'patches/{TREE}/{name}.patch', False),
                          (home / f'patches/{name}.patch', True)):
        file.write_text(file.read_text() + '\n# changed\n')
        assert (key(version=version) != before) == changes, file
        before = key(version=version)


def test_the_server_that_counts_names_its_places(tmp_path, monkeypatch):
    """By the file that build/server is given, whatever it prints; it builds the whole series."""
    (tmp_path / 'build').mkdir()
    program = tmp_path / 'build/server'
    program.write_text('#!/bin/sh\necho "$PATCHES $TREE $1"; [ -z "$BROKEN" ] || exit 3\n'
                       'printf "/the/objects\\n/the/server\\n" > "$3"; echo /last/line\n')
    program.chmod(0o755)
    monkeypatch.setattr(train, 'TOP', tmp_path)
    assert train.compiled(TREE) == (Path('/the/objects'), Path('/the/server'))
    monkeypatch.setenv('BROKEN', 'yes')
    with pytest.raises(Failure):
        train.compiled(TREE)


GP3, REQUESTS = limits.VOLUMES['gp3'], limits.Volume('', 3000)


@pytest.mark.parametrize('volume, asked', [(REQUESTS, 'IOPS=3000'), (GP3, 'VOLUME=gp3')])
def test_a_limit_where_no_disk_is(volume, asked):
    with pytest.raises(Failure, match=f'(?s){asked}.*no disk stands behind'), \
            limits.Limit(volume, '/proc'):
        pass


@pytest.mark.parametrize('by, volume, files', [
    (limits.V1, REQUESTS, {'blkio.throttle.read_iops_device': '254:0 3000',
                           'blkio.throttle.write_iops_device': '254:0 3000'}),
    (limits.V1, GP3, {'blkio.throttle.read_iops_device': '254:0 3000',
                      'blkio.throttle.write_iops_device': '254:0 3000',
                      'blkio.throttle.read_bps_device': '254:0 125000000',
                      'blkio.throttle.write_bps_device': '254:0 125000000'}),
    (limits.V2, REQUESTS, {'io.max': '254:0 riops=3000 wiops=3000'}),
    (limits.V2, GP3, {'io.max': '254:0 riops=3000 wiops=3000 rbps=125000000 wbps=125000000'}),
    (limits.V1, None, {}), (limits.V2, None, {})])
def test_the_files_of_a_limit(by, volume, files):
    limit = limits.Limit(volume, '/proc')
    limit.by, limit.device = by, '254:0'
    assert limit.files() == files


@pytest.mark.parametrize('by, text', [(limits.V1, 'outside of the group'), (limits.V2, 'ext4')])
def test_the_record_says_what_a_limit_does_not_count(by, text):
    for volume, more in ((REQUESTS, {}), (GP3, {'volume': 'gp3', 'bandwidth': 125_000_000,
                                                'ms': 1})):
        limit = limits.Limit(volume, '/proc')
        limit.by = by
        record = limit.record()
        assert 'buffered' in record['not_counted'] and text in record.pop('not_counted')
        assert record == {'iops': 3000, 'by': by, **more}
        assert limits.suffix(record) == ('-gp3' if more else '-iops3000')
    assert limits.Limit(None, '/proc').record() == {'iops': None, 'by': None}
    assert limits.suffix({'iops': None}) == ''


@pytest.mark.parametrize('name, text, counted', [
    ('blkio.throttle.io_serviced', '254:0 Read 3\n254:0 Write 4\n254:0 Sync 7\n254:0 Total 7\n'
                                   '7:0 Read 9\nTotal 16\n', (3, 4)),
    ('blkio.throttle.io_serviced', '254:0 Read 0\n254:0 Write 0\nTotal 0\n', (0, 0)),
    ('blkio.throttle.io_serviced', 'Total 0\n', ()),
    ('blkio.throttle.io_service_bytes', '254:0 Read 8192\n254:0 Write 0\n7:0 Write 5\n',
     (None, None, 8192, 0)),
    ('io.stat', '254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n', (1, 0, 4096, 0)),
    ('io.stat', '7:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n', ())])
def test_requests_that_are_not_counted_are_not_0(name, text, counted, tmp_path):
    limit = limits.Limit(None, '/proc')
    limit.group, limit.device = tmp_path, '254:0'
    (tmp_path / name).write_text(text)
    names = ('read_requests', 'write_requests', 'read_request_bytes', 'write_request_bytes')
    assert limit.requests() == {name: count for name, count in zip(names, counted)
                                if count is not None}


def test_progress_of_runs(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(progress, 'time', types.SimpleNamespace(monotonic=lambda: now))
    stream = io.StringIO()
    shown = progress.Runs('bench', [10, 10, 20], stream)
    shown.start('first')
    shown.show()
    assert stream.getvalue() == 'bench: 1/3 first, 40 s left\n'
    now += 20    # twice the estimate
    shown.finish()
    assert shown.left() == pytest.approx(60)
    now += 5
    assert shown.left() == pytest.approx(55)
    assert [progress.duration(seconds) for seconds in (5, 65, 3600, -1)] \
        == ['5 s', '1 min 05 s', '60 min 00 s', '0 s']


@pytest.mark.parametrize('bar, text', [
    (True, '\rx [' + '#' * 15 + ' ' * 15 + '] 1 of 2\rx [' + '#' * 30 + '] 2 of 2\r\033[K'),
    (False, 'x: 1 of 2, about 20 s left\n')])
def test_progress_of_steps(bar, text, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(progress, 'time', types.SimpleNamespace(monotonic=lambda: now))
    stream = io.StringIO()
    shown = progress.Progress('x', bar=bar, stream=stream)
    for done, after in ((0, 0), (1, 20), (2, 1)):
        now += after
        shown(done, 2)
    shown.clear()
    assert stream.getvalue() == text
    assert progress.ninja('[3/41] Building') == (3, 41) and progress.ninja('-- Done') is None


@pytest.mark.parametrize('arguments, words', [
    (['--seconds=-1'], '-1 is less than 0'), (['--seconds', 'x'], "invalid int value: 'x'"),
    (['--size', '0'], 'less than 0.001')])
def test_the_training_refuses(arguments, words):
    done = subprocess.run([TOP / 'bench/train', *arguments, '--check', '/no/such/place'],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 2 and words in done.stderr and 'Traceback' not in done.stderr


@pytest.mark.parametrize('arguments, words', [
    (['--suite', 'nix'], 'invalid choice'), (['--builds', 'a a'], 'each once'),
    (['--builds', 'vanilla only:nix'], "'nix'"), (['--rounds', '0'], 'less than 1'),
    (['--volume', 'nix'], 'invalid choice'),
    (['--volume', 'gp3', '--iops', '3000'], 'not allowed with')])
def test_the_command_refuses(arguments, words):
    done = subprocess.run([TOP / 'bench/run', *arguments], text=True, capture_output=True,
                          check=False)
    assert done.returncode and words in done.stderr and 'Traceback' not in done.stderr


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize('sent, ignored, status', [
    (signal.SIGINT, (), 130), (signal.SIGTERM, (), 130), (signal.SIGHUP, (), 130),
    (signal.SIGTERM, SIGNALS, 130),           # a background job of a script
    (signal.SIGHUP, (signal.SIGHUP,), 0)])    # nohup
def test_signals(sent, ignored, status):
    program = 'from millrace.command import run_command\n' \
        'run_command("x", lambda _: print("up", flush=True) or input())'
    with subprocess.Popen(
            [TOP / 'scripts/python', '-c', program], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: [
                signal.signal(name, signal.SIG_IGN if name in ignored else signal.SIG_DFL)
                for name in SIGNALS]) as process:
        assert process.stdout.readline() == 'up\n'
        process.send_signal(sent)
        _, errors = process.communicate('\n' if not status else None, timeout=60)
    assert (process.returncode, errors) == (status, 'x: interrupted\n' if status else '')


def test_a_module_that_is_not_there_is_named():
    program = 'from millrace.command import run_command\n' \
        'run_command("x", lambda _: __import__("no_such_module"))'
    done = subprocess.run([TOP / 'scripts/python', '-c', program], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == 'x: error: there is no Python module no_such_module\n' \
        '  build/setup tests\n'


@pytest.fixture
def hanging(tmp_path):
    """An unpacked server whose program writes its process into `up` beside it, and then does what
    stands in `then`."""
    root = tmp_path / 'hanging'
    for name in ('bin/mariadbd', 'share/english/errmsg.sys', 'share/mariadb_system_tables.sql',
                 'share/mariadb_performance_tables.sql'):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f'#!/bin/sh\necho $$ > {root}/new; mv {root}/new {root}/up\n'
                                 f'. {root}/then\n')
        (root / name).chmod(0o755)
    (root / 'then').write_text('exec sleep 60\n')
    return root


COMMANDS = {'run': lambda server, place: ['run', '--suite', 'undo', '--builds', server, '--data',
                                          place, '--results', place / 'results'],
            'check': lambda server, place: ['train', '--check', server],
            'train': lambda server, place: ['train', '--server', server, '--objects', server]}


@pytest.mark.parametrize('name', COMMANDS)
@pytest.mark.parametrize('how', ['interrupted', 'failed'])
def test_nothing_is_left_of_a_command_that_did_not_come_to_its_end(name, how, hanging, tmp_path):
    """SIGTERM also where SIGINT is ignored, as in a background job of a script."""
    if how == 'failed':
        (hanging / 'then').write_text('exit 7\n')
    command, *arguments = COMMANDS[name](hanging, tmp_path / 'place')
    with subprocess.Popen([TOP / 'bench' / command, '--tree', TREE, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
                          ) as process:
        while not (hanging / 'up').exists():
            assert process.poll() is None or how == 'failed', process.stderr.read()
            time.sleep(0.02)
        if how == 'interrupted':
            process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if how == 'interrupted' else 1), errors
    assert 'Traceback' not in errors
    assert ('interrupted' if how == 'interrupted' else 'data directory') in errors
    killed = Path('/proc', (hanging / 'up').read_text().strip())
    for _ in range(500):        # on a busy machine a killed process is there for a while
        if not killed.exists():
            break
        time.sleep(0.02)
    assert not killed.exists()
    assert not list((TOP / 'work').glob(f'training-*-{process.pid}'))
    if name == 'run':
        [path] = (tmp_path / 'place/results').glob('*/result.json')
        assert json.loads(path.read_text())['complete'] is False
        assert list((tmp_path / 'place/data').iterdir()) == []
        assert not (tmp_path / 'place/run').exists()
