"""One server in one scenario: its steps, and the outcome of each.

A scenario is a function of a Trial that `scenario` has registered.  It is run for the vanilla
server and for the one with the series, with the same data.
"""
import contextlib
import re
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import partial

from millrace.errors import Failure
from millrace_bench.measure.server import Server
from millrace_crash.datadir import SCHEMA, check_tables, formats
from millrace_crash.ledger import Ledger, run_threads
from millrace_hostile.surroundings import Inside, NotHere

OK = 'ok'
START_SECONDS, STOP_SECONDS, STILL_SECONDS = 300, 240, 60
PAGE_SIZE = 16384
# The options of every server: little of what is tried here shows with a large pool.
OPTIONS = {'performance_schema': 'OFF', 'innodb_buffer_pool_size': '8M',
           'innodb_log_file_size': '96M', 'innodb_lock_wait_timeout': '20',
           'lock_wait_timeout': '20'}
DATA = 'plain'      # a table that all crashed data have
# errors in a log that follow from others
CONSEQUENCES = re.compile('Aborting|got signal|Unknown/unsupported storage engine|'
                          "Plugin 'InnoDB' registration|Plugin initialization aborted")
REGISTERED = {}
# statements that write temporary files, by the name of a step; DATA has the table
USES_TMPDIR = {
    'ADD INDEX': (f'ALTER TABLE {DATA} ADD INDEX hostile(b(200))',
                  f'ALTER TABLE {DATA} DROP INDEX hostile'),
    'ORDER BY': ('SET sort_buffer_size=32768', 'SET @n=0',
                 f'SELECT MAX(c) FROM (SELECT CONCAT(b, a) c FROM {DATA} ORDER BY c '
                 'LIMIT 1000000) s'),
}


class Ended(Exception):
    """A step failed, so there is nothing more to try."""


@dataclass
class Outcome:
    """What became of a server.

    `steps` has the outcome of each step, OK or why it failed; `facts` what must be the same on
    both servers; `figures` numbers that are reported, some of them with a bound."""
    steps: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    figures: dict = field(default_factory=dict)

    def survives(self):
        """Whether every step succeeded."""
        return all(said == OK for said in self.steps.values())

    def text(self):
        """The first failure, or that there is none."""
        failed = [f'{step}: {said}' for step, said in self.steps.items() if said != OK]
        return '; '.join(failed[:2]) or 'survives'


@dataclass
class Scenario:
    """A registered scenario.

    `quick` ones are run in `make check`.  With `must` the series has to survive even what
    vanilla does not.  `bounds` are functions of vanilla's figure, {figure: the most, or with a
    name that ends with ' at least' the least, that the series may have}."""
    name: str
    about: str
    run: object
    quick: bool = False
    must: bool = False
    bounds: dict = field(default_factory=dict)


def scenario(name, about, **more):
    """Registers the function that follows as a scenario."""
    def register(function):
        REGISTERED[name] = Scenario(name, about, function, **more)
        return function
    return register


