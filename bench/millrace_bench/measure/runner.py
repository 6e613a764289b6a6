"""Runs a suite: the builds in turn, a copy of the data for each run, the result written as it
grows."""
import datetime
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from millrace import TOP
from millrace.progress import Runs, duration
from millrace_bench.measure import data, machine, result, stats, sysbench
from millrace_bench.measure.case import Context, Suite
from millrace_bench.measure.disk import Disk
from millrace_bench.measure.limits import Limit, Volume, suffix
from millrace_bench.measure.server import OPTIONS, explained


def order(names, round_number):
    """The builds of a round: A B, then B A, so that a drift of the machine is on both sides."""
    return list(names) if round_number % 2 else list(reversed(names))


def commit():
    """The commit of the project, with a + where files differ from it."""
    if (TOP / 'bench/commit').exists():
        return (TOP / 'bench/commit').read_text().strip()
    done = subprocess.run(['git', 'describe', '--always', '--abbrev=40', '--exclude=*',
                           '--dirty=+'], cwd=TOP, text=True, capture_output=True, check=False)
    return done.stdout.strip() or 'unknown'


@dataclass(frozen=True)
class Plan:
    """The plan of a run: a suite at a scale, the builds, the place and the rounds.

    The first of the builds is the base; `work` is a directory on the local disk, `results`
    the one that result sets are written into; `rounds` 0 is the suite's own number, `cases` None
    is all of the suite's."""
    suite: Suite
    tree: str
    version: str
    builds: list
    work: Path
    results: Path
    rounds: int = 0
    volume: Volume = None
    cases: list = None


class Runner:
    """One run of one suite.  `record` is its result.json, `results` its Writer."""

    def __init__(self, plan):
        self.plan, suite = plan, plan.suite
        self.rounds = plan.rounds or suite.rounds
        self.cases = plan.cases or suite.cases()
        self.runs = [(number, case, build) for number in range(1, self.rounds + 1)
                     for case in self.cases for build in order(plan.builds, number)]
        self.disk = Disk(plan.volume, plan.work)
        self.limit = Limit(plan.volume, self.disk.place)
        self.progress = Runs('bench', [case.estimate for _, case, _ in self.runs])
        now = datetime.datetime.now(datetime.timezone.utc)
        self.record = {
            'format': result.FORMAT, 'suite': suite.name, 'tree': plan.tree,
            'version': plan.version, 'date': now.strftime('%Y-%m-%dT%H:%M:%SZ'), 'seconds': 0,
            'commit': commit(), 'complete': False, 'error': None,
            'machine': machine.describe(plan.work), 'limit': {'iops': None, 'by': None},
            'builds': [], 'server': {**OPTIONS, **suite.server},
            'load': {'engine': sysbench.version(), 'rounds': self.rounds,
                     'seconds': suite.scale.seconds, 'size': suite.scale.size, **suite.load,
                     **({'cases': ' '.join(case.name for case in plan.cases)} if plan.cases
                        else {})},
            'cases': [{'name': case.name, 'title': case.title, 'measure': case.unit,
                       'better': case.better, 'server': dict(case.options), 'runs': [],
                       'comparisons': []} for case in self.cases]}
        self.results = result.Writer(
            plan.results,
            f'{now:%Y-%m-%d}-{plan.tree}-{suite.name}{suffix(self.limit.record())}',
            {plan.work: 'WORK', **{build.root: f'BUILD-{build.name}' for build in plan.builds},
             TOP: 'TOP'})

    def run(self):
        """Runs all of it.  Finished runs are kept whatever happens; an error is raised again."""
        begin, plan = time.monotonic(), self.plan
        try:
            self._save(0)
            prepared = {case.data: data.prepare(case.data, plan.builds[0], plan.work,
                                                self.progress) for case in self.cases}
            self.progress.restart()
            begin = time.monotonic()
            with self.disk, self.limit:
                self.record |= {'limit': self.limit.record(),
                                'machine': machine.describe(self.disk.place)}
                for place, (number, case, build) in enumerate(self.runs, 1):
                    self._one(place, number, case, build, *prepared[case.data])
                    self._save(time.monotonic() - begin)
            self.record['complete'] = True
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            self.record['error'] = 'interrupted' if interrupted \
                else self.results.without_places(str(error))
            raise
        finally:
            self._save(time.monotonic() - begin)
            shutil.rmtree(self.disk.place / 'run', ignore_errors=True)
        self.progress.say(f'{plan.suite.name}: {duration(time.monotonic() - begin)}')

    def _one(self, place, number, case, build, prepared, facts):
        """One run of a case on a build; `place` is its number among all runs."""
        self.progress.start(f'{case.title}, round {number} of {self.rounds}, {build.name}')
        copy = self.disk.place / 'run'
        data.copy(prepared, copy)
        context = Context(case, build, copy, facts, self)
        text = ''
        try:
            with explained(context.servers, f'{build.name}: {case.name}, round {number}'):
                measured = case.measure(context)
            text = measured.text
            for server in context.servers:
                if server.process:
                    server.stop()
        finally:
            for server in context.servers:
                text += f'\n--- error log of the server\n{server.log_text()}'
                server.__exit__()
            self.results.add_log(case.name, number, build.name, text)
        self.results.add_rows(case.name, number, build.name, measured.timeline,
                              measured.histogram)
        record = self.record['cases'][self.cases.index(case)]
        record['runs'].append({
            'build': build.name, 'round': number, 'order': place, 'value': measured.value,
            'seconds': measured.seconds,
            'figures': {key: value for key, value in measured.figures.items()
                        if value is not None}})
        builds = [build.name for build in self.plan.builds]
        record['comparisons'] = stats.comparisons(record['runs'], builds[0], builds,
                                                  case.values())
        self.progress.finish()

    def _save(self, seconds):
        self.record['seconds'] = seconds
        self.record['builds'] = [build.describe() for build in self.plan.builds]
        self.results.write(self.record)


def summary(record, cases):
    """The comparisons of a result as text, a line each; and the measures that have no ratio
    because a run counted 0."""
    lines, names = [], [build['name'] for build in record['builds']]
    for place, case in zip(record['cases'], cases):
        for one in place['comparisons']:
            lines.append((case.title, one['measure'], f'{one["build"]}/{one["base"]}',
                          f'{one["ratio"]:.3f}', f'{one["low"]:.3f} to {one["high"]:.3f}',
                          'the interval includes 1: no difference shown'
                          if one['includes_one'] else ''))
        for measure, build, none, of in stats.zeros(place['runs'], names, case.values()):
            lines.append((case.title, measure, build, 'no ratio', f'0 in {none} of {of} runs', ''))
    widths = [max((len(line[i]) for line in lines), default=0) for i in range(6)]
    return '\n'.join('  '.join(word.ljust(width) for word, width in zip(line, widths)).rstrip()
                     for line in lines)
