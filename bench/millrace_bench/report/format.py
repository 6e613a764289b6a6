"""Numbers and verdicts as text, the same in pictures, pages and tables."""
from millrace_bench.suites import SUITES

SAME = 'no difference shown'    # the verdict where the interval includes 1


def number(value):
    """A number for people: three or four significant digits."""
    if value is None:
        return '–'
    size = abs(value)
    if size >= 1e9:
        return f'{value / 1e9:,.3g} G'
    if size >= 1e6:
        return f'{value / 1e6:,.3g} M'
    if size >= 1000 or value == int(value):
        return f'{value:,.0f}'
    return f'{value:.1f}' if size >= 100 else f'{value:.3g}'


def short(value):
    """A number beside an axis: 12k, 1.5M."""
    for size, by, unit in ((1e9, 1e9, 'G'), (1e6, 1e6, 'M'), (1e4, 1e3, 'k')):
        if abs(value) >= size:
            return f'{value / by:g}{unit}'
    return f'{value:,g}' if abs(value) >= 1 else f'{value:.3g}'


def amount(bytes_):
    """An amount of memory or data."""
    for unit in ('B', 'KiB', 'MiB', 'GiB'):
        if bytes_ < 1024:
            return f'{bytes_:.3g} {unit}'
        bytes_ /= 1024
    return f'{bytes_:.3g} TiB'


def measure(name):
    """The name of a measure or figure: 'p99_ms' is 'p99, ms'."""
    for end, unit in (('_ms', 'ms'), ('_seconds', 's'), ('_bytes', 'bytes')):
        if name.endswith(end):
            return f'{name[:-len(end)].replace("_", " ")}, {unit}'
    return name.replace('_', ' ')


def ratio(value):
    """A ratio: 1.034, 12.3."""
    return f'{value:.3f}' if value < 10 else f'{value:.3g}'


def interval(compared):
    """A comparison's interval: '1.012 – 1.056'."""
    return f'{ratio(compared["low"])} – {ratio(compared["high"])}'


def change(compared):
    """A ratio as a difference: '+3.1 %', '−12 %', '2.4 times'."""
    if compared['ratio'] >= 2:
        return f'{compared["ratio"]:.3g} times'
    return f'{(compared["ratio"] - 1) * 100:+.1f}\u00a0%'.replace('-', '−')


def verdict(compared, better):
    """The verdict of a comparison: 'better', 'worse' or SAME."""
    if compared['includes_one']:
        return SAME
    return 'better' if (compared['ratio'] > 1) == (better == 'higher') else 'worse'


def subject(suite):
    """The title of a suite; empty for one that was removed."""
    return SUITES[suite].title if suite in SUITES else ''


def volume(data):
    """The volume that was measured: 'local disk', or its name and what it was held to."""
    limits = data['limit']
    if not limits['iops']:
        return 'local disk'
    text = f'{limits["iops"]:,} IOPS'
    if name := limits.get('volume'):
        return f'{name}: {text}, {limits["bandwidth"] / 1e6:g} MB/s, {limits["ms"]:g} ms'
    return text


def limit(data):
    """The limit of the storage as a further part of a list; empty where it had none."""
    return f', held to {volume(data)}' if data['limit']['iops'] else ''


def machine(data):
    """The machine in one line."""
    m = data['machine']
    return (f'{m["cores"]} cores, {amount(m["memory_bytes"])}, {m["cpu"]}, '
            f'{m["disk"]["filesystem"]}')


def seconds(value):
    """How long a run took, without its unit."""
    return f'{value:.0f}' if value >= 10 else f'{value:.2g}'


def rounds(case):
    """How long and how often: '3 rounds of 60 s'."""
    if not case['runs']:
        return 'not run'
    turns = len({run['round'] for run in case['runs']})
    longest, shortest = (f(run['seconds'] for run in case['runs']) for f in (max, min))
    length = seconds(longest)
    if longest - shortest > 0.05 * longest + 1 or longest > 2 * shortest:
        length = f'{seconds(shortest)} to {length}'
    return f'{turns} round{"s" if turns > 1 else ""} of {length}\u00a0s'
