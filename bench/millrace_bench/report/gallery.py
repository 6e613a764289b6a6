"""The pictures of a result set, in order; each is drawn once."""
from dataclasses import dataclass

from millrace_bench.report import format as text_of
from millrace_bench.report import pictures, svg

KINDS = (('average', 'average of each build, with every run', pictures.average),
         ('throughput', 'throughput over time', pictures.throughput),
         ('response', 'histogram of response times', pictures.response_times),
         ('cpu-disk', 'CPU and disk use over time', pictures.cpu_and_disk))


@dataclass
class Picture:
    """A drawn picture: `name` of its file, `label` for those who cannot see it, `text` of the
    SVG."""
    name: str
    label: str
    text: str


def _draw(result, name, label, figure):
    """A list of the Picture; empty where there is nothing to draw."""
    if figure is None:
        return []
    label = f'{result.data["suite"]}, {label}'
    return [Picture(name, label, svg.render(figure, name, label))]


def of_set(result):
    """The pictures over all cases: the ratios to the base, a picture for each measure."""
    groups = {}
    for case in result.data['cases']:
        groups.setdefault((case['measure'], case['better']), []).append(case)
    drawn = []
    for (measure, _), cases in groups.items():
        drawn += _draw(result, f'ratio-{len(drawn) + 1}',
                       f'ratio of {text_of.measure(measure)}, with confidence intervals',
                       pictures.ratios(result, cases))
    return drawn


def of_case(result, case):
    """The pictures of a case."""
    return [picture for kind, label, draw in KINDS
            for picture in _draw(result, f'{case["name"]}-{kind}', f'{case["title"]}: {label}',
                                 draw(result, case))]
