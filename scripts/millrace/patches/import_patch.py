"""Takes in somebody else's patch: a `git format-patch` mail, a Debian patch, a plain diff.

Called by make import-patch FILE=0001-a-thing.patch [NAME=a-thing] [TREE=10.11].

It becomes the last of the series, or, where another tree has a patch of its name, takes
that one's place, in our form: subject, text and author of a mail, and the fields of any
DEP-3 header, make the header; what is missing is filled in or named.  It has to apply to
the patches before it, and those after it to it, with -p1 and fuzz 0.
"""
import os
import re
import tempfile
from pathlib import Path

from millrace.command import parser, run_command, say
from millrace.errors import Failure
from millrace.patches import add, diff, header, mail, patchfile, quilt, series
from millrace.patches.repository import Repository
from millrace.upstream import pins, tarballs


def name_of(file):
    """The name of a patch from that of its file: 0001-Fix-a-thing.patch is fix-a-thing."""
    stem = re.sub(r'\.(patch|diff|eml|mbox|txt)$', '', file.name)
    return re.sub(r'[^a-z0-9]+', '-', re.sub(r'^\d+-', '', stem).lower()).strip('-')


def read(file):
    """The mail.Foreign of a file.  Raises Failure where no patch of ours may have that in it."""
    if not file.is_file():
        raise Failure(f'FILE={file}: no such file')
    foreign = mail.read(file.read_bytes(), str(file))
    if fault := patchfile.check_foreign(str(file), foreign.diff):
        raise Failure(f'{file}: {fault.what}', f'mend: {fault.mend}')
    return foreign


def around(tree, name, paths):
    """The changes to these paths by the patches of a tree that stand before this name in the
    series, and by those after it: {name: diff, '' for nothing} each."""
    names = [*series.names(), name]
    place = names.index(name)

    def about(patch):
        text = diff.read(patch)
        if not any(f'/{path}\n' in text for path in paths):
            return ''       # most patches, which are long
        return ''.join(part for path, part in diff.parts(text).items() if path in paths)
    return [{other: about(patch) for other in part
             if (patch := series.patch_file(tree, other)).exists()}
            for part in (names[:place], names[place + 1:-1])]


class Place:
    """The files that a patch is about, in a git repository."""

    def __init__(self, directory, release, paths):
        source = Path(directory, 'source')
        tarballs.extract(release, paths, source)
        self.repository = Repository(Path(directory, 'git'))
        self.vanilla = self.repository.tree(source)

    def apply(self, tree, text, what, *mend):
        """The git tree with a patch applied.  Raises Failure(what, git's message, mend)."""
        if not text:
            return tree
        made, message = self.repository.apply(tree, diff.encode(text))
        if made is None:
            raise Failure(what, *message.strip().splitlines()[:8], *mend)
        return made

    def lost(self, made, written):
        """The paths whose content our form of a patch loses, and those whose mode it loses."""
        if made == written:
            return [], []
        changed = self.repository.changed(made, written)
        ours, theirs = (self.repository.read(tree, changed) for tree in (written, made))
        content = [path for path in changed if ours[path] != theirs[path]]
        return content, [path for path in changed if path not in content]


def written(file, tree, name, body):
    """The diff of the patch in our form.  Raises Failure where it, or a patch after it, does
    not apply, or where our form loses something of it."""
    release = pins.read(tree)['VERSION']
    paths = diff.paths(body)
    before, after = around(tree, name, paths)
    with tempfile.TemporaryDirectory(prefix='millrace-') as directory:
        place = Place(directory, release, paths)
        base = place.vanilla
        for other, text in before.items():
            base = place.apply(base, text, f"patch '{other}' of the series does not apply to "
                               f'mariadb-{release}', f'mend it first: make patched TREE={tree}')
        made = place.apply(base, body, f'{file} does not apply to mariadb-{release} with the '
                           'series, with -p1 and fuzz 0', 'make it apply there first: make '
                           f'patched TREE={tree} PATCHES="{" ".join(before) or "none"}"')
        text = quilt.text('---\n', place.repository, base, made).removeprefix('---\n')
        ours = place.apply(base, text, f'{file} cannot be written in our form')
        content, modes = place.lost(made, ours)
        if content:
            raise Failure(f'{file}: quilt and patch cannot keep what it does to:', *content[:8],
                          'leave these files out, or give an empty one a line')
        if modes:
            say('import-patch', f'the modes of files are not kept: {" ".join(modes)}')
        for other, rest in after.items():
            made = place.apply(made, rest, f"with {file} at its place in the series, patch "
                               f"'{other}' after it does not apply any more",
                               'give it another name, for the end of the series: NAME=')
    return text


def main(argv):
    """Takes the patch in."""
    options = parser('scripts/import-patch', __doc__)
    options.add_argument('file', help='the patch')
    options.add_argument('name', nargs='?', help="its name; default: from the file's")
    chosen = options.parse_args(argv)
    if not chosen.file:
        raise Failure('which patch?', 'make import-patch FILE=0001-a-thing.patch')
    tree, file = os.environ.get('TREE') or pins.default_tree(), Path(chosen.file)
    pins.read(tree)
    foreign = read(file)
    name = chosen.name or name_of(file)
    add.check_name(tree, name)
    tarballs.fetch(tree)
    text = written(file, tree, name, foreign.diff)
    tests = diff.new_tests(text)
    fill = add.fields(name, f'{name}: what it does, in one line', tests)
    fill['Origin'] = f'other, {file.name}'
    given = foreign.fields
    order = given if set(fill) <= set(given) else {**fill, **given}
    fields = {field: given.get(field) or fill[field] for field in order}
    head = header.text({field: value for field, value in fields.items() if value})
    for note in foreign.notes:
        say('import-patch', f'not a field of ours, now in the Description: {note}')
    add.settle('import-patch', tree, name, f'{head}---\n{text}',
               fields['Description'].split('\n')[0], tests)


if __name__ == '__main__':
    run_command('import-patch', main)
