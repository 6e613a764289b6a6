"""The release trees, and the upstream release that each is pinned to: trees/<tree>/pin.conf."""
import datetime
import re

from millrace import TOP
from millrace.errors import Failure

REQUIRED = ('VERSION', 'SHA256', 'SIGNED_BY', 'ARCHIVE', 'DEBIAN_SOURCE', 'DEBIAN_SUITES',
            'REVISION', 'DATE')
NOT_EMPTY = ('VERSION', 'SHA256', 'SIGNED_BY', 'REVISION', 'DATE')


def trees():
    """Names of the release trees, sorted."""
    return sorted(path.parent.name for path in (TOP / 'trees').glob('*/pin.conf'))


def default_tree():
    """The tree that every command takes where none is named."""
    tree = (TOP / 'trees/default').read_text(encoding='utf-8').strip()
    if tree not in trees():
        raise Failure(f"trees/default names '{tree}', which is no release tree",
                      f'known trees: {" ".join(trees())}', 'git checkout trees/default')
    return tree


def pin_file(tree):
    """Path of the file that says what a tree is built from."""
    return TOP / 'trees' / tree / 'pin.conf'


def parse(text):
    """The assignments of a pin.conf as {name: value}: NAME=value lines, # comments."""
    values = {}
    for line in text.splitlines():
        name, assigned, value = line.partition('=')
        if assigned and not line.startswith('#'):
            values[name.strip()] = value.strip().strip('"')
    return values


def read(tree, file=None):
    """The pins of a tree as {name: value}; of another file where one is given.

    Raises Failure where there is no such tree, or where a pin is missing."""
    if file is None:
        if tree not in trees():
            raise Failure(f'no release tree {tree}: there is no trees/{tree}/pin.conf',
                          f'known trees: {" ".join(trees())}')
        file = pin_file(tree)
    values = parse(file.read_text(encoding='utf-8'))
    label = file.relative_to(TOP) if file.is_relative_to(TOP) else file
    for name in REQUIRED:
        if name not in values or name in NOT_EMPTY and not values[name]:
            raise Failure(f'{label} pins no {name}',
                          'nothing is built from a release that is not pinned',
                          f'git checkout {label}')
    try:
        datetime.date.fromisoformat(values['DATE'])
    except ValueError:
        raise Failure(f'{label}: DATE={values["DATE"]} is not a date', 'as in DATE=2026-11-21',
                      f'git checkout {label}') from None
    return values


def pinned(text, version, sha256, date):
    """The text of a pin.conf with another release in it: its revision 1, of this date."""
    for name, value in (('VERSION', version), ('SHA256', sha256), ('REVISION', '1'),
                        ('DATE', date)):
        text = re.sub(rf'^{name}=.*$', f'{name}={value}', text, flags=re.MULTILINE)
    return text
