"""Tables of measurements in Markdown, for the pages of docs/.

scripts/tables calls measured() and profile(), and puts their texts into the pages.  overview.py
makes the pages of test-results/.
"""
import collections
import re
import textwrap

from millrace import TOP
from millrace.patches.tables import table
from millrace_bench.measure.stats import comparisons as comparisons_of
from millrace_bench.report import format as text_of
from millrace_bench.report.sets import comparison, kept

SERIES = ('millrace', 'plain:millrace')    # builds with all patches
TRAINED, UNSEEN = ('oltp', 'tpcc'), ('unseen',)    # suites that show what a profile gains, costs
FOLD = 4    # so many cases of a set without any difference are named in a line
LEGEND = ('`millrace` is the whole series. Below a tree: the ratio with its 95 % interval, bold\n'
          'if it shows a difference. Other figures: those that differ, a ratio a tree.')


def ratio(compared):
    """A ratio with its interval: '1.034 (1.012 – 1.056)'."""
    return f'{text_of.ratio(compared["ratio"])} ({text_of.interval(compared)})'


def verdict(case, compared):
    """The verdict of a comparison, in bold where a build is worse."""
    shown = text_of.verdict(compared, case['better'])
    return f'**{shown}**' if shown == 'worse' else shown


def others(case, build):
    """The compared figures of a case, besides its measure, that show a difference, each with its
    ratio: [('p99 ms', '1.12'), ('read bytes', '0.84')]."""
    return [(one['measure'].replace('_', ' '), text_of.ratio(one['ratio']))
            for one in case['comparisons'] if one['build'] == build
            and one['measure'] != case['measure'] and not one['includes_one']]


def gain(compared, better):
    """Ratio, low and high, turned so that more is better: for seconds, the base's time over the
    build's."""
    if better == 'higher':
        return compared['ratio'], compared['low'], compared['high']
    return 1 / compared['ratio'], 1 / compared['high'], 1 / compared['low']


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


def alone(build, patch):
    """Whether a build has a patch as its only one, or is the series without it."""
    return bool(re.fullmatch(rf'(plain:)?(only|without):{re.escape(patch)}', build))


def builds_about(result, patch):
    """The builds of a set whose comparisons are about a patch alone, or about leaving it out."""
    builds = [build for build in result.builds if alone(build, patch)]
    if builds and builds[0] == result.builds[0]:    # the base is without it
        return result.builds[1:]
    return builds


def series_build(result):
    """The build of a set with all patches, the one with the profile first; None where it has none
    or no vanilla to compare it with."""
    return next((build for build in SERIES
                 if {build, 'vanilla'} <= set(result.builds)), None)


def _rank(result):
    """The order in which sets of the same suite and volume are chosen, the last one first."""
    return result.whole, series_build(result) == SERIES[0], len(result.data['cases']), \
        result.data['date']


def chosen(results):
    """The sets of a tree's screen, and for each the later ones of the same suite, volume and
    build: [(set, [later set])].  The short suite is there where no other is, and no set of another
    size."""
    groups = collections.defaultdict(list)
    for result in results:
        if series_build(result) and result.usual_size:
            groups[result.data['suite'], text_of.volume(result.data)].append(result)
    volumes = [volume for _, volume in groups]
    screen = []
    for (suite, volume), group in groups.items():
        # its cases are those of others
        if suite == 'short' and volumes.count(volume) > 1:
            continue
        best = max(group, key=_rank)
        screen.append((best, [other for other in group if other.data['date'] > best.data['date']
                              and series_build(other) == series_build(best)]))
    return screen


def _shown(case, compared):
    """A ratio with its interval: in bold where they show a difference, with a word where that is
    a loss."""
    text = ratio(compared)
    if compared['includes_one']:
        return text
    worse = text_of.verdict(compared, case['better']) == 'worse'
    return f'**{text}, worse**' if worse else f'**{text}**'


def _link(result):
    """The link to a set, from a patch's page."""
    return f'[{result.data["date"][:10]}](../../test-results/sets/{result.name}/)'


