"""Colours of pictures and pages.

A picture is drawn in the light colours; a style sheet made from the pairs below exchanges each
for its dark one where the reader prefers dark (dark_rules()).  The colours of the builds are told
apart by the colour-blind too, and a build has the same colour everywhere.
"""
# light: dark
PAPER, INK, MUTED, GRID = '#ffffff', '#1f2328', '#59636e', '#dde2e8'
DARK = {PAPER: '#161b22', INK: '#e6edf3', MUTED: '#9aa4af', GRID: '#2f363e'}

NAMED = {'vanilla': ('#7d8590', '#a8b1bb'), 'millrace': ('#0a6cd6', '#58a6ff'),
         'debian': ('#c2500a', '#f5934a')}
OTHERS = [('#00866a', '#2fc79a'), ('#a07800', '#ecc94b'), ('#b83280', '#ff8ccb'),
          ('#7446c4', '#c6a4ff'), ('#7a4a21', '#d6ab80'), ('#2b95c9', '#9bdcff'),
          ('#5b6b00', '#b9cf3a'), ('#b0303a', '#ff9a9a')]
MARKERS = 'osD^vPX<>h*'
FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans","DejaVu Sans",sans-serif'

DARK.update([*NAMED.values(), *OTHERS])


def build_styles(builds):
    """{build: (colour, marker)}."""
    others = [build for build in builds if build not in NAMED]
    colours = {build: OTHERS[others.index(build) % len(OTHERS)] if build in others
               else NAMED[build] for build in builds}
    return {build: (colours[build][0], MARKERS[place % len(MARKERS)])
            for place, build in enumerate(builds)}


def dark_rules():
    """Style rules that turn pictures dark.

    matplotlib writes colours into style attributes.  No selector names an ancestor: it would not
    hold in what <use> repeats."""
    rules = [f'[style*="{paint}: {light}"]{{{paint}:{dark}!important}}'
             for light, dark in DARK.items() for paint in ('fill', 'stroke')]
    return '@media (prefers-color-scheme:dark){' + ''.join(rules) + '}'
