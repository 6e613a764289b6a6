"""The pages of test-results/, in Markdown: README.md has a screen for each tree, sets/README.md
every kept set, suites/README.md every run of upstream's suites, notes/README.md every note.

A screen is chosen by rule, never by figure: evidence.chosen() takes one set for each suite and
volume, and case_summary() counts all its cases and names the slowest of them.
"""
import collections

from millrace import TOP
from millrace.files import read_json
from millrace.patches.tables import table
from millrace.prove.record import verdicts
from millrace.upstream.pins import trees
from millrace_bench.report import format as text_of
from millrace_bench.report.evidence import (beside_vanilla, builds_about, chosen, gain, ratio,
                                            series_build, verdict)
from millrace_bench.report.sets import comparison, kept

PLACE = TOP / 'test-results'
EVERYTHING = 'bbe7794'    # the last commit whose test-results/ has every earlier result
NOTES = 'e0a0a72'         # has notes and sets that went since then
WORSE, NOT_HERE = 'WORSE', 'not run here'   # verdicts of tests/hostile
WRITTEN = 'Written by `make tables`.'
INTRODUCTION = f'''# Proven and measured

{WRITTEN} A screen for each tree; the full lists are in

- [sets/](sets/README.md): every kept set with every ratio; each has result.json (every figure),
  runs.csv.gz (every second and the response times of every run) and log.gz, and `make report`
  draws it
- [suites/](suites/README.md): every run of upstream's suites, each with the series of its day, and
  what was wrong where a test failed
- [proofs/](proofs/): the record behind the first table of each tree
- [hostile/](hostile/): each scenario of `make hostile`, step by step; a commit with a `+` had
  changes that were not committed yet
- [notes/](notes/README.md): records by hand, by date

Git keeps what was replaced: `git log --diff-filter=DM -- test-results/sets`. Commit {EVERYTHING}
has every earlier result, {NOTES} the notes that went.

**Measured** has one set for each suite and volume: the one that compares the whole series with
vanilla. A build with the profile goes before `plain:millrace`, which has none; then the set with
the most cases; then the newest. Each case counts once, by its main measure. The slowest case is
named, every other that is worse, and the fastest. *Patches* is how many the series had on that
day. *By itself* counts two kinds of comparison in the same way: a patch alone beside vanilla, and
the series beside the series without the patch.

A ratio is one of speed, so **above 1 is faster**: the build over vanilla, or vanilla over the
build for seconds and MiB. For *held*, above 1 is a mutex that is held for less time. In brackets
is its 95 % confidence interval; [docs/measure.md](../docs/measure.md) has the method. *no
difference*: the interval includes 1. *again*: the same case, measured later. *not compared*: one
round, so no interval.
'''
SETS = f'''# The kept sets

{WRITTEN} A row for each comparison: the newest set of each suite, volume, and
choice of builds, size and cases. A ratio is that of the build to the base, with its 95 %
confidence interval. Less is better for seconds and MiB, more for the others. *no difference
shown*: the interval includes 1. [The method](../../docs/measure.md);
[one screen a tree](../README.md).
'''
SUITES = f'''# Upstream's suites

{WRITTEN} Each run is one of `scripts/upstream-suites`, with the whole series
([how](../../docs/prove.md#upstreams-suites)). The name of a build ends in the kind of
asynchronous I/O, unless that is the server's own choice. [What was wrong where a test
failed](../notes/2026-11-26-upstream-suites.md). [One screen a tree](../README.md).
'''
NOTES_BY_HAND = f'''# Notes

{WRITTEN} Records by hand, each of the series as it was on that day.
'''


def speed(case, compared):
    """A comparison as a ratio of speed with its interval: '1.034 (1.012 – 1.056)'."""
    fast, low, high = map(text_of.ratio, gain(compared, case['better']))
    return f'{fast} ({low} – {high})'


def _again(case, build, later):
    """The ratios of the same case in later sets: ', again 1.034 (1.012 – 1.056)'."""
    return ''.join(f', again {speed(other, compared)}' for result in later
                   for other, compared in beside_vanilla(result, [build])
                   if other['name'] == case['name'])


def case_summary(compared, later=()):
    """The cells of some comparisons, [(title, case, comparison)]: how many are better, without
    a difference and worse; the slowest case with all that are worse; the fastest case."""
    ordered = sorted(compared, key=lambda each: gain(each[2], each[1]['better']))
    shown = [text_of.verdict(one, case['better']) for _, case, one in ordered]
    slow = [f'**{title} {speed(case, one)}**{_again(case, one["build"], later)}'
            for (title, case, one), verdict_of in zip(ordered, shown) if verdict_of == 'worse']
    texts = [f'{title} {speed(case, one)}' for title, case, one in ordered]
    if ordered and shown[0] != 'worse':
        slow.insert(0, texts[0])
    count = collections.Counter(shown)
    worse = count['worse']
    return [f'{count["better"]}', f'{count["no difference shown"]}',
            f'**{worse}**' if worse else '0', '; '.join(slow),
            texts[-1] if len(texts) > 1 else '–']


