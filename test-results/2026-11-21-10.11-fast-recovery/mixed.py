"""Usage: mixed.py BUILD DIRECTORY SEED

Makes DIRECTORY/data: the data directory of a server that was killed in the middle of a mixed load of transactions
and DDL, with options that the seed chooses.  What has to be given to a server, or to mariadb-backup --prepare, to
read it is in DIRECTORY/options."""
import json
import random
import shutil
import sys
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench.builds import Build                           # noqa: E402
from millrace_bench.client import SqlError                        # noqa: E402
from millrace_bench.server import Server, make_system_tables      # noqa: E402

build, home, seed = Build('maker', sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
dice = random.Random(seed)
shutil.rmtree(home, ignore_errors=True)
home.mkdir(parents=True)
options = {'innodb_undo_tablespaces': dice.choice([0, 3]), 'innodb_undo_log_truncate': 'ON'}
encrypted = dice.random() < 0.4
if encrypted:
    (home / 'keys').write_text('1;770A8A65DA156D24EE2A093277530142\n4;18420B5CBA31CCDFFE9716E91EB61374\n')
    options.update({'plugin_load_add': 'file_key_management', 'plugin_dir': f'{build.root}/lib/plugin',
                    'loose_file_key_management_filename': home / 'keys', 'plugin_maturity': 'unknown',
                    'innodb_encrypt_tables': 'ON', 'innodb_encryption_threads': 2,
                    'innodb_encryption_rotate_key_age': 0,
                    'innodb_encrypt_log': dice.choice(['ON', 'OFF'])})
run = {'innodb_log_file_size': '128M', 'innodb_buffer_pool_size': dice.choice(['64M', '256M', '256M']),
       'innodb_max_undo_log_size': '10M', 'loose_skip_ssl': None, 'loose_innodb_purge_rseg_truncate_frequency': 1, 'innodb_log_buffer_size': '16M',
       'innodb_flush_log_at_trx_commit': dice.choice([0, 1]), 'innodb_max_dirty_pages_pct_lwm': 0,
       'innodb_immediate_scrub_data_uncompressed': dice.choice(['ON', 'OFF']), 'innodb_stats_persistent': 'OFF',
       'innodb_adaptive_flushing': 'OFF', 'innodb_max_dirty_pages_pct': '99.9',
       'loose_innodb_change_buffering': dice.choice(['none', 'all']), 'innodb_fast_shutdown': 0}
make_system_tables(build, home / 'data')
FORMATS = ['', 'ROW_FORMAT=REDUNDANT', 'ROW_FORMAT=COMPRESSED', 'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4', 'PAGE_COMPRESSED=1',
           'ROW_FORMAT=COMPACT'] + ['ENCRYPTED=YES', 'PAGE_COMPRESSED=1 ENCRYPTED=YES'] * encrypted


def work(server, number, stop):
    """One client until the server is gone."""
    own = random.Random(seed * 100 + number)
    try:
        with server.connect('test') as c:
            c.query('CREATE TEMPORARY TABLE tmp (a INT PRIMARY KEY, b BLOB) ENGINE=InnoDB')
            n = 0
            while not stop.is_set():
                n += 1
                t = f't{own.randrange(6)}'
                text = own.choice(['REPEAT(MD5(RAND()), 20)', 'REPEAT("x", 900)', 'HEX(RANDOM_BYTES(400))'])
                what = own.random()
                if what < 0.5:
                    low = own.randrange(20000)
                    todo = ['BEGIN', f'INSERT IGNORE INTO {t} (a,b,c) SELECT seq, seq % 1000, {text} FROM seq_{low}_to_{low + own.choice([5, 50, 500])}',
                            f'UPDATE {t} SET b=b+1, c={text} WHERE a BETWEEN {low} AND {low + 100}',
                            f'DELETE FROM {t} WHERE a BETWEEN {low + 30} AND {low + own.choice([35, 300])}',
                            'INSERT IGNORE INTO tmp SELECT seq, REPEAT("t", 500) FROM seq_1_to_50', 'DELETE FROM tmp',
                            own.choice(['COMMIT', 'COMMIT', 'ROLLBACK'])]
                elif what < 0.6:
                    todo = [f'INSERT INTO f (words) VALUES ("w{own.randrange(50)} w{own.randrange(500)} common")' for _ in range(10)]
                elif what < 0.75:
                    s = f's{number}_{own.randrange(4)}'
                    todo = [f'CREATE TABLE {s} (a INT PRIMARY KEY, b INT, c TEXT, KEY(b)) ENGINE=InnoDB {own.choice(FORMATS)}',
                            f'INSERT INTO {s} SELECT seq, seq, {text} FROM seq_1_to_{own.choice([10, 1000])}',
                            own.choice([f'DROP TABLE {s}', f'TRUNCATE TABLE {s}', f'RENAME TABLE {s} TO {s}r', f'DROP TABLE IF EXISTS {s}r',
                                        f'ALTER TABLE {s} DISCARD TABLESPACE', f'DROP TABLE {s}', 'SELECT 1'])]
                elif what < 0.85:
                    todo = [own.choice([f'ALTER TABLE {t} ADD COLUMN x{n} INT DEFAULT {n}, ALGORITHM=INSTANT',
                                        f'ALTER TABLE {t} DROP COLUMN x{n - 1}', f'ALTER TABLE {t} FORCE', f'OPTIMIZE TABLE {t}',
                                        f'ALTER TABLE {t} ADD INDEX i{n} (b)', f'ALTER TABLE {t} DROP INDEX i{n - 1}'])]
                elif what < 0.9:
                    todo = [f'TRUNCATE TABLE {t}']
                elif what < 0.91:
                    todo = ['SET GLOBAL innodb_buffer_pool_size=' + own.choice(['67108864', '134217728', '268435456'])]
                else:
                    todo = [f'CREATE OR REPLACE TABLE k{number} AS SELECT a, b, c FROM {t} LIMIT 2000']
                for statement in todo:
                    if stop.is_set():
                        return
                    try:
                        c.query(statement)
                    except SqlError as error:
                        if 'gone' in str(error) or 'closed' in str(error) or 'Lost' in str(error):
                            return
    except (SqlError, OSError):
        pass


with Server(build, home / 'data', {**options, **run}) as server:
    server.start()
    with server.connect() as c:
        c.query('CREATE DATABASE test')
        c.query('USE test')
        for i in range(6):
            c.query(f'CREATE TABLE t{i} (a INT PRIMARY KEY, b INT, c LONGTEXT, KEY(b), KEY(c(50))) ENGINE=InnoDB {FORMATS[i % len(FORMATS)]}')
        c.query('CREATE TABLE f (id INT AUTO_INCREMENT PRIMARY KEY, words TEXT, FULLTEXT(words)) ENGINE=InnoDB')
    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(server, i, stop)) for i in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(dice.uniform(1, 7))
    server.kill()
    stop.set()
    for thread in threads:
        thread.join()
    (home / 'error.log').write_text(server.log_text())
(home / 'options').write_text(json.dumps({name: str(value) for name, value in options.items()}))
