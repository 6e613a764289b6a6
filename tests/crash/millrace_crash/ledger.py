"""Clients that write, and know exactly which rows must be there after a crash.

A client's transaction inserts ROWS rows, changes some of its older rows, and deletes the rows
of the transaction KEPT before.  No other client changes them.  So the rows that are there must
be those of the client's last confirmed transaction, or those of the one whose confirmation the
crash prevented, and nothing in between.
"""
import random
import threading
from functools import partial

from millrace.errors import Failure
from millrace_bench.measure.client import SqlError

ROWS, CHANGED, KEPT, REPEATED = 10, 6, 150, 60
RANGE = 10_000_000              # a client's part of the primary key: room for 428 clients
SHUTDOWN = 1053                 # the server shuts down
AGAIN = (1205, 1213, 1206)      # lock wait timeout, deadlock, no memory for locks in a small pool


def values(rows):
    """{row: version} as the VALUES of an INSERT."""
    return ','.join(f"({row},{version},REPEAT(MD5('{row}:{version}'),{REPEATED}))"
                    for row, version in rows.items())


def update(table, rows):
    """The statement that brings rows to their version in {row: version}."""
    return (f'INSERT INTO {table} VALUES {values(rows)} '
            'ON DUPLICATE KEY UPDATE v=VALUES(v), b=VALUES(b)')


def read_rows(connection, table, repeated=REPEATED):
    """{row: version} of a table.

    Raises Failure where a row's content is not that of its version, or where the secondary
    index has other rows than the table."""
    content = f"CONVERT(REPEAT(MD5(CONCAT(a,':',v)),{repeated}) USING latin1)"
    rows = connection.query(f'SELECT a, v, b = {content} FROM {table} FORCE INDEX (PRIMARY)')
    torn = [int(row) for row, _, whole in rows if str(whole) != '1']
    if torn:
        raise Failure(f'{table}: rows without the content of their version: {torn[:6]}')
    versions = {int(row): int(version) for row, version, _ in rows}
    index = connection.query(f'SELECT a, v FROM {table} FORCE INDEX (v)')
    if {(int(row), int(version)) for row, version in index} != set(versions.items()):
        raise Failure(f'{table}: the secondary index has other rows than the table')
    return versions


def is_gone(error):
    """Whether a SqlError says that the server ends or has ended."""
    return error.lost or error.number == SHUTDOWN


def run_threads(jobs):
    """Starts a thread for each job, which ends when the server is gone.

    Returns join(), which waits for them, and raises Failure where a job had another error."""
    errors = set()

    def work(job):
        try:
            job()
        except SqlError as error:
            if not is_gone(error):
                errors.add(str(error))
        except Failure as error:
            errors.add(str(error))
    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()

    def join():
        for thread in threads:
            thread.join()
        if errors:
            raise Failure('; '.join(sorted(errors)[:3]))
    return join


class Client:
    """One connection that writes to one table.

    `rows` are {row: version} as last confirmed, `pending` the same after the transaction that
    is not confirmed yet, `confirmed` how many transactions are."""
    repeated = REPEATED

    def __init__(self, table, number):
        self.table, self.base = table, number * RANGE
        self.confirmed, self.rows, self.pending = 0, {}, {}

    def begin(self, connection):
        """Begins a transaction."""
        connection.query('BEGIN')

    def transaction(self, connection):
        """Makes one transaction; it is confirmed when this returns."""
        number = self.confirmed + 1
        new = {self.base + number * ROWS + i: 0 for i in range(ROWS)}
        old = range(max(1, number - KEPT + 1), number)
        chosen = {self.base + random.choice(old) * ROWS + random.randrange(ROWS)
                  for _ in range(CHANGED)} if old else ()
        changed = {row: self.rows[row] + 1 for row in chosen}
        first = self.base + (number - KEPT) * ROWS
        deleted = range(first, first + ROWS) if number > KEPT else ()
        self.pending = {row: version for row, version in (self.rows | new | changed).items()
                        if row not in deleted}
        self.begin(connection)
        connection.query(f'INSERT INTO {self.table} VALUES {values(new)}')
        if changed:
            connection.query(update(self.table, changed))
        if deleted:
            connection.query(f'DELETE FROM {self.table} '
                             f'WHERE a BETWEEN {deleted[0]} AND {deleted[-1]}')
        if random.random() < .03:
            connection.query(f'SELECT SUM(LENGTH(b)) FROM {self.table}')
        connection.query('COMMIT')
        self.confirmed, self.rows, self.pending = number, self.pending, {}

    def settle(self, rows):
        """Compares with the rows that are there, which may include the pending transaction.

        Raises Failure where they differ."""
        if self.pending and rows == self.pending:
            self.confirmed += 1
            self.rows = self.pending
        self.pending = {}
        if rows != self.rows:
            wrong = sorted(rows.items() ^ self.rows.items())
            raise Failure(f'{self.table}: {len(self.rows)} rows were committed, {len(rows)} are '
                          f'there, after {self.confirmed} confirmed transactions of this client; '
                          f'rows and versions that differ: {wrong[:6]}')


class Ledger:
    """Clients of class `kind`, some for each table."""

    def __init__(self, tables, clients_per_table=2, kind=Client):
        self.tables = list(tables)
        self.clients = [kind(table, number)
                        for number, table in enumerate(self.tables * clients_per_table)]

    @staticmethod
    def create(connection, tables):
        """Creates tables: {name: options}."""
        for name, options in tables.items():
            connection.query(f'CREATE TABLE {name}(a INT UNSIGNED PRIMARY KEY, v INT, '
                             'b VARCHAR(2000) CHARACTER SET latin1, KEY(v)) '
                             f'ENGINE=InnoDB {options}')

    def start(self, connect):
        """Lets the clients write until the server is gone; returns join() as run_threads()."""
        return run_threads([partial(self._write, client, connect) for client in self.clients])

    @staticmethod
    def _write(client, connect):
        with connect() as connection:
            while True:
                try:
                    client.transaction(connection)
                except SqlError as error:
                    if error.number not in AGAIN:
                        raise
                    connection.query('ROLLBACK')
                    client.pending = {}

    def confirmed(self):
        """How many transactions are confirmed."""
        return sum(client.confirmed for client in self.clients)

    def check(self, connection):
        """Raises Failure where a row is missing, in excess, torn, or of another version."""
        for table in self.tables:
            clients = [client for client in self.clients if client.table == table]
            there = read_rows(connection, table, clients[0].repeated)
            for client in clients:
                client.settle({row: version for row, version in there.items()
                               if row // RANGE == client.base // RANGE})
