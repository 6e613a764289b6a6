"""The benchmarks on real servers: every suite once and tiny, but for the short set, which is parts of four others; two builds
side by side; and what must stop a run."""
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import TOP, TREE, heed_interrupts
from millrace_bench import result, suites, training
from millrace_bench.builds import Build
from millrace_bench.case import Scale
from millrace_bench.errors import BenchError
from millrace_bench.progress import Progress
from millrace_bench import data
from millrace_bench.server import Server
from millrace_bench.suites import recovery, tpcc

TINY = ['--seconds', '1', '--size', '0.005', '--tree', TREE]


@pytest.fixture(scope='session')
def work(tmp_path_factory):
    """Where the data of these tests are."""
    path = tmp_path_factory.mktemp('work')
    yield path
    shutil.rmtree(path)


def bench(*arguments):
    """bench/run: the finished process."""
    return subprocess.run([TOP / 'bench/run', *map(str, arguments)], text=True, capture_output=True, check=False, timeout=900)


def only(results):
    """The one result in a directory, its record and its path."""
    [path] = results.glob('*/result.json')
    record = json.loads(path.read_text())
    result.validate(record)
    return record, path.parent


@pytest.mark.parametrize('suite', [name for name in suites.NAMES if name not in ('short', 'scan')])
def test_every_suite_runs(suite, server_tree, work, tmp_path):
    done = bench('--suite', suite, '--builds', server_tree, '--rounds', 1, *TINY, '--data', work, '--results', tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    record, path = only(tmp_path)
    assert record['complete'] and record['error'] is None and path.name.endswith(f'{TREE}-{suite}')
    cases = suites.suite(suite).cases(Scale(1, 0.005))
    assert [case['name'] for case in record['cases']] == [case.name for case in cases]
    for case in record['cases']:
        [run] = case['runs']
        assert run['value'] > 0 and run['seconds'] > 0
        assert 'ready for connections' in subprocess.run(['zcat', path / run['logs'][0]], text=True, capture_output=True,
                                                         check=True).stdout


def test_every_workload_of_the_training_runs(server_tree):
    """On this server, which counts nothing."""
    done = subprocess.run([TOP / 'bench/train', '--check', server_tree, '--tree', TREE, '--seconds', '1', '--size', '0.04'], text=True,
                          capture_output=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'{len(training.WORKLOADS)} workloads ran on one' in done.stdout


def test_two_builds_side_by_side(server_tree, work, tmp_path):
    (server_tree.parent / 'other').symlink_to(server_tree)
    done = bench('--suite', 'scan', '--builds', f'{server_tree} {server_tree.parent}/other', '--rounds', 2, *TINY,
                 '--data', work, '--results', tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    record, _ = only(tmp_path)
    assert [build['name'] for build in record['builds']] == ['one', 'other']
    assert record['builds'][0]['patches'] and record['builds'][0]['sha256'] == record['builds'][1]['sha256']
    for case in record['cases']:
        assert [(run['round'], run['build']) for run in case['runs']] == [(1, 'one'), (1, 'other'), (2, 'other'), (2, 'one')]
        seconds = next(found for found in case['comparisons'] if found['measure'] == 'seconds')
        assert len(seconds['pairs']) == 2 and seconds['low'] <= seconds['ratio'] <= seconds['high']
        assert all(run['figures']['pages_read'] > 20 for run in case['runs'])
    assert 'other/one' in done.stdout


def started(*arguments):
    """bench/run in the background, once a server of it is under load."""
    process = subprocess.Popen([TOP / 'bench/run', *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True,
                               preexec_fn=heed_interrupts)
    for line in process.stderr:
        if '2/' in line:
            break
    while process.poll() is None:
        servers = [child for child in children(process.pid) if 'mariadbd' in command(child)]
        if servers and any('sysbench' in command(child) for child in children(process.pid)):
            return process, servers[0]
        time.sleep(0.05)
    raise AssertionError(f'no server under load: {process.stderr.read()}')


def children(pid):
    """Processes that a process has started."""
    found = []
    for task in Path(f'/proc/{pid}/task').iterdir():
        try:
            found += map(int, (task / 'children').read_text().split())
        except OSError:
            pass    # the thread has ended
    return found


def command(pid):
    """A process's command line; empty when it is gone."""
    try:
        return Path(f'/proc/{pid}/cmdline').read_text()
    except OSError:
        return ''


def test_a_server_that_dies_fails_the_run(server_tree, work, tmp_path):
    process, server = started('--suite', 'oltp', '--builds', server_tree, '--rounds', 2, *TINY, '--seconds', 4,
                              '--data', work, '--results', tmp_path)
    os.kill(server, signal.SIGSEGV)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert 'bench: error: one: the server died (signal 11)' in errors and 'libexec/mariadbd(' in errors
    assert 'INCOMPLETE' in output
    record, _ = only(tmp_path)
    assert not record['complete'] and 'the server died' in record['error']
    assert len(record['cases'][0]['runs']) == 1 and record['cases'][1]['runs'] == []


def test_an_interrupt_ends_the_servers_and_keeps_what_was_measured(server_tree, work, tmp_path):
    process, server = started('--suite', 'oltp', '--builds', server_tree, '--rounds', 2, *TINY, '--seconds', 4,
                              '--data', work, '--results', tmp_path)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130 and 'Traceback' not in errors, errors
    assert command(server) == ''
    record, _ = only(tmp_path)
    assert not record['complete'] and record['error'] == 'interrupted' and len(record['cases'][0]['runs']) == 1
    assert not (work / 'run').exists()


@pytest.fixture
def prepared(server_tree, tmp_path):
    """A function: a running server over a copy of prepared data, and their facts."""
    running = []

    def start(kind, **options):
        build = Build('one', server_tree)
        (tmp_path / 'data').mkdir()
        original, facts = data.prepare(kind, build, tmp_path, Progress([]))
        data.copy(original, tmp_path / 'run')
        server = Server(build, tmp_path / 'run', options)
        running.append(server)
        return server.start(), facts
    yield start
    for server in running:
        server.__exit__()
    shutil.rmtree(tmp_path, ignore_errors=True)


# what is broken, and the condition that must see it
BROKEN = {
    'UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 1': '3.3.2.1',
    'UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 1 AND d_id = 10': '3.3.2.1',
    'UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3': '3.3.2.2',
    'DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 2 ORDER BY o_id DESC LIMIT 1': '3.3.2.2',
    'DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 4 ORDER BY no_o_id DESC LIMIT 1': '3.3.2.2',
    'DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 5 AND no_o_id = 50': '3.3.2.3',
    'DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 6 LIMIT 1': '3.3.2.4',
    'DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 7': '3.3.2.4',
    'INSERT INTO order_line SELECT ol_w_id, ol_d_id, ol_o_id, 99, ol_i_id, ol_supply_w_id, NULL, 1, 1, ol_dist_info'
    ' FROM order_line LIMIT 1': '3.3.2.4',
    'DELETE FROM district WHERE d_w_id = 1 AND d_id = 8': 'not ten each',
}


def test_the_tpcc_conditions_catch_a_broken_database(prepared):
    server, _ = prepared(tpcc.tables(1, 1000, 60))
    with server.connect('bench') as connection:
        for statement, condition in BROKEN.items():
            connection.query('BEGIN')
            connection.query(statement)
            assert any(condition in text for text in tpcc.inconsistencies(connection)), statement
            connection.query('ROLLBACK')
            assert tpcc.inconsistencies(connection) == []
        connection.query('DELETE FROM new_order WHERE no_o_id = 50')
    with pytest.raises(BenchError, match='inconsistent'):
        tpcc.check(server)
    server.stop()


def test_recovered_data_that_lost_a_transaction_are_an_error(prepared):
    server, facts = prepared(recovery.crashed(20000, 8))
    recovery.check(server, facts)
    thread = max(facts['confirmed'], key=facts['confirmed'].get)
    spoiled = {
        'DELETE FROM ledger ORDER BY thread, number LIMIT 1': 'are there, the last is number',
        'UPDATE sbtest1 SET k = k + 1 WHERE id = 7': 'the ledger says',
    }
    with server.connect('bench') as connection:
        for statement, words in spoiled.items():
            connection.query(statement)
            with pytest.raises(BenchError, match=words):
                recovery.check(server, facts)
    more = {**facts, 'confirmed': {**facts['confirmed'], thread: facts['confirmed'][thread] + 5}}
    with pytest.raises(BenchError, match=f'thread {thread}: '):
        recovery.check(server, more)
    server.stop()


def test_the_bundle_takes_nothing_of_the_machine(server_tree, tmp_path):
    loader = importlib.machinery.SourceFileLoader('bundle', str(TOP / 'bench/bundle'))
    bundle = importlib.util.module_from_spec(importlib.util.spec_from_loader('bundle', loader))
    loader.exec_module(bundle)
    archive = bundle.make(TREE, [Build('one', server_tree)], tmp_path)
    assert archive.stat().st_size < 64 << 20
    subprocess.run(['tar', '-xzf', archive, '-C', tmp_path], check=True)
    there = tmp_path / archive.name.removesuffix('.tar.gz')
    lib = there / 'bench/lib'

    done = subprocess.run([there / 'run', '--suite', 'undo', '--builds', 'one', '--rounds', '1', *TINY], env={'PATH': '/usr/bin:/bin'},
                          cwd='/', text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    record, _ = only(there / 'test-results')
    assert record['complete'] and record['builds'][0]['name'] == 'one'

    # every library of the three programs, and of what Python loads later, is the archive's
    for program in ('bin/sysbench', 'bin/python3', f'builds/{TREE}/one/libexec/mariadbd'):
        listed = subprocess.run([lib / 'ld-linux-x86-64.so.2', '--library-path', lib, '--list', there / 'bench' / program], text=True,
                                capture_output=True, check=True).stdout
        assert 'not found' not in listed
        assert all(str(lib) in line for line in listed.splitlines() if '=>' in line), listed
    maps = subprocess.run([lib / 'ld-linux-x86-64.so.2', '--library-path', lib, there / 'bench/bin/python3', '-c',
                           'import ctypes, hashlib, gzip; ctypes.CDLL("libmariadb.so.3"); print(open("/proc/self/maps").read())'],
                          env={'PYTHONHOME': there / 'bench/python'}, text=True, capture_output=True, check=True).stdout
    loaded = {line.split(maxsplit=5)[5] for line in maps.splitlines() if '.so' in line}
    assert len(loaded) > 5 and [file for file in loaded if not file.startswith(str(there))] == []
