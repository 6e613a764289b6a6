"""The canvas of a picture: it is filled from the top, and as high as its content.

Lengths are units; a text of size 10 is 10 units high.  A canvas is narrow, so that it can be read
on a phone.  Below the plot stands a foot that says what was measured, where and for how long; a
page, which says it in its heading, cuts the foot off (svg.inline).
"""
from functools import lru_cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Affine2D

from millrace_bench.report.format import short
from millrace_bench.report.style import GRID, INK, MUTED, PAPER

WIDTH, MARGIN, FOOT = 380, 12, 44
TITLE, TEXT, SMALL = 12.5, 10.5, 9.4


@lru_cache(maxsize=None)
def text_width(text, size=TEXT, bold=False):
    """Width of a text."""
    font = FontProperties(family='DejaVu Sans', size=size, weight='bold' if bold else 'normal')
    return text_to_path.get_text_width_height_descent(text.replace('$', r'\$'), font, False)[0]


def fitted(text, width, size=TEXT, bold=False):
    """A text, cut with an ellipsis where it is wider than `width`."""
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(text + '…', size, bold) > width:
        text = text[:-1]
    return text.rstrip() + '…'


def wrapped(text, width, size):
    """A text in lines no wider than `width`."""
    lines = ['']
    for word in text.split():
        longer = f'{lines[-1]} {word}'.strip()
        if text_width(longer, size) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Canvas:
    """A figure under way; it is filled down to `y`."""

    def __init__(self, title, width=WIDTH):
        self.width, self.inner = width, width - 2 * MARGIN
        self.figure = Figure(facecolor=PAPER)
        # units from the top left; the height is known at the end
        self.units = Affine2D()
        self.transform = self.units + self.figure.dpi_scale_trans
        self.placed = []
        self.y = 10
        for line in wrapped(title, self.inner / 1.12, TITLE):
            self.y += 15
            self.text(MARGIN, line, size=TITLE, weight='bold')

    def text(self, x, text, y=None, size=TEXT, color=INK, **more):
        """Writes on the line `y`, by default where the canvas is filled to."""
        self.figure.text(x, self.y if y is None else y, text.replace('$', r'\$'), size=size,
                         color=color, va='baseline', transform=self.transform, **more)

    def right(self, text, **more):
        """Writes at the right margin."""
        self.text(self.width - MARGIN, text, ha='right', **more)

    def legend(self, styles):
        """The builds' colours, in as many lines as they need."""
        x = MARGIN
        self.y += 18
        for build, (colour, _) in styles.items():
            wide = text_width(build) + 15
            if x + wide > self.width - MARGIN and x > MARGIN:
                x, self.y = MARGIN, self.y + 15
            self.box(x, self.y - 8, 10, 8, colour)
            self.text(x + 15, build)
            x += wide + 14

    def note(self, text):
        """Writes in small letters, in as many lines as it takes."""
        self.y += 3
        for line in wrapped(text, self.inner, SMALL):
            self.y += 12
            self.text(MARGIN, line, size=SMALL, color=MUTED)

    def box(self, x, y, width, height, colour, **more):
        """A filled rectangle."""
        self.figure.add_artist(Rectangle((x, y), width, height, facecolor=colour, linewidth=0,
                                         transform=self.transform, **more))

    def line(self, x, y, **more):
        """A line through points, or marks on them."""
        self.figure.add_artist(Line2D(x, y, transform=self.transform, **more))

    def axes(self, height):
        """Axes below the content so far, with room for their ticks to the left."""
        axes = self.figure.add_axes([0, 0, 1, 1])
        left, top = MARGIN + 36, self.y + 9
        self.placed.append((axes, left, top, self.width - left - MARGIN - 6, height))
        axes.set_facecolor('none')
        for side in ('top', 'right', 'left'):
            axes.spines[side].set_visible(False)
        axes.spines['bottom'].set(color=MUTED, linewidth=0.8)
        axes.grid(axis='y', color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(which='both', labelsize=TEXT - 1, labelcolor=MUTED, color=MUTED,
                         length=0, pad=4)
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        self.y = top + height
        return axes

    def finish(self, foot):
        """The figure, with its foot: a few lines, each cut where it is too long."""
        self.y += 14
        for line in foot:
            self.y += 12
            self.text(MARGIN, fitted(line, self.inner, SMALL), size=SMALL, color=MUTED,
                      gid='foot')
        height = self.y + FOOT - 14 - 12 * len(foot)
        self.units.scale(1, -1).translate(0, height).scale(1 / 72)
        for axes, left, top, wide, high in self.placed:
            axes.set_position([left / self.width, 1 - (top + high) / height,
                               wide / self.width, high / height])
        self.figure.set_size_inches(self.width / 72, height / 72)
        return self.figure
