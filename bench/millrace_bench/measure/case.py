"""The parts of a suite: its cases, its data, and the tools that a case works with."""
import resource
import subprocess
import time
from dataclasses import dataclass, field

from millrace.errors import Failure
from millrace_bench.measure import machine, sysbench
from millrace_bench.measure.server import Server, dies_with_us

# compared, besides their number, for transactions that clients run
OF_TRANSACTIONS = ('p95_ms', 'p99_ms', 'cpu_ms_per_transaction', 'user_ms_per_transaction')
# figures of the server's own counters, and the status variables that are added up for each
OWN_COUNTERS = {
    'pages_read': ('innodb_pages_read',), 'pages_written': ('innodb_pages_written',),
    'pages_by_read_ahead': ('innodb_buffer_pool_read_ahead', 'innodb_buffer_pool_read_ahead_rnd'),
    'data_reads': ('innodb_data_reads',), 'data_writes': ('innodb_data_writes',),
    'data_read_bytes': ('innodb_data_read',), 'data_written_bytes': ('innodb_data_written',),
    'log_written_bytes': ('innodb_os_log_written',), 'syncs': ('innodb_data_fsyncs',)}


@dataclass(frozen=True, eq=False)
class Scale:
    """How much: seconds of load in a run, and the size of the data (1 is the usual one)."""
    seconds: int
    size: float = 1

    def of(self, number, least=1):
        """A number of rows, warehouses or bytes at this size."""
        return max(least, round(number * self.size))

    def pool(self, mib, least):
        """The option of a buffer pool that keeps its share of the data at this size."""
        return {'innodb_buffer_pool_size': f'{self.of(mib, least)}M'}


class Case:
    """One thing that is measured on every build.

    A subclass sets, for the class or in its instances:
        name, title
        unit, better   of the value: 'seconds', 'lower'
        data           the Data that its servers run on
        options        of its servers, on top of the suite's
        compare        names of the figures that are compared besides the value
        estimate       seconds that a run takes, for the time left
    """
    unit, better, options, compare = 'transactions/s', 'higher', {}, OF_TRANSACTIONS
    warm_up = 0        # seconds of load that do not count
    starts = 1         # of a server in a run

    def measure(self, context):
        """Measures it once: a Measurement."""
        raise NotImplementedError

    def values(self):
        """{name: function of a run} for the value and each figure that is compared."""
        return {self.unit: lambda run: run['value'],
                **{figure: lambda run, figure=figure: run['figures'].get(figure)
                   for figure in self.compare}}


class Suite:
    """A set of cases that belong together, at a Scale.

    A subclass sets its name and title; rounds and seconds: how often each build runs each case,
    and how long under load; server: options of all its servers; load: what its cases have in
    common, for the record; programs: what a build must have besides the server."""
    server, load, programs = {}, {}, ()

    def __init__(self, scale):
        self.scale = scale

    def cases(self):
        """Its cases, in the order in which they run."""
        raise NotImplementedError


@dataclass
class Measurement:
    """The outcome of one run."""
    value: float
    seconds: float
    figures: dict = field(default_factory=dict)
    timeline: list = field(default_factory=list)
    histogram: list = field(default_factory=list)
    text: str = ''


class Timeline:
    """The seconds of a load on a server, as rows of result.SECONDS."""

    def __init__(self, server, progress):
        self.server, self.progress, self.rows = server, progress, []
        self.cpu, self.counts = machine.cpu_times(), server.counts()

    def second(self, number, rate):
        """A second is over."""
        cpu, counts = machine.cpu_times(), self.server.counts()
        busy, passed = (new - old for new, old in zip(cpu, self.cpu))
        moved = (counts[way] - self.counts[way] for way in ('read_bytes', 'write_bytes'))
        self.rows.append((number, rate, round(busy / passed, 3) if passed else 0, *moved))
        self.cpu, self.counts = cpu, counts
        self.progress.show()


