"""Many transactions, on persistent and on temporary tables: what it costs to give each of them
its undo log, in one page or in several; and a start with many undo segments in use.

The redo log is not waited for (innodb_flush_log_at_trx_commit=0), which would hide it."""
import itertools

from millrace.errors import Failure
from millrace_bench.measure import sysbench
from millrace_bench.measure.case import Case, Suite, Work, measured
from millrace_bench.measure.client import SqlError
from millrace_bench.measure.data import Data

LOAD = {'threads': 16, 'rows': 1000}
# 100 rows of 116 bytes: the undo log of a transaction needs a second page
BULK = {'threads': 64, 'rows': 1000, 'updated': 100}
# of 128 rollback segments with 1024 slots each
SLOTS = 100000
TOO_MANY_TRANSACTIONS = 1637     # ER_TOO_MANY_CONCURRENT_TRXS: a rollback segment has no free slot


def segments(server):
    """{name: number} of the undo segments created, freed and reused since the start of a server
    that counts them; else {}."""
    names = ('created', 'freed', 'reused')
    sums = ', '.join(f'SUM(segments_{name})' for name in names)
    with server.connect() as connection:
        try:
            row, = connection.query(f'SELECT {sums} FROM information_schema.innodb_rseg')
        except SqlError:
            return {}    # not in every build
    return dict(zip(names, map(int, row)))


def per_transaction(before, after, transactions):
    """The figures of what segments() counted between two calls of it."""
    return {f'segments_{name}_per_transaction': (after[name] - before[name]) / max(1, transactions)
            for name in after}


class Tables(Data):
    """Tables for that many threads."""

    def __init__(self, threads, rows, name=None):
        self.threads, self.rows = threads, rows
        script = sysbench.script('undo').read_text(encoding='utf-8')
        super().__init__(name or f'undo-{threads}',
                         {'threads': threads, 'rows': rows, 'script': script})

    def load(self, server):
        """Makes and fills the tables."""
        self.make_database(server)
        sysbench.run(server, 'undo', action='prepare', threads=self.threads, rows=self.rows)


class Slots(Data):
    """Data with prepared transactions: each has an undo segment of one page, and a slot."""

    def __init__(self, number):
        self.number = number
        super().__init__(f'slots-{number}', {'slots': number})

    def load(self, server):
        """Prepares the transactions."""
        self.make_database(server)
        with server.connect() as connection:
            connection.query('CREATE TABLE bench.slots (id INT NOT NULL PRIMARY KEY)'
                             ' ENGINE=InnoDB STATS_PERSISTENT=0')
        # each attempt has a name of its own: the server may not yet have ended the transaction
        # of the one that failed
        i, names = 0, itertools.count()
        while i < self.number:
            try:
                self._prepare(server, i, next(names))
                i += 1
            except SqlError as error:
                # Transactions take the rollback segments in turn.  With undo tablespaces the
                # next one stands in for the one that is in the system tablespace, and is full
                # when the others are half full.
                if error.number != TOO_MANY_TRANSACTIONS:
                    raise
        with server.connect() as connection:
            # a slow shutdown would wait for them
            connection.query('SET GLOBAL innodb_fast_shutdown=1')

    @staticmethod
    def _prepare(server, i, xid):
        with server.connect('bench') as connection:
            for statement in (f"XA START '{xid}'", f'INSERT INTO slots VALUES({i})',
                              f"XA END '{xid}'", f"XA PREPARE '{xid}'"):
                connection.query(statement)


class Updates(Case):
    """undo.lua with some options, on persistent or temporary tables."""
    warm_up = 2

    def __init__(self, name, title, data, scale, **load):
        self.name, self.title, self.data, self.load = name, title, data, load
        self.estimate = scale.seconds + self.warm_up + 4

    def measure(self, context):
        server = context.start()
        context.warm_up(server, 'undo', **self.load)
        before = segments(server)
        result, timeline = context.load(server, 'undo', **self.load)
        return measured(result, timeline,
                        **per_transaction(before, segments(server), result.transactions))


class Start(Case):
    """The start of a server over the slots."""
    name, unit, better = 'start', 'seconds', 'lower'
    compare = ('cpu_seconds', 'read_bytes')
    estimate = 30

    def __init__(self, data):
        self.data, self.title = data, f'start with {data.number} undo segments in use'

    def measure(self, context):
        with Work(context) as work:
            server = work.server = context.start()
        with server.connect() as connection:
            there = len(connection.query('XA RECOVER'))
        if there != self.data.number:
            raise Failure(f'{server.build.name}: {there} of {self.data.number} prepared '
                          'transactions are there')
        return work.measurement(value=server.started_in)


class Undo(Suite):
    """Persistent and temporary, one row and many; and the start."""
    name = 'undo'
    title = 'many transactions on persistent and temporary tables, and a start with many undo ' \
            'segments'
    rounds, seconds = 5, 8
    server = {'innodb_buffer_pool_size': '512M', 'innodb_flush_log_at_trx_commit': '0'}
    load = LOAD

    def cases(self):
        one_row, many_rows = Tables(**LOAD), Tables(BULK['threads'], BULK['rows'])
        kinds = (('persistent', 'off'), ('temporary', 'on'))
        return [
            *(Updates(name, f'updates of {name} tables, {LOAD["threads"]} clients', one_row,
                      self.scale, **LOAD, temporary=temporary) for name, temporary in kinds),
            *(Updates(f'bulk-{name}', f'updates of {BULK["updated"]} rows of {name} tables, '
                      f'{BULK["threads"]} clients', many_rows, self.scale, **BULK,
                      temporary=temporary) for name, temporary in kinds),
            Start(Slots(self.scale.of(SLOTS, least=200)))]
