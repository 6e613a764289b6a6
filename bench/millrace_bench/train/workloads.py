"""The workloads that a profile is trained on, each on a server of its own over a copy of prepared
data.

Each stands for a kind of load that servers have, and all weigh the same in the profile (gcda.py).
The suite `unseen` has what no workload does.  A patch with new hot code names the workload that
runs it (docs/design/profile.md).
"""
import dataclasses
import itertools
import socket
import threading
import time
from typing import Callable

from millrace.errors import Failure
from millrace_bench.measure import sysbench
from millrace_bench.measure.data import WITH_GRANTS, Data
from millrace_bench.measure.sbtest import Sbtest
from millrace_bench.suites.tpcc import Warehouses

THREADS = 8
FEW = 50    # events of sysbench, where seconds are 0
# the everyday server: it looks at grants, and has the data in memory
SERVER = {'innodb_buffer_pool_size': '512M', 'skip_grant_tables': 'OFF',
          'innodb_flush_log_at_trx_commit': '2'}
SMALL = {'innodb_buffer_pool_size': '16M'}
PAD = "REPEAT('pad ', 30)"


@dataclasses.dataclass(frozen=True, eq=False)
class Workload:
    """`run(training)` loads the server for about training.seconds; `data` names its data."""
    name: str
    title: str
    run: Callable
    data: str = 'sbtest'
    options: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Scale:
    """Seconds of each workload, 0 for a few statements, and the size of its data."""
    seconds: int
    size: float = 1

    @property
    def length(self):
        """The options that end a run of sysbench."""
        return {'time': self.seconds} if self.seconds else {'time': 0, 'events': FEW}

    @property
    def rows(self):
        """Rows of each of the four tables of sysbench."""
        return max(1000, round(25000 * self.size))

    @property
    def tpcc(self):
        """The sizes of TPC-C's tables."""
        return {'warehouses': 1, 'items': max(1000, round(20000 * self.size)),
                'customers': max(60, round(600 * self.size))}


class Client(threading.Thread):
    """Statements, one after the other until `end`, over a connection of its own.

    {n} in a statement becomes another number each time, {thread} the client's.  `error` is what
    it failed with."""

    def __init__(self, server, thread, of, end, setup, statements):
        super().__init__()
        self.server, self.thread, self.of, self.end = server, thread, of, end
        self.setup, self.statements, self.error = setup, statements, None

    def run(self):
        try:
            with self.server.connect('bench') as connection:
                for statement in self.setup:
                    connection.query(statement.format(n=0, thread=self.thread))
                for turn in itertools.count(1):
                    n = turn * self.of + self.thread
                    for statement in self.statements:
                        connection.query(statement.format(n=n, thread=self.thread))
                    if time.monotonic() > self.end:
                        return
        except Failure as error:
            self.error = error


