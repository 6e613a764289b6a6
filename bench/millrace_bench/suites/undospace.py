"""The space that undo log takes over a long time: bursts of large transactions, pauses, readers
that keep old versions for minutes, with two undo tablespaces that are truncated.

A day in 6 minutes; in 20 with SECONDS=1200.  The value is the size of the undo tablespaces at the
end, a pause after the last burst."""
import threading
import time
from pathlib import Path

from millrace_bench.measure import sysbench
from millrace_bench.measure.case import Case, Suite, measured
from millrace_bench.measure.client import SqlError
from millrace_bench.suites.undo import Tables, per_transaction, segments

LOAD = {'threads': 16, 'rows': 1000, 'updated': 100}
# a burst has this share of an hour of the day, with a reader in each third hour; then a pause
HOURS, BURST = 24, 0.5


def undo_bytes(server):
    """Bytes of the undo tablespaces."""
    return sum(path.stat().st_size for path in Path(server.data).glob('undo*'))


class Watch(threading.Thread):
    """Notes the size of the undo tablespaces each second while the block lasts."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.sizes, self.ended = server, [], threading.Event()

    def run(self):
        while not self.ended.wait(1):
            self.sizes.append(undo_bytes(self.server))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def largest(self, share=1):
        """MiB, the largest in the last `share` of the time."""
        last = self.sizes[int(len(self.sizes) * (1 - share)):]
        return max(last, default=0) / 2**20


class Reader:
    """A transaction that keeps old versions, over the first two of every three hours."""

    def __init__(self, server):
        self.server, self.connection = server, None

    def hour(self, number):
        """An hour begins."""
        if number % 3 != 1:
            self.close()
        if number % 3 == 0:
            self.connection = self.server.connect('bench')
            self.connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')

    def close(self):
        """Ends the transaction."""
        if self.connection:
            self.connection.close()
        self.connection = None


class Day(Case):
    """Bursts and pauses."""
    name, title = 'day', 'undo tablespaces after bursts and long readers'
    unit, better, compare = 'MiB', 'lower', ()
    options = {'innodb_undo_tablespaces': '2'}

    def __init__(self, scale):
        self.data = Tables(LOAD['threads'], LOAD['rows'], 'undospace')
        self.estimate = scale.seconds + 60

    def measure(self, context):
        server = context.start()
        before, began = segments(server), time.monotonic()
        hours = min(HOURS, max(3, context.scale.seconds // 10))
        hour = context.scale.seconds / hours
        bursts, timeline, reader = [], [], Reader(server)
        with Watch(server) as watch:
            for number in range(hours):
                reader.hour(number)
                passed = int(time.monotonic() - began)    # bursts and pauses
                result, seconds = context.load(server, 'undo', temporary='off',
                                               time=max(1, round(hour * BURST)), **LOAD)
                timeline += [(passed + second, *rest) for second, *rest in seconds]
                bursts.append(result)
                time.sleep(hour * (1 - BURST))
            reader.close()
            with server.connect() as connection:
                try:
                    connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
                except SqlError:
                    pass    # not in every build
            time.sleep(hour)
        total, status = sysbench.sum_results(bursts), server.status()
        return measured(total, timeline, undo_bytes(server) / 2**20,
                        largest_MiB=watch.largest(),
                        last_quarter_largest_MiB=watch.largest(0.25),
                        truncations=status['innodb_undo_truncations'],
                        **per_transaction(before, segments(server), total.transactions))


class UndoSpace(Suite):
    """One case."""
    name = 'undospace'
    title = 'space of undo log, with long readers, bursts and truncation'
    rounds, seconds = 1, 360
    server = {'innodb_buffer_pool_size': '512M', 'innodb_flush_log_at_trx_commit': '0',
              'innodb_undo_log_truncate': 'ON'}
    load = LOAD

    def cases(self):
        return [Day(self.scale)]
