"""The outcome of a rebase: the hunks and conflicts of each patch, and the report of all."""
import re
from collections import Counter
from dataclasses import dataclass, field

from millrace.patches import diff

LONGEST = 40        # lines that the report shows of a conflict
# git's lines of a conflict; the fourth, =======, is also the rule under a heading
MARKER = re.compile(r'\+(<{7}|>{7}|\|{7}) \S')


@dataclass
class Carried:
    """The outcome of a rebase for one patch."""
    name: str
    state: str = ''
    text: str = None                # the patch for the new release, or None
    hunks: dict = field(default_factory=dict)       # how many are same, moved, merged, gone
    notes: list = field(default_factory=list)       # what to look at, a text each
    regions: list = field(default_factory=list)     # of conflicts: path, line, text
    before: str = None              # the git tree that it is merged into
    merged: str = None              # and what the merge made of it, with markers
    conflicts: tuple = ()           # the paths that the merge could not decide
    deletes: tuple = ()             # those of them that the patch deletes

    @property
    def upstream(self):
        """Whether upstream has the whole patch already."""
        return self.state == 'already upstream'


def compare(old, new, by_hand=False):
    """Compare a patch before and after a rebase: {same, moved, merged or gone: number of hunks},
    and a note for each hunk that changed.

    A missing hunk is gone if a person resolved the conflict (`by_hand`); if git merged the patch,
    upstream has the hunk already.
    """
    counts = dict.fromkeys(('same', 'moved', 'merged', 'gone'), 0)
    notes = []
    after = {entry.path: list(entry.hunks) for entry in diff.parse(new)}
    before = {entry.path for entry in diff.parse(old)}
    for entry in diff.parse(old):
        renamed = new_name(entry, before, after)
        if renamed:
            notes.append(f'renamed: {entry.path}: it is {renamed} now')
        counted, more = compare_file(entry, after.get(renamed or entry.path, []), by_hand)
        notes += more
        for what, count in counted.items():
            counts[what] += count
    return counts, notes


def new_name(entry, before, after):
    """The path under which the new patch has the hunks of a file, where it is another."""
    changes = {hunk.changes for hunk in entry.hunks}
    return next((path for path, hunks in after.items()
                 if entry.path not in after and path not in before
                 and any(hunk.changes in changes for hunk in hunks)), None)


def compare_file(entry, left, by_hand):
    """compare() of a file; `left` are the new patch's hunks, from which matches are removed."""
    counts = Counter()
    notes, unmatched, offsets = [], [], []
    for hunk in entry.hunks:
        match = next((other for other in left if other.changes == hunk.changes), None)
        if match is None:
            unmatched.append(hunk)
            continue
        left.remove(match)
        if match.lines != hunk.lines:
            counts['merged'] += 1
            notes.append(f'merged: {entry.path}: the hunk at line {hunk.old}, now {match.old}: '
                         'other lines around it')
        elif match.old != hunk.old:
            counts['moved'] += 1
            offsets.append(match.old - hunk.old)
        else:
            counts['same'] += 1
    if offsets:
        low, high = min(offsets), max(offsets)
        notes.append(f'moved: {entry.path}: {len(offsets)} hunk{"s" * (len(offsets) > 1)} by '
                     f'{low:+}' + (f' to {high:+}' if high != low else '') + ' lines')
    for hunk in unmatched:
        where = f'{entry.path}: the hunk at line {hunk.old}'
        counts['merged' if left else 'gone'] += 1
        notes.append(f'merged: {where} has other lines now' if left
                     else f'{"gone" if by_hand else "already upstream"}: {where}')
    return counts, notes


def regions(path, content):
    """The conflicts of a merged file: (path, line, text)."""
    conflicts, begin = [], None
    lines = (content or b'').decode(errors='replace').split('\n')
    for number, line in enumerate(lines, 1):
        if line.startswith('<<<<<<< '):
            begin = number
        elif line.startswith('>>>>>>> ') and begin:
            conflicts.append((path, begin, '\n'.join(lines[begin - 1:number])))
            begin = None
    return conflicts or [(path, 1, '')]


def markers(text, before=''):
    """The lines of a diff that bring a marker of git's into a file, but for those that the
    diff `before` the conflict brings there, too."""
    lines = Counter(line for line in text.split('\n') if MARKER.match(line))
    return list((lines - Counter(before.split('\n'))).elements())


def report(title, results, where, closed):
    """The report of a rebase, as a page of text; `where` is the directory to edit in, `closed` the
    lines about security holes that the new release closes."""
    lines = [f'# {title}', '', '| patch | state | hunks | as they were | moved | merged | gone |',
             '| --- | --- | --- | --- | --- | --- | --- |']
    for result in results:
        cells = [sum(result.hunks.values()), *result.hunks.values()] if result.hunks else [''] * 5
        lines.append(f'| {result.name} | {result.state} | {" | ".join(map(str, cells))} |')
    if closed:
        lines += ['', '## Security', '', *(f'- {line}' for line in closed)]
    for result in results:
        if result.notes or result.regions:
            lines += describe(result, where)
    return '\n'.join(lines) + '\n'


def describe(result, where):
    """The lines of the report about a patch: its notes and its conflicts."""
    lines = ['', f'## {result.name}: {result.state}', '', *(f'- {note}' for note in result.notes)]
    paths = {path for path, _, _ in result.regions}
    if paths:
        lines.append(f'- conflict: {len(result.regions)} places in {len(paths)} files, '
                     f'to be edited in {where}')
    if any(path.endswith('.result') for path in paths):
        lines.append("- of a .result, take upstream's lines; `scripts/mysql-test --record TEST` "
                     'writes ours')
    for path, line, text in result.regions:
        rows = text.split('\n')
        if len(rows) > LONGEST:
            rows[LONGEST - 2:-1] = [f'... {len(rows) - LONGEST + 1} lines more']
        lines += ['', f'{path}:{line}', '', *(f'    {row}'.rstrip() for row in rows)]
    return lines