def _add(groups, result, builds):
    """Adds a set to the groups of a patch's page: {(suite, volume, build / base): {'sets': {tree:
    [link]}, 'cases': {title: {tree: [(case, comparison)]}}}}.  A tree has several of a case that
    was measured again."""
    data = result.data
    for case, compared in beside_vanilla(result, builds):
        key = (data['suite'], text_of.volume(data), f'{compared["build"]} / {compared["base"]}')
        group = groups.setdefault(key, {'sets': {}, 'cases': {}})
        links = group['sets'].setdefault(data['tree'], [])
        if _link(result) not in links:
            links.append(_link(result))
        title = f'{case["title"]}, {text_of.measure(case["measure"])}'
        group['cases'].setdefault(title, {}).setdefault(data['tree'], []).append((case, compared))


def _sets_about(trees, header):
    """The sets of a patch's page, each with the builds whose comparisons it shows: those with the
    patch alone or left out, then those of the trees' screens for the suites that its header names,
    if the series had the patch."""
    results = [result for result in kept() if result.data['tree'] in trees and result.usual_size]
    for result in results:
        if builds := builds_about(result, header.name):
            yield result, builds
    for tree in trees:
        with_patch = [
            result for result in results
            if result.data['tree'] == tree and result.data['suite'] in header.suites
            and header.name in next((build['patches'] for build in result.data['builds']
                                     if build['name'] == series_build(result)), ())]
        for best, later in chosen(with_patch):
            yield from ((result, [series_build(result)]) for result in (best, *later))


def _figures(cells, trees):
    """The figures of a case, besides its measure, that differ in a tree, with each tree's ratio:
    'read requests 0.077, 0.076; cpu seconds –, 0.349'."""
    ratios = {}
    for tree, measurements in cells.items():
        case, compared = measurements[0]
        for name, value in others(case, compared['build']):
            ratios.setdefault(name, {})[tree] = value
    return '; '.join(f'{name} ' + ', '.join(of.get(tree, '–') for tree in trees)
                     for name, of in ratios.items())


def measured(trees, header):
    """The table of a patch's page, with a column for each of these trees: a row for each suite,
    volume and pair of builds, which links the sets, and below it one for each case."""
    groups = {}
    for result, builds in _sets_about(trees, header):
        _add(groups, result, builds)
    if not groups:
        return 'Not measured.' if header.suites else 'Not measured: see `Bench:` in its header.'
    same = _fold(groups)
    rows = []
    for (suite, volume, pair), group in groups.items():
        if group['cases']:
            rows.append([f'**{suite}**, {volume}: {pair}',
                         *(', again '.join(group['sets'].get(tree, ['not measured']))
                           for tree in trees), ''])
        for title, cells in group['cases'].items():
            rows.append([title, *(', again '.join(_shown(*one) for one in cells[tree])
                                  if tree in cells else '–' for tree in trees),
                         _figures(cells, trees)])
    parts = [LEGEND, table(['case', *trees, 'other figures'], rows)] if rows else []
    return '\n\n'.join(parts + same)


def _fold(groups):
    """Takes the cases without a difference in any figure out of the groups of a patch's page,
    where one has FOLD or more of them.  Returns a line for each such group, which names the
    cases."""
    lines = []
    for (suite, volume, pair), group in groups.items():
        titles = [title for title, cells in group['cases'].items()
                  if all(compared['includes_one'] and not others(case, compared['build'])
                         for measurements in cells.values() for case, compared in measurements)]
        if len(titles) >= FOLD:
            for title in titles:
                del group['cases'][title]
            cases = '; '.join(title.rsplit(', ', 1)[0] for title in titles)
            sets = ', '.join(f'{tree} {link}' for tree, links in group['sets'].items()
                             for link in links)
            lines.append(textwrap.fill(
                f'{text_of.SAME.capitalize()} in {suite}, {volume}, {pair} ({sets}): {cases}.',
                99, break_long_words=False, break_on_hyphens=False))
    return lines


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
                                 _link(result)])
    return '\n\n'.join([
        table(['tree', 'release', 'trained', 'compiler', 'seconds'], facts),
        'millrace, with patches and profile, beside vanilla, which has neither:',
        table(['load', 'tree', 'case', 'ratio:', 'shows', 'user ms per transaction:', 'set'],
              rows)])