class Trial:
    """A server in a scenario.

    `build` is the server's, `place` a directory for its data, `crashes` makes data, `vanilla`
    is the Outcome of the vanilla server, None while that is tried, `log` the file for its error
    logs."""

    def __init__(self, build, place, crashes, vanilla, log):
        self.build, self.place, self.crashes, self.vanilla = build, place, crashes, vanilla
        self.log, self.outcome, self._text = log, Outcome(), lambda: ''

    @contextlib.contextmanager
    def step(self, name, goes_on=False):
        """A step; where it fails the trial ends, unless it `goes_on`."""
        self.outcome.steps[name] = 'interrupted'
        try:
            yield
        except NotHere:
            raise
        except (Failure, OSError, subprocess.SubprocessError) as error:
            self.outcome.steps[name] = self._reason(error)
            if not goes_on:
                raise Ended from None
        else:
            self.outcome.steps[name] = OK

    def ok(self, name):
        """Whether a step succeeded."""
        return self.outcome.steps.get(name) == OK

    def _reason(self, error):
        first = error.lines[0] if isinstance(error, Failure) else str(error)
        first = self._without_places(first.replace(f'{self.build.name}: ', ''))
        errors = re.findall(r'\[(?:ERROR|FATAL)\] (.*)|(Assertion failure.*)', self._text())
        errors = [each for each in errors if not CONSEQUENCES.search(each[0])]
        last = self._without_places(''.join(errors[-1])) if errors else ''
        return f'{first} ({last[:160]})' if last else first

    def _without_places(self, text):
        for place in (self.place, self.build.root):
            text = text.replace(str(place), '.')
        # a server's own directory for temporary files
        return re.sub(rf'{re.escape(tempfile.gettempdir())}/[\w./-]*/', './', text)

    def measured(self, name, measure):
        """A figure that vanilla's run sets for both: measure() is called for vanilla alone."""
        if self.vanilla is None:
            self.outcome.figures[name] = measure()
        return (self.vanilla or self.outcome).figures[name]

    @contextlib.contextmanager
    def server(self, datadir, inside=(), options=()):
        """A Server over the data, not started yet, in surroundings."""
        server = datadir.server()
        server.limit = Inside(*inside)
        server.options.update(dict(options))
        self._text = server.log_text
        with server:
            try:
                yield server
            finally:
                text = server.log_text()
                self.keep_log(text)
                self._text = lambda: text

    def keep_log(self, text):
        """Appends to the file for error logs."""
        with open(self.log, 'a', encoding='utf-8') as log:
            log.write(f'--- {self.build.name}\n{text}\n')

    def new(self, page_size=PAGE_SIZE, encrypts=False, place=None, **options):
        """A DataDir with the server's own tables, made before."""
        return self._copied(self.crashes.empty(page_size, encrypts, **options), place)

    def crashed(self, kind, place=None):
        """A copy of crashed data of this kind, and the Crash that it is of."""
        crash = self.crashes.get(kind)
        return self._copied(crash.datadir, place), crash

    def _copied(self, datadir, place):
        place = place or self.place / 'copy'
        return datadir.copy(place, self.build)

    # -- what scenarios have in common

    def recovers(self, datadir, crash, inside=(), goes_on=False, uses_tmpdir=True, **options):
        """Recovers crashed data, looks at the rows, works, and shuts down."""
        with self.server(datadir, inside, options) as server:
            with self.step('start', goes_on):
                server.start(START_SECONDS)
                self.outcome.figures['start seconds'] = round(server.started_in, 2)
            if self.ok('start'):
                self._goes_on(server, crash, uses_tmpdir)
        if self.ok('start'):
            with self.step('files'):
                datadir.check_files()

    def returns(self, datadir, crash, **options):
        """The obstacle is gone: the server must start, and have every row."""
        with self.server(datadir, (), options) as server:
            with self.step('start without it'):
                server.start(START_SECONDS)
            with self.step('rows without it'):
                crash.check(server)
            with self.step('shutdown without it'):
                server.stop(STOP_SECONDS)

    def _goes_on(self, server, crash, uses_tmpdir):
        with self.step('rows'):
            crash.check(server)
        with self.step('work'):
            work(server)
            self.outcome.facts['work'] = checksums(server, ['work'])
        for name, statements in USES_TMPDIR.items() if uses_tmpdir else ():
            with self.step(name, goes_on=True), server.connect(SCHEMA) as connection:
                for statement in statements:
                    connection.query(statement)
        with self.step('rows again'):
            crash.check(server)
        with self.step('shutdown'):
            server.stop(STOP_SECONDS)

    def lives(self, datadir, inside=(), seconds=3, clients=2, during=None, still=STILL_SECONDS,
              jobs=(), end=Server.kill, **options):
        """Clients write; the server ends, starts again, has every row, and shuts down.

        during(server) is called meanwhile, by default a wait; end(server) ends it.  jobs are
        functions of the server, each for a thread of its own."""
        tables = {name: more for name, more
                  in formats(int(datadir.options['innodb_page_size'])).items()
                  if 'innodb_encrypt_log' in datadir.options or 'ENCRYPTED' not in more}
        ledger = Ledger(tables, clients)
        with self.server(datadir, inside, options) as server:
            with self.step('start'):
                server.start(START_SECONDS)
                with server.connect(SCHEMA) as connection:
                    ledger.create(connection, tables)
            self._load(server, ledger, during or (lambda server: time.sleep(seconds)), still,
                       [partial(job, server) for job in jobs], end)
        with self.server(datadir, inside, options) as server:
            with self.step('start again'):
                server.start(START_SECONDS)
                self.outcome.figures['start seconds'] = round(server.started_in, 2)
            with self.step('rows'), server.connect(SCHEMA) as connection:
                ledger.check(connection)
            with self.step('tables'), server.connect(SCHEMA) as connection:
                check_tables(connection, ledger.tables)
            with self.step('shutdown'):
                server.stop(STOP_SECONDS)
        with self.step('files'):
            datadir.check_files()

    def _load(self, server, ledger, during, still, jobs, end):
        joins = [ledger.start(lambda: server.connect(SCHEMA)), run_threads(jobs)]
        watch = Watch(server, ledger.confirmed, still, self.log)
        try:
            with self.step('load'):
                try:
                    during(server)
                finally:
                    watch.end()     # what it saw comes before the failure of a statement
                server.check()
            with self.step('end'):
                end(server)
        finally:
            server.kill()
            self.outcome.figures['transactions'] = ledger.confirmed()
            self.outcome.figures['longest wait'] = round(watch.longest, 1)
            with self.step('clients', goes_on=True):
                for join in joins:
                    join()
        if not self.ok('clients'):
            raise Ended


