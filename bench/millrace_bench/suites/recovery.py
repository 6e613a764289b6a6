"""Crash recovery: one data directory, left behind by a server killed at a fixed amount of redo; the time
until a server over a copy of it accepts connections, with buffer pools of a quarter, once and four times
the redo.  Every recovered database is checked against what had been confirmed as committed."""
import mmap
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import sysbench
from ..case import Case, Measurement
from ..data import Data
from ..errors import BenchError
from ..tables import sbtest

TITLE = 'recovery after a crash, by size of the buffer pool'
ROUNDS, SECONDS = 4, 10
# OFF by default; vanilla has no such variable
SERVER = {'loose_innodb_fast_recovery': 'ON'}
LOAD = {'rows': 1000000, 'redo-MiB': 256, 'threads': 16, 'rows-per-transaction': 10}
# nothing is written to the data files, so that all of the redo is needed
KEEP_DIRTY = {'innodb_buffer_pool_size': '2G', 'innodb_adaptive_flushing': 'OFF', 'innodb_max_dirty_pages_pct': '99.9',
              'innodb_max_dirty_pages_pct_lwm': '0', 'innodb_flush_log_at_trx_commit': '1', 'innodb_doublewrite': 'ON'}
REQUEST, REQUESTS = 1 << 20, 8    # to read at the speed of the device: bytes, and how many at the same time


def log_size(redo):
    """A redo log that holds `redo` MiB without a checkpoint."""
    return f'{max(64, 2 * redo)}M'


def crashed(rows, redo):
    """Data of a server that was killed with `redo` MiB in its log."""
    base = sbtest(1, rows)

    def load(server):
        base.load(server)
        sysbench.run(server, 'recovery', action='prepare')

    def crash(server):
        server.stop()    # a checkpoint: all redo is the load's
        server.options.update(KEEP_DIRTY, innodb_log_file_size=log_size(redo))
        server.start()
        with server.connect('bench') as connection:
            total = int(connection.query('SELECT SUM(k) FROM sbtest1')[0][0])
            ended = []

            def transactions():
                try:
                    ended.append(sysbench.run(server, 'recovery', threads=LOAD['threads'], time=600, table_size=rows,
                                              notes=server.run, killed=True))
                except BenchError as error:
                    ended.append(error)
            thread = threading.Thread(target=transactions)
            thread.start()
            age = 0
            while age < redo << 20 and thread.is_alive():
                age = int(connection.query("SHOW GLOBAL STATUS LIKE 'Innodb_checkpoint_age'")[0][1])
                time.sleep(0.01)
            early = not thread.is_alive()
            server.kill()
            thread.join()
        if early:
            raise BenchError(f'the load ended before there were {redo} MiB of redo: {age >> 20} MiB', str(ended[0])[-2000:])
        confirmed = {path.name: int(path.read_text() or 0) for path in Path(server.run).iterdir() if path.name.isdigit()}
        return {'sum': total, 'redo_bytes': age, 'confirmed': confirmed}
    made_from = {**base.made_from, 'redo': redo, 'threads': LOAD['threads'],
                 'script': sysbench.script('recovery').read_text(encoding='utf-8')}
    return Data(f'crashed-{rows}-{redo}M', made_from, load, crash=crash)


def check(server, facts):
    """Raises where a confirmed transaction is lost, or one is there in part."""
    broken = []
    with server.connect('bench') as connection:
        ledger = {thread: (int(count), int(last)) for thread, count, last in
                  connection.query('SELECT thread, COUNT(*), MAX(number) FROM ledger GROUP BY thread')}
        for thread, confirmed in facts['confirmed'].items():
            count, last = ledger.get(thread, (0, 0))
            # the last one may have been committed and the answer not have come any more
            if count != last or not confirmed <= last <= confirmed + 1:
                broken.append(f'thread {thread}: {confirmed} transactions were confirmed, '
                              f'{count} are there, the last is number {last}')
        added = int(connection.query('SELECT SUM(k) FROM sbtest1 FORCE INDEX (PRIMARY)')[0][0]) - facts['sum']
        expected = LOAD['rows-per-transaction'] * sum(count for count, _ in ledger.values())
        if added != expected:
            broken.append(f'the rows of sbtest1 have {added} updates, the ledger says {expected}')
        broken += [f'CHECK TABLE {row[0]}: {row[3]}' for row in connection.query('CHECK TABLE sbtest1, ledger')
                   if row[2] != 'status' or row[3] != 'OK']
    if broken:
        raise BenchError(f'{server.build.name}: the recovered data are wrong', *broken[:8])


def read_once(data, redo_bytes):
    """Seconds in which the device reads what no recovery can do without: that much log, and the tables, of which nearly all
    pages are changed.  None where the file system cannot read without its cache."""
    tables = (data / 'bench').glob('*.ibd')
    pieces = [(path, offset) for path, size in [(data / 'ib_logfile0', redo_bytes), *((path, path.stat().st_size) for path in tables)]
              for offset in range(0, size, REQUEST)]

    def read(piece):
        path, offset = piece
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            with mmap.mmap(-1, REQUEST) as buffer:    # it has to be aligned
                os.preadv(file, [buffer], offset)
        finally:
            os.close(file)
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(REQUESTS) as readers:
            list(readers.map(read, pieces))
    except OSError:
        return None
    return time.monotonic() - began


def cases(scale):
    """Buffer pools of a quarter, once and four times the redo."""
    rows, redo = scale.of(LOAD['rows'], least=20000), scale.of(LOAD['redo-MiB'], least=8)
    data = crashed(rows, redo)

    def measure(context):
        alone = read_once(context.data, context.facts['redo_bytes'])
        before = context.limit.requests()    # of the servers of earlier runs
        server = context.start()
        seconds, counts, status = server.started_in, server.counts(), server.status()
        counts.update((name, counts[name] - before[name]) for name in before)
        check(server, context.facts)
        return Measurement(seconds, seconds, {
            'redo_bytes': context.facts['redo_bytes'], 'pages_read': status['innodb_pages_read'],
            'pages_written': status['innodb_pages_written'], 'device_seconds': alone, **counts})
    return [Case(name=f'pool-{name}', title=f'{redo} MiB of redo, pool {words}', measure='seconds', better='lower',
                 data=data, run=measure, estimate=9,
                 options={'innodb_buffer_pool_size': f'{max(8, round(redo * factor))}M', 'innodb_log_file_size': log_size(redo)},
                 compare=('cpu_seconds', 'read_bytes', 'write_bytes'))
            for name, words, factor in (('quarter', 'a quarter of it', 0.25), ('once', 'the size of it', 1), ('four', 'four times that', 4))]
