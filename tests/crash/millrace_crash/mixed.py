"""A random load of everything that writes pages, or makes, renames and removes files.

A client's next step depends only on the seed and the client's number.  How many steps it makes
before the server is gone is left to chance.
"""
import collections
import random
import shutil
import threading

from millrace_bench.measure.client import SqlError
from millrace_crash.datadir import LARGEST_ZIP_PAGE
from millrace_crash.ledger import is_gone

SCHEMA = 'mixed'
TABLES, CLIENTS = 6, 5
FORMATS = ('', 'ROW_FORMAT=REDUNDANT', 'ROW_FORMAT=COMPACT', 'PAGE_COMPRESSED=1', 'ENCRYPTED=YES',
           'ENCRYPTED=YES PAGE_COMPRESSED=1')
ZIP = ('ROW_FORMAT=COMPRESSED', 'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=2',
       'ENCRYPTED=YES ROW_FORMAT=COMPRESSED')
POOLS = (48, 64, 128, 256)    # MiB
TEXTS = ('REPEAT(MD5(RAND()), 20)', "REPEAT('x', 900)", 'HEX(RANDOM_BYTES(400))')
ROWS = 20_000
PURGE_OFTEN = 'SET GLOBAL innodb_purge_rseg_truncate_frequency=1'    # frees undo log early


