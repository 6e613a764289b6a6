"""Carrying a series to another release: three-way merges, and what became of each patch.

The files that the series touches are put into a throw-away git repository, as
the old release has them and as the new one has them.  The old series is applied
to the old ones; each step of it is then merged into the new ones, one upon the
other, as the series is applied.  What comes out is written as a patch again.
"""
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from millrace import diff, quilt, sources
from millrace.command import Failure
from millrace.patchfile import is_test
from millrace.repository import Repository

CODE = re.compile(r'.*\.(c|cc|cpp|h|hpp|ic|yy)')
LONGEST = 40        # lines that the report shows of a conflict
MARKER = re.compile(r'^\+?(<{7}|={7}|>{7}|\|{7})( |$)')


@dataclass
class Carried:
    """What became of one patch."""
    name: str
    state: str = ''
    text: str = None                # the patch for the new release, or None
    hunks: dict = field(default_factory=dict)       # how many are same, moved, merged, gone
    notes: list = field(default_factory=list)       # what to look at, a text each
    regions: list = field(default_factory=list)     # of conflicts: path, line, text
    before: str = None              # the tree that it is merged into
    merged: str = None              # and what the merge made of it, with markers
    conflicts: tuple = ()           # the paths that the merge could not decide
    deletes: tuple = ()             # those of them that the patch deletes


class Bases:
    """The files that a series touches, as two releases have them, in one repository."""

    def __init__(self, place, old, new, patches):
        paths = {path for text in patches for entry in diff.parse(text) for path in (entry.old, entry.new) if path}
        sources.extract(old, paths, place / 'old')
        sources.extract(new, paths, place / 'new')
        gone = [path for path in paths if (place / 'old' / path).exists() and not (place / 'new' / path).exists()]
        if gone:        # to find them where upstream moved them
            added = sources.members(new) - sources.members(old)
            endings = {Path(path).suffix for path in gone}
            sources.extract(new, {path for path in added if Path(path).suffix in endings}, place / 'new')
        self.repository = Repository(place / 'git')
        self.old = self.repository.tree(place / 'old')
        self.new = self.repository.tree(place / 'new')


def carry(bases, series, release, carried, by_hand):
    """Carries (name, text) of a series to a release.

    `carried` has the patches that are done, {name: text}, those of `by_hand` by a person.  A patch that conflicts is left out of what the ones after it are tried upon.
    """
    repository, old, new = bases.repository, bases.old, bases.new
    results, without = [], []
    for name, text in series:
        after, said = repository.apply(old, diff.encode(text))
        if after is None:
            if not without:
                raise Failure(f"patch '{name}' does not apply to the release that it is for", said.strip()[:400],
                              'mend it there first: make prove')
            results.append(Carried(name, 'not tried', notes=[f'applies only with {" ".join(without)}']))
            without.append(name)
            continue
        result = Carried(name, before=new)
        results.append(result)
        if name in carried:
            result.text, result.state = carried[name], 'resolved' if name in by_hand else ''
            result.merged, said = repository.apply(new, diff.encode(result.text))
            if result.merged is None:
                raise Failure(f"the patch '{name}', carried before, does not apply any more", said.strip()[:400])
        else:
            merge = repository.merge(old, new, after, (release, name))
            result.merged = merge.tree
            if merge.conflicts:
                result.state, result.conflicts = 'conflict', merge.conflicts
                gone = {entry.old for entry in diff.parse(text) if not entry.new}
                result.deletes = tuple(path for path in merge.conflicts if path in gone)
                result.notes += [text for text in merge.messages if not text.startswith('Merge conflict in ')]
                result.regions = [region for path in merge.conflicts
                                  for region in regions(path, repository.read(merge.tree, path))]
            elif merge.tree != new:
                result.text = quilt.text(diff.split(text)[0], repository, new, merge.tree)
        judge(result, text, bases, (old, after))
        if result.state == 'conflict':
            without.append(name)
        elif result.state == 'already upstream':
            old = after
        else:
            old, new = after, result.merged
    dropped = {result.name for result in results if result.state == 'already upstream'}
    for result in results:
        if result.text and result.name not in dropped:
            need_no_more(result, dropped)
    return results


def need_no_more(result, dropped):
    """Takes the patches that are dropped out of what a patch says it depends on."""
    head, body = diff.split(result.text)
    match = re.search('^Depends: *(.*)$', head, re.MULTILINE)
    needed = match[1].split() if match else []
    left = [name for name in needed if name not in dropped]
    if left != needed:
        result.text = f'{head[:match.start()]}Depends: {" ".join(left) or "none"}{head[match.end():]}{body}'
        result.notes.append(f'Depends no more on {" ".join(name for name in needed if name in dropped)}')


def judge(result, text, bases, step):
    """Says what became of a patch, from its text before and after."""
    if result.state != 'conflict':
        result.hunks, notes = compare(text, result.text or '', result.state == 'resolved')
        result.notes += notes
        bare = result.text and only_tests(result.text) and not only_tests(text)
        if bare:
            result.notes.append('nothing but its tests is left')
        # what a person has left of it is for that person to drop
        if not result.text or bare and result.state != 'resolved':
            result.state = 'already upstream'
        elif not result.state:
            result.state = ('unchanged' if result.text == text else
                            'merged' if result.hunks['merged'] or result.hunks['gone'] else 'moved')
    for entry in diff.parse(text):
        path = entry.old
        if path and CODE.fullmatch(path):
            both = (bases.repository.functions(bases.old, bases.new, path)
                    & bases.repository.functions(*step, path))
            result.notes += [f'context changed: {path}: upstream changed too: `{function}`' for function in sorted(both)]


