"""Runs a suite: the builds interleaved, a copy of the data for each run, the result written as it grows."""
import datetime
import shutil
import subprocess
import time

from . import builds, data, machine, result, stats, sysbench
from .case import Context, Scale
from .errors import BenchError
from .limits import Limit
from .progress import Progress, words
from .server import OPTIONS, explained


def order(names, round_number):
    """The builds of a round: A B, then B A, so that a drift of the machine is on both sides."""
    return list(names) if round_number % 2 else list(reversed(names))


def commit():
    """The commit of the project, with a + where files differ from it."""
    if (builds.TOP / 'bench/commit').exists():
        return (builds.TOP / 'bench/commit').read_text().strip()
    done = subprocess.run(['git', 'describe', '--always', '--abbrev=40', '--exclude=*', '--dirty=+'], cwd=builds.TOP,
                          text=True, capture_output=True, check=False)
    return done.stdout.strip() or 'unknown'


class Runner:
    """One run of one suite; its result set is `results.path`."""

    def __init__(self, suite, name, tree, version, chosen, work, results, rounds=None, seconds=None, size=1, iops=None):
        self.suite, self.name, self.builds, self.work = suite, name, chosen, work
        self.rounds = rounds or suite.ROUNDS
        self.scale = Scale(seconds or suite.SECONDS, size)
        self.limit = Limit(iops, work)
        self.cases = suite.cases(self.scale)
        self.plan = [(number, case, build) for number in range(1, self.rounds + 1) for case in self.cases
                     for build in order(chosen, number)]
        self.progress = Progress([case.estimate for _, case, _ in self.plan])
        now = datetime.datetime.now(datetime.timezone.utc)
        self.record = {
            'format': 1, 'suite': name, 'tree': tree, 'version': version, 'date': now.strftime('%Y-%m-%dT%H:%M:%SZ'),
            'seconds': 0, 'commit': commit(), 'complete': False, 'error': None, 'machine': machine.describe(work),
            'limit': {'iops': None, 'by': None}, 'builds': [],
            'server': {option: value for option, value in {**OPTIONS, **suite.SERVER}.items()},
            'load': {'engine': sysbench.version(), 'rounds': self.rounds, 'seconds': self.scale.seconds,
                     'size': self.scale.size, **suite.LOAD},
            'cases': [{'name': case.name, 'title': case.title, 'measure': case.measure, 'better': case.better,
                       'server': dict(case.options), 'runs': [], 'comparisons': []} for case in self.cases]}
        self.results = result.ResultSet(
            results, f'{now:%Y-%m-%d}-{tree}-{name}' + (f'-iops{iops}' if iops else ''),
            {work: 'WORK', **{build.root: f'BUILD-{build.name}' for build in chosen}, builds.TOP: 'TOP'})

    def run(self):
        """Runs all of it.  What was measured is kept whatever happens; an error is raised again."""
        begin = time.monotonic()
        try:
            self._save(0)
            prepared = {case.data: data.prepare(case.data, self.builds[0], self.work, self.progress)
                        for case in self.cases}
            self.progress.begin = self.progress.run_begin = begin = time.monotonic()
            with self.limit:
                self.record['limit'] = self.limit.record()
                for place, (number, case, build) in enumerate(self.plan, 1):
                    self._one(place, number, case, build, *prepared[case.data])
                    self._save(time.monotonic() - begin)
            self.record['complete'] = True
        except BaseException as error:
            self.record['error'] = 'interrupted' if isinstance(error, KeyboardInterrupt) else self.results.without_places(str(error))
            raise
        finally:
            self._save(time.monotonic() - begin)
            shutil.rmtree(self.work / 'run', ignore_errors=True)
        self.progress.say(f'{self.name}: {words(time.monotonic() - begin)}')

    def _one(self, place, number, case, build, prepared, facts):
        self.progress.start(f'{case.title}, round {number} of {self.rounds}, {build.name}')
        copy = self.work / 'run'
        data.copy(prepared, copy)
        context = Context(case, build, copy, facts, self.scale, self.limit, self.progress, self.suite.SERVER)
        name = f'{case.name}-{number}-{build.name.replace(":", "-")}'
        text = ''
        try:
            with explained(context.servers, f'{build.name}: {case.name}, round {number}'):
                measured = case.run(context)
            text = measured.text
            for server in context.servers:
                if server.process:
                    server.stop()
        finally:
            for server in context.servers:
                text += f'\n--- error log of the server\n{server.log_text()}'
                server.__exit__()
            log = self.results.log(name, text)
        record = self.record['cases'][self.cases.index(case)]
        record['runs'].append({
            'build': build.name, 'round': number, 'order': place, 'value': measured.value, 'seconds': measured.seconds,
            'figures': {key: value for key, value in measured.figures.items() if value is not None},
            'timeline': self.results.table(f'{name}-timeline', ('second', 'value', 'cpu', 'read_bytes', 'write_bytes'),
                                           measured.timeline),
            'histogram': self.results.table(f'{name}-histogram', ('ms', 'count'), measured.histogram),
            'logs': [log]})
        record['comparisons'] = stats.comparisons(record['runs'], self.builds[0].name,
                                                  [build.name for build in self.builds], measures(case))
        self.progress.finish()

    def _save(self, seconds):
        self.record['seconds'] = seconds
        self.record['builds'] = [build.describe() for build in self.builds]
        self.results.write(self.record)


def measures(case):
    """What is compared of a case: the name of each measure, and a function of a run."""
    return {case.measure: lambda run: run['value'],
            **{figure: lambda run, figure=figure: run['figures'].get(figure) for figure in case.compare}}


def summary(record, cases):
    """The comparisons of a result in words, a line each; and what has none because it is 0 in some runs."""
    lines, names = [], [build['name'] for build in record['builds']]
    for place, case in zip(record['cases'], cases):
        for found in place['comparisons']:
            said = 'the interval includes 1: no difference shown' if found['includes_one'] else ''
            lines.append((case.title, found['measure'], f'{found["build"]}/{found["base"]}', f'{found["ratio"]:.3f}',
                          f'{found["low"]:.3f} to {found["high"]:.3f}', said))
        for measure, build, none, of in stats.zeros(place['runs'], names, measures(case)):
            lines.append((case.title, measure, build, 'no ratio', f'0 in {none} of {of} runs', ''))
    widths = [max((len(line[i]) for line in lines), default=0) for i in range(6)]
    return '\n'.join('  '.join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)
