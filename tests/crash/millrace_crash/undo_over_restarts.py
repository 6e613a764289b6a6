"""Carries data with undo log of every kind through kills and shutdowns of two servers in turns.

PATCHED and VANILLA must be servers of one release.  For each round the seed chooses which of them
runs, whether it is killed while it recovers, innodb_extra_undo_segments at its start (0 for
VANILLA; it changes again and again while PATCHED works), and how it ends: by SIGKILL, or by a
fast or slow shutdown.  Meanwhile clients

- write to ordinary and temporary tables in one transaction;
- make or roll back transactions of tens of thousands of rows with savepoints;
- leave prepared XA transactions over;

and undo tablespaces are truncated.  After each start:

- XA RECOVER lists exactly what is prepared;
- each row is as committed, or to a dirty read as prepared;
- prepared transactions are committed, rolled back, or left for later rounds;
- when purge is done, CHECK TABLE ... EXTENDED finds nothing;
- INNODB_RSEG of PATCHED has a used segment for each prepared transaction, and no more ready
  segments than it may have.

After each shutdown innochecksum finds nothing.  At the end nothing is prepared, the undo
tablespaces become small again, and after a slow shutdown the rollback segments have pages of
cached segments only.

Upstream may stand still with innodb_undo_log_truncate=ON
(docs/patches/fix-undo-truncation-write.md): VANILLA is killed then, and that is counted.

Prints a line for each round, and a summary.  The data are removed at the end.  They are kept
where a check fails: the error begins with WRONG.
Exit status: 0; 1 where a check fails or the tool cannot run.
"""
import collections
import contextlib
import random
import threading
import time

from millrace.command import number, run_command
from millrace.errors import Failure
from millrace_crash import undo
from millrace_crash.datadir import (SCHEMA, DataDir, check_extended, check_tables, formats,
                                    kill_in_recovery)
from millrace_crash.ledger import Ledger
from millrace_crash.tool import add_build, failure_at, parse, place_of, tool_parser
from millrace_crash.xa import CLIENTS, MOST_LEFT, TABLE, Branches

PAGE_SIZE = 16384
# In a small pool undo pages have to be written soon, and to be read again.  Only the clients make
# transactions.
OPTIONS = {'innodb_buffer_pool_size': '32M', 'innodb_max_dirty_pages_pct': '20',
           'innodb_io_capacity': '4000', 'innodb_io_capacity_max': '8000',
           'innodb_stats_persistent': 'OFF', 'innodb_undo_tablespaces': '3',
           'innodb_undo_log_truncate': 'ON', 'innodb_max_undo_log_size': '10M',
           'loose_innodb_purge_rseg_truncate_frequency': '1'}
EXTRA, EXTRA_SEGMENTS = (0, 2, 8, 64), 'innodb_extra_undo_segments'
TABLES = ('plain', 'encrypted_zip')
# how a round ends: {name: innodb_fast_shutdown}, None for a kill; and one that it is not to have
ENDS, STANDSTILL = {'kill': None, 'fast shutdown': 1, 'slow shutdown': 0}, 'standstill'
MOST_PAGES = 8000           # written in a round
LONGEST_WORK = 4            # seconds of a round
LEAVING = .6                # of the work: from then on prepared transactions are left over
LONGEST = 240               # seconds after which a server stands still
SETTLES = 60                # seconds until background threads have done their work
SMALL = 10 << 20            # bytes of an undo tablespace that was truncated
PAGES_WRITTEN = "SHOW GLOBAL STATUS LIKE 'Innodb_pages_written'"
TRUNCATIONS = "SHOW GLOBAL STATUS LIKE 'Innodb_undo_truncations'"