def only_tests(text):
    """Whether a patch touches upstream's test suite and nothing else."""
    return all(is_test(entry.path) for entry in diff.parse(text))


def compare(old, new, by_hand=False):
    """How the hunks of a patch came through: {what: how many}, and a note for each that is not as it was.

    What git's merge leaves nothing of, upstream has; what a person leaves nothing of is gone.
    """
    counts = dict.fromkeys(('same', 'moved', 'merged', 'gone'), 0)
    notes = []
    there = {entry.path: list(entry.hunks) for entry in diff.parse(new)}
    before = {entry.path for entry in diff.parse(old)}
    for entry in diff.parse(old):
        changes = {hunk.changes for hunk in entry.hunks}
        renamed = next((path for path, hunks in there.items() if entry.path not in there and path not in before
                        and any(hunk.changes in changes for hunk in hunks)), None)
        if renamed:
            notes.append(f'renamed: {entry.path}: it is {renamed} now')
        left = there.get(renamed or entry.path, [])
        unmatched, offsets = [], []
        for hunk in entry.hunks:
            match = next((other for other in left if other.changes == hunk.changes), None)
            if match is None:
                unmatched.append(hunk)
                continue
            left.remove(match)
            if match.lines != hunk.lines:
                counts['merged'] += 1
                notes.append(f'merged: {entry.path}: the hunk at line {hunk.old}, now {match.old}: other lines around it')
            elif match.old != hunk.old:
                counts['moved'] += 1
                offsets.append(match.old - hunk.old)
            else:
                counts['same'] += 1
        if offsets:
            low, high = min(offsets), max(offsets)
            notes.append(f'moved: {entry.path}: {len(offsets)} hunk{"s" * (len(offsets) > 1)} by {low:+}'
                         + (f' to {high:+}' if high != low else '') + ' lines')
        for hunk in unmatched:
            counts['merged' if left else 'gone'] += 1
            notes.append(f'merged: {entry.path}: the hunk at line {hunk.old} has other lines now' if left else
                         f'{"gone" if by_hand else "already upstream"}: {entry.path}: the hunk at line {hunk.old}')
    return counts, notes


def regions(path, content):
    """The conflicts of a merged file: (path, line, text)."""
    found, begin = [], None
    lines = (content or b'').decode(errors='replace').split('\n')
    for number, line in enumerate(lines, 1):
        if line.startswith('<<<<<<< '):
            begin = number
        elif line.startswith('>>>>>>> ') and begin:
            found.append((path, begin, '\n'.join(lines[begin - 1:number])))
            begin = None
    return found or [(path, 1, '')]


def markers(text):
    """The lines of a patch that bring a marker of a conflict into a file."""
    return [line for line in diff.split(text)[1].split('\n') if line.startswith('+') and MARKER.match(line)]


def prove(bases, results):
    """Applies what was carried, all of it and each patch alone, with fuzz 0; names of those that do not alone."""
    repository = bases.repository
    carried = [result for result in results if result.text and result.state != 'already upstream']
    paths = {path for result in carried for entry in diff.parse(result.text) for path in (entry.old, entry.new) if path}
    dependent = []
    for chosen in (carried, *([result] for result in carried)):
        with tempfile.TemporaryDirectory(prefix='millrace-') as place:
            repository.write(bases.new, paths, Path(place))
            for result in chosen:
                done = subprocess.run(['patch', '-p1', '--fuzz=0', '--no-backup-if-mismatch', '--force'], cwd=place,
                                      input=diff.encode(result.text), capture_output=True, check=False)
                if done.returncode and len(chosen) == 1:
                    dependent.append(result.name)
                elif done.returncode:
                    raise Failure(f"the carried patch '{result.name}' does not apply with fuzz 0",
                                  done.stdout.decode(errors='replace'))
            if chosen is carried and carried:
                wrong = [path for path in paths
                         if repository.read(carried[-1].merged, path) != content(Path(place, path))]
                if wrong:
                    raise Failure('the carried series does not make what was merged', *sorted(wrong))
    return dependent


def content(path):
    """A file's bytes, or None."""
    return path.read_bytes() if path.exists() else None


def report(title, results, where):
    """All that is known of each patch, as a page of text; `where` is the directory to edit in."""
    lines = [f'# {title}', '', '| patch | state | hunks | as they were | moved | merged | gone |',
             '| --- | --- | --- | --- | --- | --- | --- |']
    for result in results:
        cells = [sum(result.hunks.values()), *result.hunks.values()] if result.hunks else [''] * 5
        lines.append(f'| {result.name} | {result.state} | {" | ".join(map(str, cells))} |')
    for result in results:
        if not result.notes and not result.regions:
            continue
        lines += ['', f'## {result.name}: {result.state}', '', *(f'- {note}' for note in result.notes)]
        paths = {path for path, _, _ in result.regions}
        if paths:
            lines.append(f'- conflict: {len(result.regions)} places in {len(paths)} files, to be edited in {where}')
        if any(path.endswith('.result') for path in paths):
            lines.append("- of a .result, take upstream's lines; `scripts/mysql-test --record TEST` writes ours")
        for path, line, text in result.regions:
            rows = text.split('\n')
            if len(rows) > LONGEST:
                rows[LONGEST - 2:-1] = [f'... {len(rows) - LONGEST + 1} lines more']
            lines += ['', f'{path}:{line}', '', *(f'    {row}'.rstrip() for row in rows)]
    return '\n'.join(lines) + '\n'
