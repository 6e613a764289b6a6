"""The lint of a tree: the series, the headers and the texts of its patches, their mutations.

Nothing is applied that does not pass it.
"""
import re

from millrace import TOP
from millrace.errors import Fault, FaultyFile
from millrace.patches import diff, header, mutations, patchfile, series
from millrace.upstream import pins

NAME = r'[a-z0-9]+(-[a-z0-9]+)*'


def check_series(tree):
    """The Faults of the series and of patches/<tree>."""
    lines = (TOP / 'series').read_text(encoding='utf-8').splitlines()
    faults, seen = [], set()
    for number, line in enumerate(lines, 1):
        name = series.name_in(line)
        if not name:
            continue
        if name in seen:
            faults.append(Fault(f'two patches are named {name}', 'take one of the lines out',
                                number, 'series'))
        elif not re.fullmatch(NAME, name):
            faults.append(Fault(f'{name!r} is not the name of a patch', 'small letters, digits '
                                'and single hyphens, as in read-ahead', number, 'series'))
        elif not any(series.patch_file(other, name).is_file()
                     for other in (tree, *pins.trees())):
            faults.append(Fault(f'names {name}, but there is no patches/{tree}/{name}.patch',
                                'bring the patch to this tree, or take its line out',
                                number, 'series'))
        seen.add(name)
    directory = series.patch_file(tree, '').parent
    return faults + [Fault('is in no series', f'add a line {file.stem} to the file series, or '
                           f'git rm patches/{tree}/{file.name}', 1, f'patches/{tree}/{file.name}')
                     for file in sorted(directory.glob('*'))
                     if file.name not in {f'{name}.patch' for name in seen}]


def check_tests(patch, head):
    """The Faults between the field Test of a header and the tests in the patch."""
    named = head.fields.get('Test', '').split()
    line = head.lines.get('Test', 1)
    tests = {diff.test_name(path) for path in patch.paths} - {None}
    new = diff.new_tests(diff.split(diff.read(patch.file))[1])
    return [Fault(f'Test names {test}, which is not in the patch',
                  'add the test to the patch (quilt add, make refresh), or take it out of Test',
                  line) for test in named if test not in tests] \
        + [Fault(f'the new test {test} is not named in Test', f'Test: {" ".join([*named, test])}',
                 line) for test in new if test not in named]


def check_patch(tree, name, names):
    """The Faults of a patch of a tree, `names` the series."""
    patch = patchfile.read(series.patch_file(tree, name))
    try:
        head = header.read_header(patch.file)
        faults = [*patch.faults, *header.check(head, names), *check_tests(patch, head)]
    except FaultyFile as error:
        faults = [*patch.faults, error.fault]
    return [fault._replace(file=f'patches/{tree}/{name}.patch') for fault in faults]


def check_tree(tree):
    """All Faults of a tree."""
    faults = check_series(tree)
    if not faults:
        names = series.names(tree)
        faults = [fault for name in names for fault in check_patch(tree, name, names)] \
            or mutations.check(tree)
    return faults
