"""Tables of Markdown: what is proven and measured, for test-results/README.md and the pages.

scripts/tables calls overview(), measured() and profile(), and puts their texts into the files.
"""
import json
import re

from millrace import TOP
from millrace.patches.tables import table
from millrace.prove.record import verdicts
from millrace.upstream.pins import trees
from millrace_bench.measure.stats import comparisons as comparisons_of
from millrace_bench.report import format as text_of
from millrace_bench.report.sets import comparison, kept

EVERYTHING = 'bbe7794'    # the last commit whose test-results/ has every earlier result
SERIES = ('millrace', 'plain:millrace')    # builds with all patches
TRAINED, UNSEEN = ('oltp', 'tpcc'), ('unseen',)    # suites that show what a profile gains, costs
INTRODUCTION = f'''# Proven and measured

Written by `make tables`. Each table of measurements has the kept result sets, the newest of each
suite, volume and choice of builds; [docs/measure.md](../docs/measure.md) has the method. A ratio
is that of the build to the base, with its 95 % confidence interval. Less is better for seconds
and MiB, more for the others. *no difference shown*: the interval includes 1.

- [sets/](sets/): a directory each, with result.json (every figure), runs.csv.gz (every second
  and the response times of every run) and log.gz; `make report` draws them
- [notes/](notes/): records by hand, by date
- [proofs/](proofs/), [suites/](suites/): the records behind the first two tables of each tree
- Commit {EVERYTHING} has every earlier result: `git show {EVERYTHING}:test-results/`
'''


def ratio(compared):
    """A ratio with its interval: '1.034 (1.012 – 1.056)'."""
    return f'{text_of.ratio(compared["ratio"])} ({text_of.interval(compared)})'


def verdict(case, compared):
    """What a comparison shows; a difference for the worse stands out."""
    shown = text_of.verdict(compared, case['better'])
    return f'**{shown}**' if shown == 'worse' else shown


def others(case, build):
    """The compared figures of a case, besides its measure, that show a difference: 'p99 ms
    1.12; read bytes 0.84'."""
    return '; '.join(f'{one["measure"].replace("_", " ")} {text_of.ratio(one["ratio"])}'
                     for one in case['comparisons'] if one['build'] == build
                     and one['measure'] != case['measure'] and not one['includes_one'])


def comparisons(result, builds=None):
    """(case, comparison) for each case of a set and each of its builds, or of those given."""
    return [(case, compared) for case in result.data['cases']
            for build in builds or result.builds[1:]
            if (compared := comparison(case, build))]


def beside_vanilla(result, builds):
    """Like comparisons(), but with vanilla where the set has it, whatever its base is."""
    if result.builds[0] == 'vanilla' or 'vanilla' not in result.builds:
        return comparisons(result, builds)
    compared = []
    for case in result.data['cases']:
        figures = dict.fromkeys(one['measure'] for one in case['comparisons'])
        measures = {name: lambda run, name=name: run['figures'].get(name) for name in figures}
        measures[case['measure']] = lambda run: run['value']
        case = {**case, 'comparisons': comparisons_of(case['runs'], 'vanilla', builds, measures)}
        compared += [(case, one) for build in builds if (one := comparison(case, build))]
    return compared


def averages(result, case):
    """The average of each build, of a case that has no comparison."""
    values = {build: [run['value'] for run in case['runs'] if run['build'] == build]
              for build in result.builds_of(case)}
    return ', '.join(f'{build} {text_of.number(sum(runs) / len(runs))}'
                     for build, runs in values.items())


def sets_table(results):
    """The comparisons of some result sets, a row each."""
    rows = []
    for result in results:
        set_link = f'[{result.name}](sets/{result.name}/)'
        for case, compared in comparisons(result):
            rows.append([set_link, case['title'], text_of.measure(case['measure']),
                         f'{compared["build"]} / {compared["base"]}', ratio(compared),
                         verdict(case, compared), text_of.volume(result.data)])
            set_link = ''       # once is enough
        for case in result.data['cases']:
            if not case['comparisons']:
                rows.append([set_link, case['title'], text_of.measure(case['measure']),
                             averages(result, case), '–', 'not compared: one round',
                             text_of.volume(result.data)])
                set_link = ''
    return table(['set', 'case', 'measure', 'builds', 'ratio:', 'shows', 'volume'], rows)


def proofs(tree):
    """What is proven of each patch of a tree as it is now."""
    proven = verdicts(tree)
    columns = list(next(iter(proven.values()), {}))
    return table(['patch', *columns], [[name, *(of[column] for column in columns)]
                                       for name, of in proven.items()])


