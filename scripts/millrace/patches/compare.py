"""Shows how a patch differs between the release trees.

The first tree that has the patch is compared with each other one: which fields of the
header, and file by file which hunks are the same (wherever they stand), which have other
lines around them, and which change other lines; those are shown.

--write puts the changed lines that are not the first tree's into
patches/differences/<tree>/<name>.diff, for a reviewer who has read the first tree's patch:
"-" is a line of the first tree's patch, "+" one of this tree's, and the second character is
the patch's own.  Line numbers are not in it, so it changes only where a patch does.
"""
import difflib

from millrace import TOP
from millrace.command import parser, run_command
from millrace.errors import Failure, Fault
from millrace.patches import diff, header, series
from millrace.upstream import pins

DIFFERENCES = TOP / 'patches/differences'
MEND = 'scripts/compare-trees --write'
CONTEXT = 2         # changed lines shown around a difference
DATES = ('Last-Update',)


def unplaced(entry):
    """The hunks of a file as lines, without where they stand."""
    return [line for hunk in entry.hunks
            for line in (f'@@ {hunk.section}'.rstrip(), *hunk.lines)]


def compare_files(name, first, second):
    """The differences in a file between two patches, as lines."""
    if not first or not second:
        return [f'{name}: only in the {"second" if first is None else "first"}']
    if [hunk.lines for hunk in first.hunks] == [hunk.lines for hunk in second.hunks]:
        moved = [right.old - left.old for left, right in zip(first.hunks, second.hunks)
                 if left.old != right.old]
        upto = f' to {max(moved):+}' if moved and min(moved) != max(moved) else ''
        return [f'{name}: the same' + (f', {min(moved):+}{upto} lines away' if moved else '')]
    if [hunk.changes for hunk in first.hunks] == [hunk.changes for hunk in second.hunks]:
        return [f'{name}: the same changes, other lines around them']
    lines = difflib.unified_diff(unplaced(first), unplaced(second), n=2, lineterm='')
    return [f'{name}: other changes', *(f'    {line}'.rstrip() for line in list(lines)[2:])]


def parts(tree, name):
    """The fields of a tree's patch, and {path: FileDiff}."""
    text = diff.read(series.patch_file(tree, name))
    return header.parse(name, text).fields, {entry.path: entry for entry in diff.parse(text)}


def compare(name, first, second):
    """The lines about a patch in two trees."""
    (fields, files), (others, theirs) = parts(first, name), parts(second, name)
    yield f'{name}: {first} and {second}'
    for field in dict.fromkeys([*fields, *others]):
        if fields.get(field) != others.get(field):
            yield f'{field}:'
            yield from (f'    {line}' for line in list(difflib.unified_diff(
                fields.get(field, '').split('\n'), others.get(field, '').split('\n'),
                n=1, lineterm=''))[2:])
    for path in sorted({*files, *theirs}):
        yield from compare_files(path, files.get(path), theirs.get(path))


def changed_lines(entry):
    """(line, head of its function) for the lines that a FileDiff takes out and puts in."""
    return [(line, hunk.section) for hunk in entry.hunks for line in hunk.changes] if entry else []


def differences_of(lines, others):
    """The lines, (text, head), that are not the others', with some around them; a line
    `@@ head @@` before each group."""
    matcher = difflib.SequenceMatcher(None, [text for text, _ in lines],
                                      [text for text, _ in others], autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        what, before, before_end, after, after_end = next(
            code for code in group if code[0] != 'equal')
        heads = others[after:after_end] or lines[before:before_end]
        yield f'@@ {heads[0][1]}'.rstrip()
        for what, before, before_end, after, after_end in group:
            if what == 'equal':
                yield from (f' {text}' for text, _ in lines[before:before_end])
            else:
                yield from (f'-{text}' for text, _ in lines[before:before_end])
                yield from (f'+{text}' for text, _ in others[after:after_end])


def difference(name, first, second):
    """The changed lines of the second tree's patch beside the first's; '' where all are the
    same."""
    (fields, files), (others, theirs) = parts(first, name), parts(second, name)
    made = []
    for field in dict.fromkeys([*fields, *others]):
        pair = [[(line, '') for line in given.get(field, '').split('\n')]
                for given in (fields, others)]
        if field not in DATES and pair[0] != pair[1]:
            made += [f'{field}:', *list(differences_of(*pair))[1:]]
    for path in sorted({*files, *theirs}):
        lines = list(differences_of(changed_lines(files.get(path)),
                                    changed_lines(theirs.get(path))))
        if lines:
            made += [f'--- {first}/{path}' if path in files else '--- /dev/null',
                     f'+++ {second}/{path}' if path in theirs else '+++ /dev/null', *lines]
    if not made:
        return ''
    return '\n'.join([f'# patches/{second}/{name}.patch beside patches/{first}/{name}.patch: '
                      'the changed lines that differ', f'# made by {MEND}', *made, ''])


def wanted():
    """{file: text} of all differences; none for a patch that changes the same lines."""
    texts = {}
    for name in series.names():
        trees = series.trees_with(name)
        for tree in trees[1:]:
            if text := difference(name, trees[0], tree):
                texts[DIFFERENCES / tree / f'{name}.diff'] = text
    return texts


def stale():
    """{file: text, or None for one that must go} for the differences that are not up to date."""
    texts = wanted()
    present = set(DIFFERENCES.glob('*/*'))
    changed = {file: text for file, text in texts.items()
               if file not in present or diff.read(file) != text}
    return {**changed, **dict.fromkeys(present - set(texts))}


def write():
    """Brings patches/differences up to date."""
    for file, text in stale().items():
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(diff.encode(text))


def check():
    """The Faults of differences that are not up to date."""
    return [Fault('is not how the patches of the trees differ', MEND,
                  file=str(file.relative_to(TOP))) for file in sorted(stale())]


def show(name):
    """Prints how the trees differ in a patch."""
    trees = series.trees_with(name)
    if not trees:
        raise Failure(f"no tree has a patch '{name}'",
                      f'known patches: {" ".join(series.names())}')
    for tree in pins.trees():
        if tree not in trees:
            print(f'{name}: {tree} does not have it')
    for other in trees[1:]:
        print(*compare(name, trees[0], other), sep='\n')


def main(argv):
    """Shows, writes or checks differences."""
    options = parser('scripts/compare-trees', __doc__)
    how = options.add_mutually_exclusive_group(required=True)
    how.add_argument('patch', nargs='?', help='show how the trees differ in this patch')
    how.add_argument('--write', action='store_true', help='bring patches/differences up to date')
    how.add_argument('--check', action='store_true', help='exit 1 and name what is not')
    chosen = options.parse_args(argv)
    if chosen.write:
        write()
    elif chosen.check:
        if faults := check():
            raise Failure('patches/differences is not up to date', *faults)
    else:
        show(chosen.patch)


if __name__ == '__main__':
    run_command('compare-trees', main)
