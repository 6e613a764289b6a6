"""Drives sysbench, the load engine, and reads what it prints."""
import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from . import stats
from .builds import SHIPPED
from .errors import BenchError
from .server import dies_with_us

LUA = Path(__file__).resolve().parent.parent / 'lua'
LONGEST_SECONDS = 3600    # what a load may take besides the time that it was asked to run
IGNORED = '1213,1205,1020'    # deadlock, lock wait timeout, record has changed: the event is taken again

_INTERVAL = re.compile(r'^\[ (\d+)s \] thds: (\d+) tps: ([\d.]+)')
_BUCKET = re.compile(r'^\s*(\d+\.\d+) \|\**\s+(\d+)\s*$')


@dataclass
class Result:
    """What one run of sysbench said."""
    transactions: int
    seconds: float
    errors: int
    intervals: list = field(default_factory=list)    # (second, transactions/s)
    histogram: list = field(default_factory=list)    # (ms, count)
    text: str = ''
    processor: dict = field(default_factory=dict)    # seconds of the server; sysbench does not know them

    @property
    def rate(self):
        """Transactions a second."""
        return self.transactions / self.seconds

    def latency(self):
        """95th and 99th percentile of the response time, as figures."""
        return {f'p{share}_ms': stats.histogram_percentile(self.histogram, share / 100) for share in (95, 99)
                if self.histogram}


def together(results):
    """Several runs, one after the other, as one Result: intervals are numbered on."""
    histogram, processor, intervals = Counter(), Counter(), []
    for result in results:
        histogram.update(dict(result.histogram))
        processor.update(result.processor)
        intervals += [(len(intervals) + number, rate) for number, (_, rate) in enumerate(result.intervals, 1)]
    return Result(sum(result.transactions for result in results), sum(result.seconds for result in results),
                  sum(result.errors for result in results), intervals, sorted(histogram.items()),
                  '\n'.join(result.text for result in results), dict(processor))


def parse(text):
    """A Result from the whole output of `sysbench run`."""
    def one(pattern):
        match = re.search(pattern, text, re.MULTILINE)
        if not match:
            raise BenchError('sysbench did not finish', *[line for line in text.splitlines() if 'FATAL' in line][:3],
                             *text.splitlines()[-3:])
        return match[1]
    lines = text.splitlines()
    return Result(
        transactions=int(one(r'^\s+transactions:\s+(\d+)')), seconds=float(one(r'^\s+total time:\s+([\d.]+)s')),
        errors=int(one(r'^\s+ignored errors:\s+(\d+)')),
        intervals=[(int(found[1]), float(found[3])) for line in lines if (found := _INTERVAL.match(line))],
        histogram=[(float(found[1]), int(found[2])) for line in lines if (found := _BUCKET.match(line))],
        text=text)


def command():
    """How sysbench is called: the bundle's own, or the system's."""
    here = SHIPPED.parent
    if (here / 'bin/sysbench').exists():
        return [str(here / 'lib/ld-linux-x86-64.so.2'), '--library-path', str(here / 'lib'), str(here / 'bin/sysbench')]
    found = shutil.which('sysbench', path='/usr/bin')
    if not found:
        raise BenchError('sysbench is missing', 'build/setup bench')
    return [found]


def version():
    """Name and version of the engine."""
    return subprocess.run([*command(), '--version'], text=True, capture_output=True, check=True).stdout.strip()


def script(name):
    """Path of a load: one of ours, or one that comes with sysbench."""
    own = LUA / f'{name}.lua'
    if own.exists():
        return own
    shipped = SHIPPED.parent / 'share/sysbench'
    return (shipped if shipped.exists() else Path('/usr/share/sysbench')) / f'{name}.lua'


def run(server, name, action='run', each_second=None, killed=False, **options):
    """Runs a load against a server.  Options are sysbench's, with _ for -.  `each_second(second, rate)`
    is called as the report of that second comes.  With `killed` the end of the server is expected.
    A load that does not end is an error, an hour after it should have.

    Returns the Result of `run`, and the text of other actions."""
    place = script(name)
    arguments = {'db-driver': 'mysql', 'mysql-socket': server.socket, 'mysql-user': 'root', 'mysql-db': 'bench',
                 'mysql-ignore-errors': IGNORED, **options}
    if action == 'run':
        arguments = {'report-interval': 1, 'histogram': 'on', **arguments}
    call = [*command(), str(place), *(f'--{key.replace("_", "-") if key in options else key}={value}'
                                      for key, value in arguments.items()), action]
    environment = {**os.environ, 'LUA_PATH': f'{place.parent}/?.lua;{script("oltp_common").parent}/?.lua;;', 'LC_ALL': 'C'}
    limit = options.get('time', 0) + LONGEST_SECONDS
    lines, late = [], []
    with subprocess.Popen(call, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=dies_with_us()) as process:
        too_long = threading.Timer(limit, lambda: (late.append(True), process.kill()))
        too_long.daemon = True    # where an interrupt comes before it can be cancelled, nobody waits for it
        try:
            too_long.start()
            for line in process.stdout:
                lines.append(line)
                found = _INTERVAL.match(line)
                if found and each_second:
                    each_second(int(found[1]), float(found[3]))
            status = process.wait()
        finally:
            too_long.cancel()
            if process.poll() is None:
                process.kill()
    text = ''.join(lines)
    if late:
        server.check()
        raise BenchError(f'{server.build.name}: sysbench {name} {action} did not end in {limit} s',
                         'the server or its disk stands still, or there is more to do than the machine can',
                         'look at the error log of the server; a smaller SIZE is less to do', *[line.rstrip() for line in lines[-3:]])
    if killed:
        return text
    if status:
        server.check(status < 0 or any(words in text for words in ('Lost connection', "Can't connect", 'gone away')))
        raise BenchError(f'{server.build.name}: sysbench {name} {action} failed (status {status})',
                         *[line.rstrip() for line in lines if 'FATAL' in line][:5], *[line.rstrip() for line in lines[-3:]])
    return parse(text) if action == 'run' else text
