#!/usr/bin/python3
"""Which pages of a cold ascending scan are read alone. Usage: single.py MILLRACE BUILD (needs strace)."""
import collections
import re
import subprocess
import sys
import time
from pathlib import Path
TOP, BUILD = (Path(word).resolve() for word in sys.argv[1:3])
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench import data
from millrace_bench.builds import Build
from millrace_bench.progress import Progress
from millrace_bench.server import Server
from millrace_bench.suites import scan
from millrace_bench.tables import sbtest

build, work = Build('one', BUILD), TOP / 'work/bench'
prepared, _ = data.prepare(sbtest(1, 1000000), build, work, Progress([]))
data.copy(prepared, work / 'extent')
with Server(build, work / 'extent', scan.SERVER) as server:
    server.start()
    with server.connect('bench') as connection:
        trace = subprocess.Popen(['strace', '-f', '-y', '-e', 'trace=pread64', '-o', work / 'strace', '-p', str(server.process.pid)],
                                 stderr=subprocess.DEVNULL)
        time.sleep(2)
        connection.query('SELECT id FROM sbtest1 WHERE id = 0')
        connection.query(scan.SCANS['ascending'][1])
        trace.terminate()
        trace.wait()
    server.stop()
pages = [int(found) // 16384 for found in re.findall(r'pread64\(\d+<[^>]*sbtest1\.ibd>.*?, 16384, (\d+)\)', (work / 'strace').read_text())]
size = (work / 'extent/bench/sbtest1.ibd').stat().st_size // 16384
print(f'{len(pages)} pages of {size} read alone; by extent of 64 pages:',
      ', '.join(f'{extent}: {count}' for extent, count in sorted(collections.Counter(page // 64 for page in pages).items())))
