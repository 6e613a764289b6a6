#!/usr/bin/python3
"""SIGKILL in the middle of writes, and what is compared afterwards.

Usage: crash.py SERVER DIRECTORY LOOPS [--page-size=N] [--faults] [--resize] [option of the server...]

SERVER is an unpacked server, DIRECTORY is where its data are made. With --faults, requests
for several pages are made to fail while the clients write (faults.so). With --resize, the
buffer pool is resized meanwhile.
"""
import glob
import os
import random
import signal
import subprocess
import sys
import threading
import time

ROOT, DIR, LOOPS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
OPTS = sys.argv[4:]
FAULTS, RESIZE = '--faults' in OPTS, '--resize' in OPTS
PAGE = next((o.split('=')[1] for o in OPTS if o.startswith('--page-size')), '16384')
OPTS = [o for o in OPTS if o not in ('--faults', '--resize') and not o.startswith('--page-size')]
HERE = os.path.dirname(os.path.abspath(__file__))
INSTALL = os.environ.get('INSTALL', ROOT)    # what makes the data, if SERVER cannot
SOCK = DIR + '.sock'
CLIENT = ROOT + '/bin/mariadb'
SERVER = ROOT + '/libexec/mariadbd'
FAULT = DIR + '.fault'
KEYS = HERE + '/keys.txt'
TABLES = [('t0', ''), ('t1', 'PAGE_COMPRESSED=1'), ('t2', 'ENCRYPTED=YES')]
if int(PAGE) <= 16384:
    TABLES += [('t3', f'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={int(PAGE) // 2048}'),
               ('t4', f'ENCRYPTED=YES ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={int(PAGE) // 2048}')]
T = len(TABLES)
W = 6 if T == 3 else 10
open(KEYS, 'w').write('1;770A8A65DA156D24EE2A093277530142\n')
if FAULTS:
    HERE_SO = HERE + '/faults.so'
BASE = [SERVER, '--no-defaults', '--basedir=' + ROOT, '--datadir=' + DIR, '--socket=' + SOCK, '--skip-networking',
        '--skip-grant-tables', '--user=root', '--innodb-page-size=' + PAGE, '--innodb-buffer-pool-size=48M',
        '--innodb-log-file-size=32M', '--innodb-max-dirty-pages-pct=20', '--innodb-io-capacity=4000',
        '--innodb-io-capacity-max=8000', '--innodb-flush-method=O_DIRECT', '--innodb-buffer-pool-dump-at-shutdown=0',
        '--innodb-buffer-pool-load-at-startup=0', '--plugin-maturity=unknown', '--plugin-load-add=file_key_management',
        '--file-key-management-filename=' + KEYS, '--innodb-encrypt-log=1']


def start():
    """A server that answers."""
    log = open(DIR + '.err', 'a')
    env = {**os.environ, 'FAULT': FAULT, **({'LD_PRELOAD': HERE_SO} if FAULTS else {})}
    p = subprocess.Popen([*BASE, *OPTS], stdout=log, stderr=log, env=env)
    for _ in range(600):
        if p.poll() is not None:
            sys.exit(f'server ended {p.returncode}, see {DIR}.err')
        if subprocess.run([CLIENT, '--no-defaults', '-S', SOCK, '-e', 'select 1'], capture_output=True).returncode == 0:
            return p
        time.sleep(.1)
    sys.exit('no server')


