"""From a matplotlib figure to a small SVG file, the same bytes for the same figure.

Text stays text, in the reader's own font; colours become attributes, so that a style sheet can exchange
them (style.dark_rules); ids begin with the picture's name, so that a page can hold many pictures.
"""
import io
import re
import xml.etree.ElementTree as ET

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG

from . import style

SVG, XLINK = 'http://www.w3.org/2000/svg', 'http://www.w3.org/1999/xlink'
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif"
ET.register_namespace('', SVG)
ET.register_namespace('xlink', XLINK)


def render(figure, name, label):
    """The text of an SVG file of a figure; `label` says what it shows to who cannot see it."""
    out = io.BytesIO()
    with matplotlib.rc_context({'svg.fonttype': 'none', 'svg.hashsalt': name}):
        FigureCanvasSVG(figure).print_svg(out, metadata={'Date': None})
    root = ET.fromstring(out.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f'{{{SVG}}}metadata', f'{{{SVG}}}style'):
                parent.remove(child)
    used = set(re.findall(rb'(?:url\(|href=")#([^)"]+)', out.getvalue()))
    for element in root.iter():
        _tidy(element, name, used)
    _unwrap(root)
    root.attrib.update({'role': 'img', 'aria-label': label, 'font-family': FONT})
    sheet = ET.Element(f'{{{SVG}}}style')
    sheet.text = style.dark_rules()
    root.insert(0, sheet)
    return ET.tostring(root, encoding='unicode').replace('\n', '') + '\n'


def inline(text, foot):
    """A rendered picture as it stands in a page: without its foot of that height, which the page's own
    heading says, and without the style sheet, which the page has once."""
    text = re.sub(r'<style>.*?</style>', '', text)
    text = re.sub(r'<g class="foot">.*?</g>', '', text)
    text = re.sub(r' (width|height|version)="[^"]*"', '', text[:text.index('>')]) + text[text.index('>'):]
    return re.sub(r'viewBox="0 0 (\S+) (\S+)"', lambda box: f'viewBox="0 0 {box[1]} {float(box[2]) - foot:g}"', text,
                  count=1).strip()


def _tidy(element, name, used):
    """Makes attributes of styles, shortens numbers, drops ids that nothing refers to."""
    for item in (element.attrib.pop('style', '') or '').split(';'):
        key, _, value = item.partition(':')
        key, value = key.strip(), value.strip()
        if key == 'font':
            size = re.search(r'([\d.]+)px', value)
            element.set('font-size', size[1])
            if '700' in value or 'bold' in value:
                element.set('font-weight', '600')
        elif key:
            element.set(key, value)
    if (identity := element.attrib.pop('id', None)) is not None:
        if identity == 'foot':
            element.set('class', 'foot')
        elif identity.encode() in used:
            element.set('id', f'{name}-{identity}')
    for key, value in element.attrib.items():
        if key.endswith(('clip-path', 'href')):
            value = re.sub(r'(url\(|^)#', lambda match: f'{match[1]}#{name}-', value)
        if key in ('d', 'x', 'y', 'width', 'height', 'transform', 'points', 'viewBox'):
            value = re.sub(r'-?\d+\.\d+', lambda match: f'{float(match[0]):.1f}'.removesuffix('.0'), value)
            value = value.replace('\n', ' ').strip()
        element.set(key, value)
    if element.attrib.get('transform', '').startswith(('rotate(0', 'rotate(-0')):
        del element.attrib['transform']


def _unwrap(parent):
    """Takes out groups that say nothing, and the line breaks between elements."""
    children = []
    for child in parent:
        _unwrap(child)
        child.tail = None
        children.extend(child if child.tag == f'{{{SVG}}}g' and not child.attrib else [child])
    parent[:] = children
    if children:
        parent.text = None