def averages(result, case):
    """The average of each build, of a case that has no comparison."""
    values = {build: [run['value'] for run in case['runs'] if run['build'] == build]
              for build in result.builds_of(case)}
    return ', '.join(f'{build} {text_of.number(sum(runs) / len(runs))}'
                     for build, runs in values.items())


def measured_table(results):
    """The table of measurements of a tree's screen."""
    rows = []
    for result, later in chosen(results):
        build = series_build(result)
        compared = [(case['title'], case, one) for case, one in beside_vanilla(result, [build])]
        cells = case_summary(compared, later) if compared else ['–', '–', '–', '', '–']
        named = [case['name'] for _, case, _ in compared]
        alone = [f'{case["title"]}: {averages(result, case)} {case["measure"]}, not compared'
                 for case in result.data['cases'] if case['name'] not in named]
        cells[3] = '; '.join(filter(None, [cells[3], *alone]))
        rows.append([f'[{result.data["suite"]}](sets/{result.name}/)',
                     text_of.volume(result.data), build, measured_with(result, build), *cells])
    return table(['suite', 'volume', 'build', 'patches, date', 'better:', 'no difference:',
                  'worse:', 'slowest case, and all that are worse', 'fastest case'], rows)


def measured_with(result, build):
    """How many patches a build of a set had, and the day of the set: '24, 2026-11-29'."""
    patches = next(one['patches'] for one in result.data['builds'] if one['name'] == build)
    return f'{len(patches)}, {result.data["date"][:10]}'


def by_itself(patch, results):
    """What a patch alone and left out measures: its cases in numbers, and those that are worse;
    '' where there is no such set."""
    compared = [(f'{result.data["suite"]}: {case["title"]}', case, one) for result in results
                if (builds := builds_about(result, patch))
                for case, one in beside_vanilla(result, builds)]
    if not compared:
        return ''
    better, same, worse, slow, _ = case_summary(compared)
    text = f'{better} better, {same} no difference, {worse} worse'
    return text if worse == '0' else f'{text}: {slow}'


def proofs(tree):
    """The table of what is proven of a tree's patches; those with the same cells share a row."""
    proven = verdicts(tree)
    rows = {}
    for name, of in proven.items():
        rows.setdefault(tuple(of.values()), []).append(name)
    return table(['patch', *next(iter(proven.values()), {})],
                 [[', '.join(names), *cells] for cells, names in rows.items()])


def each_by_itself(tree, results):
    """The sentence about the tree's patches by themselves."""
    parts = [f'{name}: {text}' for name in verdicts(tree) if (text := by_itself(name, results))]
    return f'By itself: {"; ".join(parts)}. No other patch was measured so.' if parts \
        else 'By itself, no patch was measured.'


def suite_runs(tree):
    """{file: {suite: its record}} of the runs of upstream's suites with a tree."""
    return {file: read_json(file)
            for file in sorted((PLACE / 'suites').glob(f'{tree}-*.json'))}


def dates(suites):
    """The days on which suites ran: '2026-11-21' or '2026-11-21 to 2026-11-26'."""
    days = sorted({suite['date'] for suite in suites})
    return ' to '.join(dict.fromkeys((days[0], days[-1])))


def suites_summary(tree):
    """Upstream's suites with a tree, a row for each kind of server; and the scenarios of
    tests/hostile, of which those failed that are worse than with vanilla."""
    kinds = {}
    for file, suites in suite_runs(tree).items():
        kind, _, way = file.stem.removeprefix(f'{tree}-').partition('-')
        row = kinds.setdefault(kind, {'ways': [], 'suites': [], 'failed': {}})
        row['ways'].append(way or 'own choice')
        row['suites'] += suites.values()
        for suite in suites.values():
            for name in suite['failed']:    # "innodb.x '4k'" is innodb.x with one page size
                row['failed'].setdefault(name.partition(' ')[0], {})[row['ways'][-1]] = None
    rows = [[kind, ', '.join(row['ways']), dates(row['suites']),
             *(f'{sum(suite[count] for suite in row["suites"]):,}'
               for count in ('passed', 'skipped')),
             '; '.join(f'**{name}** ({", ".join(ways)})' for name, ways in row['failed'].items())
             or 'none'] for kind, row in kinds.items()]
    return table(['server', 'asynchronous I/O', 'ran', 'passed, all runs:', 'skipped:', 'failed'],
                 rows + hostile_row(tree))


