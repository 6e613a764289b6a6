"""The lint of a tree: the series, the headers and the texts of its patches.

Nothing is applied that does not pass it.
"""
import re

from millrace import header, patchfile, series


def check_series(tree):
    """Faults of the series and of patches/<tree>, as texts that name the mend."""
    names, faults = series.names(), []
    directory = series.patch_file(tree, '').parent
    for name in dict.fromkeys(names):
        file = series.patch_file(tree, name)
        if names.count(name) > 1:
            faults.append(f'series: two patches are named {name}\n  mend: take one of the lines out of the file series')
        if not re.fullmatch(r'[a-z0-9]+(-[a-z0-9]+)*', name):
            faults.append(f'series: {name!r} is not the name of a patch\n'
                          '  mend: small letters, digits and single hyphens, as in read-ahead')
        elif not any(series.patch_file(other, name).is_file() for other in (tree, *series.trees())):
            faults.append(f'series: names {name}, but there is no patches/{tree}/{name}.patch\n'
                          '  mend: bring the patch to this tree, or take its line out of the file series')
    faults += [f'patches/{tree}/{file.name}: is in no series\n'
               f'  mend: add a line {file.stem} to the file series, or git rm patches/{tree}/{file.name}'
               for file in sorted(directory.glob('*')) if file.name not in {f'{name}.patch' for name in names}]
    return faults


def check_tests(patch, fields):
    """Faults between the field Test and the tests that the patch has in it."""
    named = fields.get('Test', '').split()
    tests = {match[1] + '.' + match[2] for path in patch.paths
             if (match := re.search(r'([^/]+)/(?:t/)?([^/]+)\.test$', path))}
    faults = [f'{patch.name}: Test names {test}, which is not in the patch\n'
              '  mend: add the test to the patch (quilt add, make refresh), or take it out of Test'
              for test in named if test not in tests]
    text = patch.file.read_text(encoding='utf-8', errors='surrogateescape')
    new = set(re.findall(r'^--- /dev/null\n\+\+\+ b/.*?([^/\n]+)\.test$', text, re.MULTILINE))
    return faults + [f'{patch.name}: its new test {test} is not named in Test\n  mend: Test: {" ".join([*named, test])}'
                     for test in sorted(tests - set(named)) if test.split('.')[1] in new]


def check_patch(tree, name, names):
    """Faults of one patch of a tree, `names` the series."""
    patch = patchfile.read(series.patch_file(tree, name))
    faults = list(patch.faults)
    try:
        read = header.read_header(patch.file)
    except header.HeaderError as error:
        return [*faults, str(error)]
    return faults + header.check(read, names) + check_tests(patch, read.fields)


def check_tree(tree):
    """All faults of a tree."""
    faults = check_series(tree)
    if not faults:
        names = series.names(tree)
        faults = [fault for name in names for fault in check_patch(tree, name, names)]
    return faults
