"""sysbench's read-write and read-only loads on data that fit into the buffer pool: the everyday load."""
from ..case import OF_TRANSACTIONS, Case
from ..tables import sbtest

TITLE = 'sysbench read-write and read-only, in memory'
ROUNDS, SECONDS = 5, 10
SERVER = {}
POOL = 1024    # MiB; never less
LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform', 'threads': 16}
WARM_UP = 3


def cases(scale):
    """read-write and read-only, 16 clients."""
    tables, rows = LOAD['tables'], scale.of(LOAD['rows'] // LOAD['tables'], least=1000)

    def run(script):
        def measure(context):
            server = context.start()
            # every page into the pool: the disk has no part in the reads
            with server.connect('bench') as connection:
                for i in range(1, tables + 1):
                    connection.query(f'SELECT SUM(LENGTH(c)), MAX(k) FROM sbtest{i} FORCE INDEX (PRIMARY)')
                    connection.query(f'SELECT COUNT(k) FROM sbtest{i} FORCE INDEX (k_{i})')
            result, timeline = context.load(server, script, warm_up=min(WARM_UP, scale.seconds), tables=tables,
                                            table_size=rows, rand_type=LOAD['rand-type'], threads=LOAD['threads'])
            return context.measured(result, timeline)
        return measure
    return [Case(name=f'{name}-{LOAD["threads"]}', title=f'{name}, {LOAD["threads"]} clients', measure='transactions/s',
                 better='higher', data=sbtest(tables, rows), run=run(script),
                 estimate=scale.seconds + WARM_UP + 5, options=scale.pool(POOL, least=POOL), compare=OF_TRANSACTIONS)
            for name, script in (('read-write', 'oltp_read_write'), ('read-only', 'oltp_read_only'))]