class Watch:
    """Kills a server when progress(), a number, stays the same for `still` seconds.

    `longest` is the longest time for which it did."""

    def __init__(self, server, progress, still, log):
        self.longest, self.stood = 0, False
        self._server, self._progress, self._still, self._log = server, progress, still, log
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self):
        last, since = self._progress(), time.monotonic()
        while not self._ended.wait(.2):
            now = time.monotonic()
            self.longest = max(self.longest, now - since)
            if self._progress() != last:
                last, since = self._progress(), now
            elif now > since + self._still:
                self.stood = True
                with open(self._log, 'a', encoding='utf-8') as log:
                    print('--- stacks of a server that stands still', file=log, flush=True)
                    subprocess.run(['eu-stack', '-p', str(self._server.process.pid)], stdout=log,
                                   stderr=log, check=False)
                self._server.process.kill()
                return

    def wait(self, seconds):
        """Waits so long, or until the server stands still."""
        self._thread.join(seconds)

    def stop(self):
        """Stops watching."""
        self._ended.set()
        self._thread.join()

    def end(self):
        """Stops watching; raises Failure where the server stood still."""
        self.stop()
        if self.stood:
            raise Failure(f'nothing moved for {self._still} s')


def work(server):
    """Writes a table, by statements of many rows."""
    with server.connect(SCHEMA) as connection:
        connection.query('DROP TABLE IF EXISTS work')
        connection.query('CREATE TABLE work(a INT PRIMARY KEY, v INT, b VARCHAR(500), KEY(v)) '
                         'ENGINE=InnoDB')
        connection.query("INSERT INTO work SELECT seq, seq % 99, REPEAT(MD5(seq), 12) "
                         'FROM seq_1_to_2000')
        connection.query('UPDATE work SET v=v+1, b=REVERSE(b) WHERE a % 2')
        connection.query('DELETE FROM work WHERE a % 3 = 0')


def checksums(server, tables):
    """[(table, rows, checksum)]."""
    with server.connect(SCHEMA) as connection:
        return [(table, connection.query(f'SELECT COUNT(*) FROM {table}')[0][0],
                 connection.query(f'CHECKSUM TABLE {table}')[0][1]) for table in tables]
