"""The overview of all result sets."""
from html import escape

from . import words
from .document import document, lines
from .page import facts


def overview(results, others):
    """The overview: every result set, and `others`: directories of records made by hand, with titles."""
    body = ['<h1>Measured</h1>', '<p class="lead">Each set is one run of one suite: builds side by side, on one machine, '
            'in turn. The newest first.</p>', '<ul class="sets">']
    for result in results:
        data, about = result.data, ' · '.join([*facts(result), ', '.join(result.builds)])
        body.append(f'<li><a href="{escape(result.name)}/index.html"><b>{escape(data["suite"])}</b> '
                    f'{escape(data["version"])}</a>{"" if data["complete"] else " <i>incomplete</i>"}'
                    f'<p>{lines(words.subject(data["suite"]), about, words.machine(data))}</p></li>')
    body.append('</ul>')
    if others:
        body.append('<h2>Recorded by hand</h2><ul>')
        body += [f'<li><a href="{escape(name)}/README.md">{escape(title)}</a> <span>{escape(name)}</span></li>'
                 for name, title in others]
        body.append('</ul>')
    return document('Measured', body)
