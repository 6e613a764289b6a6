"""The tables of sysbench's own loads, as data for cases."""
from . import sysbench
from .data import Data


def sbtest(tables, rows):
    """`tables` tables sbtest1.. of `rows` rows each, about 240 MB a million rows."""
    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
        sysbench.run(server, 'oltp_read_write', action='prepare', tables=tables, table_size=rows,
                     threads=min(tables, 4))
    return Data(f'sbtest-{tables}x{rows}', {'tables': tables, 'rows': rows, 'engine': sysbench.version()}, load)
