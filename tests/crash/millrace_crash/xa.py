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
CLOSED_SECONDS = .3    # after which a connection has probably ended, too
PREPARED, COMMITTED, ROLLED_BACK = 'prepared', 'committed', 'rolled back'


class Branch:
    """One transaction; `possible` is how it may be found after a crash, `ended` that its ROLLBACK was confirmed, `left` the
    time (monotonic, seconds) when its connection was closed."""

    def __init__(self, xid, new, changed, gone):
        self.xid, self.new, self.changed, self.gone = xid, new, changed, gone
        self.rows = {*new, *changed, *gone}
        self.possible, self.ended, self.left = {ROLLED_BACK}, False, 0

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
            if leave:
                branch.left = time.monotonic()
                self.left.append(branch)
            if old := self._old():
                with connect() as connection:
                    self._end(connection, old, closing=True)

    def _old(self):
        """One that is left over, now and then.  Upstream's trx_disconnect_prepared() lets others find the transaction before it gives
        back the pins that they use as well (test-results/2026-11-24-xa-closing)."""
        with self._lock:
            closed = [branch for branch in self.left if time.monotonic() - branch.left > CLOSED_SECONDS]
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
            gone = free[:max(5, min(60, len(self.rows) - MOST_ROWS))]
            changed = free[len(gone):][:random.randrange(30)]
            branch = Branch(f'branch-{first}', dict.fromkeys(range(first, first + random.randint(1, 50)), 0),
                            {row: self.rows[row] + 1 for row in changed}, gone)
            self.open[branch.xid] = branch
            return branch

    def _durably(self, connection, statement):
        """A statement that writes the log before it is confirmed, and so what was confirmed before it began."""
        before = self._in_doubt()
        connection.query(statement)
        self._no_doubt(before)

    def _in_doubt(self):
        return [branch for branch in list(self.open.values()) if branch.ended]

    def _no_doubt(self, branches):
        for branch in branches:
            self._ended(branch, ROLLED_BACK)

    def _end(self, connection, branch, closing=False):
        """Commits it, or rolls it back; the connection that has prepared it may just be closing."""
        how = random.choice((COMMITTED, ROLLED_BACK))
        branch.possible = {PREPARED, how}
        until = time.monotonic() + DETACHED_SECONDS
        while True:
            before = self._in_doubt()
            try:
                connection.query(f"XA {'COMMIT' if how == COMMITTED else 'ROLLBACK'} '{branch.xid}'")
                break
            except SqlError as error:
                if error.number != UNKNOWN_XID or not closing or time.monotonic() > until:
                    raise
            time.sleep(.01)
        if closing and not self._has_ended(connection, branch, how):
            # Between trans_xa_detach() and ha_close_connection() of the connection that is closing, upstream confirms this,
            # and has forgotten the branch; InnoDB has not found it, and it is there again after a restart.
            branch.possible = {PREPARED}
            self.counts['XA confirmed, and still prepared'] += 1
        elif how == COMMITTED:
            self._no_doubt(before)
            self._ended(branch, how)
        else:
            # By another connection than its own, that does not write the log, in upstream too, whatever
            # innodb_flush_log_at_trx_commit is: the branch may be prepared again after a crash, until something else does.
            branch.ended = True

    @staticmethod
    def _has_ended(connection, branch, how):
        """Whether its rows are committed, or gone."""
        level = 'READ COMMITTED' if how == COMMITTED else 'READ UNCOMMITTED'
        connection.query(f'SET TRANSACTION ISOLATION LEVEL {level}')
        there = connection.query(f'SELECT COUNT(*) FROM {TABLE} WHERE a={min(branch.new)}')[0][0] == '1'
        return there == (how == COMMITTED)

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
