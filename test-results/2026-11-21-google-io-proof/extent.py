#!/usr/bin/python3
"""Where the requests of a cold scan come from. Usage: extent.py MILLRACE BUILD: the project's checkout, an unpacked server."""
import sys
from pathlib import Path
TOP, BUILD = map(Path, sys.argv[1:3])
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench import data
from millrace_bench.builds import Build
from millrace_bench.progress import Progress
from millrace_bench.server import Server
from millrace_bench.suites import scan
from millrace_bench.tables import sbtest

build, work = Build('one', BUILD), TOP / 'work/bench'
(work / 'data').mkdir(parents=True, exist_ok=True)
prepared, _ = data.prepare(sbtest(1, 1000000), build, work, Progress([]))
QUERY = "SELECT work, operation, requests, pages, merged_pages FROM information_schema.innodb_io_stats WHERE requests"


def stats(connection):
    return {row[:2]: [int(n) for n in row[2:]] for row in connection.query(QUERY)}


for name in ('ascending', 'descending'):
    data.copy(prepared, work / 'extent')
    with Server(build, work / 'extent', scan.SERVER) as server:
        server.start()
        with server.connect('bench') as connection:
            first = stats(connection)
            connection.query('SELECT id FROM sbtest1 WHERE id = 0')
            connection.query(scan.SCANS[name][1])
            last = stats(connection)
        server.stop()
    print(f'{name}: requests, pages, pages of these in requests of several')
    for key, numbers in last.items():
        before = first.get(key, [0, 0, 0])
        print(f'  {" ".join(key):24} before the scan {before}, by it {[a - b for a, b in zip(numbers, before)]}')
