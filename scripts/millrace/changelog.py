"""The packages' changelog, made from the patches' own headers.

Usage: build/lib/changelog deb|rpm PATCH_FILE...

Prints one entry: the release, and the name and synopsis of each patch in the order given.  The
environment has VERSION, RELEASE and SOURCE_DATE_EPOCH, as build/lib/context.sh sets them.
"""
import os
import sys
import textwrap
import time
from email.utils import formatdate
from pathlib import Path

from millrace import publisher
from millrace.command import run_command
from millrace.patches.header import read_header


def entry_lines(version, patches):
    """Yields the changes, a text each."""
    yield f'MariaDB Server {version} with the patches of the Millrace series:'
    for patch in patches:
        yield f'{Path(patch).stem}: {read_header(patch).synopsis}'
    if not patches:
        yield 'none (the vanilla server).'


def items(lines, bullet):
    """Each text wrapped behind its bullet."""
    indent = ' ' * len(bullet)
    return [textwrap.fill(line, 78, initial_indent=bullet, subsequent_indent=indent)
            for line in lines]


def main(argv):
    """Prints the entry."""
    if not argv or argv[0] not in ('deb', 'rpm'):
        sys.exit(__doc__)
    kind, *patches = argv
    version, release = os.environ['VERSION'], os.environ['RELEASE']
    epoch = int(os.environ['SOURCE_DATE_EPOCH'])
    lines, maintainer = entry_lines(version, patches), publisher.field('Maintainer')
    if kind == 'deb':
        print(f'millrace (1:{version}-{release}) unstable; urgency=medium\n')
        print('\n'.join(items(lines, '  * ')))
        print(f'\n -- {maintainer}  {formatdate(epoch)}')
    else:
        day = time.strftime('%a %b %d %Y', time.gmtime(epoch))
        print(f'* {day} {maintainer} - {version}-{release}')
        print('\n'.join(items(lines, '- ')).replace('%', '%%'))


if __name__ == '__main__':
    run_command('changelog', main)
