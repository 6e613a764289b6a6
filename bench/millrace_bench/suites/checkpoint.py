"""Writes with a small redo log, so that the pages have to follow them to the disk: the throughput of each
second, and how far the worst seconds fall below the mean."""
from .. import stats
from ..case import Case
from ..tables import sbtest

TITLE = 'write-heavy with a small redo log: throughput second by second'
ROUNDS, SECONDS = 4, 25
SERVER = {'innodb_buffer_pool_size': '512M', 'innodb_log_file_size': '64M', 'innodb_flush_log_at_trx_commit': '2'}
LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform', 'threads': 16}
WARM_UP = 5


def cases(scale):
    """One: sysbench's write-only load."""
    tables, rows = LOAD['tables'], scale.of(LOAD['rows'] // LOAD['tables'], least=1000)

    def measure(context):
        server = context.start()
        result, timeline = context.load(server, 'oltp_write_only', warm_up=min(WARM_UP, scale.seconds), tables=tables,
                                        table_size=rows, rand_type=LOAD['rand-type'], threads=LOAD['threads'])
        rates = [rate for _, rate, *_ in timeline]
        mean = sum(rates) / len(rates) or 1    # the disk may have stood still in all of them
        return context.measured(result, timeline, worst_over_mean=min(rates) / mean,
                                p1_over_mean=stats.percentile(rates, 0.01) / mean)
    return [Case(name='write-only-16', title='write-only, 16 clients, redo log 64M', measure='transactions/s',
                 better='higher', data=sbtest(tables, rows), run=measure, estimate=scale.seconds + WARM_UP + 6,
                 compare=('worst_over_mean', 'p1_over_mean', 'p99_ms'))]
