"""A patch that comes to a tree: its name, what its header has to say, its page, its line in the series."""
import re
import subprocess
import time

from millrace import diff, lint, series
from millrace.command import Failure, output, say

PAGE = '''# {name}

What is slow or missing without it, and what is there with it: {synopsis}

## For an operator

Variables, counters, and the setting that gives the vanilla behaviour.

## Measured

## Tests

    ./mtr {tests}

## Is it safe?

What it does to locks, memory, recovery and the format of the data.

## To leave it out, and to go back

    make PATCHES="..."                  # any list without {name}

## Upstream, and history
'''


def check_name(tree, name):
    """Whether a patch may begin under this name."""
    if not re.fullmatch(r'[a-z0-9]+(-[a-z0-9]+)*', name or ''):
        raise Failure(f'{name!r} is not the name of a patch', 'small letters, digits and single hyphens: NAME=read-ahead')
    if series.patch_file(tree, name).exists():
        raise Failure(f'there is a patch {name} already: patches/{tree}/{name}.patch',
                      'give it another name: NAME=')


def author():
    """Who works here, as git knows it."""
    values = [output('git', 'config', '--default', default, f'user.{key}', cwd=series.TOP).strip()
              for key, default in (('name', 'Millrace developers'), ('email', 'millrace@localhost.invalid'))]
    return '{} <{}>'.format(*values)


def fields(synopsis, tests):
    """What a header says unless the patch says something else."""
    return {'Description': synopsis, 'Author': author(), 'Origin': 'vendor', 'Forwarded': 'no',
            'Last-Update': time.strftime('%Y-%m-%d', time.gmtime()), 'License': 'GPL-2.0-only', 'Depends': 'none',
            'Test': ' '.join(tests), 'Bench': 'none, not measured yet', 'Drop-When': 'upstream has it'}


def settle(tree, name, text, synopsis, tests):
    """Puts the patch, its page and its line where they belong, and says what is still to do."""
    target = series.patch_file(tree, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(diff.encode(text))
    series.add(name)
    page = series.TOP / 'docs/patches' / f'{name}.md'
    if not page.exists():
        page.write_text(PAGE.format(name=name, synopsis=synopsis, tests=' '.join(tests)), encoding='utf-8')
    tables = subprocess.run([series.TOP / 'scripts/patches-table', '--write'], check=False)
    say(f'patches/{tree}/{name}.patch, docs/patches/{name}.md, series')
    for fault in lint.check_patch(tree, name, series.names(tree)):
        say(f'to do: {fault}')
    if tables.returncode:
        raise Failure('the tables of patches could not be written', 'mend what is said above, then: make docs')
