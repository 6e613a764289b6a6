"""The tables of sysbench's own loads, as data for cases."""
from millrace_bench.measure import sysbench
from millrace_bench.measure.data import Data


class Sbtest(Data):
    """`tables` tables sbtest1.. of `rows` rows each, about 240 MB a million rows."""
    table = 'sbtest1'

    def __init__(self, tables, rows):
        self.tables, self.rows = tables, rows
        super().__init__(f'sbtest-{tables}x{rows}',
                         {'tables': tables, 'rows': rows, 'engine': sysbench.version()})

    def arguments(self, **more):
        """The options of a load on these tables for sysbench.run(), and more."""
        return {'tables': self.tables, 'table_size': self.rows, **more}

    def read_all(self, server):
        """Reads every page, into a pool that has room for them."""
        with server.connect('bench') as connection:
            for i in range(1, self.tables + 1):
                connection.query(f'SELECT SUM(LENGTH(c)), MAX(k) FROM sbtest{i}'
                                 ' FORCE INDEX (PRIMARY)')
                connection.query(f'SELECT COUNT(k) FROM sbtest{i} FORCE INDEX (k_{i})')

    def load(self, server):
        """Makes and fills the tables."""
        self.make_database(server)
        sysbench.run(server, 'oltp_read_write', action='prepare', tables=self.tables,
                     table_size=self.rows, threads=min(self.tables, 4))
