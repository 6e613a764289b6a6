"""The release trees: what trees/<tree>.conf says, and pinning another release there."""
import re

from millrace.command import Failure
from millrace.series import TOP, release, trees


def conf_file(tree):
    """Path of what a tree is built from."""
    return TOP / 'trees' / f'{tree}.conf'


def read(tree):
    """The assignments of a tree's file as {name: value}."""
    if tree not in trees():
        raise Failure(f'no release tree {tree}: there is no trees/{tree}.conf',
                      f'known trees: {" ".join(trees())}')
    values = release(tree)
    for name in ('VERSION', 'SHA256', 'SIGNED_BY'):
        if not values.get(name):
            raise Failure(f'trees/{tree}.conf pins no {name}', 'nothing is built from a release that is not pinned')
    return values


def pinned(text, version, sha256, date):
    """The text of a tree's file with another release in it: the first revision of it, of this date."""
    for name, value in (('VERSION', version), ('SHA256', sha256), ('REVISION', '1'), ('DATE', date)):
        text = re.sub(rf'^{name}=.*$', f'{name}={value}', text, flags=re.MULTILINE)
    return text
