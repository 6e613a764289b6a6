"""The text of a patch: which files its hunks are about, and what may not be in it.

read() takes a patch apart; check() gives its faults, by RULES and by what the
hunks say.  A path is without quilt's a/ and b/.
"""
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Rule:
    """What no line of a patch may be: where it is looked for, and how to mend it."""
    where: str      # 'all' lines, the lines 'between' the hunks, or the 'path' lines
    pattern: str
    fault: str
    mend: str
    form: bool = False      # only a matter of the form that ours have


RULES = (
    Rule('all', r'.*\r', 'ends in CR LF', "sed -i 's/\\r$//' {file}"),
    Rule('all', r'.*\0.*', 'is binary', 'make what it is for from text, and leave the binary file out'),
    Rule('between', r'GIT binary patch|Binary files .* differ',
         'is a binary hunk', 'make what it is for from text, and leave the binary file out'),
    Rule('path', r'(---|\+\+\+) (/(?!dev/null$)|.*(^|[ /])\.\.(/|$)).*',
         'names a path outside the tree', 'patch only what is in the source: a/<path>, b/<path>'),
    Rule('path', r'(---|\+\+\+) (?!/dev/null$|[ab]/[^\t]+$).*',
         'is not as quilt writes it here', 'a/<path> and b/<path> without a date: make refresh', form=True),
    Rule('between', r'(?!GIT binary|Binary files).+', 'is neither of a file nor of a hunk',
         'take it out; make refresh writes the form that is used here', form=True),
)
HUNK = re.compile(r'@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@')


@dataclass(frozen=True)
class Patch:
    """One patch: its file, name, hash, the hash without its header, the paths it is about, and its faults."""
    file: Path
    name: str
    sha256: str
    change: str
    paths: tuple
    faults: tuple


def kinds(lines):
    """(number, kind, line) for each line of a diff: path, hunk, text, between."""
    old = new = 0
    for number, line in lines:
        if old > 0 or new > 0:
            kind = 'text'
            if line[:1] in ('-', ' ', ''):
                old -= 1
            if line[:1] in ('+', ' ', ''):
                new -= 1
        elif HUNK.match(line):
            kind = 'hunk'
            old, new = (1 if size is None else int(size) for size in HUNK.match(line).groups())
        elif line.startswith(('--- ', '+++ ')):
            kind = 'path'
        elif line.startswith('\\ No newline'):
            kind = 'text'
        else:
            kind = 'between'
        yield number, kind, line
    if old or new:
        yield number, 'short', line


def read(file):
    """The patch in a file."""
    file = Path(file)
    content = file.read_bytes()
    lines = list(enumerate(content.decode('utf-8', 'surrogateescape').split('\n'), 1))
    if lines[-1][1] == '':
        lines.pop()
    start = next((number for number, line in lines if line.rstrip('\r') == '---'), 0)
    faults, paths, hunks, seen = [], [], 0, set()

    def fault(number, words, mend):
        faults.append(f'{file.stem}: line {number} {words}\n  mend: {mend.format(file=file)}')

    head = [(number, 'header', line) for number, line in lines[:start]]
    for number, kind, line in head + list(kinds(lines[start:])):
        broken = next((rule for rule in RULES
                       if rule.where in ('all', kind) and re.fullmatch(rule.pattern, line, re.DOTALL)), None)
        if broken and broken not in seen:   # once is enough: a file of CR LF has it in each line
            seen.add(broken)
            fault(number, f'{broken.fault}: {line[:80].rstrip()!r}', broken.mend)
        if kind == 'short':
            fault(number, 'is the last, but its hunk goes on', 'make refresh, or bring the whole patch')
        elif kind == 'path' and not line.endswith('/dev/null'):
            paths.append(line[6:])
        hunks += kind == 'hunk'
    if not hunks:
        faults.append(f'{file.stem}: there is no hunk in it\n'
                      f'  mend: make the change (make patched, quilt add, make refresh), or remove {file}')
    sha256 = hashlib.sha256(content).hexdigest()
    change = hashlib.sha256(content[content.find(b'\n---') + 1:]).hexdigest()
    return Patch(file, file.stem, sha256, change, tuple(dict.fromkeys(paths)), tuple(faults))


def is_test(path):
    """Whether a path is of upstream's test suite: nothing compiled, nothing configured."""
    return 'mysql-test' in path.split('/')[:-1]
