#!/usr/bin/python3
"""What the doublewrite buffer's batches wait for.

Usage: dblwr.py MILLRACE BUILD SECONDS WORK: the project's checkout, an unpacked server that was built with dblwr.diff, a directory for data.

Three loads, each at 3,000 requests a second and without a limit: TPC-C with a pool of a fifth of the data; the pages of
one table dirtied in their order, and flushed; the same, every twentieth page.  A line each: of the time, how much a batch
spends in each phase, and how much the page cleaner waits for a batch."""
import re
import sys
import threading
import time
from pathlib import Path
TOP, BUILD, SECONDS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), int(sys.argv[3])
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench import data, sysbench
from millrace_bench.builds import Build
from millrace_bench.limits import Limit
from millrace_bench.progress import Progress
from millrace_bench.server import Server
from millrace_bench.suites import tpcc
from millrace_bench.tables import sbtest

build, work = Build('one', BUILD), Path(sys.argv[4])
LINE = re.compile(r'DBLWR at ([\d.]+): batches (\d+) pages (\d+) write ([\d.]+) sync ([\d.]+) pages ([\d.]+) files ([\d.]+)'
                  r' waits (\d+) waited ([\d.]+)')
TPCC = {'warehouses': 4, 'items': 100000, 'customers': 3000}


def report(name, iops, server, begin, end, before, extra=''):
    lines = [[float(n) for n in found] for found in LINE.findall(server.log_text())]
    lines = [line for line in lines if begin <= line[0] <= end]
    if len(lines) < 2:
        print(f'{name}, {iops or "no"} limit: too short, {len(lines)} lines', flush=True)
        return
    first, last = lines[0], lines[-1]
    at, batches, pages, write, sync, final, files, waits, waited = (b - a for a, b in zip(first, last))
    busy = write + sync + final + files
    with server.connect() as connection:
        now = account(connection)
    io = '; '.join(f'{key} {now[key][0] - before.get(key, (0, 0))[0]}/{now[key][1] - before.get(key, (0, 0))[1]}' for key in now
                   if now[key][0] != before.get(key, (0, 0))[0])
    print(f'{name}, {iops or "no"} limit: {at:.1f} s, {batches:.0f} batches of {pages / max(1, batches):.0f} pages, a batch {1000 * busy / batches:.1f} ms '
          f'(write {1000 * write / batches:.1f} sync {1000 * sync / batches:.1f} pages {1000 * final / batches:.1f} files {1000 * files / batches:.1f}); '
          f'of the time: a batch {busy / at:.3f}, its write and sync {(write + sync) / at:.3f}, waited for a batch {waited / at:.3f} ({waits:.0f} times){extra}\n'
          f'    requests/pages: {io}', flush=True)


def account(connection):
    return {f'{work} {operation}': (int(requests), int(pages)) for work, operation, requests, pages in
            connection.query('SELECT work, operation, requests, pages FROM information_schema.innodb_io_stats')}


def clock():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def tpcc_load(iops):
    data.copy(prepared_tpcc, work / 'dblwr')
    with Limit(iops, work) as limit, Server(build, work / 'dblwr', {'innodb_buffer_pool_size': '80M'}, limit) as server:
        server.start()
        sysbench.run(server, 'tpcc', threads=8, time=3, **TPCC)
        with server.connect() as connection:
            before, orders = account(connection), tpcc.orders(server)
        r0, begin = limit.requests(), clock()
        sysbench.run(server, 'tpcc', threads=8, time=SECONDS, **TPCC)
        end, r1 = clock(), limit.requests()
        extra = f'; {(tpcc.orders(server) - orders) / (end - begin) * 60:.0f} new orders/min; requests/s of the disk: ' + \
            ', '.join(f'{kind} {(r1[kind] - r0[kind]) / (end - begin):.0f}' for kind in r1)
        report('tpcc, pool a fifth', iops, server, begin, end, before, extra)
        server.stop()


def flush(iops, every):
    data.copy(prepared_table, work / 'dblwr')
    options = {'innodb_buffer_pool_size': '512M', 'innodb_log_file_size': '1G', 'innodb_io_capacity': '20000',
               'innodb_io_capacity_max': '20000', 'innodb_max_dirty_pages_pct': '99', 'innodb_adaptive_flushing': 'OFF'}
    with Limit(iops, work) as limit, Server(build, work / 'dblwr', options, limit) as server:
        server.start()
        with server.connect('bench') as connection:
            connection.query('SELECT SUM(LENGTH(c)) FROM sbtest1')
            connection.query(f'UPDATE sbtest1 SET pad=REVERSE(pad) WHERE id % {every * 70} < 2')
            before, begin = account(connection), clock()
            dirty = int(connection.query("SHOW GLOBAL STATUS LIKE 'innodb_buffer_pool_pages_dirty'")[0][1])
            connection.query('SET GLOBAL innodb_max_dirty_pages_pct_lwm=0')
            connection.query('SET GLOBAL innodb_max_dirty_pages_pct=0')
            while int(connection.query("SHOW GLOBAL STATUS LIKE 'innodb_buffer_pool_pages_dirty'")[0][1]) > 20 and clock() - begin < 30:
                time.sleep(.02)
            end = clock()
            report(f'flushing {dirty} pages, 1 in {every}', iops, server, begin - 1, end + 1, before, f'; {end - begin:.2f} s')
        server.stop()


(work / 'data').mkdir(parents=True, exist_ok=True)
prepared_tpcc, _ = data.prepare(tpcc.tables(**TPCC), build, work, Progress([]))
prepared_table, _ = data.prepare(sbtest(1, 1000000), build, work, Progress([]))
if SECONDS:
    for iops in (3000, None):
        for _ in range(2):
            tpcc_load(iops)
            for every in (1, 20):
                flush(iops, every)
