"""Work in bulk, as operators do it: scans, changes of a table, checks, loads, mass changes, starts
and shutdowns, dumps and backups.

Each case is one piece of work: its seconds, and what it reads and writes by the counters of the
server, of the control group and of the disk.  A piece that changed another number of rows than it
had to, or after which CHECK TABLE finds a fault, gives no figure."""
import shutil
import time

from millrace.errors import Failure
from millrace_bench.measure import data as directories
from millrace_bench.measure.case import OF_TRANSACTIONS, Case, Suite, Work, measured
from millrace_bench.measure.sbtest import Sbtest
from millrace_bench.suites.recovery import KEEP_DIRTY, log_size
from millrace_bench.suites.scan import Scan, in_order

LOAD = {'rows': 500000, 'scattered-rows': 200000, 'full-text-rows': 50000, 'lookups': 10000,
        'rand-type': 'uniform', 'threads': 16}
POOL = 32          # MiB, a quarter of the table
WHOLE = 256        # MiB, for cases whose pool has all of it
REDO = 128         # MiB, more than the update of all rows writes
WARM_SECONDS = 10
DELETED = 3        # of so many rows one is deleted
UPDATE = 'UPDATE sbtest1 SET pad = REVERSE(pad)'
DELETE = f'DELETE FROM sbtest1 WHERE id % {DELETED} = 0'


class Scattered(Sbtest):
    """Sbtest with a table `scattered` in its place, whose rows came in a random order of the
    key: neighbours in the key are not neighbours in the file."""
    table = 'scattered'

    def __init__(self, rows):
        super().__init__(1, rows)
        self.name = f'scattered-{rows}'
        self.made_from |= {'key': 'CRC32'}

    def load(self, server):
        super().load(server)
        with server.connect('bench') as connection:
            connection.query('CREATE TABLE scattered (id BIGINT UNSIGNED NOT NULL PRIMARY KEY,'
                             ' k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)'
                             ' ENGINE=InnoDB')
            # the id makes the key unique
            connection.query('INSERT INTO scattered SELECT CRC32(id) * 4294967296 + id, k, c, pad'
                             ' FROM sbtest1 ORDER BY sbtest1.id')
            connection.query('DROP TABLE sbtest1')


class Piece(Case):
    """A piece of work on a server.

    A subclass, or `statement`, says what is measured; before() what comes first.  `rows` is how
    many the statement has to change."""
    unit, better = 'seconds', 'lower'
    compare = ('read_requests', 'write_requests', 'read_bytes', 'write_bytes', 'cpu_seconds')
    estimate = 6
    statement, rows, programs = '', None, False

    def __init__(self, name, title, data, scale, statement='', rows=None, **options):
        self.name, self.title, self.data = name, title, data
        self.statement, self.rows = statement, rows
        self.options = {**scale.pool(POOL, least=8), **options}

    def before(self, context, server, connection):
        """Makes ready what is not measured."""

    def piece(self, context, server, connection):
        """Does what is measured."""
        answer = connection.query(self.statement)
        if self.rows is not None:
            [(changed,)] = connection.query('SELECT ROW_COUNT()')
            if int(changed) != self.rows:
                raise Failure(f'{server.build.name}: {self.statement}: {changed} rows were '
                              f'changed, and not {self.rows}')
        # CHECK and OPTIMIZE answer with rows: table, operation, kind, text
        broken = [text for *_, kind, text in answer if kind in ('error', 'warning')]
        if broken:
            raise Failure(f'{server.build.name}: {self.statement}', *broken)

    def measure(self, context):
        server = context.start()
        with server.connect('bench') as connection:
            connection.query(f'SELECT id FROM {self.data.table} WHERE id = 0')
            self.before(context, server, connection)
            with Work(context, server, self.programs) as work:
                self.piece(context, server, connection)
        return work.measurement()


class IntoEmpty(Piece):
    """A statement that fills a new table `filled`."""

    def before(self, context, server, connection):
        connection.query('CREATE TABLE filled LIKE sbtest1')


class LoadData(IntoEmpty):
    """LOAD DATA from a file on the disk of the data."""

    def before(self, context, server, connection):
        super().before(context, server, connection)
        file = server.tmpdir / 'rows'
        connection.query(f"SELECT * INTO OUTFILE '{file}' FROM sbtest1")
        directories.drop_cache(server.tmpdir)
        self.statement = f"LOAD DATA INFILE '{file}' INTO TABLE filled"


