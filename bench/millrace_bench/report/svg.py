"""From a matplotlib figure to an SVG file, the same bytes for the same figure."""
import io
import re
from html import escape

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG

from millrace_bench.report.style import FONT, dark_rules


def render(figure, name, label):
    """The text of an SVG file of a figure; `label` describes it to those who cannot see it.

    Text stays text, in the reader's own font.  Ids begin with hashes of `name`, so that a page
    can hold many pictures."""
    out = io.BytesIO()
    with matplotlib.rc_context({'svg.fonttype': 'none', 'svg.hashsalt': name}):
        FigureCanvasSVG(figure).print_svg(out, metadata={'Date': None})
    text = out.getvalue().decode()
    text = re.sub(r'.*?<svg ', f'<svg role="img" aria-label="{escape(label)}" ', text, count=1,
                  flags=re.DOTALL)
    text = re.sub(r'<metadata>.*?</metadata>', '', text, flags=re.DOTALL)
    text = re.sub(r' id="[a-zA-Z0-9.]+_\d+"', '', text)     # nothing refers to them
    text = re.sub(r'font: (?:(\d+) )?([\d.]+)px [^;"]*', _font, text)
    text = re.sub(r'\s*\n\s*', '\n', text)
    sheet = f'text{{font-family:{FONT}}}{dark_rules()}'
    return text.replace('>', f'><style>{sheet}</style>', 1)


def _font(match):
    weight = 'font-weight: 600; ' if match[1] else ''
    return f'{weight}font-size: {match[2]}px'


def inline(text, foot):
    """A rendered picture for a page: without its foot of that height, which the page's heading
    says, and without the style sheet, which the page has once."""
    head, rest = text.split('>', 1)
    head = re.sub(r' (width|height|version)="[^"]*"', '', head)
    head = re.sub(r'viewBox="0 0 (\S+) (\S+)"',
                  lambda box: f'viewBox="0 0 {box[1]} {float(box[2]) - foot:g}"', head)
    rest = re.sub(r'<style>.*?</style>', '', rest, count=1, flags=re.DOTALL)
    rest = re.sub(r'<g id="foot">.*?</g>', '', rest, flags=re.DOTALL)
    return f'{head}>{rest}'.strip()
