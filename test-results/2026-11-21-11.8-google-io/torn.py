#!/usr/bin/python3
"""A merged write that is cut, and the server ended there: what the doublewrite buffer makes of it.

Usage: torn.py [single] SERVER DIRECTORY CUT... [-- option of the server...]

CUT is in units of 512 bytes; faults.so does it. With `single`, a write of one page of an
encrypted table is cut instead. Each line says what happened, and whether the
tables are as before.
"""
import os
import shutil
import subprocess
import sys
import time

SINGLE = sys.argv[1] == 'single'
if SINGLE:
    del sys.argv[1]
ROOT, DIR = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ARGS = sys.argv[3:]
OPTS = ARGS[ARGS.index('--') + 1:] if '--' in ARGS else []
CUTS = ARGS[:ARGS.index('--')] if '--' in ARGS else ARGS
HERE = os.path.dirname(os.path.abspath(__file__))
SOCK, FAULT = DIR + '.sock', DIR + '.fault'
CLIENT = ROOT + '/bin/mariadb'
TABLES = {'t': '', 'z': 'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8', 'p': 'PAGE_COMPRESSED=1', 'e': 'ENCRYPTED=YES'}
KEYS = HERE + '/keys.txt'
open(KEYS, 'w').write('1;770A8A65DA156D24EE2A093277530142\n')


def start(preload):
    env = {**os.environ, 'FAULT': FAULT, **({'LD_PRELOAD': HERE + '/faults.so'} if preload else {})}
    p = subprocess.Popen([
        ROOT + '/libexec/mariadbd', '--no-defaults', '--basedir=' + ROOT, '--datadir=' + DIR, '--socket=' + SOCK,
        '--skip-networking', '--skip-grant-tables', '--user=root', '--innodb-buffer-pool-size=256M',
        '--innodb-flush-method=O_DIRECT', '--innodb-log-file-size=256M', '--innodb-buffer-pool-dump-at-shutdown=0',
        '--innodb-buffer-pool-load-at-startup=0', '--plugin-maturity=unknown', '--plugin-load-add=file_key_management',
        '--file-key-management-filename=' + KEYS, *OPTS], stdout=open(DIR + '.err', 'a'), stderr=subprocess.STDOUT, env=env)
    for _ in range(400):
        if subprocess.run([CLIENT, '--no-defaults', '-S', SOCK, '-e', 'select 1'], capture_output=True).returncode == 0:
            return p
        if p.poll() is not None:
            sys.exit(f'server ended, see {DIR}.err')
        time.sleep(.05)
    sys.exit('no server')


def sql(q, check=True):
    return subprocess.run([CLIENT, '--no-defaults', '-S', SOCK, '-N', '-B', 'test', '-e', q], capture_output=True,
                          text=True, check=check).stdout.strip()


def sums():
    return [sql(f'SELECT SUM(CRC32(b)) FROM {t}') for t in TABLES]


def fault(what):
    open(FAULT, 'w').write(what)


if not os.path.isdir(DIR):
    subprocess.run([ROOT + '/bin/mariadb-install-db', '--no-defaults', '--basedir=' + ROOT, '--datadir=' + DIR, '--user=root',
                    '--skip-test-db'], capture_output=True, check=True)
    os.makedirs(DIR + '/test', exist_ok=True)
    fault('')
    p = start(False)
    for t, o in TABLES.items():
        sql(f'CREATE TABLE {t}(a INT PRIMARY KEY, b VARCHAR(4000) CHARACTER SET latin1) ENGINE=InnoDB {o};'
            f'INSERT INTO {t} SELECT seq, REPEAT(MD5(seq),100) FROM seq_1_to_12000')
    sql('SET GLOBAL innodb_fast_shutdown=0')
    p.terminate()
    p.wait()
for cut in CUTS:
    fault('')
    open(DIR + '.err', 'w').close()
    p = start(True)
    # page_compressed pages are written one by one
    which = 'e' if SINGLE else 'tz'[CUTS.index(cut) % 2]
    sql(f'UPDATE {which} SET b=REVERSE(b) WHERE a BETWEEN 1000 AND 1800')
    before = sums()
    fault(f'{"single" if SINGLE else "torn"} {cut}')
    sql('SET GLOBAL innodb_max_dirty_pages_pct_lwm=0; SET GLOBAL innodb_max_dirty_pages_pct=0', check=False)
    end = time.time() + 20
    while p.poll() is None and time.time() < end:
        time.sleep(.05)
    if p.poll() is None:
        p.terminate()
    rc = p.wait()
    said = [line.strip() for line in open(DIR + '.err', errors='replace') if line.startswith('TORN')]
    fault('')
    p = start(False)
    after = sums()
    ok = sql('CHECK TABLE ' + ','.join(TABLES) + ' EXTENDED').count('OK')
    p.terminate()
    p.wait()
    bad = [t for t in TABLES if subprocess.run([ROOT + '/bin/innochecksum', f'{DIR}/test/{t}.ibd'], capture_output=True).returncode]
    repaired = open(DIR + '.err', errors='replace').read().count('Recovered page')
    good = before == after and ok == len(TABLES) and not bad and rc == 99 and said
    print(f'{which} {cut}: exit {rc}, {" ".join(said) or "no vectored write"}; repaired {repaired}; '
          + ('ok' if good else f'BAD {before} {after} {ok} {bad}'), flush=True)
