"""Usage: recover.py WORK ROUNDS IOPS BUILD... [-- OPTION=VALUE...]

Recovers copies of one crashed data directory (that of bench's suite `recovery`, kept in WORK) with each
BUILD (a directory into which a server was unpacked, or NAME=DIRECTORY), with pools of a quarter, once and four
times the redo, IOPS requests a second (0: no limit), and prints a line of JSON for each run.  POOLS=quarter,four in
the environment chooses.  The recovered rows are checked as the suite checks them."""
import json
import os
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / 'bench'), str(TOP / 'scripts')]
from millrace_bench import data as directories                    # noqa: E402
from millrace_bench.builds import Build                           # noqa: E402
from millrace_bench.limits import Limit                           # noqa: E402
from millrace_bench.server import Server                          # noqa: E402
from millrace_bench.suites import recovery                        # noqa: E402

ROWS, REDO = int(os.environ.get('ROWS', '1000000')), int(os.environ.get('REDO', '256'))
POOLS = {'quarter': REDO // 4, 'once': REDO, 'four': 4 * REDO}


class Say:
    """The progress that bench wants."""
    @staticmethod
    def say(text):
        print(text, file=sys.stderr, flush=True)


def main():
    arguments = sys.argv[1:]
    extra = {}
    if '--' in arguments:
        extra = dict(option.split('=', 1) for option in arguments[arguments.index('--') + 1:])
        arguments = arguments[:arguments.index('--')]
    work, rounds, iops = Path(arguments[0]), int(arguments[1]), int(arguments[2]) or None
    builds = []
    for argument in arguments[3:]:
        name, _, place = argument.rpartition('=')
        builds.append(Build(name or Path(place).name, place))
    # by the first build, the same for all
    made = next(iter(sorted((work / 'data').glob(f'crashed-{ROWS}-{REDO}M*'))), None)
    if made:
        prepared, facts = made / 'data', json.loads((made / 'facts.json').read_text())
    else:
        prepared, facts = directories.prepare(recovery.crashed(ROWS, REDO), builds[0], work, Say)
    pools = os.environ.get('POOLS', ','.join(POOLS)).split(',')
    for number in range(rounds):
        for pool in pools:
            for build in builds if number % 2 == 0 else builds[::-1]:
                copy = work / 'copy'
                directories.copy(prepared, copy)
                options = {'innodb_buffer_pool_size': f'{POOLS[pool]}M', 'innodb_log_file_size': recovery.log_size(REDO),
                           **(extra if build is not builds[0] else {})}
                with Limit(iops, work) as limit:
                    before = limit.requests()
                    with Server(build, copy, options, limit) as server:
                        server.start()
                        counts = server.counts()
                        counts.update((name, counts[name] - before[name]) for name in before)
                        if not os.environ.get('UNCHECKED'):
                            recovery.check(server, facts)
                        server.stop()
                        text = server.log_text()
                        (work / f'{build.name}-{pool}.log').write_text(text)
                        print(json.dumps({'build': build.name, 'pool': pool, 'iops': iops, 'round': number,
                                          'seconds': round(server.started_in, 3), **counts,
                                          'statistics': re.findall(r'RECOVERY STATISTICS(.*)', text)}), flush=True)


main()
