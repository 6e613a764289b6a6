"""A patch as data: its header, its files, their hunks."""
import re
from dataclasses import dataclass

HUNK = re.compile(r'@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)')


@dataclass(frozen=True)
class Hunk:
    """One hunk: where it is in the old and in the new file, after which function's head, and its lines."""
    old: int
    new: int
    section: str
    lines: tuple

    @property
    def changes(self):
        """The lines it takes out and puts in, without those around them."""
        return tuple(line for line in self.lines if line[0] in '+-')


@dataclass(frozen=True)
class FileDiff:
    """What a patch does to one file; a path is None where the file is not there."""
    old: str
    new: str
    hunks: tuple

    @property
    def path(self):
        """The file, by the name it has afterwards."""
        return self.new or self.old


def read(path):
    """The text of a patch; what is not UTF-8 in it comes through to write() as it was."""
    return path.read_bytes().decode('utf-8', 'surrogateescape')


def encode(text):
    """The bytes of a patch's text."""
    return text.encode('utf-8', 'surrogateescape')


def split(text):
    """Header, with its line ---, and diff of a patch of ours."""
    head, separator, body = text.partition('\n---\n')
    return head + separator, body


def _path(line):
    """The path of a line '--- a/...', '+++ b/...', as patch -p1 takes it; None for /dev/null."""
    name = line[4:].split('\t')[0].rstrip()
    return None if name == '/dev/null' else name.partition('/')[2]


def parse(text):
    """The FileDiffs of a patch or of a plain diff, in its order."""
    files = []
    lines = text.split('\n')
    at = 0
    while at < len(lines):
        if lines[at].startswith('--- ') and at + 1 < len(lines) and lines[at + 1].startswith('+++ '):
            old, new = _path(lines[at]), _path(lines[at + 1])
            at, hunks = _hunks(lines, at + 2)
            files.append(FileDiff(old, new, tuple(hunks)))
        else:
            at += 1
    return files


def _hunks(lines, at):
    """The hunks that begin at a line, and the line after them."""
    hunks = []
    while at < len(lines) and (match := HUNK.fullmatch(lines[at])):
        left, right = int(match[2] or 1), int(match[4] or 1)
        at += 1
        begin = at
        while at < len(lines) and (left > 0 or right > 0 or lines[at].startswith('\\')):
            left -= lines[at][:1] in ('-', ' ', '')
            right -= lines[at][:1] in ('+', ' ', '')
            at += 1
        hunks.append(Hunk(int(match[1]), int(match[3]), match[5], tuple(line or ' ' for line in lines[begin:at])))
    return at, hunks
