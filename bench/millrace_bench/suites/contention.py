"""Many clients and a working set larger than the buffer pool: how often InnoDB's mutexes are
taken and how long they are waited for, as performance_schema counts them, and the throughput.

performance_schema counts each acquisition and the time from asking to having; an acquisition
without waiting costs some 50 ns of that.  The number of those that waited is reckoned from the
last acquisitions of each run, which performance_schema keeps one by one.  It counts nothing else
meanwhile.

How long the mutexes are held is measured in runs of their own, by millrace_bench.measure.held.
That is on this many cores: a holder that is preempted holds on.  Measuring adds some 50 ns to
each hold, so more where a mutex is acquired more often."""
import tempfile
from dataclasses import dataclass
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure import held
from millrace_bench.measure.case import Case, Suite, measured
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform'}
POOL = 64    # MiB, a quarter of the data
# picoseconds: a hundred times an acquisition without waiting, and less than to sleep and wake up
WAITED = 5_000_000
# the latches that a page takes on its way into the pool, and their names in the figures
OF_A_PAGE = {'buf_pool_mutex': 'buf_pool', 'fil_system_mutex': 'fil_system'}
# a sum over the rows of a table in the order of the primary key, from any row to the last one
SCAN = {'skip_trx': 'on', 'point_selects': 0, 'simple_ranges': 0, 'sum_ranges': 1,
        'order_ranges': 0, 'distinct_ranges': 0}


@dataclass(frozen=True)
class Snapshot:
    """The counters of a server: {mutex: (acquisitions, picoseconds)} and its status."""
    mutexes: dict
    status: dict


def _rows(server, statement):
    with server.connect('performance_schema') as connection:
        return connection.query(statement)


def snapshot(server):
    """A Snapshot of a running server."""
    rows = _rows(server, 'SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT'
                 ' FROM events_waits_summary_global_by_event_name'
                 " WHERE EVENT_NAME LIKE 'wait/synch/mutex/innodb/%'")
    return Snapshot({name.rpartition('/')[2]: (int(count), int(picoseconds))
                     for name, count, picoseconds in rows}, server.status())


def waits(server):
    """The share of the last acquisitions of a running server that waited, by mutex."""
    return {name.rpartition('/')[2]: float(share) for name, share in _rows(
        server, f'SELECT EVENT_NAME, AVG(TIMER_WAIT > {WAITED})'
        ' FROM events_waits_history_long GROUP BY EVENT_NAME')}


def accounting(before, after, waited_share, transactions):
    """The figures between two Snapshots, with the waits() at the end."""
    pages, ahead = (after.status[name] - before.status[name]
                    for name in ('innodb_pages_read', 'innodb_buffer_pool_read_ahead'))
    divisor = max(1, pages)
    figures = {'pages_read': pages, 'read_ahead_per_page': ahead / divisor}
    acquisitions = picoseconds = 0
    for name, (count, waited) in after.mutexes.items():
        count_before, waited_before = before.mutexes.get(name, (0, 0))
        count, waited = count - count_before, waited - waited_before
        acquisitions, picoseconds = acquisitions + count, picoseconds + waited
        if count:
            figures[f'{name}_acquisitions'] = count
            figures[f'{name}_ms'] = waited / 1e9
        if short := OF_A_PAGE.get(name):
            figures[f'{short}_acquisitions_per_page'] = count / divisor
            figures[f'{short}_us_per_page'] = waited / 1e6 / divisor
            figures[f'{short}_waits_per_page'] = waited_share.get(name, 0) * count / divisor
    done = max(1, transactions)
    figures['acquisitions_per_transaction'] = acquisitions / done
    figures['mutex_us_per_transaction'] = picoseconds / 1e6 / done
    return figures


class Crowd(Case):
    """One of sysbench's loads with its options."""
    compare = ('buf_pool_acquisitions_per_page', 'buf_pool_waits_per_page',
               'buf_pool_us_per_page', 'fil_system_acquisitions_per_page', 'p99_ms')
    warm_up = 3

    def __init__(self, name, what, data, scale, script, **load):
        self.name, self.title, self.data = name, f'{what}, pool a quarter of the data', data
        self.script = script
        self.load = data.arguments(rand_type=LOAD['rand-type'], **load)
        self.options = scale.pool(POOL, least=16)
        self.estimate = scale.seconds + self.warm_up + 5

    def measure(self, context):
        server = context.start()
        _rows(server, "UPDATE setup_instruments SET ENABLED='NO'"
              " WHERE NAME NOT LIKE 'wait/synch/mutex/innodb/%'")
        context.warm_up(server, self.script, **self.load)
        before = snapshot(server)
        result, timeline = context.load(server, self.script, **self.load)
        after = snapshot(server)
        return measured(result, timeline,
                        **accounting(before, after, waits(server), result.transactions))


