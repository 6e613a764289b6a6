"""Starts over the crashed data of the suite recovery, 11.8, with a pool of 1 GiB: in turns as the suite did, and without TLS.

Usage, in a checkout: start.py BUILD DIRECTORY ROUNDS
"""
import sys
from pathlib import Path

sys.path.insert(0, 'bench')
from millrace_bench.builds import Build  # noqa: E402
from millrace_bench.data import copy, prepare  # noqa: E402
from millrace_bench.server import OPTIONS, Server  # noqa: E402
from millrace_bench.suites import recovery  # noqa: E402


class Say:
    """What prepare() tells how far it is."""
    say = staticmethod(print)


build, work = Build('millrace', sys.argv[1]), Path(sys.argv[2])
(work / 'data').mkdir(parents=True, exist_ok=True)
prepared, _ = prepare(recovery.crashed(1000000, 256), build, work, Say)
for turn in range(int(sys.argv[3])):
    for tls in (('ON', 'OFF') if turn % 2 else ('OFF', 'ON')):
        copy(prepared, work / 'copy')
        options = {**recovery.SERVER, 'innodb_buffer_pool_size': '1G', 'innodb_log_file_size': '512M'}
        OPTIONS.pop('ssl', None)
        if tls == 'OFF':
            options['ssl'] = 'OFF'
        with Server(build, work / 'copy', options) as server:
            server.start()
            recovered = next(line for line in server.log_text().splitlines() if 'RECOVERY STATISTICS' in line)
            print(f'TLS {tls}: answers after {server.started_in:.2f} s, recovery {recovered.split("STATISTICS: ")[1].split()[0]} s, '
                  f'processor {server.counts()["cpu_seconds"]:.2f} s', flush=True)
