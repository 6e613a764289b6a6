"""Puts a server under pressure for minutes: many clients, and a buffer pool too small for them.

BUILD may be a server of build/server address or build/server thread, too.  All of these run at
the same time:

- clients that know exactly what they have committed;
- a mixed load of DDL, which changes the buffer pool's size as well;
- transactions that stay open while they read everything;
- ranges of indexes whose pages are not in order, while others change and rebuild the tables;
- dumps and loads of the list of the pool's pages.

A check fails if the server ends; if no client commits for --still seconds; if the server does
not shut down; or if afterwards a row is not as committed, or CHECK TABLE ... EXTENDED or
innochecksum finds something.  innochecksum leaves out discarded tablespaces: an IMPORT that the
shutdown interrupts leaves such a file half done.

A report of a sanitizer fails a check, too, unless the file of --known has it: the output of an
earlier run, for example with vanilla.  Reports are compared by kind and function, not by line.

Prints a line a minute, a summary, and a line for each kind of report.  The data are removed at
the end.  Where a check fails they are kept, with error.log, and with stacks.txt if the server
stands still: the error begins with WRONG.
Exit status: 0; 1 where a check fails, a report is not known, or the tool cannot run.
"""
import collections
import os
import re
import subprocess
import time
from pathlib import Path

from millrace.command import number, run_command
from millrace.errors import Failure
from millrace_crash.datadir import SCHEMA, DataDir, check_tables, formats
from millrace_crash.ledger import Ledger, run_threads
from millrace_crash.mixed import SCHEMA as MIXED
from millrace_crash.mixed import TABLES, MixedLoad, try_query
from millrace_crash.tool import add_build, failure_at, parse, place_of, tool_parser

PAGE_SIZE = 16384
# The pool is little more than the least that a server with pages of 16 KiB takes.  The clients
# wait for pages rather than for locks.
OPTIONS = {'innodb_buffer_pool_size': '8M', 'loose_innodb_buffer_pool_size_max': '64M',
           'innodb_io_capacity': '4000', 'innodb_io_capacity_max': '8000',
           'innodb_lock_wait_timeout': '5', 'lock_wait_timeout': '5', 'max_connections': '1000',
           'innodb_purge_threads': '4', 'innodb_undo_tablespaces': '3'}
POOLS = (8, 12, 24, 64)     # MiB
READERS, PAUSE = 4, 3       # transactions that stay open, seconds between two of their readings
RANGES = ('FORCE INDEX (PRIMARY) ORDER BY a', 'FORCE INDEX (PRIMARY) ORDER BY a DESC',
          'FORCE INDEX (b) WHERE b BETWEEN 200 AND 400 ORDER BY b',
          'FORCE INDEX (b) WHERE b BETWEEN 200 AND 400 ORDER BY b DESC')
# a server prints this when it starts, if DISCARD or IMPORT TABLESPACE was the last statement that
# changed a table
DISCARDED = re.compile(r'Ignoring tablespace for (\S+) because the DISCARD flag is set')
# A report does not end the server: races are rare, and more reports are worth more.
SANITIZERS = {'TSAN_OPTIONS': 'exitcode=0:history_size=4', 'ASAN_OPTIONS': 'detect_leaks=0'}
SHOWN = ('resize', 'table', 'ALTER')    # steps of the mixed load


def arguments(argv):
    """The parsed arguments, and the options of the server."""
    parser = tool_parser('pressure', __doc__)
    add_build(parser, 'build', 'directory with an unpacked server')
    parser.add_argument('--minutes', type=number(float, 0), default=10, metavar='N',
                        help='how long (default: %(default)s)')
    parser.add_argument('--clients', type=number(int, 1), default=64, metavar='N',
                        help='clients that know what they have committed (default: %(default)s)')
    parser.add_argument('--seed', type=int, default=1, metavar='N',
                        help='seed of the mixed load (default: %(default)s)')
    parser.add_argument('--still', type=number(int, 1), default=120, metavar='SECONDS',
                        help='longest time without a commit (default: %(default)s)')
    parser.add_argument('--known', type=Path, metavar='FILE',
                        help='output of an earlier run: reports in it are not counted')
    return parse(parser, argv, OPTIONS)


def reports(text):
    """{report: how often} of the sanitizers' reports in a log, as kind and function."""
    counts = collections.Counter()
    for line in text.splitlines():
        if summary := re.match(r'SUMMARY: (\w+Sanitizer): (.*)', line):
            # "data race /a/path/buf0buf.cc:2713 in get(page_id_t) (BuildId: 1)": leaves out what
            # any patch moves
            what = re.sub(r' \([^)]*\)', '', summary[2])
            what = re.sub(r'\S*/(\S+?)(?::\d+)+', r'\1', what).partition('(')[0]
            counts[f'{summary[1]}: {what}'] += 1
    return counts


def read_everything(connect, tables):
    """Reads all pages in transactions that keep their view while others write."""
    with connect() as connection:
        while True:
            connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
            for _ in range(2):
                for table in tables:
                    connection.query(f'SELECT SUM(LENGTH(b)) FROM {table}')
                time.sleep(PAUSE)
            connection.query('COMMIT')


