"""sysbench's read-write and read-only loads on data that fit into the buffer pool: the everyday
load."""
from millrace_bench.measure.case import Case, Suite, measured
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'tables': 4, 'rows': 1000000, 'rand-type': 'uniform', 'threads': 16}
POOL = 1024    # MiB; never less


class InMemory(Case):
    """One of sysbench's loads, with every page in the pool."""
    warm_up = 3

    def __init__(self, name, script, data, scale):
        self.name = f'{name}-{LOAD["threads"]}'
        self.title = f'{name}, {LOAD["threads"]} clients'
        self.script, self.data = script, data
        self.options = scale.pool(POOL, least=POOL)
        self.estimate = scale.seconds + self.warm_up + 5

    def measure(self, context):
        server = context.start()
        self.data.read_all(server)    # the disk has no part in the reads
        load = self.data.arguments(rand_type=LOAD['rand-type'], threads=LOAD['threads'])
        context.warm_up(server, self.script, **load)
        return measured(*context.load(server, self.script, **load))


class Oltp(Suite):
    """Read-write and read-only, 16 clients."""
    name = 'oltp'
    title = 'sysbench read-write and read-only, in memory'
    rounds, seconds = 5, 10
    load = LOAD

    def cases(self):
        data = Sbtest(LOAD['tables'], self.scale.of(LOAD['rows'] // LOAD['tables'], least=1000))
        return [InMemory('read-write', 'oltp_read_write', data, self.scale),
                InMemory('read-only', 'oltp_read_only', data, self.scale)]
