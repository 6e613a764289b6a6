"""The text of a patch: which files its hunks are about, and what may not be in it.

read() takes a patch apart; its faults are by RULES and by what the hunks say.  A path is
without quilt's a/ and b/.
"""
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from millrace.errors import Fault
from millrace.patches import diff

# the names of files that quilt, patch and make take without quotes
PLAIN = r'[A-Za-z0-9_.+,@%=#~:/-]'


@dataclass(frozen=True)
class Rule:
    """A pattern that no line of a patch may match: where to look, and how to mend it."""
    where: str      # 'all' lines, the lines 'between' the hunks, or the 'path' lines
    pattern: str
    fault: str
    mend: str
    form: bool = False      # only a matter of the form that ours have


RULES = (
    Rule('all', r'.*\r', 'ends in CR LF', "sed -i 's/\\r$//' {file}"),
    Rule('all', r'.*\0.*', 'is binary',
         'make what it is for from text, and leave the binary file out'),
    Rule('between', r'GIT binary patch|Binary files .* differ', 'is a binary hunk',
         'make what it is for from text, and leave the binary file out'),
    Rule('between', r'((new|deleted) file mode|(old|new) mode|index \S+) 1[26]0000',
         'is of a symbolic link or a submodule',
         'make a file of it: quilt and patch know only files'),
    Rule('path', r'(---|\+\+\+) (/(?!dev/null$)|.*(^|[ /])\.\.(/|$)).*',
         'names a path outside the tree', 'patch only what is in the source: a/<path>, b/<path>'),
    Rule('path', rf'(---|\+\+\+) (?!{PLAIN}+(\t.*|\r)?$).*',
         'names a file with a blank, a quote or another such character in its name',
         'give the file a name of letters, digits and -_.+'),
    Rule('path', r'(---|\+\+\+) (?!/dev/null)[^/]*/debian(/.*)?',
         "changes upstream's debian/, which is not built from",
         'change debian/ of the checkout instead, and leave the file out of the patch'),
    Rule('path', r'(---|\+\+\+) (?!/dev/null)[^/]*/(\.pc|\.git|builddir-[^/]*)(/.*)?',
         'changes what quilt, git or a build leaves in the source',
         'leave the file out of the patch'),
    Rule('path', r'(---|\+\+\+) (?!/dev/null$|[ab]/[^\t]+$).*', 'is not as quilt writes it here',
         'a/<path> and b/<path> without a date: make refresh', form=True),
    Rule('between', r'(?!GIT binary|Binary files).+', 'is neither of a file nor of a hunk',
         'take it out; make refresh writes the form that is used here', form=True),
)


# {kind of a line: the rules about it, compiled}
ABOUT = {kind: [(rule, re.compile(rule.pattern, re.DOTALL)) for rule in RULES
                if rule.where in ('all', kind)]
         for kind in ('header', 'path', 'hunk', 'text', 'between', 'short')}


@dataclass(frozen=True)
class Patch:
    """A patch: its file and name, its hash and that of what follows the header, the paths
    that it is about, and its Faults."""
    file: Path
    name: str
    sha256: str
    change: str
    paths: tuple
    faults: tuple


def broken(kind, line, foreign=False):
    """The Rule that a line of this kind breaks, or None; a foreign patch may have any form."""
    for rule, pattern in ABOUT[kind]:
        if pattern.fullmatch(line) and not (foreign and rule.form):
            return rule
    return None


# how the text of another patch begins or ends: a field of a mail or of DEP-3, a commit
OF_ANOTHER = re.compile(
    r'(From|Subject|Author|Date|Description|Origin|Forwarded|Last-Update|Bug(-\w+)?|Signed-off-by|'
    r'Co-authored-by): |From \S+ .*\d\d:\d\d|# HG changeset|'
    r'(commit )?(?=[a-f]*\d)[0-9a-f]{7,40}( |$)', re.IGNORECASE)


def check_foreign(label, text):
    """The first Fault of somebody else's diff that no form excuses, or None."""
    hunks, words = 0, None
    for number, kind, line in diff.scan(text.split('\n')[:-1]):
        if kind == 'between' and hunks and OF_ANOTHER.match(line):
            words = words or (number, line)
        elif kind == 'hunk' and words:
            return Fault(f'line {words[0]} of the diff begins another patch: '
                         f'{words[1][:80]!r}', 'bring one patch at a time, each with its own text',
                         words[0], label)
        hunks += kind == 'hunk'
        if rule := broken(kind, line, foreign=True):
            return Fault(f'line {number} of the diff {rule.fault}: {line[:80]!r}',
                         rule.mend.format(file=label), number, label)
        if kind == 'short':
            return Fault(f'line {number} of the diff is the last, but its hunk goes on',
                         'bring the whole patch', number, label)
    if not hunks:
        return Fault('no hunk in it', 'bring the patch as `git format-patch --no-renames` or '
                     '`diff -ru` writes it', 1, label)
    return None


def read(file):
    """The patch in a file."""
    file = Path(file)
    return _taken_apart(file, file.read_bytes())


@functools.cache    # the lint and the record want the same patches
def _taken_apart(file, content):
    lines = content.decode('utf-8', 'surrogateescape').split('\n')
    if lines[-1] == '':
        lines.pop()
    start = next((number for number, line in enumerate(lines, 1) if line.rstrip('\r') == '---'), 0)
    faults, paths, hunks, seen, before = [], [], 0, set(), ''
    head = [(number, 'header', line) for number, line in enumerate(lines[:start], 1)]
    # all but a few lines are text, and no rule is about text without these
    odd = b'\r' in content or b'\0' in content
    for number, kind, line in head + list(diff.scan(lines[start:], start + 1)):
        rule = broken(kind, line) if odd or kind != 'text' else None
        if rule and rule not in seen:       # once is enough: a file of CR LF has it in each line
            seen.add(rule)
            faults.append(Fault(f'{rule.fault}: {line[:80].rstrip()!r}',
                                rule.mend.format(file=file), number))
        if kind == 'short':
            faults.append(Fault('is the last line, but its hunk goes on',
                                'make refresh, or bring the whole patch', number))
        elif kind == 'path' and not line.endswith('/dev/null'):
            if not rule and line.startswith('+++ ') and paths and before == f'--- a/{paths[-1]}' \
                    and paths[-1] != line[6:]:
                faults.append(Fault(f'makes {line[6:]} of {paths[-1]}', 'let it remove the one '
                                    'and add the other, as quilt does: make refresh', number))
            paths.append(line[6:])
        hunks += kind == 'hunk'
        before = line
    if not hunks:
        faults.append(Fault('no hunk in it', 'make the change (make patched, quilt add, '
                            f'make refresh), or remove {file}', len(lines) or 1))
    sha256 = hashlib.sha256(content).hexdigest()
    change = hashlib.sha256(content[content.find(b'\n---') + 1:]).hexdigest()
    return Patch(file, file.stem, sha256, change, tuple(dict.fromkeys(paths)), tuple(faults))
