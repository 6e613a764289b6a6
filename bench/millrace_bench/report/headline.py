"""The headline picture: the ratios of millrace to vanilla, a row for each tree, suite and volume.

An SVG from templates/headline.svg, which draws every case as a dot on its confidence interval,
on a logarithmic axis: gains, losses and no difference shown in three colours.
"""
import math

from millrace.errors import Failure
from millrace.upstream.pins import trees
from millrace_bench.report import format as text_of
from millrace_bench.report.evidence import chosen, gain
from millrace_bench.report.sets import comparison, kept, place
from millrace_bench.report.templates import render

BASE, BUILD = 'vanilla', 'millrace'
WIDTH, LEFT, RIGHT, ROW = 420, 150, 326, 19    # of the picture, the axis, and a row, in pixels
# the first ones are preferred where there is no room for all
TICKS = (10, 5, 2, 20, 50, 0.5, 0.2, 0.1, 3, 1.5, 0.7, 1.2, 0.8, 1.1, 0.9)
LABEL = 'Speed of millrace beside vanilla, a row a tree, suite and volume'
KINDS = {'better': 'gain', 'worse': 'loss', 'no difference shown': 'none'}


class Axis:
    """A logarithmic axis over some ratios, 1 among them."""

    def __init__(self, ratios):
        self.low = math.log(min([*ratios, 0.9]) / 1.04)
        self.high = math.log(max([*ratios, 1.1]) * 1.04)

    def place(self, ratio):
        """Where a ratio is; beyond the ends, the end."""
        share = (math.log(ratio) - self.low) / (self.high - self.low)
        return round(LEFT + min(max(share, 0), 1) * (RIGHT - LEFT), 1)

    def ticks(self):
        """(ratio, place) of ticks that stand far enough from each other, 1 among them."""
        chosen = [(1, self.place(1))]
        for tick in TICKS:
            if self.low < math.log(tick) < self.high and all(
                    abs(self.place(tick) - place_of) > 24 for _, place_of in chosen):
                chosen.append((tick, self.place(tick)))
        return chosen


def claims(result):
    """(case, comparison, gain) of each case of a set that compares millrace with vanilla."""
    return [(case, compared, gain(compared, case['better'])) for case in result.data['cases']
            if (compared := comparison(case, BUILD)) and compared['base'] == BASE]


def row(result, axis):
    """The row of a set: its label, dots and range, and losses as texts."""
    data, dots, losses = result.data, [], []
    for case, compared, (ratio, low, high) in claims(result):
        kind = KINDS[text_of.verdict(compared, case['better'])]
        dots.append({'kind': kind, 'x': axis.place(ratio), 'low': axis.place(low),
                     'high': axis.place(high)})
        if kind == 'loss':
            losses.append(f'{case["name"]} {text_of.ratio(ratio)} '
                          f'({text_of.ratio(low)} – {text_of.ratio(high)}): slower')
    ratios = [ratio for _, _, (ratio, _, _) in claims(result)]
    ends = list(dict.fromkeys(text_of.ratio(end) for end in (min(ratios), max(ratios))))
    short = data['limit'].get('volume') or text_of.volume(data)    # there is no room for more
    label = data['suite'] + (f', {short}' if data['limit']['iops'] else '')
    part = result.name.partition('+')[2]
    return {'label': label + (f', {part} again' if part else ''), 'losses': losses,
            # what shows no difference lies below what shows one
            'dots': sorted(dots, key=lambda dot: dot['kind'] != 'none'),
            'range': ' – '.join(ends)}


def picture(results):
    """The text of the SVG for some result sets.  Raises Failure where one is not fit for it."""
    for result in results:
        if not result.data['complete']:
            raise Failure(f'{result.name}: incomplete: {result.data["error"]}',
                          'measure it again with make bench')
        if not claims(result):
            raise Failure(f'{result.name}: does not compare {BUILD} with {BASE} in two rounds',
                          f'make bench BUILDS="{BASE} {BUILD}"')
    if not results:
        raise Failure('there is no result set to draw', 'make bench, and bench/keep')
    # an interval may be far wider than its ratio: it is cut off at the ends of the axis
    axis = Axis([ratio for result in results for _, _, (ratio, _, _) in claims(result)])
    parts, y = [], 84
    for tree in dict.fromkeys(result.data['tree'] for result in results):
        chosen = sorted((result for result in results if result.data['tree'] == tree), key=place)
        part = {'title': f'MariaDB {chosen[0].data["version"]}', 'y': y, 'rows': []}
        for result in chosen:
            y += ROW
            one = {**row(result, axis), 'y': y}
            y += 13 * len(one['losses'])
            part['rows'].append(one)
        y += 34
        parts.append({**part, 'end': y - 24})
    machines = dict.fromkeys(text_of.machine(result.data) for result in results)
    return render('headline.svg', width=WIDTH, height=y + 20 + 12 * len(machines), left=LEFT,
                  right=RIGHT, label=LABEL, parts=parts, ticks=axis.ticks(), bottom=y - 8,
                  machines=list(machines))


def usual_sets():
    """The sets of vanilla and millrace on the trees' screens, and later ones of the same: but for
    `held`, which measures no speed."""
    return [result for tree in trees()
            for best, later in chosen(each for each in kept() if each.data['tree'] == tree)
            for result in (best, *later) if result.usual and result.data['suite'] != 'held']


def block():
    """The lines of README.md between `<!-- headline -->` and `<!-- /headline -->`."""
    return (f'![{LABEL}](docs/headline.svg)\n\nEvery ratio with its interval: '
            '[test-results/](test-results/README.md); the method:\n'
            '[docs/measure.md](docs/measure.md).')
