"""The headline picture: what the builds gain over the base, suite by suite, in one look."""
import os
import re
from pathlib import Path

from millrace_bench.errors import BenchError

from . import svg, words
from .draw import write_whole
from .results import ResultSet, comparison
from .sheet import MARGIN, SMALL, TEXT, Sheet, fitted, text_width
from .style import GRID, INK, MUTED, PAPER, build_styles

WIDTH = 420


def rows_of(result, builds):
    """The cases of a result set that compare some of the builds, each with its comparisons."""
    return [(case, found) for case in result.data['cases']
            if (found := [one for build in builds if (one := comparison(case, build))])]


def gain(found, better):
    """Ratio, low and high, turned so that more is better: for seconds, the base's time over the build's."""
    if better == 'higher':
        return found['ratio'], found['low'], found['high']
    return 1 / found['ratio'], 1 / found['high'], 1 / found['low']


def figure(results):
    """Draws the headline of some result sets with the same base: the builds that all of them have."""
    base = results[0].builds[0]
    for result in results:
        if result.builds[0] != base:
            raise BenchError(f'{result.name}: compared with {result.builds[0]}, but {results[0].name} with {base}',
                             'name result sets that have the same first build')
        if not result.data['complete']:
            raise BenchError(f'{result.name}: incomplete: {result.data["error"]}', 'measure it again with make bench')
    builds = [build for build in results[0].builds[1:] if all(build in result.builds for result in results)]
    rows = {result.name: rows_of(result, builds) for result in results}
    gains = [gain(one, case['better']) for several in rows.values() for case, found in several for one in found]
    if not gains:
        raise BenchError('nothing to compare in ' + ', '.join(result.name for result in results),
                         'name result sets with two builds and two rounds or more')
    sheet = Sheet(f'Speed beside {base}', WIDTH)
    styles = build_styles([base, *builds])
    sheet.legend({build: styles[build] for build in builds})
    confidence = next(one['confidence'] for several in rows.values() for _, found in several for one in found)
    sheet.note(f'{base} is 1, more is faster. Bars: geometric mean of the ratios, pair by pair; lines: {confidence:.0%} confidence '
               'interval; pale: the interval includes 1, no difference shown.')
    left, right = MARGIN, WIDTH - MARGIN - text_width('1.000 (1.000–1.000)', SMALL) - 8
    # an interval may be far wider than what was found
    top = max(1.1, *(min(high, 1.5 * ratio) for ratio, _, high in gains)) * 1.01
    step = next(step for step in (0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100) if top / step < 7)
    ticks = sorted({1, *(round(step * n, 2) for n in range(int(top / step) + 1))})

    def place(value):
        return left + min(value, top) / top * (right - left)

    for result in results:
        if not rows[result.name]:
            continue
        sheet.y += 28
        suite = result.data['suite']
        sheet.text(MARGIN, suite, weight='bold')
        used = text_width(suite, TEXT, True) + 10
        sheet.text(MARGIN + used, fitted(caption(result), sheet.inner - used, SMALL), size=SMALL, color=MUTED)
        for case, found in rows[result.name]:
            sheet.y += 18
            sheet.text(MARGIN, fitted(case['title'], sheet.inner))
            begin = sheet.y = sheet.y + 3
            for one in found:
                ratio, low, high = gain(one, case['better'])
                colour, pale = styles[one['build']][0], one['includes_one']
                sheet.y += 13
                sheet.box(left, sheet.y - 10, place(ratio) - left, 10, PAPER)
                sheet.box(left, sheet.y - 10, place(ratio) - left, 10, colour, alpha=0.35 if pale else 1)
                for ink, rim in ((PAPER, 2), (INK, 0)):
                    sheet.line([place(low), place(high)], [sheet.y - 5] * 2, color=ink, linewidth=1.1 + rim, zorder=3)
                sheet.text(right + 8, f'{words.ratio(ratio)} ({words.ratio(low)}–{words.ratio(high)})', y=sheet.y - 2,
                           size=SMALL, color=MUTED if pale else INK)
            for tick in ticks:
                sheet.line([place(tick)] * 2, [begin, sheet.y + 3], color=INK if tick == 1 else GRID,
                           linewidth=1.2 if tick == 1 else 0.8, zorder=2 if tick == 1 else 0)
    sheet.y += 16
    for tick in ticks:
        if tick == 1 or abs(place(tick) - place(1)) > 14:
            sheet.text(place(tick), f'{tick:g}', size=TEXT - 1, color=INK if tick == 1 else MUTED,
                       ha='left' if tick == 0 else 'center')
    machines = list(dict.fromkeys(words.machine({**result.data, 'limit': {'iops': None}}) for result in results))
    return sheet.finish([' / '.join(dict.fromkeys(f'release {result.data["version"]}' for result in results)) + ', '
                         + ' / '.join(dict.fromkeys(result.data['date'][:10] for result in results)), ' / '.join(machines)])


def caption(result):
    """What one suite's rows are, in a few words."""
    parts = list(dict.fromkeys(words.measure(case['measure']) for case in result.data['cases']))
    rounds = {words.rounds(case) for case in result.data['cases']}
    return ', '.join([*parts, *(rounds if len(rounds) == 1 else [])]) + words.limit(result.data)


def write(top, paths):
    """Writes docs/headline.svg from result sets, and the lines about it in README.md, between
    `<!-- headline -->` and `<!-- /headline -->`."""
    results = [ResultSet(path) for path in paths]
    label = f'Speed beside {results[0].builds[0]}, suite by suite, with confidence intervals'
    text = svg.render(figure(results), 'headline', label)
    sets = ', '.join(f'[{result.data["suite"]}{words.limit(result.data)}]({os.path.relpath(result.path.resolve(), top)}/index.html)' for result in results)
    lines = f'![{label}](docs/headline.svg)\n\nMeasured: {sets}; how: [docs/benchmarks.md](docs/benchmarks.md).'
    readme = Path(top) / 'README.md'
    old = readme.read_text(encoding='utf-8')
    new, count = re.subn(r'(<!-- headline -->\n).*?(<!-- /headline -->)', lambda match: f'{match[1]}{lines}\n{match[2]}', old,
                         flags=re.DOTALL)
    if count != 1:
        raise BenchError('README.md: no place for the headline', 'put these two lines where it shall stand:',
                         '<!-- headline -->', '<!-- /headline -->')
    write_whole(Path(top) / 'docs/headline.svg', text)
    write_whole(readme, new)
