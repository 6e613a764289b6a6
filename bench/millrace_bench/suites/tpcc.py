"""The five transactions of TPC-C in their standard mix: new-order transactions a minute, with
the data in memory and with a buffer pool of about a fifth of them."""
from millrace.errors import Failure
from millrace_bench.measure import sysbench
from millrace_bench.measure.case import OF_TRANSACTIONS, Case, Suite, measured
from millrace_bench.measure.data import Data

LOAD = {'warehouses': 4, 'threads': 8}

# Clauses 3.3.2.1 to 3.3.2.4 of the specification: each selects what breaks it.
CONDITIONS = {
    '3.3.2.1: W_YTD is the sum of its D_YTD': '''
        SELECT w_id, w_ytd, SUM(d_ytd) AS total FROM warehouse LEFT JOIN district ON d_w_id = w_id
        GROUP BY w_id, w_ytd HAVING NOT w_ytd <=> total''',
    '3.3.2.2: D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID': '''
        SELECT d_w_id, d_id, d_next_o_id - 1 AS last_order, o_last, no_last FROM district
        LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o_last FROM orders
                   GROUP BY o_w_id, o_d_id) o
          ON o_w_id = d_w_id AND o_d_id = d_id
        LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS no_last FROM new_order
                   GROUP BY no_w_id, no_d_id) n
          ON no_w_id = d_w_id AND no_d_id = d_id
        WHERE NOT d_next_o_id - 1 <=> o_last OR no_last IS NOT NULL AND no_last <> o_last''',
    '3.3.2.3: the NO_O_ID of a district have no gap': '''
        SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order
        GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)''',
    '3.3.2.4: the sum of O_OL_CNT is the number of order lines': '''
        SELECT o_w_id, o_d_id, announced, counted FROM
          (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS announced FROM orders
           GROUP BY o_w_id, o_d_id) o
        LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS counted FROM order_line
                   GROUP BY ol_w_id, ol_d_id) l
          ON ol_w_id = o_w_id AND ol_d_id = o_d_id
        WHERE NOT announced <=> counted''',
}


def inconsistencies(connection):
    """List the data that break the conditions, as texts."""
    warehouses, districts = (int(connection.query(f'SELECT COUNT(*) FROM {table}')[0][0])
                             for table in ('warehouse', 'district'))
    broken = []
    if not warehouses or districts != 10 * warehouses:
        broken.append(f'there are {districts} districts of {warehouses} warehouses, '
                      'not ten each')
    for condition, statement in CONDITIONS.items():
        broken += [f'{condition}: {", ".join(map(str, row))}'
                   for row in connection.query(statement)[:3]]
    return broken


def check(server):
    """Raises Failure where the data are not consistent."""
    with server.connect('bench') as connection:
        broken = inconsistencies(connection)
    if broken:
        raise Failure(f'{server.build.name}: the TPC-C data are inconsistent', *broken,
                      'no figure is taken from such data')


def orders(server):
    """Number of the new-order transactions that are committed."""
    with server.connect('bench') as connection:
        return int(connection.query('SELECT SUM(d_next_o_id) FROM district')[0][0])


class Warehouses(Data):
    """The nine tables; items and customers below the specification's make a small one."""

    def __init__(self, warehouses, items, customers):
        self.sizes = {'warehouses': warehouses, 'items': items, 'customers': customers}
        script = sysbench.script('tpcc').read_text(encoding='utf-8')
        super().__init__(f'tpcc-{warehouses}', {**self.sizes, 'script': script})

    def load(self, server):
        """Makes, fills and checks the tables."""
        self.make_database(server)
        sysbench.run(server, 'tpcc', action='create', **self.sizes)
        sysbench.run(server, 'tpcc', action='fill', threads=min(self.sizes['warehouses'], 4),
                     **self.sizes)
        check(server)


class Mix(Case):
    """The standard mix with a buffer pool of `pool` MiB."""
    unit = 'new-order transactions/min'
    warm_up = 5

    def __init__(self, name, title, data, pool, scale):
        self.name, self.title, self.data = name, title, data
        self.options = {'innodb_buffer_pool_size': f'{pool}M'}
        self.estimate = scale.seconds + self.warm_up + 10

    def measure(self, context):
        server = context.start()
        check(server)    # which brings most of the data into the pool, too
        load = {'threads': LOAD['threads'], **self.data.sizes}
        context.warm_up(server, 'tpcc', **load)
        before, pages = orders(server), server.status()['innodb_pages_read']
        result, timeline = context.load(server, 'tpcc', **load)
        pages = server.status()['innodb_pages_read'] - pages
        done = orders(server) - before
        check(server)
        return measured(result, timeline, value=done / result.seconds * 60, new_orders=done,
                        pages_read_per_transaction=pages / max(1, result.transactions))


class IoBound(Mix):
    """The mix with a pool that does not hold the data."""
    compare = (*OF_TRANSACTIONS, 'pages_read_per_transaction')


class Tpcc(Suite):
    """In memory, and with a pool of about a fifth of the data (a warehouse is about 100 MB)."""
    name = 'tpcc'
    title = 'the transactions of TPC-C, in memory and I/O-bound'
    rounds, seconds = 4, 15
    load = LOAD

    def cases(self):
        warehouses = self.scale.of(LOAD['warehouses'])
        share = min(1, self.scale.size * LOAD['warehouses'])
        data = Warehouses(warehouses, items=max(1000, round(100000 * share)),
                          customers=max(60, round(3000 * share)))
        return [Mix('memory', 'TPC-C mix, in memory', data, max(256, 256 * warehouses),
                    self.scale),
                IoBound('io', 'TPC-C mix, pool a fifth of the data', data,
                        max(16, round(20 * warehouses * share)), self.scale)]
