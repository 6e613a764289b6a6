"""Usage: buffered.py MAKER RECOVERER DIRECTORY POOLS

A server of the build MAKER, with a small pool and innodb_change_buffering=all, is killed; copies are recovered by RECOVERER
with each of the pools (8M,16M,64M).  Then all indexes must have the same rows, and what was buffered was merged."""
import random
import shutil
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench.builds import Build                           # noqa: E402
from millrace_bench.server import Server, make_system_tables      # noqa: E402

maker, recoverer, home = Build('maker', sys.argv[1]), Build('recoverer', sys.argv[2]), Path(sys.argv[3])
make_system_tables(maker, home / 'data')
run = {'innodb_buffer_pool_size': '24M', 'innodb_adaptive_flushing': 'OFF', 'innodb_io_capacity': 100,
       'innodb_max_dirty_pages_pct_lwm': 0, 'innodb_log_file_size': '256M', 'innodb_change_buffering': 'all',
       'innodb_change_buffer_max_size': 50, 'innodb_flush_log_at_trx_commit': 0, 'innodb_stats_persistent': 'OFF',
       'innodb_max_dirty_pages_pct': '99.9'}
server = Server(maker, home / 'data', run)
server.start()
with server.connect('') as c:
    c.query('CREATE DATABASE IF NOT EXISTS test')
    c.query('USE test')
    c.query('CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b INT NOT NULL, c INT NOT NULL, p CHAR(40) NOT NULL DEFAULT "x", '
            'KEY(b), KEY(c,p)) ENGINE=InnoDB')
    c.query('INSERT INTO t (b,c) SELECT RAND()*1e9, RAND()*1e9 FROM seq_1_to_400000')
    end = time.time() + 20
    while time.time() < end:
        c.query('INSERT INTO t (b,c) SELECT RAND()*1e9, RAND()*1e9 FROM seq_1_to_500')
        low = random.randrange(400000)
        c.query(f'UPDATE t SET c=RAND()*1e9 WHERE a BETWEEN {low} AND {low+200}')
        c.query(f'DELETE FROM t WHERE a BETWEEN {low+100} AND {low+120}')
    c.query('SET GLOBAL innodb_flush_log_at_trx_commit=1')
    c.query('INSERT INTO t (b,c) VALUES (1,1)')
server.process.kill()
server.process.wait()
for pool in sys.argv[4].split(','):
    copy = home / 'copy'
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home / 'data', copy)
    server = Server(recoverer, copy, {'innodb_buffer_pool_size': pool, 'innodb_log_file_size': '256M',
                                      'innodb_change_buffering': 'none'})
    server.start()
    with server.connect('test') as c:
        def merged():
            return [row[1] for row in c.query("SHOW STATUS LIKE 'innodb_ibuf_merge%'")]
        before = merged()
        found = [c.query(f'SELECT COUNT(*), SUM(a) FROM t FORCE INDEX({i})')[0] for i in ('PRIMARY', 'b', 'c')]
        print(pool, 'indexes agree' if len(set(map(tuple, found))) == 1 else 'DIFFERENT', found,
              'merged [delete marks, deletes, inserts, merges] before', before, 'after', merged(), flush=True)
    print([line for line in server.log.read_text().splitlines()
           if 'ERROR' in line or 'STATISTICS' in line or line.startswith(('log:', 'pages:'))][:4], flush=True)
    server.process.kill()
    server.process.wait()
