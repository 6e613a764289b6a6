"""XA transactions that outlive their connections and servers, and the rows they leave.

A branch inserts rows, changes and deletes some that no other branch is changing, and is
prepared.  Then it is committed, rolled back, or left over, by its own connection or by a later
one.  While it is prepared, a consistent read sees the rows as they were before it, and a dirty
read sees the rows with its changes.
"""
import collections
import random
import threading
import time
from functools import partial

from millrace.errors import Failure
from millrace_bench.measure.client import SqlError
from millrace_crash.ledger import read_rows, run_threads, update, values

TABLE, CLIENTS = 'xa', 2
MOST_LEFT, MOST_ROWS = 24, 1500
UNKNOWN_XID, DETACHED_SECONDS = 1397, 20
CLOSED_SECONDS = .3    # after which a closed connection has probably ended in the server, too
PREPARED, COMMITTED, ROLLED_BACK = 'prepared', 'committed', 'rolled back'


class Branch:
    """One XA transaction.

    `possible` are the states that it may have after a crash.  `ended` is true when its ROLLBACK
    is confirmed.  `left` is when its connection was closed (time.monotonic())."""

    def __init__(self, xid, new, changed, deleted):
        self.xid, self.new, self.changed, self.deleted = xid, new, changed, deleted
        self.rows = {*new, *changed, *deleted}
        self.possible, self.ended, self.left = {ROLLED_BACK}, False, 0

    def applied(self, rows):
        """{row: version} after the branch, from those before."""
        return {row: version for row, version in (rows | self.new | self.changed).items()
                if row not in self.deleted}

    def write(self, connection):
        """Does everything but to prepare it."""
        connection.query(f"XA START '{self.xid}'")
        connection.query(f'INSERT INTO {TABLE} VALUES {values(self.new)}')
        if self.changed:
            connection.query(update(TABLE, self.changed))
        if self.deleted:
            connection.query(f'DELETE FROM {TABLE} '
                             f'WHERE a IN ({",".join(map(str, self.deleted))})')
        connection.query(f"XA END '{self.xid}'")