def upstream_suites(tree):
    """Upstream's test suites that ran with the series, a row for each kind of build."""
    rows = []
    for file in sorted((TOP / 'test-results/suites').glob(f'{tree}-*.json')):
        suites = json.loads(file.read_text(encoding='utf-8'))
        again = [name for suite in suites.values() for name in suite['passed the second time']]
        failed = [name for suite in suites.values() for name in suite['failed']]
        rows.append([f'[{file.stem.removeprefix(f"{tree}-")}](suites/{file.name})',
                     ', '.join(f'{name} {suite["passed"]}' for name, suite in suites.items()),
                     f'{sum(suite["skipped"] for suite in suites.values())}',
                     ', '.join(again) or 'none',
                     f'**{", ".join(failed)}**' if failed else 'none'])
    return table(['build', 'suites, tests passed', 'skipped:', 'passed when run again',
                  'failed'], rows)


def machines(results):
    """The machines of some result sets, each once."""
    return list(dict.fromkeys(text_of.machine(result.data) for result in results))


def of_tree(tree, results):
    """The part of test-results/README.md about a tree."""
    series = [result for result in results if result.usual]
    parts = [result for result in results if not result.usual]
    text = [f'## {tree}', '### Proven', proofs(tree), "### Upstream's suites",
            upstream_suites(tree)]
    if results:
        text += ['### Measured', f'On {"; ".join(machines(results))}.']
    if series:
        text.append(sets_table(series))
    if parts:
        text += ['Single patches, left-out patches, and builds without the profile:',
                 sets_table(parts)]
    return '\n\n'.join(text)


def overview():
    """The text of test-results/README.md."""
    results = kept()
    return '\n'.join([INTRODUCTION, '\n\n'.join(
        of_tree(tree, [result for result in results if result.data['tree'] == tree])
        for tree in trees())]) + '\n'


def alone(build, patch):
    """Whether a build has a patch as its only one, or is the series without it."""
    return bool(re.fullmatch(rf'(plain:)?(only|without):{re.escape(patch)}', build))


def _rows(result, builds):
    """Rows for the page of a patch."""
    data = result.data
    for case, compared in beside_vanilla(result, builds):
        figures = others(case, compared['build'])
        what = f'{data["suite"]}: {case["title"]}, {text_of.measure(case["measure"])}'
        yield [data['tree'], what, f'{compared["build"]} / {compared["base"]}', ratio(compared),
               verdict(case, compared), figures or 'none', text_of.volume(data),
               f'[{data["date"][:10]}](../../test-results/sets/{result.name}/)']


def _about(result):
    """What a set measures: its tree, suite and limit."""
    return result.data['tree'], result.data['suite'], result.data['limit']


def measured(tree_names, header):
    """The table of a patch's page, for these trees: sets with the patch alone or left out, then
    the series' sets of the suites that its header names, with the profile where there are such.
    """
    results = [result for result in kept() if result.data['tree'] in tree_names]
    rows = []
    for result in results:
        builds = [build for build in result.builds if alone(build, header.name)]
        if builds and builds[0] == result.builds[0]:    # the base is without it
            builds = result.builds[1:]
        if builds:
            rows += _rows(result, builds)
    for result in results:
        builds = [build for build in result.builds[1:] if build in SERIES]
        better = (other.usual and _about(other) == _about(result) for other in results)
        if builds and result.data['suite'] in header.suites and 'vanilla' in result.builds \
                and (result.usual or not any(better)):
            rows += _rows(result, builds)
    if not rows:
        return 'Not measured.' if header.suites else 'Not measured: see `Bench:` in its header.'
    return table(['tree', 'case', 'builds', 'ratio:', 'shows',
                  'other figures that differ, ratios', 'volume', 'set'], rows)


def profile():
    """The tables of docs/design/profile.md: the profiles, what they gain and what they cost."""
    facts = []
    for file in sorted((TOP / 'trees').glob('*/profile-*.txt')):
        record = dict(line.split(': ', 1) for line in
                      file.read_text(encoding='utf-8').splitlines() if ': ' in line)
        facts.append([file.parent.name, record['release'], record['date'], record['compiler'],
                      record['seconds']])
    results = kept()
    rows = []
    for suites, kind in ((TRAINED, 'trained'), (UNSEEN, 'not trained')):
        for result in results:
            if result.usual and result.data['suite'] in suites:
                for case, compared in comparisons(result, ['millrace']):
                    figure = comparison(case, 'millrace', 'user_ms_per_transaction')
                    rows.append([kind, result.data['tree'],
                                 f'{result.data["suite"]}: {case["title"]}', ratio(compared),
                                 verdict(case, compared), ratio(figure) if figure else '–',
                                 f'[{result.data["date"][:10]}]'
                                 f'(../../test-results/sets/{result.name}/)'])
    return '\n\n'.join([
        table(['tree', 'release', 'trained', 'compiler', 'seconds'], facts),
        'millrace, with patches and profile, beside vanilla, which has neither:',
        table(['load', 'tree', 'case', 'ratio:', 'shows', 'user ms per transaction:', 'set'],
              rows)])
