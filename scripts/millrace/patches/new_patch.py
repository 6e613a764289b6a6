"""Begins a patch: header, test, page and line in the series.

Called by make new-patch NAME=read-ahead [TREE=10.11].

The patch is the last of the series, and has in it a test of upstream's suite that
tests nothing yet.  Then make patched, quilt add and edit in work/, make refresh.
"""
import os

from millrace.command import parser, run_command, say
from millrace.errors import Failure
from millrace.patches import add, header
from millrace.upstream import pins, tarballs

# the test, and what it prints
ECHOES = ('#', '# {name}: what this shows, and that it fails without the patch', '#')
SUITE = 'mysql-test/suite/innodb'


def added(path, lines):
    """The diff that adds a file."""
    return f'--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n' \
        + ''.join(f'+{line}\n' for line in lines)


def main(argv):
    """Writes the patch."""
    options = parser('scripts/new-patch', __doc__)
    options.add_argument('name', help='small letters, digits and single hyphens')
    name = options.parse_args(argv).name
    tree = os.environ.get('TREE') or pins.default_tree()
    release = pins.read(tree)['VERSION']
    add.check_name(tree, name)
    tarballs.fetch(tree)
    test, echoes = name.replace('-', '_'), [line.format(name=name) for line in ECHOES]
    file = f'{SUITE}/t/{test}.test'
    if file in tarballs.members(release):
        raise Failure(f'mariadb-{release} has the test of patch {name} already: {file}',
                      'give the patch another name: NAME=')
    synopsis = f'{name}: what it does, in one line'
    script = ['--source include/have_innodb.inc', '', *(f'--echo {line}' for line in echoes)]
    text = header.text(add.fields(name, synopsis, [f'innodb.{test}'])) + '---\n' \
        + added(f'{SUITE}/r/{test}.result', echoes) + added(file, script)
    add.settle('new-patch', tree, name, text, synopsis, [f'innodb.{test}'])
    say('new-patch', f'now: make patched TREE={tree}')


if __name__ == '__main__':
    run_command('new-patch', main)