class Purge(Piece):
    """The time from the end of a mass DELETE until purge has removed its rows."""

    def before(self, context, server, connection):
        connection.query(DELETE)

    def piece(self, context, server, connection):
        # until the history list is empty
        connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')


class Truncate(Piece):
    """TRUNCATE of a table whose pages are in the pool."""

    def before(self, context, server, connection):
        self.data.read_all(server)


class Import(Piece):
    """IMPORT TABLESPACE of a copy of the table."""

    def before(self, context, server, connection):
        connection.query('CREATE TABLE imported LIKE sbtest1')
        connection.query('ALTER TABLE imported DISCARD TABLESPACE')
        connection.query('FLUSH TABLES sbtest1 FOR EXPORT')
        place = context.data / 'bench'
        for kind in ('ibd', 'cfg'):
            shutil.copy2(place / f'sbtest1.{kind}', place / f'imported.{kind}')
        connection.query('UNLOCK TABLES')
        directories.drop_cache(place)


class Dirty(Piece):
    """A piece of work on a server with all pages of the table changed, none of them written."""

    def __init__(self, name, title, data, scale):
        super().__init__(name, title, data, scale)
        self.options = {**KEEP_DIRTY, **scale.pool(WHOLE, least=64)}

    def before(self, context, server, connection):
        connection.query(UPDATE)


class Shutdown(Dirty):
    """A shutdown; a slow one purges first."""
    programs = True    # the server is gone at the end, and counts like other programs

    def __init__(self, name, title, data, scale, fast):
        super().__init__(name, title, data, scale)
        self.options['innodb_fast_shutdown'] = fast

    def piece(self, context, server, connection):
        server.stop()


class Dump(Piece):
    """mariadb-dump of all tables."""
    programs = True

    def piece(self, context, server, connection):
        context.program('mariadb-dump', '--skip-ssl', f'--socket={server.socket}', '--user=root',
                        '--single-transaction', 'bench')


class Backup(Dirty):
    """mariadb-backup of a server, with redo log to copy; and, `prepare`, the recovery of that
    backup."""
    programs = True

    def __init__(self, name, title, data, scale, prepare):
        super().__init__(name, title, data, scale)
        self.prepare = prepare

    def before(self, context, server, connection):
        super().before(context, server, connection)
        for statement in directories.WITH_GRANTS:    # mariadb-backup asks for its own
            connection.query(statement)
        if self.prepare:
            self._call(context, server, 'backup')
            server.kill()    # it has no part in what follows
            directories.drop_cache(server.tmpdir)

    def piece(self, context, server, connection):
        self._call(context, server, 'prepare' if self.prepare else 'backup')

    @staticmethod
    def _call(context, server, action):
        context.program('mariadb-backup', f'--{action}', '--skip-ssl',
                        f'--target-dir={server.tmpdir}/backup',
                        f'--datadir={server.data}', f'--socket={server.socket}', '--user=root',
                        f'--tmpdir={server.tmpdir}')


class Restarted(Case):
    """A piece of work on a server that is stopped when it is warm, and started again."""
    starts = 2

    def __init__(self, data, scale):
        self.data = data
        self.options = {**scale.pool(WHOLE, least=64), 'innodb_buffer_pool_dump_at_shutdown': 'ON',
                        'innodb_buffer_pool_load_at_startup': 'ON'}

    def warm(self, context):
        """The server, with every page in its pool."""
        server = context.start()
        self.data.read_all(server)
        return server

    @staticmethod
    def stop(context, server):
        """Stops the server: nothing of its data stays in memory."""
        server.stop()
        directories.drop_cache(context.data)


class PoolLoad(Restarted):
    """The time until the pool has the pages that it had before."""
    name, title = 'pool-load', 'start until every page is loaded into the buffer pool'
    unit, better, compare = 'seconds', 'lower', Piece.compare
    estimate = 6

    def __init__(self, data, scale):
        super().__init__(data, scale)
        self.options['innodb_buffer_pool_dump_pct'] = '100'

    def measure(self, context):
        self.stop(context, self.warm(context))
        with Work(context) as work:
            server = work.server = context.start()
            with server.connect() as connection:
                while 'load completed' not in self.state(connection):
                    time.sleep(0.01)
        return work.measurement(start_seconds=server.started_in)

    @staticmethod
    def state(connection):
        """What the server says about the load."""
        [(_, text)] = connection.query("SHOW STATUS LIKE 'innodb_buffer_pool_load_status'")
        return text


