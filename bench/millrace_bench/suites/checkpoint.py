"""Writes with a small redo log, so that pages have to follow them to the disk at once.

Measures the throughput of each second, and how far the worst seconds fall below the mean."""
from millrace_bench.measure import stats
from millrace_bench.measure.case import Case, Suite, measured
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform', 'threads': 16}


class WriteOnly(Case):
    """sysbench's write-only load."""
    name, title = 'write-only-16', 'write-only, 16 clients, redo log 64M'
    compare = ('worst_over_mean', 'p1_over_mean', 'p99_ms')
    warm_up = 5
    sysbench = {}    # more options

    def __init__(self, scale):
        self.data = Sbtest(LOAD['tables'], scale.of(LOAD['rows'] // LOAD['tables'], least=1000))
        self.estimate = scale.seconds + self.warm_up + 6

    def measure(self, context):
        server = context.start()
        load = self.data.arguments(rand_type=LOAD['rand-type'], threads=LOAD['threads'],
                                   **self.sysbench)
        context.warm_up(server, 'oltp_write_only', **load)
        result, timeline = context.load(server, 'oltp_write_only', **load)
        rates = [rate for _, rate, *_ in timeline]
        mean = sum(rates) / len(rates) or 1    # the disk may have stood still in all of them
        return measured(result, timeline, worst_over_mean=min(rates) / mean,
                        p1_over_mean=stats.percentile(rates, 1) / mean)


class FixedRate(WriteOnly):
    """The same load, of which a part is asked for every second.

    The response times have the time that transactions wait for a client, so that a second in
    which the server stands still counts for all that were asked for in it."""
    name, title = 'write-only-3000', 'write-only, 3,000 transactions/s asked for, redo log 64M'
    sysbench = {'rate': 3000}


class Checkpoint(Suite):
    """As much as the server can, and a fixed rate."""
    name = 'checkpoint'
    title = 'write-heavy with a small redo log: throughput second by second'
    rounds, seconds = 4, 25
    server = {'innodb_buffer_pool_size': '512M', 'innodb_log_file_size': '64M',
              'innodb_flush_log_at_trx_commit': '2'}
    load = LOAD

    def cases(self):
        return [WriteOnly(self.scale), FixedRate(self.scale)]
