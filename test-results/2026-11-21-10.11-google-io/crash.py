#!/usr/bin/python3
"""crash.py BIN DATADIR TEMPLATE LOOPS [server options...]: SIGKILL under load; checks data after each."""
import sys, os, subprocess, threading, time, random, signal, shutil, glob
BIN, DIR, TEMPLATE, LOOPS = sys.argv[1:5]; OPTS = sys.argv[5:]
BUILD = os.path.dirname(os.path.dirname(BIN))
SRC = os.path.dirname(BUILD)
SOCK = DIR + '.sock'
CLIENT = BUILD + '/client/mariadb'
INNOCHECKSUM = BUILD + '/extra/innochecksum'
def start(extra=()):
    log = open(DIR + '.err', 'a')
    p = subprocess.Popen([BIN, '--no-defaults', '--datadir=' + DIR, '--socket=' + SOCK, '--skip-networking', '--skip-grant-tables',
        '--lc-messages-dir=' + BUILD + '/sql/share', '--user=root', '--innodb-buffer-pool-size=48M', '--innodb-log-file-size=32M',
        '--innodb-max-dirty-pages-pct=20', '--innodb-io-capacity=4000', '--innodb-io-capacity-max=8000', '--innodb-flush-method=O_DIRECT',
        '--innodb-buffer-pool-dump-at-shutdown=0', '--innodb-buffer-pool-load-at-startup=0', '--innodb-file-per-table=1', *OPTS, *extra], stdout=log, stderr=log)
    for _ in range(600):
        if p.poll() is not None: sys.exit(f'server ended {p.returncode}, see {DIR}.err')
        if subprocess.run([CLIENT, '--no-defaults', '-S', SOCK, '-e', 'select 1'], capture_output=True).returncode == 0: return p
        time.sleep(.1)
    sys.exit('no server')
def sql(q):
    r = subprocess.run([CLIENT, '--no-defaults', '-S', SOCK, '-N', '-B', 'test', '-e', q], capture_output=True, text=True)
    if r.returncode: raise RuntimeError(r.stderr)
    return r.stdout.strip()
W = 6; acked = [0]*W; upd = [{} for _ in range(W)]
def worker(w, stop):
    c = subprocess.Popen([CLIENT, '--no-defaults', '-S', SOCK, '-n', '-N', '-B', 'test'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
    t = 't%d' % (w % 3)
    rnd = random.Random()
    while not stop.is_set():
        i = acked[w] + 1; v = {}
        q = 'BEGIN;' + ''.join(f"INSERT INTO {t} VALUES({w*1000000+i*10+k},0,REPEAT(MD5(CONCAT({w*1000000+i*10+k},':',0)),60));" for k in range(10))
        for _ in range(6):
            if i > 1:
                r = w*1000000 + rnd.randrange(1, i)*10 + rnd.randrange(10)
                n = upd[w].get(r, 0) + 1 if r not in v else v[r] + 1
                v[r] = n
                q += f"UPDATE {t} SET v={n}, b=REPEAT(MD5(CONCAT({r},':',{n})),60) WHERE a={r};"
        if rnd.random() < .05: q += f"SELECT SUM(LENGTH(b)) INTO @x FROM {t};"
        q += f"COMMIT; SELECT {i};\n"
        try:
            c.stdin.write(q); c.stdin.flush()
            line = c.stdout.readline().strip()
        except Exception: break
        if line != str(i): break
        acked[w] = i; upd[w].update(v)
    try: c.kill()
    except Exception: pass
    c.wait()
if not os.path.isdir(DIR):
    shutil.copytree(TEMPLATE, DIR); os.makedirs(DIR + '/test', exist_ok=True)
    p = start()
    for t, o in (('t0',''),('t1','PAGE_COMPRESSED=1'),('t2','ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8')):
        sql(f'CREATE TABLE {t}(a INT PRIMARY KEY, v INT, b VARCHAR(2000) CHARACTER SET latin1, KEY(v)) ENGINE=InnoDB {o}')
    p.send_signal(signal.SIGTERM); p.wait()
merged = 0
for loop in range(int(LOOPS)):
    p = start(); stop = threading.Event()
    ts = [threading.Thread(target=worker, args=(w, stop)) for w in range(W)]
    [t.start() for t in ts]
    time.sleep(random.uniform(1.0, 3.0))
    st = sql("SHOW GLOBAL STATUS LIKE 'innodb_io_%merged%'").split()
    p.send_signal(signal.SIGKILL); p.wait(); stop.set(); [t.join() for t in ts]
    # torn pages are repaired at startup; check the state after recovery
    p = start()
    rec = sql("SELECT CONCAT_WS('/',requests,pages) FROM information_schema.innodb_io_stats WHERE work='recovery' AND operation='read'") if True else ''
    for t in ('t0','t1','t2'):
        bad = sql(f"SELECT COUNT(*) FROM {t} WHERE b<>CONVERT(REPEAT(MD5(CONCAT(a,':',v)),60) USING latin1)")
        if bad != '0': sys.exit(f'loop {loop}: {bad} wrong rows in {t}')
        c = sql(f'CHECK TABLE {t} EXTENDED')
        if not c.endswith('OK'): sys.exit(f'loop {loop}: {c}')
    for w in range(W):
        t = 't%d' % (w % 3); lo = w*1000000; n = acked[w]
        cnt = int(sql(f'SELECT COUNT(*) FROM {t} WHERE a BETWEEN {lo+10} AND {lo+n*10+9}'))
        if cnt != n*10: sys.exit(f'loop {loop}: worker {w}: {cnt} rows of {n*10} committed')
        rows = dict(map(int, l.split()) for l in sql(f'SELECT a,v FROM {t} WHERE v>0 AND a BETWEEN {lo} AND {lo+999999}').splitlines())
        for r, v in upd[w].items():
            if rows.get(r, 0) < v: sys.exit(f'loop {loop}: row {r} has version {rows.get(r,0)}, committed {v}')
        # what was committed without an acknowledgement
        mx = sql(f'SELECT IFNULL(MAX(a),0) FROM {t} WHERE a BETWEEN {lo} AND {lo+999999}')
        if int(mx): acked[w] = (int(mx)-lo)//10
        upd[w] = rows
    tot = sum(acked)
    if tot > 4000*2:
        for t in ('t0','t1','t2'): sql(f'TRUNCATE TABLE {t}')
        acked[:] = [0]*W; upd[:] = [{} for _ in range(W)]
    p.send_signal(signal.SIGTERM); p.wait()
    if p.returncode: sys.exit(f'loop {loop}: shutdown {p.returncode}')
    for f in glob.glob(DIR + '/test/*.ibd'):
        r = subprocess.run([INNOCHECKSUM, f], capture_output=True, text=True)
        if r.returncode: sys.exit(f'loop {loop}: innochecksum {f}: {r.stdout[-300:]}{r.stderr[-300:]}')
    print(f'loop {loop}: ok, {tot} transactions, {st}, recovery {rec}', flush=True)
