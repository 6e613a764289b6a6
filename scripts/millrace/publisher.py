"""Who publishes the packages: Maintainer and Homepage of debian/control, which has them for all.

Until a publisher has written an address there, they are placeholders that end in .invalid, under
which `make repo` publishes nothing.
"""
import re

from millrace import TOP
from millrace.errors import Failure

FILE = TOP / 'debian/control'


def field(name):
    """The value of a field of debian/control.  Raises Failure."""
    match = re.search(f'^{name}: (.+)', FILE.read_text(encoding='utf-8'), re.MULTILINE)
    if not match:
        raise Failure(f'debian/control has no {name}:', 'git checkout debian/control')
    return match[1].strip()


def is_placeholder(value):
    """Whether an address or URL is one that cannot exist (RFC 2606)."""
    return bool(re.search(r'\.invalid\b', value))


def check():
    """Raises Failure where a field is a placeholder."""
    for name in ('Maintainer', 'Homepage'):
        if is_placeholder(field(name)):
            raise Failure(f'debian/control: {name}: {field(name)} is a placeholder',
                          'users report security holes there: write yours, then make')