def read_ranges(connect):
    """Reads rows of the mixed load's tables in the order of an index, in both directions."""
    with connect() as connection:
        for count in range(1_000_000):
            table = f'{MIXED}.t{count % TABLES}'
            for order in RANGES:
                try_query(connection, f'SELECT SUM(l) FROM (SELECT LENGTH(c) l FROM {table} '
                                      f'{order} LIMIT 100000) x')


def dump_and_load(connect):
    """Writes the list of the pages in the pool, and reads them again, or some of them."""
    with connect() as connection:
        for count in range(1_000_000):
            connection.query('SET GLOBAL innodb_buffer_pool_dump_now=ON')
            time.sleep(1)
            connection.query('SET GLOBAL innodb_buffer_pool_load_now=ON')
            time.sleep(1 + count % 3)
            connection.query('SET GLOBAL innodb_buffer_pool_load_abort=ON')


class Pressure:
    """All that works on one server; `longest` is the longest time without a commit, in seconds."""

    def __init__(self, datadir, asked):
        self.datadir, self.asked = datadir, asked
        self.tables = formats(PAGE_SIZE)
        self.ledger = Ledger(self.tables, max(1, asked.clients // len(self.tables)))
        self.load = MixedLoad(asked.seed, PAGE_SIZE, POOLS)
        self.longest = 0

    def create(self, server):
        """Creates the tables."""
        with server.connect(SCHEMA) as connection:
            self.ledger.create(connection, self.tables)
        self.load.create(server)
        server.stop()

    def work(self, server):
        """Lets everything work for the time that was asked for, then shuts the server down."""
        def connect():
            return server.connect(SCHEMA)
        jobs = [lambda: read_everything(connect, self.tables)] * READERS
        jobs.append(lambda: dump_and_load(connect))
        jobs.append(lambda: read_ranges(connect))
        joins = [self.ledger.start(connect), self.load.start(server), run_threads(jobs)]
        try:
            self._watch(server)
            server.stop()
        finally:
            server.kill()
            for join in joins:
                join()

    def _watch(self, server):
        began = last = time.monotonic()
        confirmed, minute = self.ledger.confirmed(), 1
        while (now := time.monotonic()) < began + 60 * self.asked.minutes:
            time.sleep(.2)
            server.check()
            if self.ledger.confirmed() > confirmed:
                self.longest = max(self.longest, now - last)
                confirmed, last = self.ledger.confirmed(), now
            elif now > last + self.asked.still:
                self._write_stacks(server)
                raise Failure(f'nothing was committed for {self.asked.still} s')
            if now > began + 60 * minute:
                print(f'{minute} min: {confirmed} transactions, {self.done()}, '
                      f'{reports(server.log_text()).total()} reports', flush=True)
                minute += 1

    def _write_stacks(self, server):
        with open(self.datadir.place / 'stacks.txt', 'w', encoding='utf-8') as file:
            subprocess.run(['eu-stack', '-p', str(server.process.pid)], stdout=file, stderr=file,
                           check=False)

    def done(self):
        """How many steps of some kinds the mixed load has made, as text."""
        return ', '.join(f'{count} {kind}' for kind, count in sorted(self.load.done.items())
                         if kind in SHOWN)

    def check(self, server):
        """Checks everything in a server that was started again; returns the number of files."""
        with server.connect(SCHEMA) as connection:
            self.ledger.check(connection)
            check_tables(connection, self.tables)
        server.stop()
        return self.datadir.check_files(DISCARDED.findall(server.log_text()))


def read_known(path):
    """The output of an earlier run."""
    try:
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise Failure(f'--known {path}: {error.strerror}',
                      'name the output of an earlier run') from None


def check_reports(log, known):
    """Prints the reports in an error log; raises Failure where the text `known` lacks one."""
    counts = reports(log.read_text(encoding='utf-8'))
    for report, count in sorted(counts.items()):
        print(f'{report} ({count} times)')
    new = [report for report in counts if f'{report} (' not in known]
    if new:
        raise Failure(f'{len(new)} of {len(counts)} kinds of reports are not known', f'see {log}')


def main(argv):
    """Creates the tables, works, and checks, each in a server of its own."""
    asked, options = arguments(argv)
    known = read_known(asked.known) if asked.known else ''
    for name, value in SANITIZERS.items():
        os.environ.setdefault(name, value)
    datadir = DataDir(asked.build, place_of(asked), PAGE_SIZE, options)
    log, pressure = datadir.place / 'error.log', Pressure(datadir, asked)
    log.unlink(missing_ok=True)
    try:
        for step in (pressure.create, pressure.work, pressure.check):
            with datadir.server() as server:
                try:
                    server.start()
                    files = step(server)
                finally:
                    with log.open('a', encoding='utf-8') as file:
                        file.write(server.log_text())
    except Failure as error:
        raise failure_at('WRONG', error, datadir.data) from None
    print(f'{asked.minutes:g} minutes, {len(pressure.ledger.clients)} clients: '
          f'{pressure.ledger.confirmed()} transactions confirmed, nothing lost; '
          f'at most {pressure.longest:.1f} s without a commit; {pressure.done()}; '
          f'{files} files clean', flush=True)
    check_reports(log, known)
    datadir.remove()


if __name__ == '__main__':
    run_command('pressure', main)