def hold_times(server, file):
    """{name of a mutex of OF_A_PAGE: its Held} of a running server that has our library."""
    found = held.read(file)
    return {OF_A_PAGE[name]: found.get(int(address), held.NEVER) for name, address in (
        (name.rpartition('/')[2], address) for name, address in _rows(
            server, 'SELECT NAME, OBJECT_INSTANCE_BEGIN FROM mutex_instances'))
            if name in OF_A_PAGE}


class Holders(Crowd):
    """How long the mutexes are held under the same load, buf_pool.mutex above all."""
    unit, better = 'buf_pool_held_ns_per_transaction', 'lower'
    compare = ('transactions', 'buf_pool_held_ns_per_page', 'buf_pool_acquisitions_per_page',
               'fil_system_held_ns_per_page')

    def measure(self, context):
        with tempfile.TemporaryDirectory(prefix='millrace-held-') as directory:
            environment, file = held.environment(Path(directory), context.build.root)
            server = context.start(environment)
            _rows(server, "UPDATE setup_instruments SET ENABLED='NO'")
            context.warm_up(server, self.script, **self.load)
            before, pages = hold_times(server, file), server.status()['innodb_pages_read']
            result, timeline = context.load(server, self.script, **self.load)
            after = hold_times(server, file)
            pages = server.status()['innodb_pages_read'] - pages
        if after['buf_pool'].count == before['buf_pool'].count:
            raise Failure(f'{context.build.name}: no acquisition of buf_pool.mutex was noted',
                          'a server with SAFE_MUTEX, or with InnoDB in a plugin?')
        figures = {'pages_read': pages}
        for name, all_of_it in after.items():
            of_it = all_of_it - before[name]
            figures |= {f'{name}_acquisitions_per_page': of_it.count / max(1, pages),
                        f'{name}_held_ns_per_page': of_it.ns / max(1, pages),
                        f'{name}_held_ns_per_transaction': of_it.ns / max(1, result.transactions),
                        **{f'{name}_held_p{share:g}_ns': of_it.percentile(share / 100)
                           for share in (50, 90, 99, 99.9)}}
        return measured(result, timeline, figures.pop(self.unit), **figures)


class Contention(Suite):
    """Read-write for each number of clients, single misses, scans."""
    name = 'contention'
    title = 'many clients, working set larger than the buffer pool'
    rounds, seconds = 3, 8
    # a virtual disk may say that it rotates: neighbours are not written
    server = {'innodb_flush_log_at_trx_commit': '2', 'innodb_flush_neighbors': '0',
              'performance_schema': 'ON',
              'performance_schema_instrument': 'wait/synch/mutex/innodb/%=ON',
              'performance_schema_max_mutex_classes': '300',
              'performance_schema_consumer_events_waits_current': 'ON',
              'performance_schema_consumer_events_waits_history_long': 'ON',
              'performance_schema_events_waits_history_long_size': '200000'}
    load = LOAD
    # the class of the cases, and how many clients read and write, or miss single pages
    case, clients, missing = Crowd, (4, 16, 64, 256), 64

    def cases(self):
        rows = self.scale.of(LOAD['rows'] // LOAD['tables'], least=1000)
        data = Sbtest(LOAD['tables'], rows)
        return [
            *(self.case(f'clients-{clients}', f'read-write, {clients} clients', data, self.scale,
                        'oltp_read_write', threads=clients) for clients in self.clients),
            self.case(f'misses-{self.missing}', f'point selects, {self.missing} clients', data,
                      self.scale, 'oltp_point_select', threads=self.missing),
            self.case('scans-4', 'scans, 4 clients', data, self.scale, 'oltp_read_only',
                      threads=4, range_size=rows, **SCAN)]


class HoldTimes(Contention):
    """Three of these loads."""
    name = 'held'
    title = "how long InnoDB's mutexes are held, working set larger than the buffer pool"
    server = {name: value for name, value in Contention.server.items()
              if 'events_waits' not in name}
    case, clients, missing = Holders, (16,), 16