def hostile_row(tree):
    """The scenarios of tests/hostile as a row of suites_summary(), or none: [row]."""
    file = PLACE / 'hostile' / f'{tree}.json'
    if not file.exists():
        return [['hostile', '–', 'not run', '–', '–', '–']]
    scenarios = read_json(file)['scenarios']
    count = collections.Counter(one['verdict'] for one in scenarios.values())
    worse = [f'**{name}**' for name, one in scenarios.items() if one['verdict'] == WORSE]
    commits = ', '.join(sorted({one['commit'][:8] + '+' * one['commit'].endswith('+')
                                for one in scenarios.values()}))
    beside = ', '.join(sorted({one['builds']['vanilla'] for one in scenarios.values()
                               if one['verdict'] != NOT_HERE}))
    return [[f'hostile: series of {commits} beside {beside}', 'own choice',
             dates(scenarios.values()), str(len(scenarios) - count[WORSE] - count[NOT_HERE]),
             str(count[NOT_HERE]), '; '.join(worse) or 'none']]


def machines(results):
    """The machines of some result sets, each once."""
    return '; '.join(dict.fromkeys(text_of.machine(result.data) for result in results))


def screen(tree, results):
    """The part of test-results/README.md about a tree."""
    text = [f'## {tree}', '### Proven', proofs(tree),
            "### Upstream's suites, and hostile surroundings", suites_summary(tree)]
    if results:
        text += ['### Measured', f'On {machines(results)}.', measured_table(results),
                 each_by_itself(tree, results)]
    return '\n\n'.join(text)


def sets_table(results):
    """Every comparison of some result sets, a row each."""
    rows = []
    for result in results:
        set_link = f'[{result.name}]({result.name}/)'
        for case in result.data['cases']:
            start = [case['title'], text_of.measure(case['measure'])]
            made = [[f'{one["build"]} / {one["base"]}', ratio(one), verdict(case, one)]
                    for build in result.builds[1:] if (one := comparison(case, build))]
            if not case['comparisons']:
                made = [[averages(result, case), '–', 'not compared: one round']]
            for cells in made:
                rows.append([set_link, *start, *cells, text_of.volume(result.data)])
                set_link = ''       # once is enough
    return table(['set', 'case', 'measure', 'builds', 'ratio:', 'shows', 'volume'], rows)


def sets_of_tree(tree, results):
    """The part of test-results/sets/README.md about a tree."""
    text = [f'## {tree}', f'On {machines(results)}.']
    for title, rows in (('### The whole series', [one for one in results if one.usual]),
                        ('### Single patches, left-out patches, no profile, some cases, '
                         'other sizes', [one for one in results if not one.usual])):
        if rows:
            text += [title, sets_table(rows)]
    return '\n\n'.join(text)


def suites_of_tree(tree):
    """The part of test-results/suites/README.md about a tree."""
    rows = []
    for file, suites in suite_runs(tree).items():
        again = [name for suite in suites.values() for name in suite['passed the second time']]
        failed = [name for suite in suites.values() for name in suite['failed']]
        rows.append([f'[{file.stem.removeprefix(f"{tree}-")}]({file.name})',
                     dates(suites.values()),
                     ', '.join(f'{name} {suite["passed"]}' for name, suite in suites.items()),
                     f'{sum(suite["skipped"] for suite in suites.values())}',
                     ', '.join(again) or 'none',
                     f'**{", ".join(failed)}**' if failed else 'none'])
    return f'## {tree}\n\n' + table(['build', 'ran', 'suites, tests passed', 'skipped:',
                                     'passed when run again', 'failed'], rows)


def notes():
    """Every note with its day, the newest first."""
    files = sorted((PLACE / 'notes').glob('2*.md'), reverse=True)
    titles = [file.read_text(encoding='utf-8').partition('\n')[0].lstrip('# ') for file in files]
    return table(['date', 'note'], [[file.name[:10], f'[{title}]({file.name})']
                                    for file, title in zip(files, titles)])


def pages():
    """{file: text} of the pages of test-results/."""
    of_tree = {}
    for tree in trees():
        of_tree[tree] = [result for result in kept() if result.data['tree'] == tree]
    parts = {
        'README.md': (INTRODUCTION, [screen(tree, sets) for tree, sets in of_tree.items()]),
        'sets/README.md': (SETS, [sets_of_tree(tree, sets)
                                  for tree, sets in of_tree.items() if sets]),
        'suites/README.md': (SUITES, [suites_of_tree(tree) for tree in of_tree]),
        'notes/README.md': (NOTES_BY_HAND, [notes()])}
    return {PLACE / name: '\n'.join([begin, '\n\n'.join(texts)]) + '\n'
            for name, (begin, texts) in parts.items()}
