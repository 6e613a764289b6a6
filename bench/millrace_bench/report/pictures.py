"""The pictures of a result set: each function draws one, and returns its figure, or None where
there is nothing to draw."""
import math

from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from millrace_bench.measure.stats import histogram_percentile
from millrace_bench.report import format as text_of
from millrace_bench.report.canvas import MARGIN, TEXT, Canvas, fitted, text_width
from millrace_bench.report.sets import comparison
from millrace_bench.report.style import GRID, INK, MUTED, PAPER, build_styles

POINTS = 80          # steps of a line over time, at most
PER_DECADE = 20      # bars of a histogram
CROWD = 4            # from so many builds on, areas would only hide each other


def foot(result, case=None):
    """The lines under a picture: suite, release, date and machine."""
    data = result.data
    what = f'{data["suite"]}, release {data["version"]}, {data["date"][:10]}'
    return [f'{what}, {text_of.rounds(case)}' if case else what,
            text_of.machine(data) + text_of.limit(data)]


def looks(result, builds):
    """Colour and marker of some builds, in the order of the record."""
    return {build: look for build, look in build_styles(result.builds).items() if build in builds}


def average(result, case):
    """Bars of each build's average, with every run on them."""
    values = {build: [run['value'] for run in case['runs'] if run['build'] == build]
              for build in result.builds_of(case)}
    if not values:
        return None
    canvas = Canvas(f'{case["title"]}: average')
    canvas.note(f'{text_of.measure(case["measure"])}, {case["better"]} is better; marks: each '
                'run, line: lowest to highest')
    scale = canvas.inner / (max(map(max, values.values())) * 1.02 or 1)
    for build, (colour, _) in looks(result, values).items():
        mean = sum(values[build]) / len(values[build])
        canvas.y += 20
        canvas.text(MARGIN, build)
        canvas.right(text_of.number(mean), weight='bold')
        middle = canvas.y + 10.5
        canvas.box(MARGIN, middle - 5.5, canvas.inner, 11, GRID, alpha=0.5)
        canvas.box(MARGIN, middle - 5.5, mean * scale, 11, colour)
        places = [MARGIN + value * scale for value in values[build]]
        # ink on a rim of paper stands out on bar and ground alike
        for ink, rim in ((PAPER, 2), (INK, 0)):
            canvas.line([min(places), max(places)], [middle] * 2, color=ink, linewidth=1.1 + rim)
            canvas.line(places, [middle] * len(places), linestyle='', marker='|',
                        markersize=7 + rim / 2, markeredgewidth=1.1 + rim, markeredgecolor=ink)
        canvas.y += 16
    return canvas.finish(foot(result, case))


