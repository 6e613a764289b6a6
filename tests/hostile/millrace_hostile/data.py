"""Data that servers are tried on: made once, and copied for each."""
import os
import shutil
import subprocess
import time

from millrace.errors import Failure
from millrace_crash.datadir import SCHEMA, DataDir
from millrace_crash.recovery import make_backup
from millrace_hostile.surroundings import MIB
from millrace_hostile.trial import DATA, OPTIONS, PAGE_SIZE, checksums

# With these a server keeps its changes in the pool, so that all of the log is needed after a kill.
# Nothing but the log is large, and no checkpoint is made.
LATE = {'innodb_buffer_pool_size': '640M', 'innodb_adaptive_flushing': 'OFF',
        'innodb_max_dirty_pages_pct': '99.9', 'innodb_max_dirty_pages_pct_lwm': '0',
        'innodb_flush_log_at_trx_commit': '2'}
STATUS = 'innodb_checkpoint_age', 'innodb_lsn_last_checkpoint'
FORMATS = {DATA: '', 'compressed': 'PAGE_COMPRESSED=1', 'zip': 'ROW_FORMAT=COMPRESSED'}
SMALL_LOG, LARGE_LOG = 50 * MIB, 230 * MIB      # how much log a recovery has to read
LARGE_POOL = '32M'                              # to recover the second with
MANY = 150                                      # tables of MANY
UNDO_SEGMENTS = 2500                            # transactions that are prepared and not committed


class Crash:
    """Crashed data: `datadir`, the tables of it, what they have, and by how many bytes recovery
    makes the files larger."""

    def __init__(self, datadir, tables, server, growth=0):
        self.datadir, self.tables, self.growth = datadir, tables, growth
        self.expected = checksums(server, tables)

    def check(self, server):
        """Raises Failure where a server has other rows."""
        there = checksums(server, self.tables)
        if there != self.expected:
            raise Failure(f'rows and checksums are {there}; committed were {self.expected}')


