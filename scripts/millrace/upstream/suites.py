"""Runs whole suites of upstream's tests with the whole series, and keeps their results.

The server is the one that make compiles for the tree TREE, or with --debug one with
upstream's assertions (build/server debug).  Without a suite named they are innodb,
innodb_zip, innodb_fts, innodb_gis, encryption and mariabackup: half an hour on 2 cores.
A test that fails is run once more.

Leaves test-results/suites/<tree>-<release or debug>[-<aio>].json, with date, commit and the
tests passed, skipped and failed; suites that are not run keep their part of it.  It is to be
committed.  mysql-test-run's output is in work/<tree>/suites/.  Exits 1 where a test failed
twice; PATCHES=none scripts/mysql-test TEST tells whether it does so without the series.
"""
import datetime
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from millrace import TOP
from millrace.command import environment, output, parser, run_command, say, step
from millrace.errors import Failure
from millrace.files import read_json, write_whole
from millrace.upstream import pins

SUITES = ('innodb', 'innodb_zip', 'innodb_fts', 'innodb_gis', 'encryption', 'mariabackup')
AIO = {'libaio': '--mysqld=--loose-innodb-linux-aio=aio',
       'io_uring': '--mysqld=--loose-innodb-linux-aio=io_uring',
       'simulated': '--mysqld=--loose-innodb-use-native-aio=0'}
# fails for root without any patch: it takes away permissions, which root does not notice
NOT_FOR_ROOT = 'mariabackup.data_directory'
RESULTS = TOP / 'test-results/suites'
VERDICT = re.compile(r"^(\w+\.[\w-]+(?: '[^']*')?)(?: +w\d+)? +"
                     r'\[ ((?:retry-)?(?:pass|fail)|skipped) \]', re.MULTILINE)


def debug_server(tree):
    """The build directory of a debug server with the whole series, compiled where need be."""
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        paths = Path(place, 'paths')
        step('server', 'debug', '--print-path', paths, TREE=tree, PATCHES='all')
        builddir, _ = paths.read_text(encoding='utf-8').splitlines()
    return builddir


def run(suite, environ, options, log):
    """Runs a suite, its output in the file `log` as it comes; returns the output."""
    processes = 3 * len(os.sched_getaffinity(0))     # most of them wait
    command = [TOP / 'scripts/mysql-test', f'--suite={suite}', f'--parallel={processes}',
               '--retry=1', '--suite-timeout=600', *options]
    if os.getuid() == 0:
        command.append(f'--skip-test=^{NOT_FOR_ROOT}$')
    say('upstream-suites', f'{suite}: see {log.relative_to(TOP)}')
    with log.open('w', encoding='utf-8') as file:
        subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, stdout=file,
                       stderr=subprocess.STDOUT, check=False)
    return log.read_text(encoding='utf-8', errors='replace')


def outcome(text, seconds):
    """The record of a suite: the last verdict of each test, in each of its combinations."""
    if not re.search('^Completed: ', text, re.MULTILINE):
        raise Failure('mysql-test-run did not come to its end', *text.splitlines()[-8:])
    last = dict(VERDICT.findall(text))
    tests = {verdict: sorted(test for test in last if last[test] in verdict.split('|'))
             for verdict in ('pass', 'retry-pass', 'fail|retry-fail', 'skipped')}
    commit = output('git', '-C', TOP, 'describe', '--always', '--abbrev=12', '--dirty=+').strip()
    return {'date': datetime.date.today().isoformat(), 'commit': commit,
            'seconds': round(seconds), 'passed': len(tests['pass']),
            'passed the second time': tests['retry-pass'],
            'failed': tests['fail|retry-fail'], 'skipped': len(tests['skipped'])}


def keep(record, suite, result):
    """Puts the result of a suite into a record; the other suites' stay."""
    known = read_json(record) if record.exists() else {}
    known[suite] = result
    RESULTS.mkdir(parents=True, exist_ok=True)
    write_whole(record, json.dumps(dict(sorted(known.items())), indent=1) + '\n')


def main(argv):
    """Runs the suites named, one after the other."""
    options = parser('scripts/upstream-suites', __doc__)
    options.add_argument('--debug', action='store_true', help="with upstream's assertions")
    options.add_argument('--aio', choices=sorted(AIO), help='asynchronous I/O of this kind; '
                         'default: what the server chooses')
    options.add_argument('suite', nargs='*', help='suites of mysql-test')
    chosen = options.parse_args(argv)
    tree = os.environ.get('TREE') or pins.default_tree()
    pins.read(tree)
    kind = 'debug' if chosen.debug else 'release'
    environ = environment(TREE=tree, PATCHES='all')
    if chosen.debug:
        environ['BUILDDIR'] = debug_server(tree)
    name = '-'.join(filter(None, [tree, kind, chosen.aio]))
    logs = TOP / 'work' / tree / 'suites'
    logs.mkdir(parents=True, exist_ok=True)
    failed = []
    for suite in chosen.suite or SUITES:
        begun = time.monotonic()
        text = run(suite, environ, [AIO[chosen.aio]] if chosen.aio else [],
                   logs / f'{name}-{suite}.log')
        result = outcome(text, time.monotonic() - begun)
        keep(RESULTS / f'{name}.json', suite, result)
        failed += result['failed']
        say('upstream-suites', f'{name} {suite}: {result["passed"]} passed, {result["skipped"]} '
            f'skipped, {len(result["failed"])} failed; {result["seconds"]} s')
    if failed:
        tests = ' '.join(failed)
        raise Failure(f'{len(failed)} failed: {tests}', f'see {logs}/{name}-*.log; without the '
                      f'series: TREE={tree} PATCHES=none scripts/mysql-test {tests}')


if __name__ == '__main__':
    run_command('upstream-suites', main)
