"""Statistics of paired runs: the ratio of two builds, its spread and its confidence interval."""
import math
import re
import statistics

# Percentiles come in steps: sysbench counts response times in 1024 buckets from 0.001 to
# 100,000 ms, each 1.8 % above the one before, and a percentile is the upper bound of one.  So the
# logarithm of a ratio of two has, besides the difference of the runs, the difference of two
# errors that are spread evenly over a bucket, each of standard deviation STEP / sqrt(12).  The
# spread of the pairs has that in it, unless they fall into the same buckets by chance.
STEP = math.log(1e5 / 0.001) / 1023
PERCENTILE = re.compile(r'p\d+_ms')


def t_probability(t, freedom):
    """P(|T| <= t) of Student's distribution, by the series for whole degrees of freedom
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
    """Ratio and interval of two or more ratios, each of one pair of runs.

    The ratio is their geometric mean, the interval Student's t on their logarithms.  Where
    values come in steps, of `step` in their logarithms, the standard error is at least that of
    the steps."""
    logs = [math.log(pair) for pair in pairs]
    n, mean = len(logs), math.fsum(logs) / len(logs)
    error = max(statistics.stdev(logs) / math.sqrt(n), step * math.sqrt(2 / 12 / n))
    reach = t_quantile(confidence, n - 1) * error
    low, high = math.exp(mean - reach), math.exp(mean + reach)
    return {'pairs': list(pairs), 'ratio': statistics.geometric_mean(pairs), 'low': low,
            'high': high, 'confidence': confidence, 'includes_one': low <= 1 <= high}


def percentile(values, percent):
    """The value below which `percent` (1 to 99) of the values lie, between neighbours by
    straight line."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method='inclusive')[percent - 1]


def histogram_percentile(buckets, share):
    """Upper bound of the bucket in which `share` (0 to 1) of the events is reached; buckets are
    (ms, count)."""
    wanted = share * sum(count for _, count in buckets)
    seen = 0
    for bound, count in buckets:
        seen += count
        if seen >= wanted:
            return bound
    return None


def comparisons(runs, base, builds, measures):
    """The comparisons of a case: each build beside `base`, in each measure.

    `measures` maps a name to a function of a run.  A pair is the two runs of one round.  A
    measure that is 0 in some run has no ratio and is left out (see zeros()), as is a measure
    with fewer than two pairs."""
    compared = []
    rounds = sorted({run['round'] for run in runs})
    by_place = {(run['round'], run['build']): run for run in runs}
    for build in builds:
        if build == base:
            continue
        both = [(by_place[r, base], by_place[r, build]) for r in rounds
                if (r, base) in by_place and (r, build) in by_place]
        for measure, value in measures.items():
            values = [(value(one), value(other)) for one, other in both]
            if len(values) < 2 or not all(one and other and one > 0 and other > 0
                                          for one, other in values):
                continue
            step = STEP if PERCENTILE.fullmatch(measure) else 0
            compared.append({'base': base, 'build': build, 'measure': measure,
                             **compare([other / one for one, other in values], step=step)})
    return compared


def zeros(runs, builds, measures):
    """Measures that have no ratio because some runs counted 0, as (measure, build, number of
    such runs, number of runs)."""
    counted = []
    for measure, value in measures.items():
        for build in builds:
            values = [value(run) for run in runs if run['build'] == build]
            if none := sum(one is not None and one <= 0 for one in values):
                counted.append((measure, build, none, len(values)))
    return counted