def ended():
    """The resources of all processes that we have started, and that have ended, by the names of
    Server.counts()."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {'read_bytes': used.ru_inblock * 512, 'write_bytes': used.ru_oublock * 512,
            'cpu_seconds': used.ru_utime + used.ru_stime, 'user_seconds': used.ru_utime}


class Work:
    """A piece of work, for `with`: its `seconds` and, as `figures`, what it took.

    These are the counters of `server`, of the control group and of the disk.  A server that the
    block starts, and sets, counts from its start.  Where the block ends the server, its own
    counters are lost, but not its processor time and its bytes.  With `programs` those of other
    programs that the block runs are added."""

    def __init__(self, context, server=None, programs=False):
        self.context, self.server, self.programs = context, server, programs
        self.seconds, self.figures = 0, {}

    def _counts(self):
        found = {**self.context.limit.requests(), **machine.device_counts(self.context.data)}
        of_processes = ended() if self.programs else {}
        if self.server and self.server.process:
            counts, status = self.server.counts(), self.server.status()
            for name in ended():
                of_processes[name] = of_processes.get(name, 0) + counts[name]
            found |= {figure: sum(status[name] for name in names)
                      for figure, names in OWN_COUNTERS.items()}
        return {**found, **of_processes}

    def __enter__(self):
        self.figures, self.seconds = self._counts(), time.monotonic()
        return self

    def __exit__(self, kind, *_):
        self.seconds = time.monotonic() - self.seconds
        if kind is None:
            before = self.figures
            self.figures = {name: value - before.get(name, 0)
                            for name, value in self._counts().items()}

    def measurement(self, value=None, **figures):
        """A Measurement of it: its seconds, or others, its figures and more."""
        seconds = self.seconds if value is None else value
        return Measurement(seconds, seconds, {**self.figures, **figures})


class Context:
    """The tools of a case: a data directory, and a way to start servers over it.

    `facts` were kept beside the data, `servers` are those that it has started."""

    def __init__(self, case, build, data, facts, runner):
        self.case, self.build, self.data, self.facts = case, build, data, facts
        self.suite, self.limit, self.progress = runner.plan.suite, runner.limit, runner.progress
        self.scale = self.suite.scale
        self.servers = []

    def start(self, environment=None, **options):
        """A running server over the data, with more variables; the runner ends it."""
        options = {**self.suite.server, **self.case.options, **options}
        server = Server(self.build, self.data, options, self.limit, environment)
        self.servers.append(server)
        server.start()
        with server.connect() as connection:
            self.build.describe(connection)
        return server

    def program(self, name, *arguments):
        """Runs a program of the build, under the limit; its output is not kept."""
        call = [*self.build.program(name), '--no-defaults', *map(str, arguments)]
        done = subprocess.run(call, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False,
                              preexec_fn=dies_with_us(self.limit))
        if done.returncode:
            raise Failure(f'{self.build.name}: {name} failed (status {done.returncode})',
                          *done.stderr.decode(errors='replace').splitlines()[-5:])

    def warm_up(self, server, name, **options):
        """Runs a load for the case's warm_up seconds, or half those of the scale where they are
        fewer; nothing of it counts.  A load of one second has none."""
        if seconds := min(self.case.warm_up, self.scale.seconds // 2):
            sysbench.run(server, name, each_second=lambda *_: self.progress.show(),
                         **{**options, 'time': seconds})

    def load(self, server, name, **options):
        """Runs a load, for scale.seconds unless `time` says otherwise: its Result, and the rows
        of its timeline."""
        timeline = Timeline(server, self.progress)
        before = timeline.counts
        result = sysbench.run(server, name, each_second=timeline.second,
                              **{'time': self.scale.seconds, **options})
        after = server.counts()
        result.processor = {kind: after[f'{kind}_seconds'] - before[f'{kind}_seconds']
                            for kind in ('cpu', 'user')}
        if not timeline.rows:    # a load of one second may end before it reports
            timeline.second(round(result.seconds), result.rate)
        return result, timeline.rows


def measured(result, timeline, value=None, **figures):
    """A Measurement of a load: its rate, or `value`; response times; processor time of the
    server, which tells builds apart where the clients and the disk have a part in the rate."""
    processor = {f'{kind}_ms_per_transaction': 1000 * seconds / max(1, result.transactions)
                 for kind, seconds in result.processor.items() if seconds}
    return Measurement(result.rate if value is None else value, result.seconds,
                       {**result.latency(), 'transactions': result.transactions, **processor,
                        'restarted': result.errors, **figures},
                       timeline, result.histogram, result.text)
