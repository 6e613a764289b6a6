"""A patch that is new in a tree: its name, the fields it lacks, its page, its line in series."""
import re
import time

from millrace import TOP
from millrace.command import output, say
from millrace.errors import Failure
from millrace.patches import diff, series, tables
from millrace.patches.header import is_fix
from millrace.prove import lint

PAGE = '''# {name}

What is slow or missing without it, and what is there with it: {synopsis}

## When it helps

The loads and volumes on which it does, and those on which it does not.

## Variables

Name, default, range and meaning, and the setting that gives the vanilla behaviour; status.

## What it gains

<!-- measured -->
<!-- /measured -->

## What can go wrong

Limits, and what it does to memory, disk and recovery.  Its tests: `scripts/mysql-test {tests}`

## To turn it off, and to go back

    make PATCHES="..."                  # any list without {name}
'''


def check_name(tree, name):
    """Raises Failure where a patch of this tree cannot begin under this name."""
    if not re.fullmatch(lint.NAME, name or ''):
        raise Failure(f'{name!r} is not the name of a patch',
                      'small letters, digits and single hyphens: NAME=read-ahead')
    if series.patch_file(tree, name).exists():
        raise Failure(f'there is a patch {name} already: patches/{tree}/{name}.patch',
                      'give it another name: NAME=')


def author():
    """Who works here, as git knows it."""
    values = [output('git', 'config', '--default', default, f'user.{key}', cwd=TOP).strip()
              for key, default in (('name', 'Millrace developers'),
                                   ('email', 'millrace@localhost.invalid'))]
    return '{} <{}>'.format(*values)


def fields(name, synopsis, tests):
    """The fields of a header unless the patch gives others."""
    bench = {} if is_fix(name) else {'Bench': 'none, not measured yet'}
    return {'Description': synopsis, 'Author': author(), 'Origin': 'vendor', 'Forwarded': 'no',
            'Last-Update': time.strftime('%Y-%m-%d', time.gmtime()), 'License': 'GPL-2.0-only',
            'Depends': 'none', 'Test': ' '.join(tests), **bench,
            'Drop-When': 'upstream has it'}


def settle(command, tree, name, text, synopsis, tests):
    """Writes the patch, its page and its line in series, and lists what is still to do.

    `command` is the name of the calling command."""
    target = series.patch_file(tree, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(diff.encode(text))
    series.add(name)
    page = TOP / 'docs/patches' / f'{name}.md'
    if not page.exists():
        page.write_text(PAGE.format(name=name, synopsis=synopsis, tests=' '.join(tests)),
                        encoding='utf-8')
    say(command, f'patches/{tree}/{name}.patch, docs/patches/{name}.md, series')
    for fault in lint.check_patch(tree, name, series.names(tree)):
        say(command, f'to do: {fault}')
    try:
        tables.write()
    except Failure as error:
        raise Failure('the tables of patches could not be written', *error.lines,
                      'mend that, then: make tables') from error