class Restart(Restarted):
    """The first seconds after a restart, beside those of the warm server."""
    name = 'restart'
    compare = ('of_warm', *OF_TRANSACTIONS)

    def __init__(self, data, scale):
        super().__init__(data, scale)
        self.title = f'read-write, {LOAD["threads"]} clients, the first {scale.seconds} s ' \
                     'after a restart'
        self.estimate = scale.seconds + WARM_SECONDS + 8

    def measure(self, context):
        load = self.data.arguments(rand_type=LOAD['rand-type'], threads=LOAD['threads'])
        server = self.warm(context)
        warm, _ = context.load(server, 'oltp_read_write',
                               **load, time=min(WARM_SECONDS, context.scale.seconds))
        self.stop(context, server)
        server = context.start()
        result, timeline = context.load(server, 'oltp_read_write', **load)
        return measured(result, timeline, warm_rate=warm.rate, of_warm=result.rate / warm.rate,
                        start_seconds=server.started_in)


class Bulk(Suite):
    """A case for each piece of work."""
    name = 'bulk'
    title = 'work in bulk: scans, ALTER TABLE, loads, mass changes, starts, shutdowns, backups'
    rounds, seconds = 2, 60
    load = LOAD
    programs = ('mariadb-dump', 'mariadb-backup')

    def cases(self):
        scale = self.scale
        rows, scattered, texts = (scale.of(LOAD[f'{kind}rows'], least=least) for kind, least in
                                  (('', 10000), ('scattered-', 5000), ('full-text-', 1000)))
        data, random, words = Sbtest(1, rows), Scattered(scattered), Sbtest(1, texts)

        # one that is as small as the data: each run copies it
        redo = {'innodb_log_file_size': log_size(scale.of(REDO, least=16))}
        for of in (data, random, words):
            of.options = redo

        def piece(name, title, statement, of=data, kind=Piece, changed=None):
            return kind(name, title, of, scale, statement, changed)

        cases = [
            *in_order(data, scale, POOL),
            Scan('secondary', 'range of a secondary index, rows looked up', data, scale,
                 'SELECT SUM(LENGTH(c)) FROM (SELECT c FROM sbtest1 FORCE INDEX (k_1) ORDER BY k'
                 f' LIMIT {scale.of(LOAD["lookups"], least=500)}) d', POOL),
            Scan('random-keys', 'ascending scan, rows inserted in random order', random, scale,
                 'SELECT SUM(LENGTH(c)) FROM scattered WHERE id > 0', POOL // 2),
            piece('add-index', 'ADD INDEX', 'ALTER TABLE sbtest1 ADD INDEX (c)'),
            piece('rebuild', 'rebuild in place',
                  'ALTER TABLE sbtest1 FORCE, ALGORITHM=INPLACE'),
            piece('copy', 'rebuild by ALGORITHM=COPY',
                  'ALTER TABLE sbtest1 FORCE, ALGORITHM=COPY', changed=rows),
            piece('check', 'CHECK TABLE', 'CHECK TABLE sbtest1'),
            piece('optimize', 'OPTIMIZE TABLE', 'OPTIMIZE TABLE sbtest1'),
            piece('full-text', 'ADD FULLTEXT INDEX', 'ALTER TABLE sbtest1 ADD FULLTEXT INDEX (c)',
                  of=words),
            piece('insert-select', 'INSERT SELECT into an empty table',
                  'INSERT INTO filled SELECT * FROM sbtest1', kind=IntoEmpty, changed=rows),
            piece('load-data', 'LOAD DATA into an empty table', '', kind=LoadData, changed=rows),
            piece('update', 'UPDATE of all rows', UPDATE, changed=rows),
            piece('delete', 'DELETE of a third', DELETE, changed=rows // DELETED),
            piece('purge', 'purge after the DELETE of a third', '', kind=Purge),
            Truncate('truncate', 'TRUNCATE of a table in the pool', data, scale,
                     'TRUNCATE TABLE sbtest1', **scale.pool(WHOLE, least=64)),
            piece('import', 'IMPORT TABLESPACE', 'ALTER TABLE imported IMPORT TABLESPACE',
                  kind=Import),
            PoolLoad(data, scale),
            Shutdown('fast-shutdown', 'fast shutdown, every page dirty', data, scale, '1'),
            Shutdown('slow-shutdown', 'slow shutdown, every page dirty', data, scale, '0'),
            piece('dump', 'mariadb-dump', '', kind=Dump),
            Backup('backup', 'mariadb-backup --backup, every page dirty', data, scale, False),
            Backup('prepare', 'mariadb-backup --prepare, every page in the redo log', data, scale,
                   True),
            Restart(data, scale)]
        for case in cases:
            case.options = {**case.options, **redo}
        return cases
