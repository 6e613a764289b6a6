"""Cold reads of a table larger than the buffer pool, for the effect of read-ahead and of the
size of requests."""
import time

from millrace_bench.measure import machine, sysbench
from millrace_bench.measure.case import Case, Measurement, Suite
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'rows': 1000000, 'rand-type': 'uniform', 'threads': 4, 'lookups': 20000}
POOL = 64    # MiB, a quarter of the table


class ColdRead(Case):
    """Reads from a server that has nothing in memory; a subclass says what in read()."""
    unit, better = 'seconds', 'lower'
    compare = ('read_requests', 'read_bytes', 'cpu_seconds')
    estimate = 5

    def __init__(self, name, title, data, scale):
        self.name, self.title, self.data = name, title, data
        self.options = scale.pool(POOL, least=8)

    def read(self, server, connection):
        """Reads, and returns the seconds that it took, and sysbench's Result or None."""
        raise NotImplementedError

    @staticmethod
    def _counts(server, data):
        return server.status(), server.counts(), machine.device_counts(data)

    def measure(self, context):
        server = context.start()
        with server.connect('bench') as connection:
            # the table is opened, and its root page read
            connection.query('SELECT id FROM sbtest1 WHERE id = 0')
            before = self._counts(server, context.data)
            seconds, result = self.read(server, connection)
            after = self._counts(server, context.data)
        status, counts, device = ({name: new[name] - old[name] for name in new if name in old}
                                  for new, old in zip(after, before))
        ahead = sum(status[f'innodb_buffer_pool_read_ahead{kind}'] for kind in ('', '_rnd'))
        return Measurement(
            seconds, seconds, {'pages_read': status['innodb_pages_read'],
                               'pages_by_read_ahead': ahead, **counts, **device},
            histogram=result.histogram if result else [], text=result.text if result else '')


class Scan(ColdRead):
    """One statement that reads the whole table."""

    def __init__(self, name, title, data, scale, statement):
        super().__init__(name, title, data, scale)
        self.statement = statement

    def read(self, server, connection):
        begin = time.monotonic()
        connection.query(self.statement)
        return time.monotonic() - begin, None


class Lookups(ColdRead):
    """Many random rows by primary key."""

    def __init__(self, name, title, data, scale):
        super().__init__(name, title, data, scale)
        self.lookups = scale.of(LOAD['lookups'], least=500)

    def read(self, server, connection):
        result = sysbench.run(server, 'oltp_point_select', **self.data.arguments(
            time=0, events=self.lookups, threads=LOAD['threads'], rand_type=LOAD['rand-type'],
            rand_seed=1))
        return result.seconds, result


class Scans(Suite):
    """Ascending, descending and random."""
    name = 'scan'
    title = 'cold scans of a table larger than the buffer pool'
    rounds, seconds = 6, 10
    load = LOAD

    def cases(self):
        data = Sbtest(1, self.scale.of(LOAD['rows'], least=20000))
        return [
            Scan('ascending', 'ascending scan', data, self.scale,
                 'SELECT SUM(LENGTH(c)) FROM sbtest1 FORCE INDEX (PRIMARY) WHERE id > 0'),
            Scan('descending', 'descending scan', data, self.scale,
                 'SELECT SUM(l) FROM (SELECT LENGTH(c) l FROM sbtest1 ORDER BY id DESC'
                 ' LIMIT 1000000000) d'),
            Lookups('random', 'random lookups', data, self.scale)]