class Training:
    """The argument of a workload's `run`: its server, its time and its scale.

    another(**options) is a context with a second server, of which nothing is counted."""

    def __init__(self, server, scale, another):
        self.server, self.scale, self.seconds = server, scale, scale.seconds
        self.another = another

    def sysbench(self, script, server=None, **options):
        """Runs a load of sysbench on the four tables."""
        usual = {'threads': THREADS, **self.scale.length, 'tables': 4,
                 'table_size': self.scale.rows, 'rand_seed': 1}
        sysbench.run(server or self.server, script, **{**usual, **options})

    def turns(self):
        """Numbers, one at least, until the time is up."""
        end = time.monotonic() + self.seconds
        for turn in itertools.count():
            yield turn
            if time.monotonic() > end:
                return

    def once(self, *statements, database='bench'):
        """Runs statements once: the rows of the last."""
        with self.server.connect(database) as connection:
            return [connection.query(statement) for statement in statements][-1]

    def again(self, *statements, setup=(), threads=2):
        """Runs statements by several Clients until the time is up; each runs `setup` first."""
        end = time.monotonic() + self.seconds
        clients = [Client(self.server, thread, threads, end, setup, statements)
                   for thread in range(threads)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        for client in clients:
            if client.error:
                raise client.error


class WithAccounts(Data):
    """Other data, with the accounts that clients use where grants are looked at."""

    def __init__(self, data):
        self.data = data
        super().__init__(f'training-{data.name}', data.made_from, data.options)

    def load(self, server):
        """Loads the other data and makes the accounts."""
        self.data.load(server)
        with server.connect() as connection:
            for statement in (*WITH_GRANTS, "CREATE USER replica@'%' IDENTIFIED BY 'replica'",
                              "GRANT REPLICATION SLAVE ON *.* TO replica@'%'"):
                connection.query(statement)


def data(scale):
    """The prepared data, by name."""
    return {'sbtest': WithAccounts(Sbtest(4, scale.rows)),
            'tpcc': WithAccounts(Warehouses(**scale.tpcc))}


def _sysbench(script, **options):
    return lambda training: training.sysbench(script, **options)


def _again(*statements, **how):
    return lambda training: training.again(*statements, **how)


def _tpcc(training):
    sysbench.run(training.server, 'tpcc', threads=THREADS, **training.scale.length,
                 **training.scale.tpcc)


def _undo(training, temporary):
    options = {'threads': THREADS, 'rows': 1000}
    sysbench.run(training.server, 'undo', action='prepare', **options)
    sysbench.run(training.server, 'undo', temporary=temporary, **training.scale.length, **options)


def _bulk_insert(training):
    # it has tables of its own by these names
    training.once('DROP TABLE sbtest1, sbtest2')
    sysbench.run(training.server, 'bulk_insert', action='prepare', threads=2)
    sysbench.run(training.server, 'bulk_insert', threads=2, **training.scale.length)


def _connections(training):
    for _ in training.turns():
        with training.server.connect('bench') as connection:
            connection.query('SELECT c FROM sbtest1 WHERE id = 7')


HALF = """CREATE FUNCTION half(n INT) RETURNS INT DETERMINISTIC
    BEGIN
      DECLARE h INT DEFAULT 0;
      WHILE n > 1 DO SET h = h + 1, n = n DIV 2; END WHILE;
      RETURN h;
    END"""
WORK = """CREATE PROCEDURE work(first INT)
    BEGIN
      DECLARE this_k, total, done INT DEFAULT 0;
      DECLARE chosen CURSOR FOR SELECT k FROM sbtest2 WHERE id BETWEEN first AND first + 99;
      DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
      OPEN chosen;
      adding: LOOP
        FETCH chosen INTO this_k;
        IF done THEN LEAVE adding; END IF;
        SET total = total + IF(this_k % 2 = 0, half(this_k), 1);
      END LOOP;
      CLOSE chosen;
      UPDATE sbtest2 SET k = k + 1 WHERE id = first;
      SET @total = total;
    END"""


def _procedures(training):
    training.once(HALF, WORK, 'CREATE TABLE changes (n INT AUTO_INCREMENT PRIMARY KEY, id INT,'
                  ' was INT, is_now INT)',
                  'CREATE TRIGGER noted AFTER UPDATE ON sbtest2 FOR EACH ROW'
                  ' INSERT INTO changes (id, was, is_now) VALUES (OLD.id, OLD.k, NEW.k)')
    training.again('CALL work({n} % 20000 + 1)', 'SELECT @total')


def _prepared(training):
    training.again(
        'SET @first = {n} % 20000', 'EXECUTE points USING @first',
        'EXECUTE ranges USING @first, @first', 'EXECUTE changes USING @first',
        setup=("PREPARE points FROM 'SELECT c FROM sbtest1 WHERE id = ?'",
               "PREPARE ranges FROM 'SELECT c, k FROM sbtest1 WHERE id BETWEEN ? AND ? + 50"
               " ORDER BY c'",
               "PREPARE changes FROM 'UPDATE sbtest1 SET k = k + 1 WHERE id = ?'"),
        threads=THREADS)


def _import(training):
    place = training.server.run / 'import'
    training.once(f"SELECT * FROM sbtest1 INTO OUTFILE '{place}'")
    training.again('CREATE TABLE read{thread} LIKE sbtest1',
                   f"LOAD DATA INFILE '{place}' INTO TABLE read{{thread}}",
                   'INSERT INTO read{thread} (k, c, pad) SELECT k, c, pad FROM sbtest3'
                   ' LIMIT 5000', 'DROP TABLE read{thread}')


def _export(training):
    place = training.server.run
    training.again('SELECT * FROM sbtest2',
                   f"SELECT * FROM sbtest1 INTO OUTFILE '{place}/export-{{n}}'",
                   'SHOW CREATE TABLE sbtest1', 'CHECKSUM TABLE sbtest4', threads=1)


def _alter(training):
    training.again('CREATE TABLE changed{thread} LIKE sbtest1',
                   'INSERT INTO changed{thread} SELECT * FROM sbtest1 WHERE id <= 10000',
                   'ALTER TABLE changed{thread} ADD COLUMN more INT NOT NULL DEFAULT 3',
                   'ALTER TABLE changed{thread} ADD INDEX (c, k)',
                   'ALTER TABLE changed{thread} MODIFY k BIGINT NOT NULL',
                   'ALTER TABLE changed{thread} DROP COLUMN pad, ALGORITHM=COPY',
                   'OPTIMIZE TABLE changed{thread}', 'TRUNCATE TABLE changed{thread}',
                   'DROP TABLE changed{thread}')


def _port():
    """A port that nobody uses."""
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        return unused.getsockname()[1]


def _replication(training):
    """The server applies the changes of another, of which nothing is counted."""
    with training.another(log_bin='binlog', server_id='1', skip_networking='OFF',
                          port=str(_port()), bind_address='127.0.0.1',
                          binlog_format='ROW') as source:
        training.sysbench('oltp_write_only', source)
        with source.connect() as connection:
            port = connection.query('SELECT @@port')[0][0]
            file, place = connection.query('SHOW MASTER STATUS')[0][:2]
        # a replica of 11.4 on asks for TLS, which servers of the benchmark do not have
        training.once(f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port},"
                      " MASTER_USER='replica', MASTER_PASSWORD='replica', MASTER_SSL=0,"
                      " MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4", 'START SLAVE')
        waited = training.once(f"SELECT MASTER_POS_WAIT('{file}', {place}, 600)")[0][0]
        if waited in (None, '-1'):
            raise Failure('the replica has not applied the changes of the other server',
                          training.server.log_end())
        training.once('STOP SLAVE')


