"""Inserts in the order of the key into a table with three secondary indexes, larger than the
buffer pool: rows/s over time.

The values of the indexes are random, so that each row needs a page of each of them, which is
rarely in the pool.  The table grows meanwhile."""
from millrace.errors import Failure
from millrace_bench.measure import stats, sysbench
from millrace_bench.measure.case import Case, Suite, Work, measured
from millrace_bench.measure.data import Data

LOAD = {'rows': 1000000, 'threads': 4, 'rows-per-transaction': 100}
POOL = 48     # MiB, a fifth of the table at the start


def last_id(server):
    """The id of the last row."""
    with server.connect('bench') as connection:
        return int(connection.query('SELECT MAX(id) FROM sales')[0][0])


def rows_after(server, last):
    """The number of rows with a greater id."""
    with server.connect('bench') as connection:
        return int(connection.query(f'SELECT COUNT(*) FROM sales WHERE id > {last}')[0][0])


class Sales(Data):
    """The table of iibench.lua, with that many rows."""

    def __init__(self, rows):
        self.rows = rows
        script = sysbench.script('iibench').read_text(encoding='utf-8')
        super().__init__(f'iibench-{rows}', {'rows': rows, 'script': script})

    def load(self, server):
        """Makes and fills the table."""
        self.make_database(server)
        sysbench.run(server, 'iibench', action='prepare', rows=self.rows, rand_seed=1)


class Inserts(Case):
    """Transactions of one INSERT."""
    name, title = 'inserts', f'inserts, {LOAD["threads"]} clients, pool a fifth of the table'
    unit = 'rows/s'
    compare = ('last_quarter_rows_per_second', 'worst_over_mean', 'p99_ms',
               'read_requests_per_row', 'write_requests_per_row', 'cpu_ms_per_transaction')
    warm_up = 3

    def __init__(self, data, scale):
        self.data = data
        self.options = scale.pool(POOL, least=8)
        self.estimate = scale.seconds + self.warm_up + 6

    def measure(self, context):
        server, batch = context.start(), LOAD['rows-per-transaction']
        load = {'threads': LOAD['threads'], 'batch': batch}
        context.warm_up(server, 'iibench', **load)
        last = last_id(server)
        with Work(context, server) as work:
            result, timeline = context.load(server, 'iibench', **load)
        rows = rows_after(server, last)
        if rows < result.transactions * batch:
            raise Failure(f'{server.build.name}: {result.transactions} transactions of {batch} '
                          f'rows were confirmed, {rows} rows are there')
        timeline = [(second, rate * batch, *rest) for second, rate, *rest in timeline]
        rates = [rate for _, rate, *_ in timeline]
        quarter = rates[len(rates) * 3 // 4:]
        per_row = {f'{name}_per_row': count / max(1, rows) for name, count in work.figures.items()
                   if name.endswith('_requests')}
        return measured(result, timeline, rows / result.seconds, rows=rows, **work.figures,
                        **per_row, last_quarter_rows_per_second=sum(quarter) / len(quarter),
                        worst_over_mean=min(rates) / (sum(rates) / len(rates) or 1),
                        p1_rows_per_second=stats.percentile(rates, 1))


class Iibench(Suite):
    """One case."""
    name = 'iibench'
    title = 'inserts in key order into a table with three secondary indexes: rows/s over time'
    rounds, seconds = 4, 60
    load = LOAD

    def cases(self):
        return [Inserts(Sales(self.scale.of(LOAD['rows'], least=20000)), self.scale)]
