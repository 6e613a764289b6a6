"""Usage: servers.py VANILLA PATCHED DIRECTORY... [--kills N] [--pools 8,24] [--seed N]

Starts servers over copies of the crashed data directories of mixed.py, and compares CHECKSUM TABLE of all tables, once by
the clustered index and COUNT(*) by each other index, and CHECK TABLE: vanilla with a large pool against the patched one
with small ones, which is killed up to N times while it recovers and continued by itself or by vanilla."""
import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench.builds import Build                           # noqa: E402
from millrace_bench.client import SqlError                        # noqa: E402
from millrace_bench.server import Server                          # noqa: E402


def state(server):
    """What can be read from all tables."""
    found = {}
    with server.connect('test') as c:
        for (name,) in c.query("SELECT table_name FROM information_schema.tables WHERE table_schema='test' AND engine='InnoDB'"):
            try:
                found[name] = c.query(f'CHECKSUM TABLE `{name}`')
                for (index,) in c.query(f"SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema='test' AND "
                                        f"table_name='{name}' AND index_type='BTREE'"):
                    found[name, index] = c.query(f'SELECT COUNT(*) FROM `{name}` FORCE INDEX (`{index}`)')
                found[name, 'check'] = [row[3] for row in c.query(f'CHECK TABLE `{name}`') if row[2] != 'status' or row[3] != 'OK']
            except SqlError as error:
                found[name] = str(error).split('\n', maxsplit=1)[0]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('vanilla')
    parser.add_argument('patched')
    parser.add_argument('directories', nargs='+', type=Path)
    parser.add_argument('--kills', type=int, default=3)
    parser.add_argument('--pools', default='8,24')
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    dice, failed = random.Random(arguments.seed), 0
    vanilla, patched = Build('vanilla', arguments.vanilla), Build('patched', arguments.patched)
    for home in arguments.directories:
        options = {**json.loads((home / 'options').read_text()), 'innodb_log_file_size': '128M', 'innodb_stats_persistent': 'OFF'}
        copy = home / 'copy'

        def run(build, pool, kill_after=None):
            with Server(build, copy, {**options, 'innodb_buffer_pool_size': f'{pool}M'}) as server:
                if kill_after is None:
                    server.start()
                    found = state(server)
                    server.stop()
                    text = server.log_text()
                    (home / 'server.log').write_text(text)
                    return found
                command = subprocess.Popen([sys.executable, '-c', f'import time; time.sleep({kill_after})'])
                import threading
                def kill():
                    command.wait()
                    if server.process:
                        server.process.kill()
                thread = threading.Thread(target=kill)
                thread.start()
                try:
                    server.start()
                    time.sleep(0.05)
                except Exception:
                    pass
                thread.join()
                return None
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(['cp', '-a', home / 'data', copy], check=True)
        begin = time.monotonic()
        expected = run(vanilla, 512)
        usual = time.monotonic() - begin
        for pool in arguments.pools.split(','):
            shutil.rmtree(copy, ignore_errors=True)
            subprocess.run(['cp', '-a', home / 'data', copy], check=True)
            kills = dice.randrange(arguments.kills + 1)
            for _ in range(kills):
                run(dice.choice([patched, patched, vanilla]), int(pool), dice.uniform(0.15, min(1.2, usual)))
            got = run(patched, int(pool))
            different = [f'{key}: {expected.get(key)} {got.get(key)}' for key in expected.keys() | got.keys() if expected.get(key) != got.get(key)]
            log = (home / 'server.log').read_text()
            scans = [line for line in log.splitlines() if line.startswith('log: ')]
            print(f'{home.name} pool {pool}M kills {kills} tables and indexes {len(expected)} different {len(different)} '
                  f'{scans[0][:60] if scans else "nothing to recover"}', *different[:6],
                  *[line for line in log.splitlines() if '[ERROR]' in line][:4], sep='\n    ', flush=True)
            failed += bool(different)
        shutil.rmtree(copy)
    print('failed:', failed)
    sys.exit(failed > 0)


main()
