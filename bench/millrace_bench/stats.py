"""Statistics of paired runs: the ratio of two builds, its spread and its confidence interval."""
import math
import re

# Percentiles come in steps: sysbench counts response times in 1024 buckets from 0.001 to 100,000 ms, each 1.8 % above the
# one before, and a percentile is the upper bound of one.  So the logarithm of a ratio of two has, besides what the runs
# differ by, the difference of two errors that are spread evenly over a bucket, each of standard deviation STEP / sqrt(12).
# The spread of the pairs has that in it, unless they fall into the same buckets by chance: then it says too little.
STEP = math.log(1e5 / 0.001) / 1023
PERCENTILE = re.compile(r'p\d+_ms')


def geometric_mean(values):
    """The geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def t_probability(t, freedom):
    """P(|T| <= t) of Student's distribution; the series for whole degrees of freedom
    (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = cosine if freedom % 2 else 1.0
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if freedom % 2:
        return 2 / math.pi * (angle + (sine * total if freedom > 1 else 0))
    return sine * total


def t_quantile(confidence, freedom):
    """t with P(|T| <= t) = confidence."""
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < confidence:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if t_probability(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def compare(pairs, confidence=0.95, step=0):
    """Ratio and interval of two or more ratios, each of one pair of runs: the geometric mean, and Student's t on their
    logarithms.  Where values come in steps, of `step` in their logarithms, the standard error is not below that of the steps."""
    logs = [math.log(pair) for pair in pairs]
    n = len(logs)
    mean = sum(logs) / n
    error = max(math.sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1) / n), step * math.sqrt(2 / 12 / n))
    reach = t_quantile(confidence, n - 1) * error
    low, high = math.exp(mean - reach), math.exp(mean + reach)
    return {'pairs': list(pairs), 'ratio': math.exp(mean), 'low': low, 'high': high,
            'confidence': confidence, 'includes_one': low <= 1 <= high}


def percentile(values, share):
    """The value below which `share` (0 to 1) of the values lie, between neighbours by straight line."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def histogram_percentile(buckets, share):
    """The upper bound of the bucket in which `share` of the events is reached; buckets are (ms, count)."""
    wanted = share * sum(count for _, count in buckets)
    seen = 0
    for bound, count in buckets:
        seen += count
        if seen >= wanted:
            return bound
    return None


def comparisons(runs, base, builds, measures):
    """The comparisons of a case: each build beside `base`, in its measure and in some of its figures.

    `measures` maps a name to a function of a run.  A pair is the two runs of one round; a measure that
    is zero on a side has no ratio and is left out (`zeros` names it), and so is one with fewer than two pairs."""
    found = []
    rounds = sorted({run['round'] for run in runs})
    by_place = {(run['round'], run['build']): run for run in runs}
    for build in builds:
        if build == base:
            continue
        both = [(by_place[r, base], by_place[r, build]) for r in rounds
                if (r, base) in by_place and (r, build) in by_place]
        for measure, value in measures.items():
            values = [(value(one), value(other)) for one, other in both]
            if len(values) < 2 or not all(one and other and one > 0 and other > 0 for one, other in values):
                continue
            found.append({'base': base, 'build': build, 'measure': measure,
                          **compare([other / one for one, other in values], step=STEP if PERCENTILE.fullmatch(measure) else 0)})
    return found


def zeros(runs, builds, measures):
    """The measures that are zero in some runs of a build, which keeps them from being compared: of each the measure, the
    build, and in how many of how many runs."""
    found = []
    for measure, value in measures.items():
        for build in builds:
            values = [value(run) for run in runs if run['build'] == build]
            if none := sum(one is not None and one <= 0 for one in values):
                found.append((measure, build, none, len(values)))
    return found