def sql(q):
    """What a statement returns."""
    r = subprocess.run([CLIENT, '--no-defaults', '-S', SOCK, '-N', '-B', 'test', '-e', q], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return r.stdout.strip()


acked = [0] * W
upd = [{} for _ in range(W)]


def worker(w, stop):
    """Inserts and updates, and remembers what was acknowledged."""
    c = subprocess.Popen([CLIENT, '--no-defaults', '-S', SOCK, '-n', '-N', '-B', 'test'], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
    t = f't{w % T}'
    rnd = random.Random()
    while not stop.is_set():
        i = acked[w] + 1
        v = {}
        q = 'BEGIN;' + ''.join(f"INSERT INTO {t} VALUES({r},0,REPEAT(MD5(CONCAT({r},':',0)),60));"
                               for r in range(w * 1000000 + i * 10, w * 1000000 + i * 10 + 10))
        for _ in range(6):
            if i > 1:
                r = w * 1000000 + rnd.randrange(1, i) * 10 + rnd.randrange(10)
                n = upd[w].get(r, 0) + 1 if r not in v else v[r] + 1
                v[r] = n
                q += f"UPDATE {t} SET v={n}, b=REPEAT(MD5(CONCAT({r},':',{n})),60) WHERE a={r};"
        if rnd.random() < .05:
            q += f"SELECT SUM(LENGTH(b)) INTO @x FROM {t};"
        q += f"COMMIT; SELECT {i};\n"
        try:
            c.stdin.write(q)
            c.stdin.flush()
            line = c.stdout.readline().strip()
        except Exception:
            break
        if line != str(i):
            break
        acked[w] = i
        upd[w].update(v)
    try:
        c.kill()
    except Exception:
        pass
    c.wait()


def fault(what):
    """What faults.so is to do from now on."""
    open(FAULT + '.new', 'w').write(what)
    os.rename(FAULT + '.new', FAULT)


if not os.path.isdir(DIR):
    r = subprocess.run([INSTALL + '/bin/mariadb-install-db', '--no-defaults', '--basedir=' + INSTALL, '--datadir=' + DIR,
                        '--user=root', '--innodb-page-size=' + PAGE, '--skip-test-db'], capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stdout + r.stderr)
    os.makedirs(DIR + '/test', exist_ok=True)
    fault('')
    p = start()
    for t, o in TABLES:
        sql(f'CREATE TABLE {t}(a INT PRIMARY KEY, v INT, b VARCHAR(2000) CHARACTER SET latin1, KEY(v)) ENGINE=InnoDB {o}')
    p.send_signal(signal.SIGTERM)
    p.wait()
for loop in range(LOOPS):
    fault('')
    p = start()
    stop, resized = threading.Event(), 0
    ts = [threading.Thread(target=worker, args=(w, stop)) for w in range(W)]
    [t.start() for t in ts]
    end = time.monotonic() + random.uniform(1.0, 3.0)
    while time.monotonic() < end:
        time.sleep(.15)
        if FAULTS:
            fault(random.choice(['', 'short', 'page', 'half', 'eagain', 'eio']))
        if RESIZE:
            try:
                sql(f'SET GLOBAL innodb_buffer_pool_size={random.choice([24, 32, 48, 64])}*1048576')
                resized += 1
            except RuntimeError as error:    # it was too slow, and withdrawn
                print(f'loop {loop}: {str(error).strip()}')
    st = sql("SHOW GLOBAL STATUS LIKE 'innodb_io_%merged%'").split()
    p.send_signal(signal.SIGKILL)
    p.wait()
    stop.set()
    [t.join() for t in ts]
    n_faults = open(FAULT + '.count').read().strip() if FAULTS and os.path.exists(FAULT + '.count') else '-'
    fault(random.choice(['short', 'page', 'half', 'eio']) if FAULTS and loop % 2 else '')
    p = start()
    rec = sql("SELECT CONCAT_WS('/',requests,pages) FROM information_schema.innodb_io_stats WHERE work='recovery' AND operation='read'")
    fault('')
    for t, _ in TABLES:
        bad = sql(f"SELECT COUNT(*) FROM {t} WHERE b<>CONVERT(REPEAT(MD5(CONCAT(a,':',v)),60) USING latin1)")
        if bad != '0':
            sys.exit(f'loop {loop}: {bad} wrong rows in {t}')
        c = sql(f'CHECK TABLE {t} EXTENDED')
        if not c.endswith('OK'):
            sys.exit(f'loop {loop}: {c}')
    for w in range(W):
        t, lo, n = f't{w % T}', w * 1000000, acked[w]
        cnt = int(sql(f'SELECT COUNT(*) FROM {t} WHERE a BETWEEN {lo + 10} AND {lo + n * 10 + 9}'))
        if cnt != n * 10:
            sys.exit(f'loop {loop}: worker {w}: {cnt} rows of {n * 10} committed')
        rows = dict(map(int, l.split()) for l in sql(
            f'SELECT a,v FROM {t} WHERE v>0 AND a BETWEEN {lo} AND {lo + 999999}').splitlines())
        for r, v in upd[w].items():
            if rows.get(r, 0) < v:
                sys.exit(f'loop {loop}: row {r} has version {rows.get(r, 0)}, committed {v}')
        # what was committed without an acknowledgement
        mx = int(sql(f'SELECT IFNULL(MAX(a),0) FROM {t} WHERE a BETWEEN {lo} AND {lo + 999999}'))
        if mx:
            acked[w] = (mx - lo) // 10
        upd[w] = rows
    total = sum(acked)
    if total > 8000:
        for t, _ in TABLES:
            sql(f'TRUNCATE TABLE {t}')
        acked[:] = [0] * W
        upd[:] = [{} for _ in range(W)]
    p.send_signal(signal.SIGTERM)
    p.wait()
    if p.returncode:
        sys.exit(f'loop {loop}: shutdown {p.returncode}')
    for f in glob.glob(DIR + '/test/*.ibd') + glob.glob(DIR + '/undo0*'):
        r = subprocess.run([ROOT + '/bin/innochecksum', f], capture_output=True, text=True)
        if r.returncode:
            sys.exit(f'loop {loop}: innochecksum {f}: {r.stdout[-300:]}{r.stderr[-300:]}')
    print(f'loop {loop}: ok, {total} transactions, {" ".join(st)}, recovery {rec}, injected {n_faults}{f", resized {resized}" if RESIZE else ""}', flush=True)
