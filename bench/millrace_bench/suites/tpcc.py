"""The five transactions of TPC-C in their standard mix: new-order transactions a minute, with the
data in memory and with a buffer pool of about a fifth of them."""
from .. import sysbench
from ..case import OF_TRANSACTIONS, Case
from ..data import Data
from ..errors import BenchError

TITLE = 'the transactions of TPC-C, in memory and I/O-bound'
ROUNDS, SECONDS = 4, 15
SERVER = {}
LOAD = {'warehouses': 4, 'threads': 8}
WARM_UP = 5

# Clauses 3.3.2.1 to 3.3.2.4 of the specification: each selects what breaks it.
CONDITIONS = {
    '3.3.2.1: W_YTD is the sum of its D_YTD': '''
        SELECT w_id, w_ytd, SUM(d_ytd) AS total FROM warehouse LEFT JOIN district ON d_w_id = w_id
        GROUP BY w_id, w_ytd HAVING NOT w_ytd <=> total''',
    '3.3.2.2: D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID': '''
        SELECT d_w_id, d_id, d_next_o_id - 1 AS last_order, o_last, no_last FROM district
        LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o_last FROM orders GROUP BY o_w_id, o_d_id) o
          ON o_w_id = d_w_id AND o_d_id = d_id
        LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS no_last FROM new_order GROUP BY no_w_id, no_d_id) n
          ON no_w_id = d_w_id AND no_d_id = d_id
        WHERE NOT d_next_o_id - 1 <=> o_last OR no_last IS NOT NULL AND no_last <> o_last''',
    '3.3.2.3: the NO_O_ID of a district have no gap': '''
        SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id
        HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)''',
    '3.3.2.4: the sum of O_OL_CNT is the number of order lines': '''
        SELECT o_w_id, o_d_id, announced, found FROM
          (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS announced FROM orders GROUP BY o_w_id, o_d_id) o
        LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) l
          ON ol_w_id = o_w_id AND ol_d_id = o_d_id
        WHERE NOT announced <=> found''',
}


def inconsistencies(connection):
    """What breaks the conditions, as texts."""
    found = []
    warehouses, districts = (int(connection.query(f'SELECT COUNT(*) FROM {table}')[0][0]) for table in ('warehouse', 'district'))
    if not warehouses or districts != 10 * warehouses:
        found.append(f'there are {districts} districts of {warehouses} warehouses, not ten each')
    for condition, statement in CONDITIONS.items():
        found += [f'{condition}: {", ".join(map(str, row))}' for row in connection.query(statement)[:3]]
    return found


def check(server):
    """Raises where the data are not consistent."""
    with server.connect('bench') as connection:
        found = inconsistencies(connection)
    if found:
        raise BenchError(f'{server.build.name}: the TPC-C data are inconsistent', *found,
                         'what was measured on them is worth nothing')


def orders(server):
    """New-order transactions that were committed since the load."""
    with server.connect('bench') as connection:
        return int(connection.query('SELECT SUM(d_next_o_id) FROM district')[0][0])


def tables(warehouses, items, customers):
    """The nine tables; items and customers below the specification's make a small one for tests."""
    sizes = {'warehouses': warehouses, 'items': items, 'customers': customers}

    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
        sysbench.run(server, 'tpcc', action='create', **sizes)
        sysbench.run(server, 'tpcc', action='fill', threads=min(warehouses, 4), **sizes)
        check(server)
    made_from = {**sizes, 'script': sysbench.script('tpcc').read_text(encoding='utf-8')}
    return Data(f'tpcc-{warehouses}', made_from, load)


def cases(scale):
    """In memory, and with a pool of about a fifth of the data (a warehouse is about 100 MB)."""
    warehouses = scale.of(LOAD['warehouses'])
    share = min(1, scale.size * LOAD['warehouses'])
    sizes = {'warehouses': warehouses, 'items': max(1000, round(100000 * share)),
             'customers': max(60, round(3000 * share))}
    data = tables(**sizes)

    def measure(context):
        server = context.start()
        check(server)    # which brings most of the data into the pool, too
        before = None

        def begin():
            nonlocal before
            before = orders(server)
        result, timeline = context.load(server, 'tpcc', warm_up=min(WARM_UP, scale.seconds), begin=begin,
                                        threads=LOAD['threads'], **sizes)
        done = orders(server) - before
        check(server)
        return context.measured(result, timeline, value=done / result.seconds * 60, new_orders=done)
    return [Case(name=name, title=title, measure='new-order transactions/min', better='higher', data=data, run=measure,
                 estimate=scale.seconds + WARM_UP + 10, options={'innodb_buffer_pool_size': pool},
                 compare=OF_TRANSACTIONS)
            for name, title, pool in (
                ('memory', 'TPC-C mix, in memory', f'{max(256, 256 * warehouses)}M'),
                ('io', 'TPC-C mix, pool a fifth of the data', f'{max(16, round(20 * warehouses * share))}M'))]
