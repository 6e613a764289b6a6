"""The templates of pages and of the headline."""
from pathlib import Path

import jinja2

from millrace_bench.report import format as text_of


def _environment():
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent),
                              autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    for name in ('amount', 'change', 'interval', 'machine', 'measure', 'number', 'ratio', 'rounds',
                 'subject', 'verdict', 'volume'):
        made.filters[name] = getattr(text_of, name)
    return made


ENVIRONMENT = _environment()


def render(template, **values):
    """The text of a template with these values, which are escaped."""
    return ENVIRONMENT.get_template(template).render(values)
