"""Cold reads of a table larger than the buffer pool: what read-ahead and the size of requests are worth."""
import time

from .. import machine, sysbench
from ..case import Case, Measurement
from ..tables import sbtest

TITLE = 'cold scans of a table larger than the buffer pool'
ROUNDS, SECONDS = 6, 10
SERVER = {}
POOL = 64    # MiB, a quarter of the table
LOAD = {'rows': 1000000, 'rand-type': 'uniform', 'threads': 4, 'lookups': 20000}

SCANS = {
    'ascending': ('ascending scan',
                  'SELECT SUM(LENGTH(c)) FROM sbtest1 FORCE INDEX (PRIMARY) WHERE id > 0'),
    'descending': ('descending scan',
                   'SELECT SUM(l) FROM (SELECT LENGTH(c) l FROM sbtest1 ORDER BY id DESC LIMIT 1000000000) d'),
    'random': ('random lookups', None),
}


def cases(scale):
    """Ascending, descending and random."""
    rows, lookups = scale.of(LOAD['rows'], least=20000), scale.of(LOAD['lookups'], least=500)

    def run(statement):
        def measure(context):
            server = context.start()
            connection = server.connect('bench')
            connection.query('SELECT id FROM sbtest1 WHERE id = 0')    # opened, and the root is read
            before = (server.status(), server.counts(), machine.device_counts(context.data))
            begin = time.monotonic()
            text, histogram = '', []
            if statement:
                connection.query(statement)
                seconds = time.monotonic() - begin
            else:
                result = sysbench.run(server, 'oltp_point_select', tables=1, table_size=rows, time=0, events=lookups,
                                      threads=LOAD['threads'], rand_type=LOAD['rand-type'], rand_seed=1)
                seconds, text, histogram = result.seconds, result.text, result.histogram
            after = (server.status(), server.counts(), machine.device_counts(context.data))
            connection.close()
            status, counts, device = ({name: new[name] - old[name] for name in new if name in old}
                                      for new, old in zip(after, before))
            figures = {
                'pages_read': status['innodb_pages_read'],
                'pages_by_read_ahead': status['innodb_buffer_pool_read_ahead'] + status['innodb_buffer_pool_read_ahead_rnd'],
                **counts, **device}
            return Measurement(seconds, seconds, figures, histogram=histogram, text=text)
        return measure
    return [Case(name=name, title=title, measure='seconds', better='lower', data=sbtest(1, rows), run=run(statement),
                 estimate=5, options=scale.pool(POOL, least=8), compare=('read_requests', 'read_bytes', 'cpu_seconds'))
            for name, (title, statement) in SCANS.items()]
