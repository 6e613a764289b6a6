"""Tries servers in hostile surroundings: what vanilla survives, the series must survive.

Each scenario runs the same steps with the same data on both servers: start, recover, look at
rows and checksums, go on, shut down, prepare a backup.  A step that vanilla makes and the series
does not is WORSE, and so are other rows, and a figure past its bound.  A scenario that this
machine cannot make is "not run here", with the reason.

PATCHED and VANILLA are servers as bench/run has them: a directory with one unpacked, with a / in
its name, or millrace, vanilla, debian and so on, which are made or fetched where they are
missing.  VANILLA may also be the file of an earlier --result, whose outcomes then stand for
vanilla's.

Prints a line a scenario, and the steps of both servers.  Exit status: 0; 1 where a scenario is
WORSE, or the tool cannot run.
"""
import datetime
import json
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from millrace import TOP
from millrace.command import output, parser, run_command
from millrace.errors import Failure
from millrace.upstream import pins
from millrace_bench import builds
from millrace_bench.measure import machine
from millrace_bench.measure.result import write_whole
from millrace_hostile import scenarios
from millrace_hostile.data import Crashes
from millrace_hostile.surroundings import NotHere
from millrace_hostile.trial import REGISTERED, Ended, Outcome, Trial

assert scenarios        # importing them registers them
SAME, BETTER, WORSE, NOT_HERE = 'as vanilla', 'better', 'WORSE', 'not run here'
AT_LEAST = ' at least'


def arguments(argv):
    """The parsed arguments."""
    result = parser('tests/hostile/run', __doc__)
    result.add_argument('patched', nargs='?', metavar='PATCHED', help='the server with the series')
    result.add_argument('vanilla', nargs='?', metavar='VANILLA',
                        help='the server without, or an earlier result')
    result.add_argument('--only', nargs='+', metavar='NAME', default=[],
                        help='these scenarios, or "quick" for those of make check')
    result.add_argument('--list', action='store_true', help='list the scenarios')
    result.add_argument('--keep', type=Path, metavar='DIR',
                        help='keep the error logs, and stacks of servers that stand still')
    result.add_argument('--data', type=Path, metavar='DIR',
                        help='directory to make the data in (default: a new one in /tmp)')
    result.add_argument('--result', type=Path, metavar='FILE',
                        help='write the outcomes as JSON; scenarios not run keep theirs')
    result.add_argument('--tree', choices=pins.trees(),
                        default=os.environ.get('TREE') or pins.default_tree(),
                        help='tree of servers that are made')
    asked = result.parse_args(argv)
    if not asked.list and not asked.vanilla:
        result.error('PATCHED and VANILLA are needed')
    return asked


def chosen(names):
    """The Scenarios of --only, or all."""
    unknown = [name for name in names if name != 'quick' and name not in REGISTERED]
    if unknown:
        raise Failure(f'{unknown[0]}: no such scenario', '--list names all')
    return [each for each in REGISTERED.values()
            if not names or each.name in names or ('quick' in names and each.quick)]


def judge(scenario, vanilla, series):
    """The verdict on two Outcomes, and why."""
    for step, said in vanilla.steps.items():
        if said == 'ok' and series.steps.get(step) != 'ok':
            return WORSE, f'{step}: {series.steps.get(step, "not reached")}'
    if scenario.must and not series.survives():
        return WORSE, f'it must survive this: {series.text()}'
    for name, fact in vanilla.facts.items():
        if series.facts.get(name) != fact:
            return WORSE, f'{name}: {series.facts.get(name)} where vanilla has {fact}'
    for name, bound in scenario.bounds.items():
        figure = name.removesuffix(AT_LEAST)
        if figure not in vanilla.figures or figure not in series.figures:
            continue
        mine, limit = series.figures[figure], bound(vanilla.figures[figure])
        if mine < limit if name.endswith(AT_LEAST) else mine > limit:
            return WORSE, f'{figure}: {mine} where vanilla has {vanilla.figures[figure]}'
    if series.survives() and not vanilla.survives():
        return BETTER, ''
    return SAME, ''


