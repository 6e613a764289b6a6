"""A patch as data: its header, its files, their hunks.

Everything that reads a diff does it by scan(): one grammar of hunks, here.
"""
import functools
import re
from typing import NamedTuple

HUNK = re.compile(r'@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)')
# a test of upstream's suite: suite and name
TEST = re.compile(r'([^/]+)/(?:t/)?([^/]+)\.test$')


class Hunk(NamedTuple):
    """A hunk: its line in the old and in the new file, the head of its function, its lines."""
    old: int
    new: int
    section: str
    lines: tuple

    @property
    def changes(self):
        """The lines it takes out and puts in, without those around them."""
        return tuple(line for line in self.lines if line[0] in '+-')


class FileDiff(NamedTuple):
    """The change of a patch to a file; a path is None where the file is not there."""
    old: str
    new: str
    hunks: tuple

    @property
    def path(self):
        """The file, by the name it has afterwards."""
        return self.new or self.old


def read(path):
    """The text of a patch in a file."""
    return decode(path.read_bytes())


def decode(content):
    """The text of a patch; bytes that are not UTF-8 come through to encode() as they were."""
    return content.decode('utf-8', 'surrogateescape')


def encode(text):
    """The bytes of a patch's text."""
    return text.encode('utf-8', 'surrogateescape')


def split(text):
    """Header, with its line ---, and diff of a patch of ours."""
    head, separator, body = text.partition('\n---\n')
    return head + separator, body


def scan(lines, first=1):
    """(number, kind, line) for each line of a diff, numbered from `first`.

    The kinds: path (--- or +++), hunk (its head), text (of a hunk), between (anything else),
    and short, once more for the last line, where the last hunk goes on after it."""
    number, line, old, new = first, '', 0, 0
    for number, line in enumerate(lines, first):
        if old > 0 or new > 0:
            kind = 'text'
            old -= line[:1] in ('-', ' ', '')
            new -= line[:1] in ('+', ' ', '')
        elif match := HUNK.fullmatch(line):
            kind = 'hunk'
            old, new = (1 if size is None else int(size) for size in (match[2], match[4]))
        elif line.startswith(('--- ', '+++ ')):
            kind = 'path'
        elif line.startswith('\\ No newline'):
            kind = 'text'
        else:
            kind = 'between'
        yield number, kind, line
    if old or new:
        yield number, 'short', line


def path_of(line):
    """The path of a line '--- a/...' or '+++ b/...', as patch -p1 takes it; None for /dev/null."""
    name = line[4:].split('\t')[0].rstrip()
    return None if name == '/dev/null' else name.partition('/')[2]


@functools.cache    # the lint, the tables and the record want the same patches
def parse(text):
    """The FileDiffs of a patch or of a plain diff, in its order."""
    files, before, hunks = [], '', None
    for _, kind, line in scan(text.split('\n')):
        if kind == 'path' and line.startswith('+++ ') and before.startswith('--- '):
            hunks = []
            files.append((path_of(before), path_of(line), hunks))
        elif kind == 'hunk' and hunks is not None:
            hunks.append((HUNK.fullmatch(line), []))
        elif kind == 'text' and hunks:
            hunks[-1][1].append(line or ' ')
        elif kind != 'short':
            hunks = None
        before = line if kind == 'path' else ''
    return tuple(FileDiff(old, new, tuple(Hunk(int(head[1]), int(head[3]), head[5], tuple(lines))
                                          for head, lines in hunks))
                 for old, new, hunks in files)


def parts(text):
    """{path: the part of a patch of ours that is about the file}."""
    taken, lines = {}, split(text)[1].split('\n')
    scanned = [(kind, line) for _, kind, line in scan(lines) if kind != 'short']
    path = None
    for (kind, line), (_, after) in zip(scanned, [*scanned[1:], ('', '')]):
        if kind == 'path' and line.startswith('--- ') and after.startswith('+++ '):
            path = path_of(after) or path_of(line)
        if path and (kind != 'between' or line):
            taken.setdefault(path, []).append(f'{line}\n')
    return {path: ''.join(part) for path, part in taken.items()}


def paths(text):
    """All paths that a diff is about, those that it renames or copies included."""
    names = {path for entry in parse(text) for path in (entry.old, entry.new) if path}
    for _, kind, line in scan(text.split('\n')):
        if kind == 'between' and (match := re.fullmatch('(?:rename|copy) (?:from|to) (.+)', line)):
            names.add(match[1])
    return names


def is_test(path):
    """Whether a path is of upstream's test suite: nothing compiled, nothing configured."""
    return 'mysql-test' in path.split('/')[:-1]


def test_name(path):
    """The name suite.test of a file of a patch; None where it is not a test."""
    match = TEST.search(path or '')
    return f'{match[1]}.{match[2]}' if match else None


def new_tests(text):
    """The names of the tests that a patch adds, sorted."""
    return sorted(test_name(entry.new) for entry in parse(text)
                  if not entry.old and test_name(entry.new))