class MixedLoad:
    """Clients on one server; `done` counts their steps by kind."""

    def __init__(self, seed, page_size, pools=POOLS):
        self.seed, self.pools = seed, pools
        self.formats = FORMATS + (ZIP if page_size <= LARGEST_ZIP_PAGE else ())
        self.done = collections.Counter()
        # In upstream, an update that splits a page may be refused for want of memory while the
        # pool is made smaller (buf_pool_t::running_out()).  DISCARD TABLESPACE is then committed
        # half, and the IMPORT after it ends the server.
        self._resizing_or_discarding = threading.Lock()
        self._steps = {'transaction': (50, self._transaction), 'full-text': (8, self._full_text),
                       'table': (14, self._table), 'ALTER': (11, self._alter),
                       'TRUNCATE': (4, self._truncate), 'import': (4, self._import),
                       'CREATE SELECT': (5, self._create_select), 'resize': (2, self._resize),
                       'purge': (2, self._purge)}

    def create(self, server):
        """Creates the tables."""
        dice = random.Random(f'{self.seed} tables')
        with server.connect() as connection:
            connection.query(f'CREATE DATABASE {SCHEMA}')
            connection.query(f'USE {SCHEMA}')
            for number in range(TABLES):
                connection.query(f'CREATE TABLE t{number}(a INT PRIMARY KEY, b INT, c LONGTEXT, '
                                 'KEY(b), KEY(c(50))) '
                                 f'ENGINE=InnoDB {dice.choice(self.formats)}')
            connection.query('CREATE TABLE f(id INT AUTO_INCREMENT PRIMARY KEY, words TEXT, '
                             'FULLTEXT(words)) ENGINE=InnoDB')

    @staticmethod
    def fill_undo(server, tablespaces):
        """Fills each of so many undo tablespaces with more than innodb_max_undo_log_size can be.

        The least that variable can be is 10 MiB.  The transactions are complete, so that purge
        truncates the tablespaces while the clients work.  The load alone would be killed long
        before it had written as much."""
        with server.connect(SCHEMA) as connection:
            connection.query(PURGE_OFTEN)
            connection.query('CREATE TABLE u(a INT PRIMARY KEY, c TEXT) ENGINE=InnoDB')
            connection.query(f"INSERT INTO u SELECT seq, REPEAT('u', 900) FROM seq_1_to_{ROWS}")
            for number in range(tablespaces):    # each transaction uses the next tablespace
                connection.query(f'UPDATE u SET c=REPEAT({number}, 900)')

    def start(self, server):
        """Lets the clients work until the server is gone; returns join(), which waits for them."""
        threads = [threading.Thread(target=self._work, args=(server, number))
                   for number in range(CLIENTS)]
        for thread in threads:
            thread.start()

        def join():
            for thread in threads:
                thread.join()
        return join

    def _work(self, server, number):
        dice = random.Random(f'{self.seed} client {number}')
        kinds, weights = zip(*((kind, weight) for kind, (weight, _) in self._steps.items()))
        try:
            with server.connect(SCHEMA) as connection:
                connection.query('CREATE TEMPORARY TABLE tmp(a INT PRIMARY KEY, b BLOB) '
                                 'ENGINE=InnoDB')

                def do(statement):
                    try_query(connection, statement)
                for count in range(1_000_000):
                    kind = dice.choices(kinds, weights)[0]
                    self._steps[kind][1](do, dice, f'{number}_{count}', server)
                    self.done[kind] += 1
        except SqlError:
            pass    # the server is gone

    @staticmethod
    def _transaction(do, dice, _, __):
        table, low = f't{dice.randrange(TABLES)}', dice.randrange(ROWS)
        text = dice.choice(TEXTS)
        do('BEGIN')
        do(f'INSERT IGNORE INTO {table}(a, b, c) SELECT seq, seq % 1000, {text} '
           f'FROM seq_{low}_to_{low + dice.choice((5, 50, 500))}')
        do(f'UPDATE {table} SET b=b+1, c={text} WHERE a BETWEEN {low} AND {low + 100}')
        do(f'DELETE FROM {table} WHERE a BETWEEN {low + 30} AND {low + dice.choice((35, 300))}')
        do("INSERT IGNORE INTO tmp SELECT seq, REPEAT('t', 500) FROM seq_1_to_50")
        do('DELETE FROM tmp')
        do(dice.choice(('COMMIT', 'COMMIT', 'ROLLBACK')))

    @staticmethod
    def _full_text(do, dice, _, __):
        for _ in range(10):
            do(f"INSERT INTO f(words) VALUES ('w{dice.randrange(50)} w{dice.randrange(500)} "
               "common')")
        do(f'DELETE FROM f WHERE id % 50 = {dice.randrange(50)}')

    def _table(self, do, dice, name, _):
        table = f's{name.partition("_")[0]}_{dice.randrange(4)}'
        do(f'CREATE TABLE {table}(a INT PRIMARY KEY, b INT, c TEXT, KEY(b)) '
           f'ENGINE=InnoDB {dice.choice(self.formats)}')
        do(f'INSERT INTO {table} SELECT seq, seq, {dice.choice(TEXTS)} '
           f'FROM seq_1_to_{dice.choice((10, 1000))}')
        end = dice.choice((f'DROP TABLE {table}', f'DROP TABLE {table}', f'TRUNCATE TABLE {table}',
                           f'RENAME TABLE {table} TO {table}r', f'DROP TABLE IF EXISTS {table}r',
                           None, 'DO 0'))
        if end:
            do(end)
        else:
            self._discard(do, table)

    def _discard(self, do, table):
        with self._resizing_or_discarding:
            do(f'ALTER TABLE {table} DISCARD TABLESPACE')

    @staticmethod
    def _alter(do, dice, name, _):
        table = f't{dice.randrange(TABLES)}'
        before = f'{name.partition("_")[0]}_{dice.randrange(4)}'
        do(f'ALTER TABLE {table} ' + dice.choice((
            f'ADD COLUMN x{before} INT DEFAULT {dice.randrange(99)}, ALGORITHM=INSTANT',
            f'ADD COLUMN x{before} INT DEFAULT {dice.randrange(99)} FIRST, ALGORITHM=INSTANT',
            f'DROP COLUMN x{before}', 'FORCE', 'FORCE, ALGORITHM=COPY',
            f'ADD INDEX i{before}(b)', f'DROP INDEX i{before}',
            dice.choice(('ROW_FORMAT=DYNAMIC', 'ROW_FORMAT=REDUNDANT', 'ENCRYPTED=YES',
                         'ENCRYPTED=NO')))))

    @staticmethod
    def _truncate(do, dice, _, __):
        do(f'TRUNCATE TABLE t{dice.randrange(TABLES)}')

    def _import(self, do, dice, name, server):
        """Imports the files of a table into another one."""
        place, table = server.data / SCHEMA, f'p{name}'
        options = dice.choice(self.formats)
        do(f'CREATE TABLE {table}(a INT PRIMARY KEY, b INT, c TEXT, KEY(b)) '
           f'ENGINE=InnoDB {options}')
        do(f'INSERT INTO {table} SELECT seq, seq, {dice.choice(TEXTS)} '
           f'FROM seq_1_to_{dice.choice((10, 1000))}')
        do(f'CREATE TABLE {table}i LIKE {table}')
        self._discard(do, f'{table}i')
        do(f'FLUSH TABLES {table} FOR EXPORT')
        try:
            for suffix in ('ibd', 'cfg'):
                shutil.copy2(place / f'{table}.{suffix}', place / f'{table}i.{suffix}')
        except FileNotFoundError:
            pass    # the table could not be made, or the server is gone
        do('UNLOCK TABLES')
        do(f'ALTER TABLE {table}i IMPORT TABLESPACE')
        do(f'UPDATE {table}i SET b=b+1 WHERE a % 3 = 0')
        do(f'DROP TABLE {dice.choice((table, table + "i"))}')

    @staticmethod
    def _create_select(do, dice, name, _):
        do(f'CREATE OR REPLACE TABLE k{name.partition("_")[0]} ENGINE=InnoDB '
           f'AS SELECT a, b, c FROM t{dice.randrange(TABLES)} LIMIT 2000')

    def _resize(self, do, dice, _, __):
        with self._resizing_or_discarding:
            do(f'SET GLOBAL innodb_buffer_pool_size={dice.choice(self.pools)}*1048576')

    @staticmethod
    def _purge(do, dice, _, __):
        """Frees undo log, so that its tablespaces can be truncated."""
        do(PURGE_OFTEN)
        do(f'UPDATE t{dice.randrange(TABLES)} SET c=CONCAT(c, b)')


def try_query(connection, statement):
    """Runs a statement that may fail, as long as the server is there."""
    try:
        connection.query(statement)
    except SqlError as error:
        if is_gone(error):
            raise
