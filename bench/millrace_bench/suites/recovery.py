"""Crash recovery of one data directory, left by a server that was killed at a fixed amount of
redo.

Measures the time until a server over a copy of it accepts connections, with buffer pools of a
quarter, once and four times the redo.  Every recovered database is checked against the
transactions that had been confirmed."""
import mmap
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure import sysbench
from millrace_bench.measure.case import Case, Suite, Work
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'rows': 1000000, 'redo-MiB': 256, 'threads': 16, 'rows-per-transaction': 10}
# nothing is written to the data files, so that all of the redo is needed
KEEP_DIRTY = {'innodb_buffer_pool_size': '2G', 'innodb_adaptive_flushing': 'OFF',
              'innodb_max_dirty_pages_pct': '99.9', 'innodb_max_dirty_pages_pct_lwm': '0',
              'innodb_flush_log_at_trx_commit': '1', 'innodb_doublewrite': 'ON'}
REQUEST, REQUESTS = 1 << 20, 8    # read at the speed of the device: bytes, and how many at once


def log_size(redo):
    """A redo log that holds `redo` MiB without a checkpoint."""
    return f'{max(64, 2 * redo)}M'


class Transactions(threading.Thread):
    """Load on a server that is going to be killed; `outcome` is its output, or its Failure."""

    def __init__(self, server, rows):
        super().__init__()
        self.server, self.rows, self.outcome = server, rows, ''

    def run(self):
        try:
            self.outcome = sysbench.run(
                self.server, 'recovery', threads=LOAD['threads'], time=600,
                table_size=self.rows, notes=self.server.run, killed=True)
        except Failure as error:
            self.outcome = str(error)


class Crashed(Sbtest):
    """Data of a server that was killed with `redo` MiB in its log."""

    def __init__(self, rows, redo):
        super().__init__(1, rows)
        self.name, self.redo = f'crashed-{rows}-{redo}M', redo
        self.made_from |= {'redo': redo, 'threads': LOAD['threads'],
                           'script': sysbench.script('recovery').read_text(encoding='utf-8')}

    def load(self, server):
        super().load(server)
        sysbench.run(server, 'recovery', action='prepare')

    def end(self, server):
        """Loads until there is enough redo, and kills: the facts to check a recovery by."""
        server.stop()    # a checkpoint: all redo is the load's
        server.options.update(KEEP_DIRTY, innodb_log_file_size=log_size(self.redo))
        server.start()
        age, load = 0, Transactions(server, self.rows)
        with server.connect('bench') as connection:
            total = int(connection.query('SELECT SUM(k) FROM sbtest1')[0][0])
            load.start()
            while age < self.redo << 20 and load.is_alive():
                [(_, age)] = connection.query("SHOW GLOBAL STATUS LIKE 'Innodb_checkpoint_age'")
                age = int(age)
                time.sleep(0.01)
            early = not load.is_alive()
            server.kill()
            load.join()
        if early:
            raise Failure(f'the load ended before there were {self.redo} MiB of redo: '
                          f'{age >> 20} MiB', load.outcome[-2000:])
        confirmed = {path.name: int(path.read_text() or 0)
                     for path in Path(server.run).iterdir() if path.name.isdigit()}
        return {'sum': total, 'redo_bytes': age, 'confirmed': confirmed}


def check(server, facts):
    """Raises Failure where a confirmed transaction is lost, or one is there in part."""
    broken = []
    with server.connect('bench') as connection:
        ledger = {str(thread): (int(count), int(last)) for thread, count, last in
                  connection.query('SELECT thread, COUNT(*), MAX(number) FROM ledger'
                                   ' GROUP BY thread')}
        for thread, confirmed in facts['confirmed'].items():
            count, last = ledger.get(thread, (0, 0))
            # the last one may be committed although its confirmation did not come any more
            if count != last or not confirmed <= last <= confirmed + 1:
                broken.append(f'thread {thread}: {confirmed} transactions were confirmed, '
                              f'{count} are there, the last is number {last}')
        [(total,)] = connection.query('SELECT SUM(k) FROM sbtest1 FORCE INDEX (PRIMARY)')
        added = int(total) - facts['sum']
        expected = LOAD['rows-per-transaction'] * sum(count for count, _ in ledger.values())
        if added != expected:
            broken.append(f'the rows of sbtest1 have {added} updates, the ledger says {expected}')
        broken += [f'CHECK TABLE {table}: {text}' for table, _, kind, text in
                   connection.query('CHECK TABLE sbtest1, ledger')
                   if kind != 'status' or text != 'OK']
    if broken:
        raise Failure(f'{server.build.name}: the recovered data are wrong', *broken[:8])


def _read_piece(piece):
    """Reads a piece of a file, (path, offset), without the page cache."""
    path, offset = piece
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, REQUEST) as buffer:    # it has to be aligned
            os.preadv(file, [buffer], offset)
    finally:
        os.close(file)


def read_once(data, redo_bytes):
    """Seconds in which the device reads the files that every recovery has to read.

    These are `redo_bytes` of the log and the tables, of which nearly all pages are changed.  None
    where the file system cannot read without its cache."""
    files = [(data / 'ib_logfile0', redo_bytes),
             *((path, path.stat().st_size) for path in (data / 'bench').glob('*.ibd'))]
    pieces = [(path, offset) for path, size in files for offset in range(0, size, REQUEST)]
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(REQUESTS) as readers:
            list(readers.map(_read_piece, pieces))
    except OSError:
        return None
    return time.monotonic() - began


class Start(Case):
    """The start of a server over the crashed data, with a buffer pool of `pool` MiB."""
    unit, better = 'seconds', 'lower'
    compare = ('cpu_seconds', 'read_bytes', 'write_bytes')
    estimate = 9

    def __init__(self, name, title, data, pool):
        self.name, self.title, self.data = name, title, data
        self.options = {'innodb_buffer_pool_size': f'{max(8, pool)}M',
                        'innodb_log_file_size': log_size(data.redo)}

    def measure(self, context):
        alone = read_once(context.data, context.facts['redo_bytes'])
        with Work(context) as work:
            work.server = context.start()
        check(work.server, context.facts)
        return work.measurement(value=work.server.started_in, device_seconds=alone,
                                redo_bytes=context.facts['redo_bytes'])


class Recovery(Suite):
    """Buffer pools of a quarter, once and four times the redo."""
    name = 'recovery'
    title = 'recovery after a crash, by size of the buffer pool'
    rounds, seconds = 4, 10
    # OFF by default; vanilla has no such variable
    server = {'loose_innodb_fast_recovery': 'ON'}
    load = LOAD

    def cases(self):
        redo = self.scale.of(LOAD['redo-MiB'], least=8)
        data = Crashed(self.scale.of(LOAD['rows'], least=20000), redo)
        return [Start(f'pool-{name}', f'{redo} MiB of redo, pool {words}', data,
                      round(redo * factor))
                for name, words, factor in (('quarter', 'a quarter of it', 0.25),
                                            ('once', 'the size of it', 1),
                                            ('four', 'four times that', 4))]