def ratios(result, cases):
    """The ratio to the base of each build in each of some cases of one measure: a point with its
    confidence interval, over small marks of the pairs."""
    rows = [(case, compared) for case in cases
            if (compared := [one for build in result.builds
                             if (one := comparison(case, build))])]
    if not rows:
        return None
    every = [one for _, compared in rows for one in compared]
    base, confidence = every[0]['base'], every[0]['confidence']
    styles = build_styles(result.builds)
    canvas = Canvas(f'{result.data["suite"]}: beside {base}')
    direction = 'right' if cases[0]['better'] == 'higher' else 'left'
    canvas.note(f'{text_of.measure(cases[0]["measure"])} as a ratio to {base}, pair by pair: '
                f'further {direction} is better. Line: {confidence:.0%} confidence interval; '
                'small marks: pairs; hollow: the interval includes 1.')
    ends = [end for one in every for end in (one['low'], one['high'], *one['pairs'])]
    # wide enough that noise does not look like a difference
    low, high = math.log(min([*ends, 0.95])), math.log(max([*ends, 1.05]))
    left, right = MARGIN + 6, canvas.width - MARGIN - 6
    ticks = ratio_ticks(math.exp(low), math.exp(high))

    def place(value):
        return left + (math.log(value) - low) / (high - low) * (right - left)

    for case, compared in rows:
        canvas.y += 26
        canvas.text(MARGIN, fitted(case['title'], canvas.inner, TEXT, True), weight='bold')
        for one in compared:
            colour, marker = styles[one['build']]
            canvas.y += 17
            figures = f'{text_of.ratio(one["ratio"])} ({text_of.interval(one)})' \
                + (' includes 1' if one['includes_one'] else '')
            canvas.right(figures)
            canvas.text(MARGIN, fitted(one['build'], canvas.inner - text_width(figures) - 8))
            middle = canvas.y + 10
            for tick in ticks:
                canvas.line([place(tick)] * 2, [middle - 6, middle + 6],
                            color=INK if tick == 1 else GRID, linewidth=1.2 if tick == 1 else 0.8)
            canvas.line([place(one['low']), place(one['high'])], [middle] * 2, color=colour,
                        linewidth=2)
            canvas.line([place(pair) for pair in one['pairs']], [middle] * len(one['pairs']),
                        linestyle='', marker='|', markersize=6, markeredgecolor=colour,
                        markeredgewidth=0.8)
            canvas.line([place(one['ratio'])], [middle], linestyle='', marker=marker,
                        markersize=6.5, markeredgecolor=colour, markeredgewidth=1.6,
                        markerfacecolor=PAPER if one['includes_one'] else colour)
            canvas.y += 17
    canvas.y += 14
    for tick in ticks:
        canvas.text(place(tick), f'{tick:g}', size=TEXT - 1, color=INK if tick == 1 else MUTED,
                    ha='center')
    return canvas.finish(foot(result, rows[0][0]))


def ratio_ticks(low, high):
    """A few round ratios from low to high, 1 among them."""
    if high / low < 2.5:
        for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
            first, last = math.ceil(low / step), math.floor(high / step)
            if last - first < 7:
                return [round(n * step, 2) for n in range(first, last + 1)]
    bases = (1, 1.5, 2, 3, 5, 7) if high / low < 10 else (1, 2, 5) if high / low < 60 else (1,)
    return [tick for power in range(-4, 6) for base in bases
            if low <= (tick := round(base * 10 ** power, 5)) <= high]


def over_time(result, case, columns):
    """The lines over time, {(build, column): line}, and their length in seconds.

    A line is its seconds, and mean, lowest and highest value of all rounds, in at most POINTS
    steps."""
    rows, length = {}, 0
    for build, second, *values in result.rows(case, ('second', *columns)):
        rows.setdefault(build, []).append((second, *values))
        length = max(length, second)
    step = max(1, math.ceil(length / POINTS))
    drawn = {}
    for build, several in rows.items():
        for place, column in enumerate(columns, 1):
            bins = {}
            for row in several:
                bins.setdefault(math.ceil(row[0] / step), []).append(row[place])
            steps = sorted(bins)
            if steps:
                drawn[build, column] = ([(one - 0.5) * step for one in steps],
                                        [sum(bins[one]) / len(bins[one]) for one in steps],
                                        [min(bins[one]) for one in steps],
                                        [max(bins[one]) for one in steps])
    return drawn, length


def throughput(result, case):
    """Throughput over time of each build on one axis."""
    drawn, length = over_time(result, case, ('value',))
    if not drawn:
        return None
    styles = looks(result, {build for build, _ in drawn})
    canvas = Canvas(f'{case["title"]}: over time')
    canvas.legend(styles)
    what = 'rows/s' if case['measure'] == 'rows/s' else 'transactions/s'
    canvas.note(f'{what}; mean of all rounds'
                + ('' if len(styles) > CROWD else '; band: lowest to highest'))
    axes = canvas.axes(150)
    for build, (colour, _) in styles.items():
        seconds, mean, low, high = drawn[build, 'value']
        if len(styles) <= CROWD:
            axes.fill_between(seconds, low, high, color=colour, alpha=0.16, linewidth=0)
        line(axes, seconds, mean, colour, 1.6)
    seconds_axis(canvas, axes, length)
    axes.set_ylim(bottom=0)
    return canvas.finish(foot(result, case))


