"""XA transactions that outlive their connections and servers, and what must be there of them.

A branch inserts rows, changes and deletes some that no other branch is changing, and is prepared.  Then it is committed,
rolled back, or left over, by its own connection or by a later one.  As long as it is prepared its rows are those of
`before` to a consistent read, and those of `after` to a dirty one.
"""
import collections
import random
import threading
import time
from functools import partial

from crashing import Wrong
from ledger import read, together, update, values
from millrace_bench.client import SqlError

TABLE, CLIENTS = 'xa', 2
MOST_LEFT, MOST_ROWS = 24, 1500
UNKNOWN_XID, DETACHED_SECONDS = 1397, 20
PREPARED, COMMITTED, ROLLED_BACK = 'prepared', 'committed', 'rolled back'


class Branch:
    """One transaction; `possible` is how it may be found after a crash, `ended` that its ROLLBACK was confirmed."""

    def __init__(self, xid, new, changed, gone):
        self.xid, self.new, self.changed, self.gone = xid, new, changed, gone
        self.rows = {*new, *changed, *gone}
        self.possible, self.ended = {ROLLED_BACK}, False

    def applied(self, rows):
        """What it makes of the rows."""
        return {row: version for row, version in (rows | self.new | self.changed).items() if row not in self.gone}

    def write(self, connection):
        """Prepares it."""
        connection.query(f"XA START '{self.xid}'")
        connection.query(f'INSERT INTO {TABLE} VALUES {values(self.new)}')
        if self.changed:
            connection.query(update(TABLE, self.changed))
        if self.gone:
            connection.query(f'DELETE FROM {TABLE} WHERE a IN ({",".join(map(str, self.gone))})')
        connection.query(f"XA END '{self.xid}'")


class Branches:
    """All of them.  `rows` is what is certainly committed, `open` what may not have ended, `left` what nobody works on; where
    `leaving` some are left over."""

    def __init__(self):
        self.rows, self.open, self.left, self.leaving = {}, {}, [], True
        self.counts = collections.Counter()
        self._next, self._lock = 0, threading.Lock()

    def start(self, server_connect):
        """Lets the clients work until the server is gone; what waits for them."""
        return together([partial(self._work, server_connect)] * CLIENTS)

    def _work(self, connect):
        while True:
            branch = self._new()
            with connect() as connection:
                # without locks on gaps: no two branches wait for each other
                connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
                branch.write(connection)
                branch.possible = {ROLLED_BACK, PREPARED}
                self._durably(connection, f"XA PREPARE '{branch.xid}'")
                branch.possible = {PREPARED}
                self.counts['XA prepared'] += 1
                leave = self.leaving and len(self.left) < MOST_LEFT and random.random() < .4
                if not leave:
                    self._end(connection, branch)
            with self._lock:
                if leave:
                    self.left.append(branch)
                old = self.left.pop(random.randrange(len(self.left))) if self.left and random.random() < .3 else None
            if old:
                with connect() as connection:
                    self._end(connection, old)

    def _new(self):
        with self._lock:
            used = set().union(*(branch.rows for branch in self.open.values()))
            free = [row for row in self.rows if row not in used]
            random.shuffle(free)
            first = self._next = self._next + 100
            gone = free[:max(5, min(60, len(self.rows) - MOST_ROWS))]
            changed = free[len(gone):][:random.randrange(30)]
            branch = Branch(f'branch-{first}', dict.fromkeys(range(first, first + random.randint(1, 50)), 0),
                            {row: self.rows[row] + 1 for row in changed}, gone)
            self.open[branch.xid] = branch
            return branch

    def _durably(self, connection, statement):
        """A statement that writes the log before it is confirmed, and so what was confirmed before it began."""
        before = [branch for branch in list(self.open.values()) if branch.ended]
        connection.query(statement)
        for branch in before:
            self._ended(branch, ROLLED_BACK)

    def _end(self, connection, branch, how=None):
        """Commits it, or rolls it back; its connection may just be closing."""
        how = how or random.choice((COMMITTED, ROLLED_BACK))
        branch.possible = {PREPARED, how}
        until = time.monotonic() + DETACHED_SECONDS
        while True:
            try:
                if how == COMMITTED:
                    self._durably(connection, f"XA COMMIT '{branch.xid}'")
                    self._ended(branch, how)
                else:
                    connection.query(f"XA ROLLBACK '{branch.xid}'")
                    # By another connection than its own, that does not write the log, in upstream too, whatever
                    # innodb_flush_log_at_trx_commit is: the branch may be prepared again after a crash, until something else does.
                    branch.ended = True
                return
            except SqlError as error:
                if error.number != UNKNOWN_XID or time.monotonic() > until:
                    raise
            time.sleep(.01)

    def _ended(self, branch, how):
        with self._lock:
            if self.open.pop(branch.xid, None):
                self.counts[f'XA {how}'] += 1
                if how == COMMITTED:
                    self.rows = branch.applied(self.rows)

    def recovered(self, connection):
        """Compares what XA RECOVER lists after a start; how many there are."""
        listed = [row[3] for row in connection.query('XA RECOVER')]
        wrong = [f'lists {xid}{" more than once" if xid in self.open else ", which has ended, or was never there"}'
                 for xid, times in collections.Counter(listed).items() if times > 1 or xid not in self.open]
        for branch in list(self.open.values()):
            found = branch.possible & ({PREPARED} if branch.xid in listed else {COMMITTED, ROLLED_BACK})
            if not found:
                wrong.append(f'{"lists" if branch.xid in listed else "does not list"} {branch.xid}, which must be {" or ".join(branch.possible)}')
            elif found == {PREPARED}:
                self.counts['XA rolled back, and prepared again after a crash'] += branch.ended
                branch.possible, branch.ended = found, False
            else:
                self._ended(branch, *found)
        if wrong:
            raise Wrong(f'XA RECOVER {"; ".join(wrong[:6])}')
        self.left = list(self.open.values())
        return len(self.left)

    def check(self, connection, dirty):
        """Every row, as it is committed; or as the prepared branches have left it, where nothing else is being rolled back."""
        expected = self.rows
        if dirty:
            for branch in self.open.values():
                expected = branch.applied(expected)
        connection.query(f'SET SESSION TRANSACTION ISOLATION LEVEL {"READ UNCOMMITTED" if dirty else "REPEATABLE READ"}')
        there = read(connection, TABLE)
        connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        if there != expected:
            raise Wrong(f'{TABLE}: {len(there)} rows are there{" to a dirty read" if dirty else ""}, and should be {len(expected)}; '
                        f'row and version that differ: {sorted(there.items() ^ expected.items())[:6]}')

    def settle(self, connection, leave):
        """Ends those that are left over, with that probability not; no rollback is in doubt then.  How many were ended."""
        chosen = [branch for branch in self.left if random.random() >= leave]
        for branch in chosen:
            self._end(connection, branch)
        self.left = [branch for branch in self.left if branch not in chosen]
        self._durably(connection, 'FLUSH ENGINE LOGS')
        return len(chosen)
