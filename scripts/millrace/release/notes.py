"""The notes of a release, in Markdown: what changed since the tree's last one.

All of it is read at the two commits: the headers and the diffs of the patches, the tables that
make tables has written into test-results/README.md, the security fixes of upstream's releases.
"""
import re

from millrace.errors import Failure
from millrace.release import history
from millrace.upstream import security

NOTES = '''# Millrace {revision}

{upstream} with {count} of the Millrace series, made from commit {commit}.
The packages were built twice, with the same bytes.

## Patches

{patches}
{packaging}
## Security

{security}

## Results

{results}
'''
RESULTS = 'test-results/README.md'


def line_of(version):
    """The line that a release of upstream's is of: 10.11, of 10.11.18."""
    return version.rpartition('.')[0]


def upstream(before, after):
    """Upstream's release, with a link to upstream's own notes.  Raises Failure."""
    pin = after.pin
    if not pin.get('NEWS'):
        raise Failure(f'trees/{after.tree}/pin.conf names no NEWS, upstream\'s own notes',
                      'add it: a URL with @LINE@ and @VERSION@ in it')
    version = pin['VERSION']
    url = pin['NEWS'].replace('@LINE@', line_of(version)).replace('@VERSION@', version)
    old = before.pin['VERSION'] if before else version
    return f'MariaDB Server {version} ([upstream\'s notes]({url}))' \
        + (f', before {old},' if old != version else '')


def plain(subject):
    """The subject of a commit, in which no link and no tag begins."""
    return subject.replace('<', '&lt;').replace('[', r'\[')


def patch_lines(before, after):
    """The patches that came, went and changed, as lines."""
    changes = history.changes(before, after)
    if not changes:
        yield f'The same as in {before.revision}.'
    elif before:
        yield f'Since {before.revision}:\n'
    for change in changes:
        status = '' if change.what == 'gone' else f' Upstream: {change.header.upstream_status}.'
        yield f'- **{change.name}**, {change.what}: {change.header.synopsis}.{status}'
        yield from (f'  - {text}' for text in (*change.how, *map(plain, change.why)))


def packaging(before, after):
    """The commits that changed the packaging, as a section; '' where there are none."""
    subjects = history.commits(before, after, *history.PACKAGING) if before else ()
    return ''.join(['\n## Packaging\n\n', *(f'- {plain(text)}\n' for text in subjects)]) \
        if subjects else ''


def fixes(before, after):
    """The security fixes of upstream's that the release has, those of the releases since the one
    before, and those that it lacks.  Raises Failure."""
    known = security.parse(after.tree, after.text(security.label(after.tree)))
    version = after.pin['VERSION']
    has = known.between(before.pin['VERSION'] if before else version, version) \
        or [(version, known.cves[version])]
    lines = [f'- {what} the fixes of {release}: {", ".join(cves) or "no CVE"}'
             for what, some in (('has', has), ('**lacks**', known.between(version)))
             for release, cves in some]
    return '\n'.join([*lines, '', f'Known on {known.checked}.'])


def measured(point):
    """The head of the tree's table of measurements, and its rows, {(suite, volume): {column:
    cell}}; without links, which lead nowhere from a release."""
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', point.text(RESULTS))
    screen = re.search(rf'^## {re.escape(point.tree)}\n(.*?)(?=^## |\Z)', text,
                       re.MULTILINE | re.DOTALL)
    section = re.search(r'^### Measured\n(.*?)(?=^### |\Z)', screen[1] if screen else '',
                        re.MULTILINE | re.DOTALL)
    lines = [line for line in section[1].splitlines() if line.startswith('|')] if section else []
    rows = [[cell.strip() for cell in line.strip('| ').split(' | ')] for line in lines]
    return lines[:2], {(row[0], row[1]): dict(zip(rows[0], row)) for row in rows[2:]}


def _summary(row):
    """A row in words: how many cases are better, without a difference and worse."""
    return ', '.join(f'{row[name]} {name}' for name in ('better', 'no difference', 'worse'))


def results(before, after):
    """The measurements beside vanilla, and what changed in them since the last release."""
    head, rows = measured(after)
    if not rows:
        return 'Not measured.'
    lines = ['A ratio is one of speed beside vanilla, above 1 is faster; its 95 % confidence '
             'interval.', '', *head,
             *(f'| {" | ".join(row.values())} |' for row in rows.values())]
    old = measured(before)[1] if before else {}
    changed = []
    for suite, volume in dict.fromkeys([*old, *rows]):
        was, now = (each.get((suite, volume)) for each in (old, rows))
        if was != now:
            changed.append(f'- {suite}, {volume}: ' + (
                'new' if not was else f'gone; it was {_summary(was)}' if not now
                else f'{_summary(now)}; it was {_summary(was)}' if _summary(was) != _summary(now)
                else 'measured anew, with the same verdicts'))
    if before:
        lines += ['', f'Changed since {before.revision}:' if changed
                  else f'The same as in {before.revision}.', *([''] if changed else []), *changed]
    return '\n'.join(lines)


def text(before, after, commit):
    """The notes of the release at a Point, since another one or None."""
    count = len(after.patches)
    return NOTES.format(
        revision=after.revision, upstream=upstream(before, after), commit=commit,
        count=f'{count} patch{"es" * (count != 1)}',
        patches='\n'.join(patch_lines(before, after)), packaging=packaging(before, after),
        security=fixes(before, after), results=results(before, after))
