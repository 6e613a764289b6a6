"""The packages' changelog, made from the patches' own headers.

Usage: build/lib/changelog deb|rpm PATCH_FILE...

Prints an entry: what came, went and changed since the tree's last release, which
trees/<tree>/released.json has; and one for each release before it.  The first release, and a
subset, lists its patches, in the order given.  The environment has TREE, VERSION, RELEASE and
SOURCE_DATE_EPOCH, as build/lib/context.sh sets them.
"""
import datetime
import os
import sys
import textwrap
import time
from email.utils import formatdate
from pathlib import Path

from millrace import publisher, released
from millrace.command import run_command
from millrace.errors import Failure
from millrace.patches import diff


def entry_lines(version, before, patches):
    """The changes of a release, a text each; `before` is (revision, its patches) of the last one,
    or None."""
    if not before:
        listed = [f'{name}: {patch["synopsis"]}' for name, patch in patches.items()]
        return [f'MariaDB Server {version} with the patches of the Millrace series:',
                *(listed or ['none (the vanilla server).'])]
    told = released.news(before[1], patches)
    return [f'MariaDB Server {version} with the Millrace series, since {before[0]}:',
            *(told or ['the same patches.'])]


def entries(tree, revision, epoch, patches):
    """(revision, seconds since 1970, lines) of each release, the newest first."""
    made = [(revision, epoch, patches)]
    if '~' not in revision:
        for other, release in reversed(released.read(tree).items()):
            if other != revision:
                date = datetime.datetime.fromisoformat(f'{release["date"]}T00:00:00+00:00')
                made.append((other, int(date.timestamp()), release['patches']))
    for (newer, after, _), (older, before, _) in zip(made, made[1:]):
        if after < before:
            raise Failure(f'{newer} is of an earlier date than {older}, which was released',
                          f'raise DATE in trees/{tree}/pin.conf')
    for (this, when, patches), last in zip(made, [*made[1:], None]):
        yield this, when, entry_lines(this.rpartition('-')[0], last and (last[0], last[2]),
                                      patches)


def items(lines, bullet):
    """Each text wrapped behind its bullet."""
    indent = ' ' * len(bullet)
    return [textwrap.fill(line, 78, initial_indent=bullet, subsequent_indent=indent)
            for line in lines]


def main(argv):
    """Prints the entries."""
    if not argv or argv[0] not in ('deb', 'rpm'):
        sys.exit(__doc__)
    kind, *files = argv
    maintainer, printed = publisher.field('Maintainer'), []
    patches = released.described({Path(file).stem: diff.read(Path(file)) for file in files})
    for revision, epoch, lines in entries(
            os.environ['TREE'], f'{os.environ["VERSION"]}-{os.environ["RELEASE"]}',
            int(os.environ['SOURCE_DATE_EPOCH']), patches):
        if kind == 'deb':
            printed.append('\n'.join([f'millrace (1:{revision}) unstable; urgency=medium\n',
                                      *items(lines, '  * '),
                                      f'\n -- {maintainer}  {formatdate(epoch)}']))
        else:
            day = time.strftime('%a %b %d %Y', time.gmtime(epoch))
            printed.append('\n'.join([f'* {day} {maintainer} - {revision}',
                                      *items(lines, '- ')]).replace('%', '%%'))
    print('\n\n'.join(printed))


if __name__ == '__main__':
    run_command('changelog', main)