def arguments(argv):
    """The parsed arguments, and the options of the server."""
    parser = tool_parser('undo-over-restarts', __doc__)
    add_build(parser, 'patched', 'directory with the unpacked server to test', 'PATCHED')
    add_build(parser, 'vanilla', 'directory with an unpacked server of the same release',
              'VANILLA')
    parser.add_argument('--rounds', type=number(int, 1), default=20, metavar='N',
                        help='how many rounds (default: %(default)s)')
    parser.add_argument('--seed', type=int, default=1, metavar='N',
                        help='seed of the choices (default: %(default)s)')
    return parse(parser, argv, OPTIONS)


class Standstill(Failure):
    """A server does not come to an end with something."""


@contextlib.contextmanager
def time_limit(server, what):
    """Kills the server where the block takes longer than LONGEST: no query waits for ever.

    Raises Standstill then."""
    late = threading.Event()

    def end():
        late.set()
        server.process.kill()
    timer = threading.Timer(LONGEST, end)
    timer.start()
    try:
        yield
    except Failure:
        if not late.is_set():
            raise
        raise Standstill(f'{server.build.name}: {what} did not end in {LONGEST} s',
                         server.log_end()) from None
    finally:
        timer.cancel()


def wait_while(complaint):
    """Waits until complaint() is empty; raises Standstill after SETTLES seconds."""
    until = time.monotonic() + SETTLES
    while text := complaint():
        if time.monotonic() > until:
            raise Standstill(f'{text} (still so after {SETTLES} s)')
        time.sleep(.1)


