"""Cold reads of a table larger than the buffer pool, for the effect of read-ahead and of the
size of requests."""
from millrace_bench.measure import sysbench
from millrace_bench.measure.case import Case, Suite, Work
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'rows': 1000000, 'rand-type': 'uniform', 'threads': 4, 'lookups': 20000}
POOL = 64    # MiB, a quarter of the table


class ColdRead(Case):
    """Reads from a server that has nothing in memory; a subclass says what in read()."""
    unit, better = 'seconds', 'lower'
    compare = ('read_requests', 'read_bytes', 'cpu_seconds')
    estimate = 5

    def __init__(self, name, title, data, scale, pool=POOL):
        self.name, self.title, self.data = name, title, data
        self.options = scale.pool(pool, least=8)

    def read(self, server, connection):
        """Reads, and returns sysbench's Result or None."""
        raise NotImplementedError

    def measure(self, context):
        server = context.start()
        with server.connect('bench') as connection:
            # the table is opened, and its root page read
            connection.query(f'SELECT id FROM {self.data.table} WHERE id = 0')
            with Work(context, server) as work:
                result = self.read(server, connection)
        measurement = work.measurement()
        if result:
            measurement.value = measurement.seconds = result.seconds
            measurement.histogram, measurement.text = result.histogram, result.text
        return measurement


class Scan(ColdRead):
    """One statement that reads a table, or many rows of it."""

    def __init__(self, name, title, data, scale, statement, pool=POOL):
        super().__init__(name, title, data, scale, pool)
        self.statement = statement

    def read(self, server, connection):
        connection.query(self.statement)


class Lookups(ColdRead):
    """Many random rows by primary key."""

    def __init__(self, name, title, data, scale):
        super().__init__(name, title, data, scale)
        self.lookups = scale.of(LOAD['lookups'], least=500)

    def read(self, server, connection):
        return sysbench.run(server, 'oltp_point_select', **self.data.arguments(
            time=0, events=self.lookups, threads=LOAD['threads'], rand_type=LOAD['rand-type'],
            rand_seed=1))


def in_order(data, scale, pool=POOL):
    """The scans of a whole table in both directions of its key, as cases."""
    return [Scan('ascending', 'ascending scan', data, scale,
                 'SELECT SUM(LENGTH(c)) FROM sbtest1 FORCE INDEX (PRIMARY) WHERE id > 0', pool),
            Scan('descending', 'descending scan', data, scale,
                 'SELECT SUM(l) FROM (SELECT LENGTH(c) l FROM sbtest1 ORDER BY id DESC'
                 ' LIMIT 1000000000) d', pool)]


class Scans(Suite):
    """Ascending, descending and random."""
    name = 'scan'
    title = 'cold scans of a table larger than the buffer pool'
    rounds, seconds = 6, 10
    load = LOAD

    def cases(self):
        data = Sbtest(1, self.scale.of(LOAD['rows'], least=20000))
        return [*in_order(data, self.scale),
                Lookups('random', 'random lookups', data, self.scale)]
