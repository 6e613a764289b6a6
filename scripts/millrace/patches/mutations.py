"""The mutations of a patch: for each, a part of it that is broken on purpose, and the test that
must see it.

tests/mutations/common/<patch>.toml has those of all trees, tests/mutations/<tree>/<patch>.toml
those of one, which go before others of the same name.  A mutation is a table:

    [name]
    breaks = "what the patch promises, and does not do any more"
    test = "suite.name, one of the patch's Test:"
    file = "a file of the patch"
    old = "the text to take out of the patched file, which has it once"
    new = "the text to put in its place"
"""
from dataclasses import dataclass
from pathlib import Path

from millrace import TOP
from millrace.errors import Fault, FaultyFile
from millrace.patches import series
from millrace.patches.diff import is_test
from millrace.patches.header import read_header
from millrace.patches.patchfile import read

MUTATIONS = TOP / 'tests/mutations'
FIELDS = ('breaks', 'test', 'file', 'old', 'new')


@dataclass(frozen=True)
class Mutation:
    """A mutation: the fields of its table, and the file that has it."""
    name: str
    breaks: str
    test: str
    file: str
    old: str
    new: str
    source: Path

    @property
    def place(self):
        """The file that has it, as the checkout names it."""
        return self.source.relative_to(TOP)


def files(tree, patch):
    """The files that have mutations of a patch of a tree; a later one goes before."""
    return [file for place in ('common', tree)
            if (file := MUTATIONS / place / f'{patch}.toml').is_file()]


def _read(file):
    """The Mutations of a file.  Raises FaultyFile."""
    import tomllib      # python 3.11; older ones can build
    label = str(file.relative_to(TOP))
    try:
        tables = tomllib.loads(file.read_text(encoding='utf-8'))
    except tomllib.TOMLDecodeError as error:
        raise FaultyFile(label, Fault(f'is not TOML: {error}', 'see docs/prove.md',
                                      file=label)) from None
    made = []
    for name, table in tables.items():
        given = table if isinstance(table, dict) else {}
        if {key: type(value) for key, value in given.items()} != dict.fromkeys(FIELDS, str):
            raise FaultyFile(label, Fault(f'[{name}] does not have these fields and no other: '
                                          f'{", ".join(FIELDS)}', 'see docs/prove.md', file=label))
        made.append(Mutation(name=name, **given, source=file))
    return made


def load(tree, patch):
    """The Mutations of a patch of a tree.  Raises FaultyFile."""
    named = {mutation.name: mutation for file in files(tree, patch) for mutation in _read(file)}
    return list(named.values())


def check(tree):
    """The Faults of the mutations of a tree, as far as they are told without its source."""
    faults, names = [], series.names(tree)
    for file in sorted((MUTATIONS / tree).glob('*')) + sorted((MUTATIONS / 'common').glob('*')):
        if file.suffix != '.toml' or file.stem not in series.names():
            faults.append(Fault('is not named as a patch of the series', 'git mv it to '
                                '<patch>.toml, or git rm it', file=str(file.relative_to(TOP))))
    for name in names:
        patch = series.patch_file(tree, name)
        try:
            mutations = load(tree, name)
        except FaultyFile as error:
            faults.append(error.fault)
            continue
        tests = read_header(patch).fields.get('Test', '').split() if mutations else []
        paths = [path for path in read(patch).paths if not is_test(path)] if mutations else []
        for mutation in mutations:
            where = str(mutation.place)
            if mutation.test not in tests:
                faults.append(Fault(f'[{mutation.name}] names {mutation.test}, which is no test '
                                    f'of {name}', f'one of {" ".join(tests)}', file=where))
            if mutation.file not in paths:
                faults.append(Fault(f'[{mutation.name}] is of {mutation.file}, which {name} does '
                                    'not change', 'break a part of the patch', file=where))
    return faults
