"""The pages of result sets: one for each, and an index with all comparisons."""
import concurrent.futures
import functools
import hashlib
import shutil
import signal
from pathlib import Path

import matplotlib
from millrace import TOP
from millrace.errors import Failure
from millrace_bench.measure.result import write_whole
from millrace_bench.report import canvas, gallery, headline, style, svg
from millrace_bench.report import format as text_of
from millrace_bench.report.sets import KEPT, ResultSet, comparison, sets_in
from millrace_bench.report.templates import render

STYLE = Path(__file__).with_name('templates') / 'page.css'
REPORT = TOP / 'dist/report'
FILES = ('result.json', 'runs.csv.gz', 'log.gz')
STAMP = '.drawn'    # beside a page: the hash of what it was drawn from


def style_sheet():
    """The rules of every page."""
    return STYLE.read_text(encoding='utf-8') + style.dark_rules()


def facts(data):
    """When and of which tree a set is, how often and how long its cases ran."""
    runs = [run for case in data['cases'] for run in case['runs']]
    return [data['date'][:16].replace('T', ' ') + ' UTC', f'tree {data["tree"]}',
            text_of.rounds({'runs': runs})]


def inline(picture):
    """A picture for a page."""
    return svg.inline(picture.text, canvas.FOOT - 8)


def figure_names(case):
    """Names of the measure and of all figures of a case."""
    return [case['measure'],
            *dict.fromkeys(name for run in case['runs'] for name in run['figures'])]


def mean(case, build, name):
    """The average of a figure over a build's runs, or None."""
    runs = [run for run in case['runs'] if run['build'] == build]
    values = [run['value'] if name == case['measure'] else run['figures'].get(name)
              for run in runs]
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def configuration(data):
    """Titles and {name: value} of builds, machine, server, load and run."""
    m, disk, limit = data['machine'], data['machine']['disk'], data['limit']
    held = f'{text_of.volume(data)}, by {limit["by"]}' if limit['iops'] else 'none'
    machine = {
        'CPU': m['cpu'], 'cores': m['cores'], 'memory': text_of.amount(m['memory_bytes']),
        'kernel': m['kernel'], 'system': m['system'], 'virtual': m['virtual'],
        'disk': f'{disk["device"]}, {disk["filesystem"]}, scheduler {disk["scheduler"]}, '
                f'{"" if disk["rotational"] else "not "}rotational',
        'storage limit': held}
    if 'not_counted' in limit:
        machine['not limited'] = limit['not_counted']
    builds = {build['name']: f'{build["version"]}, {build["comment"]}; patches: '
                             f'{", ".join(build["patches"]) or "none"}; sha256 of the server '
                             f'program {build["sha256"]}' for build in data['builds']}
    run = {'suite': data['suite'], 'tree': data['tree'], 'commit': data['commit'],
           'took': f'{data["seconds"]:,.0f} s in all'}
    return [('Builds', builds), ('Machine', machine), ('Options of every server', data['server']),
            ('Load', data['load']), ('Run', run)]


def draw_set(result, directory):
    """Draws the page and pictures of a set into a directory, with the set's own files.

    Nothing is written before all of it is drawn."""
    of_set = gallery.of_set(result)
    of_case = {case['name']: gallery.of_case(result, case) for case in result.data['cases']}
    page = render('set.html', style=style_sheet(), result=result, facts=facts(result.data),
                  styles=style.build_styles(result.builds), of_set=of_set, of_case=of_case,
                  inline=inline, comparison=comparison, figure_names=figure_names, mean=mean,
                  configuration=configuration(result.data))
    shutil.rmtree(directory, ignore_errors=True)
    (directory / 'pictures').mkdir(parents=True)
    for picture in [*of_set, *(each for several in of_case.values() for each in several)]:
        write_whole(directory / f'pictures/{picture.name}.svg', picture.text)
    for name in FILES:
        shutil.copy2(result.path / name, directory / name)
    write_whole(directory / 'index.html', page)


def draw_index(results, directory):
    """Draws the index of some sets."""
    series = [result for result in results
              if result.usual and result.data['complete'] and headline.claims(result)]
    if series:
        write_whole(directory / 'headline.svg', headline.picture(series))
    page = render('index.html', style=style_sheet(), results=results,
                  trees=list(dict.fromkeys(result.data['tree'] for result in results)),
                  comparison=comparison, headline=headline.LABEL if series else '')
    write_whole(directory / 'index.html', page)


@functools.cache
def _program():
    """A hash of what draws."""
    made = hashlib.sha256(matplotlib.__version__.encode())
    for file in sorted(Path(__file__).parent.parent.rglob('*')):
        if file.suffix in ('.py', '.css', '.html', '.svg'):
            made.update(file.read_bytes())
    return made


def stamp(result):
    """A hash of all that the page of a set is drawn from, as text."""
    made = _program().copy()
    for name in FILES:
        made.update((result.path / name).read_bytes())
    return made.hexdigest()


def _draw_again(result, directory):
    """Draws the page of a set, unless it is there, drawn from the same."""
    file, now = directory / STAMP, stamp(result)
    if not file.exists() or file.read_text(encoding='utf-8') != now:
        draw_set(result, directory)
        file.write_text(now, encoding='utf-8')


def draw(paths=(), directory=REPORT, say=print):
    """Draws result sets, by default the kept ones, and their index.  Raises Failure."""
    results = [ResultSet(path) for path in paths] or sets_in(KEPT)
    if not results:
        raise Failure('there is no result set to draw', 'make bench, and bench/keep')
    # an interrupt is for this process: it waits for those that draw
    with concurrent.futures.ProcessPoolExecutor(
            initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        places = [directory / result.name for result in results]
        for result, _ in zip(results, pool.map(_draw_again, results, places)):
            say(f'report: {result.name}/index.html')
    draw_index(results, directory)
    say(f'report: {directory / "index.html"}')
