"""Many clients and a working set larger than the buffer pool: how often InnoDB's mutexes are taken and
how long they are waited for, as performance_schema counts them, with the throughput.

performance_schema counts each acquisition and the time from asking to having; an acquisition without
waiting costs some 50 ns of that.  How many waited is reckoned from the last acquisitions of each run, of
which it knows the time of each one.  Nothing else is counted by it meanwhile."""
from ..case import Case
from ..tables import sbtest

TITLE = 'many clients, working set larger than the buffer pool'
ROUNDS, SECONDS = 3, 8
# neighbours are not written on a disk that does not rotate; a virtual one may say that it does
SERVER = {'innodb_flush_log_at_trx_commit': '2', 'innodb_flush_neighbors': '0',
          'performance_schema': 'ON',
          'performance_schema_instrument': 'wait/synch/mutex/innodb/%=ON', 'performance_schema_max_mutex_classes': '300',
          'performance_schema_consumer_events_waits_current': 'ON',
          'performance_schema_consumer_events_waits_history_long': 'ON',
          'performance_schema_events_waits_history_long_size': '200000'}
LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform'}
POOL = 64    # MiB, a quarter of the data
WARM_UP = 3
WAITED = 5_000_000    # picoseconds: a hundred times what an acquisition without waiting takes, and less than to go to sleep and wake up
# the latches that a page takes on its way into the pool, and what they are called in the figures
OF_A_PAGE = {'buf_pool_mutex': 'buf_pool', 'buf_pool_free_mutex': 'buf_pool_free', 'fil_system_mutex': 'fil_system'}
# a sum over the rows of a table, in the order of the primary key, from any of them to the last one
SCAN = {'skip_trx': 'on', 'point_selects': 0, 'simple_ranges': 0, 'sum_ranges': 1, 'order_ranges': 0, 'distinct_ranges': 0}


def _mutexes(server):
    with server.connect('performance_schema') as connection:
        rows = connection.query("SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM events_waits_summary_global_by_event_name"
                                " WHERE EVENT_NAME LIKE 'wait/synch/mutex/innodb/%'")
    return {name.rpartition('/')[2]: (int(count), int(picoseconds)) for name, count, picoseconds in rows}


def _only_mutexes(server):
    with server.connect('performance_schema') as connection:
        connection.query("UPDATE setup_instruments SET ENABLED='NO' WHERE NAME NOT LIKE 'wait/synch/mutex/innodb/%'")


def _shares_of_waits(server):
    """Of each mutex, the share of the last acquisitions that had to wait."""
    with server.connect('performance_schema') as connection:
        rows = connection.query('SELECT EVENT_NAME, AVG(TIMER_WAIT > %d) FROM events_waits_history_long GROUP BY EVENT_NAME' % WAITED)
    return {name.rpartition('/')[2]: float(share) for name, share in rows}


def _share_of_hits(server):
    """The share of the last acquisitions of buf_pool.mutex in which a client moved a page that it found in the
    pool to the start of the LRU list; None where there is no free_mutex to know them by.

    A miss takes free_mutex first, and may wake up the page cleaner in between; what a client does under
    buf_pool.mutex right after buf_pool.mutex belongs to no miss."""
    with server.connect('performance_schema') as connection:
        ((hits, taken, misses),) = connection.query(
            "SELECT SUM(own = 'buf_pool_mutex' AND before_it = 'buf_pool_mutex' AND NAME IS NULL), SUM(own = 'buf_pool_mutex'),"
            " SUM(own = 'buf_pool_free_mutex') FROM (SELECT THREAD_ID, SUBSTRING_INDEX(EVENT_NAME, '/', -1) AS own,"
            " LAG(SUBSTRING_INDEX(EVENT_NAME, '/', -1)) OVER (PARTITION BY THREAD_ID ORDER BY EVENT_ID) AS before_it"
            " FROM events_waits_history_long) AS history LEFT JOIN threads USING (THREAD_ID)")    # clients are gone by now
    return float(hits) / float(taken) if misses and float(misses) and float(taken) else None


def cases(scale):
    """Read-write for each number of clients, single misses, scans."""
    tables, rows = LOAD['tables'], scale.of(LOAD['rows'] // LOAD['tables'], least=1000)
    data = sbtest(tables, rows)
    loads = {
        **{f'clients-{clients}': (f'read-write, {clients} clients, pool a quarter of the data', 'oltp_read_write',
                                  {'threads': clients}) for clients in (4, 16, 64, 256)},
        'misses-64': ('point selects, 64 clients, pool a quarter of the data', 'oltp_point_select', {'threads': 64}),
        'scans-4': ('scans, 4 clients, pool a quarter of the data', 'oltp_read_only',
                    {'threads': 4, 'range_size': rows, **SCAN}),
    }

    def run(load, options):
        def measure(context):
            server = context.start()
            _only_mutexes(server)
            before = None

            def begin():
                nonlocal before
                before = _mutexes(server), server.status()
            result, timeline = context.load(server, load, warm_up=min(WARM_UP, scale.seconds), begin=begin, tables=tables,
                                            table_size=rows, rand_type=LOAD['rand-type'], **options)
            after, waits, hits = (_mutexes(server), server.status()), _shares_of_waits(server), _share_of_hits(server)
            pages, ahead = (after[1][name] - before[1][name] for name in ('innodb_pages_read', 'innodb_buffer_pool_read_ahead'))
            divisor = max(1, pages)
            figures, total = {'pages_read': pages, 'read_ahead_per_page': ahead / divisor}, [0, 0]
            for name, (count, waited) in after[0].items():
                count, waited = count - before[0].get(name, (0, 0))[0], waited - before[0].get(name, (0, 0))[1]
                total = [total[0] + count, total[1] + waited]
                if count:
                    figures[f'{name}_acquisitions'] = count
                    figures[f'{name}_ms'] = waited / 1e9
                if name in OF_A_PAGE:
                    figures[f'{OF_A_PAGE[name]}_acquisitions_per_page'] = count / divisor
                    figures[f'{OF_A_PAGE[name]}_us_per_page'] = waited / 1e6 / divisor
                    figures[f'{OF_A_PAGE[name]}_waits_per_page'] = waits.get(name, 0) * count / divisor
            if hits is not None:
                # no part of a miss; Innodb_buffer_pool_pages_made_young has only those from the old end of the list
                figures['buf_pool_hits_per_page'] = hits * figures['buf_pool_acquisitions_per_page']
            done = max(1, result.transactions)
            figures['acquisitions_per_transaction'] = total[0] / done
            figures['mutex_us_per_transaction'] = total[1] / 1e6 / done
            return context.measured(result, timeline, **figures)
        return measure
    return [Case(name=name, title=title, measure='transactions/s', better='higher', data=data, run=run(load, options),
                 estimate=scale.seconds + WARM_UP + 5, options=scale.pool(POOL, least=16),
                 compare=('buf_pool_acquisitions_per_page', 'buf_pool_waits_per_page', 'buf_pool_us_per_page',
                          'fil_system_acquisitions_per_page', 'p99_ms'))
            for name, (title, load, options) in loads.items()]