class Run:
    """The scenarios on two servers; `known` are vanilla's outcomes of an earlier result."""

    def __init__(self, asked, place):
        self.place, self.known, self.vanilla = place, {}, None
        work = TOP / 'work/bench'
        self.patched = builds.resolve(asked.patched, asked.tree, work)
        self.patched.name = 'series'
        if asked.vanilla.endswith('.json'):
            self.known = read(Path(asked.vanilla))['scenarios']
        else:
            self.vanilla = builds.resolve(asked.vanilla, asked.tree, work)
            self.vanilla.name = 'vanilla'
        self.crashes = Crashes(self.vanilla or self.patched, place / 'crashes')
        self.logs = asked.keep or place / 'logs'
        self.logs.mkdir(parents=True, exist_ok=True)

    def outcome(self, scenario, build, vanilla):
        """What becomes of a server in a scenario."""
        place = self.place / 'trial'
        log = self.logs / f'{scenario.name}-{build.name}.log'
        log.unlink(missing_ok=True)
        place.mkdir()
        trial = Trial(build, place, self.crashes, vanilla, log)
        try:
            scenario.run(trial)
        except Ended:
            pass
        finally:
            shutil.rmtree(place)
        return trial.outcome

    def run(self, scenario):
        """The record of a scenario."""
        began = time.monotonic()
        try:
            if self.vanilla:
                vanilla = self.outcome(scenario, self.vanilla, None)
            elif 'vanilla' in self.known.get(scenario.name, {}):
                vanilla = Outcome(**self.known[scenario.name]['vanilla'])
            else:
                raise NotHere('the earlier result has no outcome of vanilla')
            series = self.outcome(scenario, self.patched, vanilla)
        except NotHere as error:
            return {'verdict': NOT_HERE, 'why': ': '.join(error.lines)}
        verdict, why = judge(scenario, vanilla, series)
        return {'verdict': verdict, 'why': why, 'seconds': round(time.monotonic() - began, 1),
                **{name: {'steps': each.steps, 'figures': each.figures}
                   for name, each in (('vanilla', vanilla), ('series', series))}}


def read(path):
    """An earlier result."""
    try:
        return json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise Failure(f'{path}: {error}', 'name a file that --result has written') from None


def line(name, record):
    """A scenario's line in the table, and the servers' steps where they are to be told."""
    text = f'{name:26} {record["verdict"]:13}'
    if record['verdict'] == NOT_HERE:
        return f'{text} {record["why"]}'
    figures = {figure: value for figure, value in record['series']['figures'].items()
               if isinstance(value, (int, float))}
    text += f'{record["seconds"]:6.1f} s  ' + ', '.join(
        f'{figure} {record["vanilla"]["figures"].get(figure, "-")} / {value}'
        for figure, value in figures.items())
    lines = [text.rstrip()]
    for server in ('vanilla', 'series'):
        failed = Outcome(record[server]['steps']).text()
        if failed != 'survives':
            lines.append(f'    {server}: {failed}')
    if record['why']:
        lines.append(f'    WORSE: {record["why"]}')
    return '\n'.join(lines)


def keep(path, asked, run, records):
    """Writes a result; what was not run stays as it was."""
    known = read(path) if path.exists() else {'scenarios': {}}
    commit = output('git', '-C', TOP, 'describe', '--always', '--abbrev=12', '--dirty=+').strip()
    stamp = {'date': datetime.date.today().isoformat(), 'commit': commit}
    made = {build.name: f'{name.rpartition("/")[2]} {build.sha256[:12]}'
            for build, name in ((run.vanilla, asked.vanilla), (run.patched, asked.patched))
            if build}
    # vanilla's outcome of an earlier result keeps the name of its build
    known['scenarios'].update(
        {name: {**stamp, 'builds': {**run.known.get(name, {}).get('builds', {}), **made}, **record}
         for name, record in records.items()})
    known = {'tree': asked.tree, 'kernel': machine.describe(run.place)['kernel'],
             'scenarios': {name: known['scenarios'][name] for name in REGISTERED
                           if name in known['scenarios']}}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text_of(known))


def text_of(result):
    """A result as JSON, a line for each server in a scenario."""
    text = json.dumps(result, indent=1)
    # what is inside of a server's record, four deep and more, goes on its line
    return re.sub(r'\n {4,}(?=\S)|\n {3}(?=\})', ' ', text) + '\n'


def main(argv):
    """Runs the scenarios that were asked for."""
    asked = arguments(argv)
    if asked.list:
        for each in chosen(asked.only):
            print(f'{each.name:26} {"quick" if each.quick else "":5}  {each.about}')
        return 0
    wanted, records = chosen(asked.only), {}
    place = (asked.data.absolute() if asked.data
             else Path(tempfile.mkdtemp(prefix='millrace-hostile-')))
    place.mkdir(parents=True, exist_ok=True)
    try:
        run = Run(asked, place)
        print('scenario, verdict, time, figures of vanilla / the series', flush=True)
        for each in wanted:
            records[each.name] = run.run(each)
            print(line(each.name, records[each.name]), flush=True)
            if asked.result:
                keep(asked.result, asked, run, records)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    worse = [name for name, record in records.items() if record['verdict'] == WORSE]
    count = {verdict: sum(record['verdict'] == verdict for record in records.values())
             for verdict in (SAME, BETTER, WORSE, NOT_HERE)}
    print(', '.join(f'{number} {verdict}' for verdict, number in count.items()), flush=True)
    if worse:
        raise Failure(f'WORSE than vanilla: {", ".join(worse)}')
    return 0


if __name__ == '__main__':
    run_command('hostile', main)