def _recovery(training):
    """Counts the recovery alone: the counts of the killed server are lost with it."""
    training.sysbench('oltp_write_only')
    training.server.kill()
    training.server.start()
    training.once('CHECK TABLE sbtest1, sbtest2')


def _restarts(training):
    for _ in training.turns():
        training.server.stop()
        training.server.start()
        training.once('SELECT COUNT(*) FROM sbtest1')


def _purge(training):
    """Row versions that a reader still sees, and then nobody."""
    with training.server.connect('bench') as reader:
        reader.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
        training.sysbench('oltp_update_index', **Scale(training.seconds // 2).length)
        reader.query('SELECT SUM(k) FROM sbtest1')
    training.again('DELETE FROM sbtest4 WHERE id BETWEEN {n} * 10 AND {n} * 10 + 9',
                   "INSERT IGNORE INTO sbtest4 VALUES ({n} * 10, {n}, 'back', 'again')")


WORKLOADS = (
    # sysbench's own
    Workload('oltp-read-write', 'reads and writes by prepared statements',
             _sysbench('oltp_read_write')),
    Workload('oltp-text', 'reads and writes as text',
             _sysbench('oltp_read_write', db_ps_mode='disable')),
    Workload('oltp-read-only', 'reads in transactions', _sysbench('oltp_read_only')),
    Workload('point-select', 'single rows by primary key', _sysbench('oltp_point_select')),
    Workload('point-select-text', 'single rows by primary key, as text',
             _sysbench('oltp_point_select', db_ps_mode='disable')),
    Workload('write-only', 'writes in transactions', _sysbench('oltp_write_only')),
    Workload('insert', 'single rows inserted', _sysbench('oltp_insert')),
    Workload('bulk-insert', 'many rows inserted by a statement', _bulk_insert),
    Workload('update-index', 'updates of an indexed column', _sysbench('oltp_update_index')),
    Workload('update-non-index', 'updates of a column without index',
             _sysbench('oltp_update_non_index')),
    Workload('delete', 'single rows deleted', _sysbench('oltp_delete')),
    Workload('random-points', 'several rows by IN ()', _sysbench('select_random_points')),
    Workload('random-ranges', 'several ranges by BETWEEN ... OR',
             _sysbench('select_random_ranges')),
    Workload('durable', 'writes with the redo log synced at each commit',
             _sysbench('oltp_write_only'), options={'innodb_flush_log_at_trx_commit': '1'}),
    Workload('hot-rows', 'many clients on a few rows',
             _sysbench('oltp_update_non_index', threads=32, tables=1, table_size=20)),
    Workload('io-bound', 'reads and writes, pool smaller than the data',
             _sysbench('oltp_read_write'), options=SMALL),
    Workload('checkpoint', 'writes with a small redo log', _sysbench('oltp_write_only'),
             options={'innodb_log_file_size': '8M'}),
    Workload('tpcc', 'the transactions of TPC-C', _tpcc, data='tpcc'),
    Workload('short-transactions', 'one-row transactions',
             lambda training: _undo(training, 'off')),
    Workload('temporary-tables', 'transactions on temporary tables',
             lambda training: _undo(training, 'on')),
    # statements
    Workload('scan-ascending', 'whole tables, forwards', _again(
        'SELECT SUM(LENGTH(c)) FROM sbtest1 FORCE INDEX (PRIMARY) WHERE id > 0',
        'SELECT COUNT(*) FROM sbtest2 FORCE INDEX (k_2) WHERE k > 0')),
    Workload('scan-descending', 'whole tables, backwards', _again(
        'SELECT SUM(l) FROM (SELECT LENGTH(c) l FROM sbtest1 ORDER BY id DESC'
        ' LIMIT 1000000) d',
        'SELECT MAX(k) FROM (SELECT k FROM sbtest2 FORCE INDEX (k_2) ORDER BY k DESC'
        ' LIMIT 1000000) d')),
    Workload('scan-cold', 'whole tables, pool smaller than they are', _again(
        'SELECT SUM(LENGTH(c)) FROM sbtest1 FORCE INDEX (PRIMARY)',
        'SELECT SUM(LENGTH(pad)) FROM sbtest2 FORCE INDEX (k_2)'
        ' WHERE k BETWEEN {n} * 10 AND {n} * 10 + 500'),
             options={**SMALL, 'loose_innodb_readahead': 'both'}),
    Workload('joins', 'joins of two and three tables', _again(
        'SELECT COUNT(*), MAX(b.c) FROM sbtest1 a JOIN sbtest2 b ON b.id = a.k'
        ' WHERE a.id BETWEEN {n} AND {n} + 2000',
        'SELECT a.id, b.k, d.k FROM sbtest1 a JOIN sbtest2 b ON b.id = a.id'
        ' LEFT JOIN sbtest3 d ON d.k = b.k WHERE a.k BETWEEN 10000 AND 12000')),
    Workload('sort-and-group', 'ORDER BY, GROUP BY and DISTINCT without an index', _again(
        'SELECT c, pad FROM sbtest1 ORDER BY pad LIMIT 20000, 10',
        'SELECT k % 1000, COUNT(*), AVG(id) FROM sbtest2 GROUP BY 1',
        'SELECT DISTINCT LEFT(c, 3) FROM sbtest3 ORDER BY 1',
        'SELECT k, COUNT(*) FROM sbtest4 GROUP BY k ORDER BY 2 DESC LIMIT 5')),
    Workload('expressions', 'strings, numbers and dates in conditions', _again(
        "SELECT COUNT(*) FROM sbtest1 WHERE c LIKE '%{n}%' AND UPPER(pad) > 'A'"
        ' AND k * 3 % 7 < 4',
        "SELECT MAX(CONCAT(SUBSTRING(c, 5, 9), '-', HEX(k))),"
        ' SUM(CASE WHEN k < 9000 THEN 1 ELSE 0.5 END) FROM sbtest2',
        "SELECT MIN(DATE_ADD('2026-01-01', INTERVAL id % 400 DAY)),"
        ' COUNT(IF(id > k, 1, NULL)) FROM sbtest3')),
    Workload('prepared-statements', 'PREPARE and EXECUTE', _prepared),
    Workload('stored-procedures', 'procedures, functions, cursors and triggers', _procedures),
    Workload('wide-rows', 'BLOBs, compressed and dynamic rows, and prefixes of them', _again(
        "INSERT INTO wide{thread} (t, b, v) VALUES (REPEAT('text {n} ', 900),"
        f" REPEAT('b', 20000), CONCAT('{{n}}', {PAD}))",
        'SELECT SUM(LENGTH(b)) FROM wide{thread} WHERE id > {n} / 2 - 50',
        "UPDATE wide{thread} SET b = CONCAT(b, 'more'), v = REVERSE(v) WHERE id % 40 = 1"
        ' ORDER BY id DESC LIMIT 3',
        'DELETE FROM wide{thread} ORDER BY id LIMIT 1',
        setup=('CREATE TABLE wide{thread} (id INT AUTO_INCREMENT PRIMARY KEY, t TEXT,'
               ' b LONGBLOB, v VARCHAR(500), KEY (v(20)))'
               ' ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8',))),
    Workload('alter', 'CREATE, ALTER, OPTIMIZE, TRUNCATE and DROP TABLE', _alter),
    Workload('import', 'LOAD DATA and INSERT ... SELECT', _import),
    Workload('export', 'whole tables to a client and into files', _export),
    Workload('purge', 'old row versions, read and removed', _purge),
    Workload('connections', 'connect, one statement, disconnect', _connections),
    Workload('replication-apply', 'a replica applies rows', _replication,
             options={'server_id': '2', 'slave_parallel_threads': '4'}),
    Workload('recovery', 'recovery after a crash, as without the patches', _recovery,
             options={'innodb_log_file_size': '256M', 'loose_innodb_fast_recovery': 'OFF'}),
    Workload('recovery-fast', 'recovery after a crash, innodb_fast_recovery', _recovery,
             options={'innodb_log_file_size': '256M', 'loose_innodb_fast_recovery': 'ON'}),
    Workload('restarts', 'starts and clean shutdowns', _restarts),
)


def workloads(names=()):
    """All workloads, or those named.  Raises Failure."""
    known = {workload.name: workload for workload in WORKLOADS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Failure(f'no workload {", ".join(unknown)}', f'known: {" ".join(known)}')
    return [known[name] for name in names] or list(WORKLOADS)
