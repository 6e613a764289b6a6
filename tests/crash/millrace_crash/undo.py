"""Clients that need undo log of both kinds, for ordinary and for temporary tables."""
import random

from millrace.errors import Failure
from millrace_crash.datadir import SCHEMA
from millrace_crash.ledger import RANGE, Client

MOST = 60_000    # rows of a large table


def connect_with_temporary(server):
    """A connection that has a temporary table."""
    connection = server.connect(SCHEMA)
    connection.query('CREATE TEMPORARY TABLE temporary_rows(a INT PRIMARY KEY, v INT, '
                     'b VARCHAR(500), KEY(v)) ENGINE=InnoDB')
    return connection


class TemporaryClient(Client):
    """Each transaction changes a temporary table, too, and rolls a part of that back."""
    temporary = 100     # the most rows of the temporary table

    def begin(self, connection):
        super().begin(connection)
        last = random.randint(1, self.temporary)
        for statement in ('DELETE FROM temporary_rows',
                          "INSERT INTO temporary_rows SELECT seq, 1, REPEAT('t', 300) "
                          f'FROM seq_1_to_{last}',
                          'SAVEPOINT temporary',
                          "UPDATE temporary_rows SET v=2, b=REPEAT('u', 400)",
                          f'DELETE FROM temporary_rows WHERE a > {last // 2}',
                          'ROLLBACK TO temporary'):
            connection.query(statement)
        rows, whole = connection.query(
            "SELECT COUNT(*), COALESCE(SUM(v=1 AND b=REPEAT('t', 300)), 0) FROM temporary_rows")[0]
        if (int(rows), int(whole)) != (last, last):
            raise Failure(f'a temporary table has {rows} rows after ROLLBACK TO, {whole} of them '
                          f'whole; it should have {last}')


class LargeClient(TemporaryClient):
    """Transactions of tens of thousands of rows with savepoints; half of them are rolled back.

    `doing` is what the client does now."""
    repeated, temporary = 12, 2000

    def __init__(self, table, number):
        super().__init__(table, number)
        self.next, self.doing = self.base, ''

    def transaction(self, connection):
        self.doing = 'writing to a temporary table'
        self.begin(connection)
        rows = self.rows
        steps = (self._insert, self._update, self._update, self._delete)
        for step in random.sample(steps, len(steps)):
            connection.query(f'SAVEPOINT {step.__name__}')
            after = step(connection, rows)
            if random.random() < .25:
                self.doing = 'rolling back to a savepoint'
                connection.query(f'ROLLBACK TO {step.__name__}')
            else:
                rows = after
        if random.random() < .5:
            self.doing = 'rolling back'
            connection.query('ROLLBACK')
        else:
            self.doing, self.pending = 'committing', rows
            connection.query('COMMIT')
            self.confirmed, self.rows, self.pending = self.confirmed + 1, rows, {}

    def _content(self, row, version):
        return f"REPEAT(MD5(CONCAT({row},':',{version})),{self.repeated})"

    def _insert(self, connection, rows):
        self.doing = 'inserting'
        begin = self.next if self.next + MOST < self.base + RANGE else self.base
        new = range(begin, begin + random.randint(10_000, 30_000))
        self.next = new.stop
        connection.query(f'INSERT INTO {self.table} SELECT seq, 0, {self._content("seq", 0)} '
                         f'FROM seq_{new[0]}_to_{new[-1]}')
        return rows | dict.fromkeys(new, 0)

    def _update(self, connection, rows):
        self.doing = 'updating'
        first, last = sorted(random.choices(list(rows) or [self.base - 1], k=2))
        connection.query(f'UPDATE {self.table} SET v=v+1, b={self._content("a", "v")} '
                         f'WHERE a BETWEEN {first} AND {last}')
        return {row: version + (first <= row <= last) for row, version in rows.items()}

    def _delete(self, connection, rows):
        self.doing = 'deleting'
        oldest = list(rows)[:len(rows) // 2] if len(rows) > MOST else [self.base - 1]
        first, last = oldest[0], max(oldest)
        connection.query(f'DELETE FROM {self.table} WHERE a BETWEEN {first} AND {last}')
        return {row: version for row, version in rows.items() if not first <= row <= last}
