"""Many transactions, on persistent and on temporary tables: what it costs to give each of them its undo log,
in one page or in several; and a start with many undo segments in use.  The redo log is not waited for
(innodb_flush_log_at_trx_commit=0), which would hide it."""
import itertools

from .. import sysbench
from ..case import OF_TRANSACTIONS, Case, Measurement
from ..client import SqlError
from ..data import Data
from ..errors import BenchError

TITLE = 'many transactions on persistent and temporary tables, and a start with many undo segments'
ROUNDS, SECONDS = 5, 8
SERVER = {'innodb_buffer_pool_size': '512M', 'innodb_flush_log_at_trx_commit': '0'}
LOAD = {'threads': 16, 'rows': 1000}
WARM_UP = 2
# 100 rows of 116 bytes: the undo log of a transaction needs a second page
BULK = {'threads': 64, 'rows': 1000, 'updated': 100}
# of 128 rollback segments with 1024 slots each
SLOTS = 100000
TOO_MANY_TRANSACTIONS = 1637     # ER_TOO_MANY_CONCURRENT_TRXS: no slot is free in a rollback segment


def segments(before, after, transactions):
    """Undo segments created, freed and reused for each transaction, where a build counts them."""
    counted = ((name, f'innodb_undo_segments_{name}') for name in ('created', 'freed', 'reused'))
    return {f'segments_{name}_per_transaction': (after[counter] - before[counter]) / max(1, transactions)
            for name, counter in counted if counter in after}


def measured(load):
    """What runs sysbench's undo.lua with these options after a warm-up."""
    def measure(context):
        server = context.start()
        before = []
        result, timeline = context.load(server, 'undo', warm_up=min(WARM_UP, context.scale.seconds),
                                        begin=lambda: before.append(server.status()), **load)
        return context.measured(result, timeline, **segments(before[0], server.status(), result.transactions))
    return measure


def prepared(threads, rows):
    """Tables for that many threads."""
    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
        sysbench.run(server, 'undo', action='prepare', threads=threads, rows=rows)
    return Data(f'undo-{threads}', {'threads': threads, 'rows': rows,
                                    'script': sysbench.script('undo').read_text(encoding='utf-8')}, load)


def with_slots(number):
    """Data with that many prepared transactions: each has an undo segment of one page, and a slot."""
    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
            connection.query('CREATE TABLE bench.slots (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB STATS_PERSISTENT=0')
        i = 0
        # a name of its own for each attempt: the server may not yet have ended the transaction of the one that failed
        names = itertools.count()
        while i < number:
            xid = next(names)
            try:
                with server.connect('bench') as connection:
                    for statement in (f"XA START '{xid}'", f'INSERT INTO slots VALUES({i})', f"XA END '{xid}'", f"XA PREPARE '{xid}'"):
                        connection.query(statement)
                i += 1
            except SqlError as error:
                # Transactions take the rollback segments in turn.  With undo tablespaces the next one stands in for the one
                # that is in the system tablespace, and is full when the others are half full.
                if error.number != TOO_MANY_TRANSACTIONS:
                    raise
        with server.connect() as connection:
            connection.query('SET GLOBAL innodb_fast_shutdown=1')    # a slow one would wait for them
    return Data(f'slots-{number}', {'slots': number}, load)


def started(number):
    """What starts a server over the slots."""
    def measure(context):
        before = context.limit.requests()    # of the servers of earlier runs
        server = context.start()
        seconds, counts, status = server.started_in, server.counts(), server.status()
        counts.update((name, counts[name] - before[name]) for name in before)
        with server.connect() as connection:
            found = len(connection.query('XA RECOVER'))
        if found != number:
            raise BenchError(f'{server.build.name}: {found} of {number} prepared transactions are there')
        return Measurement(seconds, seconds, {'pages_read': status['innodb_pages_read'], **counts})
    return measure


def cases(scale):
    """Persistent and temporary, one row and many; and the start."""
    one_row, bulk, slots = prepared(**LOAD), prepared(BULK['threads'], BULK['rows']), scale.of(SLOTS, least=200)
    return [*(Case(name=name, title=f'updates of {name} tables, {LOAD["threads"]} clients', measure='transactions/s',
                   better='higher', data=one_row, run=measured({**LOAD, 'temporary': temporary}),
                   estimate=scale.seconds + WARM_UP + 4, compare=OF_TRANSACTIONS)
              for name, temporary in (('persistent', 'off'), ('temporary', 'on'))),
            *(Case(name=f'bulk-{name}', title=f'updates of {BULK["updated"]} rows of {name} tables, {BULK["threads"]} clients',
                   measure='transactions/s', better='higher', data=bulk, run=measured({**BULK, 'temporary': temporary}),
                   estimate=scale.seconds + WARM_UP + 4, compare=OF_TRANSACTIONS)
              for name, temporary in (('persistent', 'off'), ('temporary', 'on'))),
            Case(name='start', title=f'start with {slots} undo segments in use', measure='seconds', better='lower',
                 data=with_slots(slots), run=started(slots), estimate=30,
                 compare=('cpu_seconds', 'read_bytes'))]