class Crashes:
    """All data that a run has made so far, in the directory `place`, by the server of `build`."""

    def __init__(self, build, place):
        self.build, self.place = build, place
        self._made, self._makers = {}, {'small': self._small, 'large': self._large,
                                        'many': self._many, 'undo': self._undo}

    def empty(self, page_size=PAGE_SIZE, encrypts=False, **options):
        """A DataDir with the server's own tables."""
        key = f'empty-{page_size}{"-encrypts" * encrypts}' + ''.join(
            f'-{name}={value}'.replace(':', '_') for name, value in options.items())
        if key not in self._made:
            self._made[key] = self._new(key, page_size, encrypts, **options)
        return self._made[key]

    def _new(self, name, page_size=PAGE_SIZE, encrypts=False, **options):
        return DataDir(self.build, self.place / name, page_size, {**OPTIONS, **options},
                       encrypts=encrypts)

    def get(self, kind):
        """The Crash of a kind: small, large, many (tables), undo (log to be read at start)."""
        if kind not in self._made:
            self._made[kind] = self._makers[kind](kind)
        return self._made[kind]

    def _small(self, name):
        """A log of SMALL_LOG of tables in each format, and a transaction to roll back."""
        datadir = self._new(name)
        with datadir.server() as server:
            server.options.update(LATE)
            server.start()
            with server.connect(SCHEMA) as connection, server.connect(SCHEMA) as other:
                for table, more in FORMATS.items():
                    connection.query(f'CREATE TABLE {table}(a INT PRIMARY KEY, v INT, '
                                     'b VARCHAR(1000) CHARACTER SET latin1, KEY(v)) '
                                     f'ENGINE=InnoDB {more}')
                    connection.query(f'INSERT INTO {table} SELECT seq, seq, '
                                     'REPEAT(MD5(seq), 20) FROM seq_1_to_4000')
                change(server, connection, FORMATS, SMALL_LOG)
                other.query('BEGIN')
                other.query(f"UPDATE {DATA} SET b='lost' WHERE a % 2")
                write_log(connection)
                crash = Crash(datadir, list(FORMATS), server)
                server.kill()
        return crash

    def _many(self, name):
        """Many small tables, all of them in the log."""
        datadir, tables = self._new(name), [DATA, *(f't{number}' for number in range(MANY))]
        with datadir.server() as server:
            server.options.update(LATE)
            server.start()
            with server.connect(SCHEMA) as connection:
                for table in tables:
                    connection.query(f'CREATE TABLE {table}(a INT PRIMARY KEY, v INT, '
                                     'b VARCHAR(1000) CHARACTER SET latin1) ENGINE=InnoDB')
                    connection.query(f'INSERT INTO {table} SELECT seq, seq, '
                                     'REPEAT(MD5(seq), 20) FROM seq_1_to_200')
                change(server, connection, tables, SMALL_LOG // 2)
                write_log(connection)
                crash = Crash(datadir, tables, server)
                server.kill()
        return crash

    def _large(self, name):
        """A log of LARGE_LOG over files from before it, as in a backup: they have to grow."""
        datadir = self._new(name, innodb_log_file_size='640M')
        before = datadir.place / 'before'
        with datadir.server() as server:
            server.options.update(LATE)
            server.start()
            with server.connect(SCHEMA) as connection:
                connection.query(f'CREATE TABLE {DATA}(a INT PRIMARY KEY, v INT, '
                                 'b VARCHAR(2000) CHARACTER SET latin1, KEY(v)) ENGINE=InnoDB')
                connection.query(f'INSERT INTO {DATA} SELECT seq, seq, REPEAT(MD5(seq), 30) '
                                 'FROM seq_1_to_3000')
                connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
                settle(server, connection)
                since = status(server)['innodb_lsn_last_checkpoint']
                copy(datadir.data, before, 'ib_logfile0')
                first = 3001
                while status(server)['innodb_checkpoint_age'] < LARGE_LOG:
                    connection.query(f'INSERT INTO {DATA} SELECT seq, seq, REPEAT(MD5(seq), 30) '
                                     f'FROM seq_{first}_to_{first + 9999}')
                    first += 10000
                connection.query(f'UPDATE {DATA} SET v=v+1 WHERE a % 97 = 0')
                write_log(connection)
                if status(server)['innodb_lsn_last_checkpoint'] != since:
                    raise Failure('a checkpoint was made while the files were copied')
                table = datadir.data / SCHEMA / f'{DATA}.ibd'
                growth = table.stat().st_size
                crash = Crash(datadir, [DATA], server)
                server.kill()
        (datadir.data / 'ib_logfile0').rename(before / 'ib_logfile0')
        shutil.rmtree(datadir.data)
        before.rename(datadir.data)
        crash.growth = growth - table.stat().st_size
        return crash

    def _undo(self, name):
        """Many transactions in the state XA PREPARED, the undo log of each in a segment."""
        datadir = self._new(name)
        with datadir.server() as server:
            server.options.update({**LATE, 'max_connections': '4000'})
            server.start()
            with server.connect(SCHEMA) as connection:
                for table in (DATA, 'prepared'):
                    connection.query(f'CREATE TABLE {table}(a INT PRIMARY KEY, v INT, '
                                     'b VARCHAR(1000) CHARACTER SET latin1) ENGINE=InnoDB')
                connection.query(f'INSERT INTO {DATA} SELECT seq, seq, REPEAT(MD5(seq), 9) '
                                 'FROM seq_1_to_1000')
                for number in range(UNDO_SEGMENTS):
                    with server.connect(SCHEMA) as one:
                        one.query(f"XA START '{number}'")
                        one.query(f'INSERT INTO prepared VALUES ({number}, 0, "")')
                        one.query(f"XA END '{number}'")
                        one.query(f"XA PREPARE '{number}'")
                settle(server, connection)
                crash = Crash(datadir, [DATA], server)
                server.kill()
        return crash


def change(server, connection, tables, log):
    """Updates all rows of tables in turn until there is so much log."""
    for number in range(1000):
        for table in tables:
            connection.query(f'UPDATE {table} SET v=v+1, b=REPEAT(MD5(a+{number}), 20)')
            if status(server)['innodb_checkpoint_age'] > log:
                return


def write_log(connection):
    """Makes the log durable up to here."""
    connection.query('SET GLOBAL innodb_flush_log_at_trx_commit=1')
    connection.query('CREATE TABLE last_change(a INT) ENGINE=InnoDB')


def settle(server, connection):
    """Writes all pages."""
    connection.query('SET GLOBAL innodb_max_dirty_pages_pct=0')
    for _ in range(600):
        if server.status()['innodb_buffer_pool_pages_dirty'] == 0:
            break
        time.sleep(.05)
    connection.query('SET GLOBAL innodb_max_dirty_pages_pct=99.9')


def status(server):
    """The numbers of STATUS."""
    numbers = server.status()
    return {name: numbers[name] for name in STATUS}


def copy(source, target, without=''):
    """Copies a data directory whose server may run, without a file."""
    subprocess.run(['cp', '-a', source, target], check=True)
    if without:
        (target / without).unlink()


def backup(datadir):
    """Makes of crashed data what mariadb-backup --backup leaves."""
    make_backup(datadir)


def own_all(path):
    """Gives the files of a directory all the room that they may need: copies are sparse."""
    for place, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(place, name), 'r+b') as file:
                size = os.fstat(file.fileno()).st_size
                if size:
                    os.posix_fallocate(file.fileno(), 0, size)
