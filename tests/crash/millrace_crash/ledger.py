"""Clients that write, and know exactly what must be there after a crash.

A transaction of a client inserts ROWS rows, changes some of its older rows, and
deletes those of the transaction KEPT before.  Nobody else changes its rows; so they are
those of its last confirmed transaction, or of the one that was not confirmed any more,
and nothing in between.
"""
import random
import threading
from functools import partial

from crashing import Wrong
from millrace_bench.client import SqlError

ROWS, CHANGED, KEPT, REPEATED = 10, 6, 150, 60
RANGE = 10_000_000            # each client's part of the primary key, in which there is room for 428 of them
GONE = (2002, 2006, 2013, 1053)    # the server, or it is going
AGAIN = (1205, 1213, 1206)         # a lock wait, a deadlock, no memory for locks in a small pool


def values(rows):
    """Rows of that version, for INSERT."""
    return ','.join(f"({row},{version},REPEAT(MD5('{row}:{version}'),{REPEATED}))" for row, version in rows.items())


def update(table, rows):
    """The statement that brings rows, known by their numbers, to that version."""
    return f'INSERT INTO {table} VALUES {values(rows)} ON DUPLICATE KEY UPDATE v=VALUES(v), b=VALUES(b)'


def read(connection, table, repeated=REPEATED):
    """The rows that are there with their versions: each is whole, and in the secondary index."""
    content = f"CONVERT(REPEAT(MD5(CONCAT(a,':',v)),{repeated}) USING latin1)"
    there = [(int(row), int(version), whole) for row, version, whole in
             connection.query(f'SELECT a, v, b = {content} FROM {table} FORCE INDEX (PRIMARY)')]
    torn = [row for row, _, whole in there if whole != '1']
    if torn:
        raise Wrong(f'{table}: rows that are not what they were: {torn[:6]}')
    index = {(int(row), int(version)) for row, version in connection.query(f'SELECT a, v FROM {table} FORCE INDEX (v)')}
    if index != {(row, version) for row, version, _ in there}:
        raise Wrong(f'{table}: the secondary index has other rows than the table')
    return {row: version for row, version, _ in there}


def together(jobs):
    """Does all of it at the same time until the server is gone; what waits for that."""
    errors = []

    def work(job):
        try:
            job()
        except SqlError as error:
            if error.number not in GONE:
                errors.append(str(error))
        except Wrong as error:
            errors.append(str(error))
    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()

    def join():
        for thread in threads:
            thread.join()
        if errors:
            raise Wrong('; '.join(sorted(set(errors))[:3]))
    return join


class Client:
    """One connection that writes to one table."""
    repeated = REPEATED

    def __init__(self, table, number):
        self.table, self.base = table, number * RANGE
        self.confirmed, self.rows, self.pending = 0, {}, {}

    def begin(self, connection):
        """The begin of a transaction."""
        connection.query('BEGIN')

    def transaction(self, connection):
        """One transaction; it is confirmed where this returns."""
        number = self.confirmed + 1
        new = {self.base + number * ROWS + i: 0 for i in range(ROWS)}
        old = range(max(1, number - KEPT + 1), number)
        chosen = {self.base + random.choice(old) * ROWS + random.randrange(ROWS) for _ in range(CHANGED)} if old else ()
        changed = {row: self.rows[row] + 1 for row in chosen}
        first = self.base + (number - KEPT) * ROWS
        gone = range(first, first + ROWS) if number > KEPT else ()
        self.pending = {row: version for row, version in (self.rows | new | changed).items() if row not in gone}
        self.begin(connection)
        connection.query(f'INSERT INTO {self.table} VALUES {values(new)}')
        if changed:
            connection.query(update(self.table, changed))
        if gone:
            connection.query(f'DELETE FROM {self.table} WHERE a BETWEEN {gone[0]} AND {gone[-1]}')
        if random.random() < .03:
            connection.query(f'SELECT SUM(LENGTH(b)) FROM {self.table}')
        connection.query('COMMIT')
        self.confirmed, self.rows, self.pending = number, self.pending, {}

    def settle(self, rows):
        """Compares the rows that are there, and takes over the transaction that was not confirmed if it is."""
        if self.pending and rows == self.pending:
            self.confirmed += 1
            self.rows = self.pending
        self.pending = {}
        if rows != self.rows:
            wrong = sorted(rows.items() ^ self.rows.items())
            raise Wrong(f'{self.table}: {len(self.rows)} rows were committed, {len(rows)} are there; '
                        f'{self.confirmed} transactions of this client were confirmed; row and version that differ: {wrong[:6]}')


class Ledger:
    """All clients, some for each table."""

    def __init__(self, tables, clients_per_table=2, kind=Client):
        self.tables = list(tables)
        self.clients = [kind(table, number) for number, table in enumerate(self.tables * clients_per_table)]

    def create(self, connection, formats):
        """The tables."""
        for name, options in formats.items():
            connection.query(f'CREATE TABLE {name}(a INT UNSIGNED PRIMARY KEY, v INT, b VARCHAR(2000) CHARACTER SET latin1, KEY(v)) ENGINE=InnoDB {options}')

    def start(self, connect):
        """Lets the clients write until the server is gone; what waits for them."""
        return together([partial(self._write, client, connect) for client in self.clients])

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
        """Transactions that were confirmed so far."""
        return sum(client.confirmed for client in self.clients)

    def check(self, connection):
        """Every row: that it is there, in its last committed version, whole, and in the secondary index."""
        for table in self.tables:
            clients = [client for client in self.clients if client.table == table]
            there = read(connection, table, clients[0].repeated)
            for client in clients:
                client.settle({row: version for row, version in there.items() if row // RANGE == client.base // RANGE})