class Branches:
    """All branches of a data directory.

    `rows` are certainly committed, {row: version}.  `open` are the branches that may not have
    ended, by xid, `left` those of them that no client works on.  While `leaving` is true some
    branches are left over."""

    def __init__(self):
        self.rows, self.open, self.left, self.leaving = {}, {}, [], True
        self.counts = collections.Counter()
        self._next, self._lock = 0, threading.Lock()

    def start(self, connect):
        """Lets the clients work until the server is gone; returns join() as run_threads()."""
        return run_threads([partial(self._work, connect)] * CLIENTS)

    def _work(self, connect):
        while True:
            branch = self._new()
            with connect() as connection:
                # without locks on gaps no two branches wait for each other
                connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
                branch.write(connection)
                branch.possible = {ROLLED_BACK, PREPARED}
                self._durably(connection, f"XA PREPARE '{branch.xid}'")
                branch.possible = {PREPARED}
                self.counts['XA prepared'] += 1
                leave = self.leaving and len(self.left) < MOST_LEFT and random.random() < .4
                if not leave:
                    self._end(connection, branch)
            if leave:
                branch.left = time.monotonic()
                self.left.append(branch)
            if old := self._take_left():
                with connect() as connection:
                    self._end(connection, old, closing=True)

    def _take_left(self):
        """Takes a branch out of those that are left over, now and then; None otherwise.

        Only one whose connection was closed a while ago: upstream's trx_disconnect_prepared()
        lets others find the transaction before it gives back the pins that they use as well."""
        with self._lock:
            closed = [branch for branch in self.left
                      if time.monotonic() - branch.left > CLOSED_SECONDS]
            if not closed or random.random() >= .3:
                return None
            old = random.choice(closed)
            self.left.remove(old)
            return old

    def _new(self):
        with self._lock:
            used = set().union(*(branch.rows for branch in self.open.values()))
            free = [row for row in self.rows if row not in used]
            random.shuffle(free)
            first = self._next = self._next + 100
            deleted = free[:max(5, min(60, len(self.rows) - MOST_ROWS))]
            changed = free[len(deleted):][:random.randrange(30)]
            new = dict.fromkeys(range(first, first + random.randint(1, 50)), 0)
            branch = Branch(f'branch-{first}', new, {row: self.rows[row] + 1 for row in changed},
                            deleted)
            self.open[branch.xid] = branch
            return branch

    def _durably(self, connection, statement):
        """Runs a statement that writes the log, and so makes earlier rollbacks durable."""
        before = self._in_doubt()
        connection.query(statement)
        self._no_doubt(before)

    def _in_doubt(self):
        return [branch for branch in list(self.open.values()) if branch.ended]

    def _no_doubt(self, branches):
        for branch in branches:
            self._ended(branch, ROLLED_BACK)

    def _end(self, connection, branch, closing=False):
        """Commits a branch or rolls it back.

        `closing`: the connection that prepared it may just be closing."""
        how = random.choice((COMMITTED, ROLLED_BACK))
        branch.possible = {PREPARED, how}
        verb = 'COMMIT' if how == COMMITTED else 'ROLLBACK'
        until = time.monotonic() + DETACHED_SECONDS
        while True:
            before = self._in_doubt()
            try:
                connection.query(f"XA {verb} '{branch.xid}'")
                break
            except SqlError as error:
                if error.number != UNKNOWN_XID or not closing or time.monotonic() > until:
                    raise
            time.sleep(.01)
        if closing and not self._has_ended(connection, branch, how):
            # Between trans_xa_detach() and ha_close_connection() of the connection that is
            # closing, upstream confirms this and forgets the branch, which InnoDB did not see.
            # After a restart it is there again.
            branch.possible = {PREPARED}
            self.counts['XA confirmed, and still prepared'] += 1
        elif how == COMMITTED:
            self._no_doubt(before)
            self._ended(branch, how)
        else:
            # XA ROLLBACK by another connection than the branch's own does not write the log, in
            # upstream too and with any innodb_flush_log_at_trx_commit.  The branch may be
            # prepared again after a crash, until something else writes the log.
            branch.ended = True

    @staticmethod
    def _has_ended(connection, branch, how):
        """Whether the rows of a branch are committed, or gone."""
        level = 'READ COMMITTED' if how == COMMITTED else 'READ UNCOMMITTED'
        connection.query(f'SET TRANSACTION ISOLATION LEVEL {level}')
        count = connection.query(f'SELECT COUNT(*) FROM {TABLE} WHERE a={min(branch.new)}')[0][0]
        return (int(count) == 1) == (how == COMMITTED)

    def _ended(self, branch, how):
        with self._lock:
            if self.open.pop(branch.xid, None):
                self.counts[f'XA {how}'] += 1
                if how == COMMITTED:
                    self.rows = branch.applied(self.rows)

    def recovered(self, connection):
        """Compares with XA RECOVER after a start; returns how many branches are prepared.

        Raises Failure where it lists too many or too few."""
        listed = [text(row[3]) for row in connection.query('XA RECOVER')]
        wrong = []
        for xid, times in collections.Counter(listed).items():
            if xid not in self.open:
                wrong.append(f'lists {xid}, which has ended or never existed')
            elif times > 1:
                wrong.append(f'lists {xid} more than once')
        for branch in list(self.open.values()):
            there = branch.xid in listed
            states = branch.possible & ({PREPARED} if there else {COMMITTED, ROLLED_BACK})
            if not states:
                wrong.append(f'{"lists" if there else "does not list"} {branch.xid}, '
                             f'which must be {" or ".join(branch.possible)}')
            elif states == {PREPARED}:
                self.counts['XA rolled back, and prepared again after a crash'] += branch.ended
                branch.possible, branch.ended = states, False
            else:
                self._ended(branch, *states)
        if wrong:
            raise Failure(f'XA RECOVER {"; ".join(wrong[:6])}')
        self.left = list(self.open.values())
        return len(self.left)

    def check(self, connection, dirty):
        """Raises Failure where the rows are not those that a consistent or `dirty` read must see.

        No other transaction may be rolling back during a dirty read."""
        expected = self.rows
        if dirty:
            for branch in self.open.values():
                expected = branch.applied(expected)
        level = 'READ UNCOMMITTED' if dirty else 'REPEATABLE READ'
        connection.query(f'SET SESSION TRANSACTION ISOLATION LEVEL {level}')
        there = read_rows(connection, TABLE)
        connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        if there != expected:
            wrong = sorted(there.items() ^ expected.items())
            raise Failure(f'{TABLE}: {"a dirty read" if dirty else "a read"} sees {len(there)} '
                          f'rows, and should see {len(expected)}; rows and versions that differ: '
                          f'{wrong[:6]}')

    def settle(self, connection, leave):
        """Ends the branches that are left over, each but with probability `leave`.

        Makes the rollbacks durable.  Returns how many branches it ended."""
        chosen = [branch for branch in self.left if random.random() >= leave]
        for branch in chosen:
            self._end(connection, branch)
        self.left = [branch for branch in self.left if branch not in chosen]
        self._durably(connection, 'FLUSH ENGINE LOGS')
        return len(chosen)


def text(value):
    """A value of a binary column, such as XA RECOVER's, as text."""
    return value.decode() if isinstance(value, bytes) else value
