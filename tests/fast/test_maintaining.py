"""docs/maintain.md: every command in it works, in the order in which it stands there."""
import re
import subprocess
import textwrap

import pytest
from conftest import release
from millrace import TOP
from millrace.command import environment
from millrace.patches import diff, series
from millrace.upstream import pins
from support.checkout import TREE
from support.upstream import Upstream

PAGE = (TOP / 'docs/maintain.md').read_text()
BLOCKS = [(kind, textwrap.dedent(f'{indent}{commands}')) for indent, kind, commands
          in re.findall(r'^( *)```sh ?(\w*)\n(.*?)\n *```$', PAGE, re.DOTALL | re.MULTILINE)]
BLOCKS = [(kind, '\n'.join(line.strip() for line in commands.splitlines()))
          for kind, commands in BLOCKS]
FILE = 'storage/innobase/buf/buf0dump.cc'
# the page names the last one
SERIES = ('fix-linear-read-ahead', 'show-patches')
# a line of it that the page's patch and upstream's next release both change
LINE = '#include "buf0rea.h"\n'
MAIL = f'''From: A Person <a@example.org>
Subject: [PATCH] Say who warms the pool

---
--- a/{FILE}
+++ b/{FILE}
@@ -1,3 +1,4 @@
+/* Whoever reads this. */
 /*****************************************************************************
\x20
 Copyright (c) 2011, 2017, Oracle and/or its affiliates. All Rights Reserved.
'''
EDITOR = r'''#!/usr/bin/python3
import re, sys
for path in sys.argv[1:]:
    text = open(path).read()
    if '<<<<<<<' in text:
        text = re.sub(r'<<<<<<<.*?>>>>>>> [\w-]+\n', '#include "ours_and_theirs.h"\n', text,
                      flags=re.DOTALL)
    elif path.endswith('.cc'):
        text = text.replace(LINE, '#include "ours.h"\n')
    else:
        text += '--echo # more\n' if path.endswith('.test') else '# more\n'
    open(path, 'w').write(text)
'''.replace('LINE', repr(LINE))


def git(checkout, *words):
    """The output of git in a checkout."""
    return subprocess.run(['git', *words], cwd=checkout.path, check=True, text=True,
                          stdout=subprocess.PIPE, env=environment()).stdout


def shorten(checkout, *names):
    """Leaves these patches in the series of a checkout with one tree: each command takes a time
    for each patch of it."""
    checkout.write('series', ''.join(f'{name}\n' for name in names))
    for place in (f'patches/{TREE}', 'docs/patches'):
        for file in (checkout.path / place).iterdir():
            if file.stem not in (*names, 'README'):
                file.unlink()


@pytest.fixture
def maintained(checkout, touched, tmp_path):
    """A checkout in git, with a short series, and an archive that has the page's releases, of the
    files that the series touches."""
    paths = {FILE} | {entry.old for name in SERIES
                      for entry in diff.parse(diff.read(series.patch_file(TREE, name)))
                      if entry.old}
    files = {path: diff.read(touched / path) for path in paths}
    assert LINE in files[FILE]
    upstream = Upstream(checkout, tmp_path, TREE)
    shorten(checkout, *SERIES)
    upstream.pin(release()[0], files)
    files[FILE] = files[FILE].replace(LINE, '#include "theirs.h"\n')
    for version in dict.fromkeys(re.findall(r'VERSION=([\d.]+)', PAGE)):
        upstream.release(version, files)
    (tmp_path / 'editor').write_text(EDITOR)
    (tmp_path / 'editor').chmod(0o755)
    (checkout.path.parent / '0001-Say-who-warms-the-pool.patch').write_text(MAIL)
    checkout.write('.gitignore', (TOP / '.gitignore').read_text())
    for words in (['init', '--quiet'], ['config', 'user.name', 'A Person'],
                  ['config', 'user.email', 'a@example.org'], ['add', '--all'],
                  ['commit', '--quiet', '--message', 'begin']):
        git(checkout, *words)
    yield checkout
    upstream.close()


@pytest.mark.skipif(TREE != pins.default_tree(), reason='the page is about the default tree')
def test_every_command_of_the_page(maintained, tmp_path):
    environment = {'EDITOR': str(tmp_path / 'editor')}
    for kind, commands in BLOCKS:
        if kind == 'slow':
            continue
        status, text = maintained.run('bash', '-euxc', commands, **environment)
        assert (status != 0) == (kind == 'stops'), text[-4000:]
    assert 'VERSION=12.3.2\n' in (maintained.path / 'trees/12.3/pin.conf').read_text()
    patch = (maintained.path / 'patches/12.3/warm-pool.patch').read_text()
    assert '+#include "ours_and_theirs.h"' in patch and '+--echo # more' in patch
    messages = re.findall('--message "(.*)"', '\n'.join(commands for _, commands in BLOCKS))
    assert git(maintained, 'log', '--format=%s').split('\n')[:-2] == messages[::-1]


def test_every_slow_command_is_there(checkout):
    commands = [command for kind, text in BLOCKS if kind == 'slow'
                for command in text.splitlines()]
    assert len(commands) > 5
    for command in commands:
        word = command.split()[0]
        if word == 'make':
            status, text = checkout.run('bash', '-c', command.replace('make', 'make -n', 1))
            assert status == 0 and text, f'{command}: {text}'
        else:
            assert (checkout.path / word).stat().st_mode & 0o100, command


def test_no_other_block_of_the_page_is_a_command():
    rest = re.sub(r'```.*?```', '', PAGE, flags=re.DOTALL)
    assert not re.findall(r'^    (?:make|scripts/|quilt|git) ', rest, re.MULTILINE)
