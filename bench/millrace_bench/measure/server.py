"""A server of a build, started and ended for one run."""
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure.client import Connection, SqlError

# given to every server, and recorded; a case adds to it
OPTIONS = {
    'innodb_flush_method': 'O_DIRECT',
    'innodb_buffer_pool_dump_at_shutdown': 'OFF',
    'innodb_buffer_pool_load_at_startup': 'OFF',
    'innodb_log_file_size': '256M',
    'performance_schema': 'OFF',
    'max_connections': '400',
    # as many may wait to be accepted: the default is 130, and a busy machine refuses some of 256
    'back_log': '400',
    'skip_log_bin': None,
    'skip_networking': None,
    'skip_grant_tables': None,
    # from 11.4 on a server without a certificate makes one at each start: a second or more
    'ssl': 'OFF',
}
START_SECONDS = 600
STOP_SECONDS = 300
DYING_SECONDS = 60    # for a server that crashes to write its stack into the error log


def arguments(options):
    """Options of a dictionary as on a command line; None is an option without a value."""
    return [f'--{name}' if value is None else f'--{name}={value}'
            for name, value in options.items()]


def as_root():
    """The option that a server started by root needs."""
    return ['--user=root'] if os.getuid() == 0 else []


def dies_with_us(limit=None):
    """A preexec_fn: the started process ends when this one does, and is under the limit."""
    libc = ctypes.CDLL(None)

    def prepare():
        libc.prctl(1, signal.SIGKILL)    # PR_SET_PDEATHSIG
        if limit:
            limit.enter()
    return prepare


class Server:
    """A server over the data directory `data`; `with` ends it, however the block ends.

    `run` is a directory for its socket and log, `tmpdir` one for its temporary files, which is
    on the disk of the data, as that of most servers is; `environment` has more variables."""

    def __init__(self, build, data, options, limit=None, environment=None):
        self.build, self.data, self.limit = build, Path(data), limit
        self.environment = environment or {}
        self.options = {**OPTIONS, **options}
        # the kernel cuts the path of a socket at 107 bytes
        self.run = Path(tempfile.mkdtemp(prefix='millrace-bench-'))
        # a starting server removes the temporary tables of others in a shared directory
        self.tmpdir = self.data.with_name(f'{self.data.name}.tmp-{self.run.name[-8:]}')
        self.socket, self.log = self.run / 's', self.run / 'error.log'
        self.process = None
        self.started_in = None

    def launch(self):
        """Starts the server and does not wait for it."""
        self.tmpdir.mkdir(parents=True, exist_ok=True)
        command = [*self.build.command, '--no-defaults', *self.build.places(),
                   f'--datadir={self.data}', f'--socket={self.socket}',
                   f'--pid-file={self.run}/pid', f'--log-error={self.log}',
                   f'--tmpdir={self.tmpdir}', *as_root(), *arguments(self.options)]
        with open(self.run / 'output', 'ab') as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=dies_with_us(self.limit),
                env={**os.environ, **self.environment})

    def start(self, seconds=START_SECONDS):
        """Starts the server and waits until it answers; started_in is how long that took."""
        begin = time.monotonic()
        self.launch()
        while True:
            try:
                with self.connect() as connection:
                    connection.query('SELECT 1')
                    self.started_in = time.monotonic() - begin
                    return self
            except SqlError as error:
                self.check()
                if time.monotonic() - begin > seconds:
                    raise Failure(f'{self.build.name}: the server does not answer after '
                                  f'{seconds} s: {error}', self.log_end()) from None
                time.sleep(0.005)

    def connect(self, database=''):
        """A connection to it."""
        return Connection(self.socket, database)

    def check(self, lost=False):
        """Raises Failure, with the end of the error log, where the server has died.

        Where a connection to it was `lost` it may be dying: it is waited for."""
        if lost and self.process:
            try:
                self.process.wait(DYING_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        if self.process and self.process.poll() is not None:
            status = self.process.returncode
            how = f'signal {-status}' if status < 0 else f'status {status}'
            raise Failure(f'{self.build.name}: the server died ({how})', 'its error log:',
                          self.log_end())

    def log_text(self):
        """Its error log, after what it printed before it had one."""
        return ''.join(path.read_text(errors='replace')
                       for path in (self.run / 'output', self.log) if path.exists())

    def log_end(self, lines=40):
        """The last lines of its error log."""
        return '\n'.join(self.log_text().splitlines()[-lines:])

    def status(self):
        """SHOW GLOBAL STATUS as numbers, names in lower case."""
        with self.connect() as connection:
            rows = connection.query('SHOW GLOBAL STATUS')
        numbers = {}
        for name, value in rows:
            try:
                numbers[name.lower()] = float(value) if '.' in value else int(value)
            except ValueError:
                pass
        return numbers

    def counts(self):
        """The resources that the server has used since its start.

        Bytes read from and written to disks; seconds of CPU, in all and without the kernel's;
        where they are counted, the disk requests of all servers of this benchmark."""
        process = Path('/proc', str(self.process.pid))
        try:
            moved = dict(line.split(': ') for line in (process / 'io').read_text().splitlines())
            times = (process / 'stat').read_text().rpartition(')')[2].split()
        except OSError:
            self.check()
            raise
        ticks = os.sysconf('SC_CLK_TCK')
        return {'read_bytes': int(moved['read_bytes']), 'write_bytes': int(moved['write_bytes']),
                'cpu_seconds': (int(times[11]) + int(times[12])) / ticks,
                'user_seconds': int(times[11]) / ticks,
                **(self.limit.requests() if self.limit else {})}

    def stop(self, seconds=STOP_SECONDS):
        """Shuts it down cleanly."""
        self.check()
        self.process.terminate()
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f'{self.build.name}: the server does not shut down in '
                          f'{seconds} s', self.log_end()) from None
        if status:
            self.check()
        self.process = None

    def kill(self):
        """Ends it at once, as a crash does."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        for directory in (self.run, self.tmpdir):
            shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def explained(servers, where):
    """Around statements of our own: turns a SqlError into a Failure.

    The Failure says which of `servers` has died, where one has, and otherwise `where` the
    statement was given."""
    try:
        yield
    except SqlError as error:
        for lost in (False, error.lost):    # those that have died first: then nobody waits
            for server in servers:
                server.check(lost)
        raise Failure(f'{where}: a statement failed', *error.lines) from None


def make_system_tables(build, data, options=()):
    """Makes an empty data directory with the server's own tables; `options` are command line
    options.  Raises Failure."""
    data.mkdir(parents=True)
    tables = ''.join(build.script(name).read_text(encoding='utf-8')
                     for name in ('system_tables', 'performance_tables'))
    with tempfile.TemporaryDirectory(prefix='millrace-bench-') as tmpdir:
        command = [*build.command, '--no-defaults', '--bootstrap', *build.places(),
                   f'--datadir={data}', f'--tmpdir={tmpdir}', *as_root(), '--skip-log-bin',
                   *options]
        done = subprocess.run(command, input='CREATE DATABASE mysql;\nUSE mysql;\n' + tables,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, preexec_fn=dies_with_us())
    if done.returncode:
        raise Failure(f'{build.name}: the data directory cannot be made',
                      *done.stdout.splitlines()[-10:])