class Rounds:
    """The data directory, what must be in it, and the rounds of servers over it.

    `counts` are for the summary."""

    def __init__(self, place, builds, options):
        self.patched, self.vanilla = builds
        self.datadir = DataDir(self.patched, place, PAGE_SIZE, options)
        self.small = Ledger(TABLES, kind=undo.TemporaryClient)
        self.large = Ledger(('large',), 1, undo.LargeClient)
        self.branches, self.counts = Branches(), collections.Counter()
        self.tables = {**{name: formats(PAGE_SIZE)[name] for name in TABLES},
                       'large': '', TABLE: ''}

    def server(self, build, extra):
        """A server of a build with so many extra undo segments, not started yet."""
        self.datadir.use(build)
        server = self.datadir.server()
        server.options[f'loose_{EXTRA_SEGMENTS}'] = extra if build is self.patched else 0
        return server

    def create(self):
        """Creates the tables."""
        with self.server(self.patched, 0) as server:
            server.start()
            with server.connect(SCHEMA) as connection:
                self.small.create(connection, self.tables)
            server.stop()

    def confirmed(self):
        """How many transactions are confirmed."""
        return self.small.confirmed() + self.large.confirmed()

    def check(self, server, extra, leave):
        """Checks everything after a start, and ends the share 1 - `leave` of what is prepared.

        Returns a text.  Raises Failure where a check fails."""
        with server.connect(SCHEMA) as connection:
            prepared = self.branches.recovered(connection)
            self._compare_rows(connection)
            # recovery rolls back what was neither committed nor prepared
            wait_while(lambda: self._unfinished(connection))
            self.branches.check(connection, dirty=True)
            ended = self.branches.settle(connection, leave)
            wait_while(lambda: self._unfinished(connection))
            self._compare_rows(connection)
            self.branches.check(connection, dirty=True)
            if self.branches.open:
                # While a transaction is prepared, the history is kept and
                # innodb_max_purge_lag_wait waits; but its records are purged.
                wait_while(lambda: self._unpurged(connection))
            else:
                self.counts['orphans in secondary indexes (MDEV-29823)'] += \
                    check_tables(connection, self.tables)
            if server.build is self.patched:
                wait_while(lambda: self._wrong_segments(connection, extra))
        return f'{prepared} prepared, {ended} of them ended'

    def _compare_rows(self, connection):
        """Raises Failure where a row is not as committed."""
        self.small.check(connection)
        self.large.check(connection)
        self.branches.check(connection, dirty=False)

    def _unfinished(self, connection):
        """A complaint where there are other transactions than those that are prepared."""
        count = int(connection.query('SELECT COUNT(*) FROM information_schema.innodb_trx')[0][0])
        prepared = len(self.branches.open)
        return count != prepared and f'{count} transactions are open, {prepared} of them prepared'

    def _unpurged(self, connection):
        """CHECK TABLE's complaint about rows not yet purged; raises Failure for any other."""
        complaint, _ = check_extended(connection, self.tables)
        if complaint and 'Unpurged' not in complaint:
            raise Failure(complaint)
        return complaint

    def _wrong_segments(self, connection, extra):
        """A complaint where an idle server has too many active or ready undo segments."""
        active = collections.Counter()
        for kind, used, ready in connection.query(
                'SELECT type, active_segments, ready_segments '
                'FROM information_schema.innodb_rseg'):
            active[kind] += int(used)
            if int(ready) > extra:
                return (f'a rollback segment has {ready} ready segments, '
                        f'though {EXTRA_SEGMENTS} is {extra}')
        if (active['PERSISTENT'], active['TEMPORARY']) != (len(self.branches.open), 0):
            return (f'INNODB_RSEG has {dict(active)} active segments, '
                    f'though {len(self.branches.open)} transactions are prepared')
        return None

    def work(self, server, pages, how):
        """Lets the clients write until so many pages are written, and ends the server.

        Something is committed meanwhile.  `how` is a name in ENDS.  Returns a text."""
        before, began = self.confirmed(), time.monotonic()
        joins = [self.small.start(lambda: undo.connect_with_temporary(server)),
                 self.large.start(lambda: undo.connect_with_temporary(server)),
                 self.branches.start(lambda: server.connect(SCHEMA))]
        try:
            with server.connect() as connection:
                done = self.branches.leaving = 0
                while self.confirmed() == before or done < 1:
                    time.sleep(.05)
                    written = int(connection.query(PAGES_WRITTEN)[0][1])
                    done = max(written / pages, (time.monotonic() - began) / LONGEST_WORK)
                    # what is left over holds up the truncation of undo tablespaces
                    self.branches.leaving = done > LEAVING
                    if server.build is self.patched:
                        connection.query(f'SET GLOBAL {EXTRA_SEGMENTS}={random.choice(EXTRA)}')
                self.counts['undo tablespaces truncated'] += \
                    int(connection.query(TRUNCATIONS)[0][1])
                if ENDS[how] is not None:
                    connection.query(f'SET GLOBAL innodb_fast_shutdown={ENDS[how]}')
            doing = self.large.clients[0].doing
            if ENDS[how] is None:
                server.check()    # it must be this kill that ends it
                server.kill()
            else:
                server.stop()
        finally:
            server.kill()
            for join in joins:
                join()
        return f'{self.confirmed() - before} transactions; {how} while {doing}'

    def round(self, dice, after):
        """Runs one server, `after` an end in ENDS; returns a text, and how it ended."""
        build, extra = dice.choice((self.patched, self.vanilla)), dice.choice(EXTRA)
        how = dice.choices(list(ENDS), (4, 1, 1))[0]
        interrupting = dice.choice((self.patched, self.vanilla))
        pages, leave = dice.randint(1, MOST_PAGES), dice.choice((0, 0, .3, .8))
        seconds, interrupt = dice.uniform(.05, 1), dice.random() < .25
        texts = []
        try:
            if after == 'kill' and interrupt:
                with self.server(interrupting, extra) as server:
                    kill_in_recovery(server, seconds)
                texts.append(f'killed in recovery by {interrupting.name}')
                self.counts['kill in recovery'] += 1
            with self.server(build, extra) as server:
                with time_limit(server, 'start-up'):
                    server.start()
                with time_limit(server, 'the check'):
                    texts.append(self.check(server, extra, leave))
                with time_limit(server, 'work'):
                    texts.append(self.work(server, pages, how))
            if ENDS[how] is not None:
                texts.append(f'{self.datadir.check_files()} files clean')
        except Standstill as error:
            if build is self.patched or after == STANDSTILL:
                raise
            how = STANDSTILL
            texts.append(f'stood still, and was killed: {error.lines[0]}')
        self.counts[how] += 1
        self.counts[f'{build.name} after {after}'] += 1
        name = f'{build.name} with {extra}' if build is self.patched else build.name
        return f'{name} after {after}: {"; ".join(texts)}', how

    def finish(self):
        """Ends all transactions, and checks what is left: sizes of files, and segments.

        Returns the number of files.  Raises Failure where a check fails."""
        with self.server(self.patched, max(EXTRA)) as server:
            with time_limit(server, 'start-up'):
                server.start()
            with time_limit(server, 'the check'):
                self.check(server, max(EXTRA), 0)
            with time_limit(server, 'truncation'), server.connect(SCHEMA) as connection:
                if int(connection.query('SELECT @@innodb_undo_log_truncate')[0][0]):
                    wait_while(lambda: self._grown(connection))
            with time_limit(server, 'shutdown'), server.connect() as connection:
                connection.query('SET GLOBAL innodb_fast_shutdown=0')
                server.stop()
        self.datadir.check_files()
        with self.server(self.patched, 0) as server, time_limit(server, 'the last check'):
            server.start()
            self.check(server, 0, 0)
            with server.connect() as connection:
                self._check_segments(connection)
            server.stop()
        return self.datadir.check_files()

    def _check_segments(self, connection):
        """Raises Failure where rollback segments have more than cached segments."""
        most = 2 * len(TABLES) + 1 + CLIENTS + MOST_LEFT    # transactions at the same time
        wrong = connection.query(
            'SELECT rseg_id, pages, cached_segments FROM information_schema.innodb_rseg '
            'WHERE type="PERSISTENT" AND (active_segments OR ready_segments '
            f'OR cached_segments > {most} OR pages > 1 + cached_segments)')
        self.counts['cached segments at the end'] = int(connection.query(
            'SELECT SUM(cached_segments) FROM information_schema.innodb_rseg '
            'WHERE type="PERSISTENT"')[0][0])
        if wrong:
            raise Failure('rollback segments after a slow shutdown have more than cached '
                          f'segments; number, pages, cached segments: {wrong[:6]}')

    def _grown(self, connection):
        """A complaint where undo tablespaces are large; purge goes on with each transaction."""
        connection.query(f'INSERT INTO {TABLE} VALUES (0, 0, 0)')
        connection.query(f'DELETE FROM {TABLE} WHERE a=0')
        sizes = {file.name: file.stat().st_size
                 for file in self.datadir.data.glob('undo[0-9]*')}
        return any(size > SMALL for size in sizes.values()) and f'undo tablespaces are {sizes}'


def main(argv):
    """Round by round."""
    asked, options = arguments(argv)
    random.seed(asked.seed)
    dice = random.Random(asked.seed)
    rounds = Rounds(place_of(asked), (asked.patched, asked.vanilla), options)
    rounds.create()
    round_number, after = 0, 'fast shutdown'
    try:
        for round_number in range(1, asked.rounds + 1):
            text, after = rounds.round(dice, after)
            print(f'round {round_number}: {text}', flush=True)
        files = rounds.finish()
    except Failure as error:
        raise failure_at(f'WRONG in round {round_number} of seed {asked.seed}', error,
                         rounds.datadir.data) from None
    counts = {**rounds.counts, **rounds.branches.counts}
    print(*(f'{what}: {count}' for what, count in sorted(counts.items())), sep='\n')
    print(f'{asked.rounds} rounds, {rounds.confirmed()} transactions confirmed, nothing lost, '
          f'{files} files clean', flush=True)
    rounds.datadir.remove()


if __name__ == '__main__':
    run_command('undo-over-restarts', main)