def line(axes, seconds, values, colour, width):
    """A line over time; of a single second, a dot."""
    axes.plot(seconds, values, color=colour, linewidth=width,
              marker='o' if len(seconds) == 1 else None, markersize=4)


def seconds_axis(canvas, axes, length, labelled=True):
    """Seconds from 0 along the bottom."""
    axes.set_xlim(0, length)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 3, 5, 6, 10]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f'{value:g} s' if labelled else ''))
    canvas.y += 14 if labelled else 2


PANELS = (('cpu', 100, 'CPU used, % of all cores'),
          ('read_bytes', 1e-6, 'read by the server, MB/s'),
          ('write_bytes', 1e-6, 'written by the server, MB/s'))


def cpu_and_disk(result, case):
    """CPU and disk use over time, one below the other."""
    drawn, length = over_time(result, case, [column for column, _, _ in PANELS])
    if not drawn:
        return None
    styles = looks(result, {build for build, _ in drawn})
    highest = {column: factor * max(max(drawn[build, column][1]) for build in styles)
               for column, factor, _ in PANELS}
    used = [column for column, _, _ in PANELS if highest[column]]
    canvas = Canvas(f'{case["title"]}: CPU and disk')
    canvas.legend(styles)
    for column, factor, title in PANELS:
        canvas.y += 4
        if column not in used:
            canvas.note(f'{title}: none')
            continue
        canvas.note(title)
        axes = canvas.axes(54)
        for build, (colour, _) in styles.items():
            seconds, mean = drawn[build, column][:2]
            line(axes, seconds, [value * factor for value in mean], colour, 1.4)
        if column == 'cpu':
            axes.yaxis.set_major_locator(FixedLocator([0, 50, 100]))
            axes.set_ylim(0, 104)
        else:
            axes.yaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 2.5, 5, 10]))
            axes.set_ylim(0, highest[column] * 1.1)
        seconds_axis(canvas, axes, length, labelled=column == used[-1])
    return canvas.finish(foot(result, case))


def response_times(result, case):
    """Histograms of response times, on a logarithmic axis."""
    counts = {}
    for build, bound, count in result.rows(case, ('ms', 'count')):
        bins = counts.setdefault(build, {})
        bins[bound] = bins.get(bound, 0) + count
    if not counts:
        return None
    styles = looks(result, counts)
    canvas = Canvas(f'{case["title"]}: response times')
    canvas.legend(styles)
    canvas.note('share of the requests, %, by response time, ms; dotted: 99 % were faster')
    axes = canvas.axes(150)
    ends = []
    for build, (colour, _) in styles.items():
        total, shares = sum(counts[build].values()), {}
        for bound, count in counts[build].items():
            # a bound is the upper end of its bucket
            place = math.ceil(math.log10(bound) * PER_DECADE - 1e-6)
            shares[place] = shares.get(place, 0) + 100 * count / total
        places = range(min(shares), max(shares) + 1)
        edges = [10 ** (place / PER_DECADE) for place in (places[0] - 1, *places)]
        heights = [shares.get(place, 0) for place in places]
        if len(styles) <= CROWD:
            axes.stairs(heights, edges, color=colour, alpha=0.12, fill=True)
        axes.stairs(heights, edges, color=colour, linewidth=1.5)
        axes.axvline(histogram_percentile(sorted(counts[build].items()), 0.99), color=colour,
                     linewidth=1.3, linestyle=(0, (1, 1.6)))
        ends += [edge for height, *both in zip(heights, edges, edges[1:]) if height >= 0.02
                 for edge in both]
    axes.set_xscale('log')
    axes.set_xlim(min(ends) / 1.1, max(ends) * 1.1)
    subs = (1, 2, 5) if max(ends) / min(ends) < 300 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text_of.short(value)))
    axes.set_ylim(bottom=0)
    canvas.y += 14
    return canvas.finish(foot(result, case))
