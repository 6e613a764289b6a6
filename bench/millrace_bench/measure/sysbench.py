"""Drives sysbench, the load engine, and reads what it prints."""
import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from millrace import TOP
from millrace.errors import Failure
from millrace_bench.builds.unpacked import SHIPPED
from millrace_bench.measure import stats
from millrace_bench.measure.server import dies_with_us

LUA, SYSTEM = TOP / 'bench/lua', Path('/usr/share/sysbench')
LONGEST_SECONDS = 3600    # for a load to end, besides the time that it was asked to run
IGNORED = '1213,1205,1020'    # deadlock, lock wait timeout, record has changed: taken again

_INTERVAL = re.compile(r'^\[ (\d+)s \] thds: (\d+) tps: ([\d.]+)')
_BUCKET = re.compile(r'^\s*(\d+\.\d+) \|\**\s+(\d+)\s*$')


@dataclass
class Result:
    """The output of one run of sysbench."""
    transactions: int
    seconds: float
    errors: int
    histogram: list = field(default_factory=list)    # (ms, count)
    text: str = ''
    processor: dict = field(default_factory=dict)    # seconds of the server, from the caller

    @property
    def rate(self):
        """Transactions a second."""
        return self.transactions / self.seconds

    def latency(self):
        """95th and 99th percentile of the response time, as figures."""
        if not self.histogram:
            return {}
        return {f'p{percent}_ms': stats.histogram_percentile(self.histogram, percent / 100)
                for percent in (95, 99)}


def sum_results(results):
    """Several runs in sequence as one Result."""
    histogram, processor = Counter(), Counter()
    for result in results:
        histogram.update(dict(result.histogram))
        processor.update(result.processor)
    return Result(sum(result.transactions for result in results),
                  sum(result.seconds for result in results),
                  sum(result.errors for result in results), sorted(histogram.items()),
                  '\n'.join(result.text for result in results),
                  dict(processor))


def _printed(pattern, text):
    """The group of a pattern in sysbench's output.  Raises Failure where it is missing."""
    match = re.search(pattern, text, re.MULTILINE)
    if not match:
        fatal = [line for line in text.splitlines() if 'FATAL' in line]
        raise Failure('sysbench did not finish', *fatal[:3], *text.splitlines()[-3:])
    return match[1]


def parse(text):
    """A Result from the whole output of `sysbench run`."""
    buckets = filter(None, map(_BUCKET.match, text.splitlines()))
    return Result(
        transactions=int(_printed(r'^\s+transactions:\s+(\d+)', text)),
        seconds=float(_printed(r'^\s+total time:\s+([\d.]+)s', text)),
        errors=int(_printed(r'^\s+ignored errors:\s+(\d+)', text)),
        histogram=[(float(line[1]), int(line[2])) for line in buckets],
        text=text)


def command():
    """How sysbench is called: the bundle's own, or the system's."""
    here = SHIPPED.parent
    if (here / 'bin/sysbench').exists():
        return [str(here / 'lib/ld-linux-x86-64.so.2'), '--library-path', str(here / 'lib'),
                str(here / 'bin/sysbench')]
    program = shutil.which('sysbench', path='/usr/bin')
    if not program:
        raise Failure('sysbench is missing', 'build/setup bench')
    return [program]


def version():
    """Name and version of the engine."""
    return subprocess.run([*command(), '--version'], text=True, capture_output=True,
                          check=True).stdout.strip()


def script(name):
    """Path of a load: a script of ours, or one that comes with sysbench."""
    own = LUA / f'{name}.lua'
    if own.exists():
        return own
    shipped = SHIPPED.parent / 'share/sysbench'
    return (shipped if shipped.exists() else SYSTEM) / f'{name}.lua'


def _call(server, name, action, options):
    """The command line of a load."""
    arguments = {'db-driver': 'mysql', 'mysql-socket': server.socket, 'mysql-user': 'root',
                 'mysql-db': 'bench', 'mysql-ignore-errors': IGNORED}
    if action == 'run':
        arguments |= {'report-interval': 1, 'histogram': 'on'}
    arguments |= {key.replace('_', '-'): value for key, value in options.items()}
    return [*command(), str(script(name)),
            *(f'--{key}={value}' for key, value in arguments.items()), action]


def run(server, name, action='run', each_second=None, killed=False, **options):
    """Runs a load against a server: its Result, or the text that another action than 'run' prints.

    Options are sysbench's, with _ for -.  `each_second(second, rate)` is called as the report of
    that second comes.  With `killed` the end of the server is expected, and the text is returned.
    A load that has not ended an hour after its time raises Failure."""
    directories = f'{script(name).parent}/?.lua;{script("oltp_common").parent}/?.lua;;'
    limit = options.get('time', 0) + LONGEST_SECONDS
    lines, late = [], []
    with subprocess.Popen(_call(server, name, action, options), text=True,
                          env={**os.environ, 'LUA_PATH': directories, 'LC_ALL': 'C'},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True,
                          preexec_fn=dies_with_us()) as process:
        too_long = threading.Timer(limit, lambda: (late.append(True), process.kill()))
        too_long.daemon = True    # nobody waits for it where an interrupt comes before cancel()
        try:
            too_long.start()
            for line in process.stdout:
                lines.append(line)
                report = _INTERVAL.match(line)
                if report and each_second:
                    each_second(int(report[1]), float(report[3]))
            status = process.wait()
        finally:
            too_long.cancel()
            if process.poll() is None:
                process.kill()
    text = ''.join(lines)
    if late:
        server.check()
        raise Failure(f'{server.build.name}: sysbench {name} {action} did not end in {limit} s',
                      'the server or its disk stands still, or the machine is too slow for it',
                      'look at the error log of the server; a smaller SIZE is less work',
                      *lines[-3:])
    if killed:
        return text
    if status:
        lost = ('Lost connection', "Can't connect", 'gone away')
        server.check(status < 0 or any(words in text for words in lost))
        raise Failure(f'{server.build.name}: sysbench {name} {action} failed (status {status})',
                      *[line for line in lines if 'FATAL' in line][:5], *lines[-3:])
    return parse(text) if action == 'run' else text
