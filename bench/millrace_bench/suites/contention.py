"""Many clients and a working set larger than the buffer pool: how often InnoDB's mutexes are taken and
how long they are waited for, as performance_schema counts them, with the throughput.

performance_schema counts each acquisition and the time from asking to having; an acquisition without
waiting costs some 50 ns of that."""
from ..case import Case
from ..tables import sbtest

TITLE = 'many clients, working set larger than the buffer pool'
ROUNDS, SECONDS = 3, 8
SERVER = {'innodb_buffer_pool_size': '64M', 'innodb_flush_log_at_trx_commit': '2', 'performance_schema': 'ON',
          'performance_schema_instrument': 'wait/synch/mutex/innodb/%=ON', 'performance_schema_max_mutex_classes': '300'}
LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform'}
WARM_UP = 3
# the latches that a page takes on its way into the pool, and what they are called in the figures
OF_A_PAGE = {'buf_pool_mutex': 'buf_pool', 'buf_pool_free_mutex': 'buf_pool_free', 'fil_system_mutex': 'fil_system'}
# a sum over a tenth of the rows of a table, in the order of the primary key
SCAN = {'skip_trx': 'on', 'point_selects': 0, 'simple_ranges': 0, 'sum_ranges': 1, 'order_ranges': 0, 'distinct_ranges': 0}


def _mutexes(server):
    with server.connect('performance_schema') as connection:
        rows = connection.query("SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM events_waits_summary_global_by_event_name"
                                " WHERE EVENT_NAME LIKE 'wait/synch/mutex/innodb/%'")
    return {name.rpartition('/')[2]: (int(count), int(picoseconds)) for name, count, picoseconds in rows}


def cases(scale):
    """Read-write for each number of clients, single misses, scans."""
    tables, rows = LOAD['tables'], scale.of(LOAD['rows'] // LOAD['tables'], least=1000)
    data = sbtest(tables, rows)
    loads = {
        **{f'clients-{clients}': (f'read-write, {clients} clients, pool a quarter of the data', 'oltp_read_write',
                                  {'threads': clients}) for clients in (4, 16, 64, 256)},
        'misses-64': ('point selects, 64 clients, pool a quarter of the data', 'oltp_point_select', {'threads': 64}),
        'scans-4': ('scans, 4 clients, pool a quarter of the data', 'oltp_read_only',
                    {'threads': 4, 'range_size': rows // 10, **SCAN}),
    }

    def run(load, options):
        def measure(context):
            server = context.start()
            before = None

            def begin():
                nonlocal before
                before = _mutexes(server), server.status()['innodb_pages_read']
            result, timeline = context.load(server, load, warm_up=min(WARM_UP, scale.seconds), begin=begin, tables=tables,
                                            table_size=rows, rand_type=LOAD['rand-type'], **options)
            after = _mutexes(server), server.status()['innodb_pages_read']
            pages = after[1] - before[1]
            figures, total = {'pages_read': pages}, [0, 0]
            for name, (count, waited) in after[0].items():
                count, waited = count - before[0].get(name, (0, 0))[0], waited - before[0].get(name, (0, 0))[1]
                total = [total[0] + count, total[1] + waited]
                if count:
                    figures[f'{name}_acquisitions'] = count
                    figures[f'{name}_ms'] = waited / 1e9
                if name in OF_A_PAGE:
                    figures[f'{OF_A_PAGE[name]}_acquisitions_per_page'] = count / max(1, pages)
                    figures[f'{OF_A_PAGE[name]}_us_per_page'] = waited / 1e6 / max(1, pages)
            done = max(1, result.transactions)
            figures['acquisitions_per_transaction'] = total[0] / done
            figures['mutex_us_per_transaction'] = total[1] / 1e6 / done
            return context.measured(result, timeline, **figures)
        return measure
    return [Case(name=name, title=title, measure='transactions/s', better='higher', data=data, run=run(load, options),
                 estimate=scale.seconds + WARM_UP + 5,
                 compare=('buf_pool_acquisitions_per_page', 'buf_pool_us_per_page', 'fil_system_acquisitions_per_page',
                          'p99_ms'))
            for name, (title, load, options) in loads.items()]
