"""4 to 256 clients and a working set larger than the buffer pool: how often InnoDB's mutexes are taken and
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
CLIENTS = (4, 16, 64, 256)
WARM_UP = 3


def _mutexes(server):
    with server.connect('performance_schema') as connection:
        rows = connection.query("SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM events_waits_summary_global_by_event_name"
                                " WHERE EVENT_NAME LIKE 'wait/synch/mutex/innodb/%'")
    return {name.rpartition('/')[2]: (int(count), int(picoseconds)) for name, count, picoseconds in rows}


def cases(scale):
    """A case for each number of clients."""
    tables, rows = LOAD['tables'], scale.of(LOAD['rows'] // LOAD['tables'], least=1000)
    data = sbtest(tables, rows)

    def run(clients):
        def measure(context):
            server = context.start()
            before = None

            def begin():
                nonlocal before
                before = _mutexes(server), server.status()['innodb_pages_read']
            result, timeline = context.load(server, 'oltp_read_write', warm_up=min(WARM_UP, scale.seconds), begin=begin,
                                            tables=tables, table_size=rows, rand_type=LOAD['rand-type'], threads=clients)
            after = _mutexes(server), server.status()['innodb_pages_read']
            figures, total = {'pages_read': after[1] - before[1]}, [0, 0]
            for name, (count, waited) in after[0].items():
                count, waited = count - before[0].get(name, (0, 0))[0], waited - before[0].get(name, (0, 0))[1]
                total = [total[0] + count, total[1] + waited]
                if count:
                    figures[f'{name}_acquisitions'] = count
                    figures[f'{name}_ms'] = waited / 1e9
            done = max(1, result.transactions)
            figures['acquisitions_per_transaction'] = total[0] / done
            figures['mutex_us_per_transaction'] = total[1] / 1e6 / done
            figures['buf_pool_acquisitions_per_transaction'] = figures.get('buf_pool_mutex_acquisitions', 0) / done
            figures['buf_pool_us_per_transaction'] = figures.get('buf_pool_mutex_ms', 0) * 1e3 / done
            return context.measured(result, timeline, **figures)
        return measure
    return [Case(name=f'clients-{clients}', title=f'read-write, {clients} clients, pool a quarter of the data',
                 measure='transactions/s', better='higher', data=data, run=run(clients),
                 estimate=scale.seconds + WARM_UP + 5,
                 compare=('buf_pool_acquisitions_per_transaction', 'buf_pool_us_per_transaction', 'p99_ms'))
            for clients in CLIENTS]
