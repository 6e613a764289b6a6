"""What a suite is made of, and what a case gets to work with."""
from dataclasses import dataclass, field
from typing import Callable

from . import machine, sysbench
from .data import Data
from .server import Server

# what is compared, besides how many there are, of transactions that clients run
OF_TRANSACTIONS = ('p95_ms', 'p99_ms', 'cpu_ms_per_transaction', 'user_ms_per_transaction')


@dataclass(frozen=True, eq=False)
class Scale:
    """How much: seconds of load in a run, and the size of the data (1 is what suites are made for)."""
    seconds: int
    size: float = 1

    def of(self, number, least=1):
        """A number of rows, warehouses or bytes at this size."""
        return max(least, round(number * self.size))

    def pool(self, mib, least):
        """The option of a buffer pool that grows and shrinks with the data, so that it has the same part in them."""
        return {'innodb_buffer_pool_size': f'{self.of(mib, least)}M'}


@dataclass(frozen=True, eq=False)
class Case:
    """One thing that is measured on every build.

    `run(context)` measures it, once; `compare` names the figures that are compared besides the value;
    `estimate` is how many seconds a run takes, for the time left."""
    name: str
    title: str
    measure: str
    better: str
    data: Data
    run: Callable
    estimate: float
    options: dict = field(default_factory=dict)
    compare: tuple = ()


@dataclass
class Measurement:
    """What one run found."""
    value: float
    seconds: float
    figures: dict = field(default_factory=dict)
    timeline: list = field(default_factory=list)
    histogram: list = field(default_factory=list)
    text: str = ''


class Context:
    """What a case's `run` gets: a data directory of its own and a way to start a server over it."""

    def __init__(self, case, build, data, facts, scale, limit, progress, options):
        self.case, self.build, self.data, self.facts, self.scale = case, build, data, facts, scale
        self.limit, self.progress, self.options = limit, progress, options
        self.servers = []

    def start(self, **options):
        """A running server over the data; the runner ends it."""
        server = Server(self.build, self.data, {**self.options, **self.case.options, **options}, self.limit)
        self.servers.append(server)
        server.start()
        with server.connect() as connection:
            self.build.describe(connection)
        return server

    def load(self, server, name, warm_up=0, begin=None, **options):
        """Runs a load for scale.seconds, after `warm_up` seconds that do not count and
        a call of `begin`: a sysbench Result, and the timeline of those seconds."""
        options = {'time': self.scale.seconds, **options}
        if warm_up:
            sysbench.run(server, name, each_second=lambda *_: self.progress.show(), **{**options, 'time': warm_up})
        if begin:
            begin()
        timeline = []
        last = [machine.cpu_times(), server.counts()]

        def second(number, rate):
            cpu, counts = machine.cpu_times(), server.counts()
            busy, passed = (new - old for new, old in zip(cpu, last[0]))
            timeline.append((number, rate, round(busy / passed, 3) if passed else 0,
                             *(counts[way] - last[1][way] for way in ('read_bytes', 'write_bytes'))))
            last[:] = cpu, counts
            self.progress.show()
        before = last[1]
        result = sysbench.run(server, name, each_second=second, **options)
        after = server.counts()
        result.processor = {kind: after[f'{kind}_seconds'] - before[f'{kind}_seconds'] for kind in ('cpu', 'user')}
        if not timeline:    # a load of one second may end before it reports
            second(round(result.seconds), result.rate)
        return result, timeline

    def measured(self, result, timeline, value=None, **figures):
        """A Measurement of a load: its rate, or `value`, its response times, and what processor time of the server
        it took, which tells builds apart where the clients, the disk and the kernel have their part in the rate."""
        processor = {f'{kind}_ms_per_transaction': 1000 * seconds / max(1, result.transactions)
                     for kind, seconds in result.processor.items() if seconds}
        return Measurement(result.rate if value is None else value, result.seconds,
                           {**result.latency(), 'transactions': result.transactions, **processor,
                            'restarted': result.errors, **figures},
                           timeline, result.histogram, result.text)
