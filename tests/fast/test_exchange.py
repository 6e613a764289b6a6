"""new-patch, import-patch, export-patch and compare-trees: what they write and refuse."""
import json
import re
import shutil
import subprocess

import pytest
from conftest import release, unpack
from millrace import TOP
from millrace.command import environment
from millrace.patches import diff, header, mail, patchfile, quilt, series, tables
from millrace.patches.diff import HUNK
from millrace.patches.repository import Repository
from millrace.upstream import pins
from millrace_bench.report.sets import KEPT
from support.checkout import TREE, Checkout

NAMES = series.names(TREE)
BUF0DUMP = 'storage/innobase/buf/buf0dump.cc'
# one of upstream's
TEST = 'mysql-test/suite/innodb/t/instant_alter.test'
MAIL = '''From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=BCrgen=20B?= <jb@example.org>
Date: Fri, 1 May 2026 10:00:00 +0300
Subject: [PATCH 2/3] buf0dump: say what a dump is for, in words that take more
 than one line

A dump warms the pool.

Really.

Signed-off-by: A Person <a@example.org>
---
 storage/innobase/buf/buf0dump.cc | 1 +
 1 file changed, 1 insertion(+)

diff --git a/storage/innobase/buf/buf0dump.cc b/storage/innobase/buf/buf0dump.cc
index 8ba1f0c..5d8c3ab 100644
{diff}--{blank}
2.39.5
'''
DIFF = '''--- a/storage/innobase/buf/buf0dump.cc
+++ b/storage/innobase/buf/buf0dump.cc
@@ -1,3 +1,4 @@
+/* It warms the pool. */
 /*****************************************************************************
\x20
 Copyright (c) 2011, 2017, Oracle and/or its affiliates. All Rights Reserved.
'''


@pytest.fixture
def checkout(small_checkout):
    """A checkout for a release of few files."""
    return small_checkout


@pytest.fixture
def short(checkout):
    """A checkout with the first patch of the series alone: a patch that is taken in is applied
    after all others, and where they do not matter they are half of the time."""
    for file in (checkout.path / 'patches').glob('*/*.patch'):
        if file.stem != NAMES[0]:
            file.unlink()
    checkout.write('series', f'{NAMES[0]}\n')
    return checkout


@pytest.fixture
def vanilla(touched, tmp_path):
    """A copy of these files."""
    unpack(touched, tmp_path / 'vanilla')
    return tmp_path / 'vanilla'


@pytest.fixture
def repository(touched, tmp_path):
    """A git repository of these files; no links, whose times change with each other link."""
    tree = shutil.copytree(touched, tmp_path / 'repository')
    for words in (['init', '-q'], ['add', '.'], ['commit', '-q', '-m', 'vanilla']):
        git(tree, *words)
    return tree


@pytest.fixture(scope='module')
def exporting(tmp_path_factory):
    """A checkout that nothing but exports is done in."""
    return Checkout(tmp_path_factory.mktemp('exporting'))


def patch(checkout, name, tree=TREE):
    """A patch of the copy."""
    return checkout.path / f'patches/{tree}/{name}.patch'


def take(checkout, content, file='0001-Dump-Words.patch', name=None):
    """Runs import-patch on a file of this content."""
    content = content if isinstance(content, bytes) else content.encode()
    (checkout.path / file).write_bytes(content)
    return checkout.run('scripts/import-patch', file, *([name] if name else []))


def exported(checkout, *names):
    """The files that export-patch writes of patches and of those that they need."""
    needed = series.closure(names, series.depends(TREE))
    status, text = checkout.run('scripts/export-patch', *needed)
    assert status == 0, text
    place = checkout.path / f'dist/export/{TREE}'
    return [(place / series.label(needed) if len(needed) > 1 else place) / f'{name}.patch'
            for name in needed]


def dependents(name):
    """The patches that need a patch."""
    needs = series.depends(TREE)
    return [other for other in NAMES if name in series.closure([other], needs) and other != name]


def git(tree, *words):
    """The output of a git command."""
    return subprocess.run(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.org', *words],
                          cwd=tree, check=True, text=True, capture_output=True,
                          env=environment()).stdout


@pytest.mark.parametrize('tree, name', [(tree, name) for tree in pins.trees()
                                        for name in series.names(tree)])
def test_a_mail_is_read_back_byte_for_byte(tree, name):
    text = diff.read(series.patch_file(tree, name))
    for content in (mail.write(name, text), text):
        foreign = mail.read(diff.encode(content))
        assert header.text(foreign.fields) + '---\n' + foreign.diff == text
        assert foreign.notes == []


BODY_OF_C = b'{\n' + b'  a++;\n' * 9
# files before and after a patch; None where there is none
WRITTEN = {
    'changed.cc': (b'int f()\n' + BODY_OF_C + b'}\n', b'int f()\n' + BODY_OF_C + b'  b++; \n}\n'),
    'latin.cc': (b'\xfcber()\n' + BODY_OF_C, b'\xfcber()\n' + BODY_OF_C + b'\xe4\n'),
    'utf.cc': ('über()\n'.encode() + BODY_OF_C, 'über()\n'.encode() + BODY_OF_C + b'b\n'),
    'sql/new.h': (None, b'new\n'), 'sql/gone.h': (b'gone\n', None),
    'filled': (b'', b'text\n'), 'emptied': (b'text\n', b''), 'made': (None, b''),
    'end': (b'one\ntwo', b'one\ntwo\n'), 'sql-more': (b'1\n', b'2\n'), 'Sql': (b'1\n', b'2'),
}


def test_a_patch_is_written_as_a_refresh_writes_it(tmp_path):
    repository, trees = Repository(tmp_path / 'git'), []
    for number, side in enumerate(('old', 'new')):
        (tmp_path / side / 'sql').mkdir(parents=True)
        for name, contents in WRITTEN.items():
            if contents[number] is not None:
                (tmp_path / side / name).write_bytes(contents[number])
        trees.append(repository.tree(tmp_path / side))
    source, patches = tmp_path / 'old', tmp_path / 'patches'
    names = {'QUILT_PATCHES': patches, 'QUILT_SERIES': patches / 'series', 'LC_ALL': 'C.UTF-8'}
    quilt.quilt(source, 'new', 'it.patch', **names)
    (patches / 'it.patch').write_text('Description: it\n---\n')
    quilt.quilt(source, 'add', *WRITTEN, **names)
    repository.write(trees[1], WRITTEN, source)
    quilt.refresh_top(source, **names)
    written = quilt.text('Description: it\n---\n', repository, *trees)
    assert written == diff.read(patches / 'it.patch')
    assert written.count('/dev/null') == 3, written


def anywhere(text):
    """A patch without its line numbers and the heads of functions: at the end of the series they
    are others, the latter where a patch adds a function before a hunk of another."""
    return [HUNK.sub(r'@@ \2 \4 @@', line) for line in diff.decode(text).split('\n')]


@pytest.mark.parametrize('name', NAMES)
def test_import_of_what_was_exported(checkout, name):
    before = anywhere(patch(checkout, name).read_bytes())
    file, gone = exported(checkout, name)[-1], (name, *dependents(name))
    for other in gone:
        patch(checkout, other).unlink()
    checkout.write('series', ''.join(f'{other}\n' for other in NAMES if other not in gone))
    status, text = checkout.run('scripts/import-patch', file)
    assert status == 0, text
    assert anywhere(patch(checkout, name).read_bytes()) == before


@pytest.mark.parametrize('name', [name for name in NAMES if len(series.trees_with(name)) > 1])
def test_import_of_a_patch_that_another_tree_has(checkout, name):
    """It takes its place in the series, and is what it was, line numbers and all."""
    before = patch(checkout, name).read_bytes()
    file = exported(checkout, name)[-1]
    for other in (name, *dependents(name)):
        patch(checkout, other).unlink()
    status, text = checkout.run('scripts/import-patch', file, name)
    assert status == 0, text
    assert patch(checkout, name).read_bytes() == before
    assert (checkout.path / 'series').read_text() == (TOP / 'series').read_text()


def test_import_of_a_patch_that_stands_in_the_way_of_one_after_it(checkout):
    first, last = (f'patches/{TREE}/{name}.patch' for name in ('one', 'two'))
    for other in NAMES:
        patch(checkout, other).unlink()
    checkout.write('series', 'one\ntwo\n')
    checkout.write('patches/99.1/one.patch', '')
    head = diff.split(diff.read(TOP / f'patches/{TREE}/{NAMES[0]}.patch'))[0]
    checkout.write(last, head + DIFF)
    status, text = take(checkout, DIFF.replace('warms', 'heats'), name='one')
    assert status != 0 and "'two' after it" in text, text
    assert not (checkout.path / first).exists()


def test_git_takes_an_exported_patch(exporting, repository):
    git(repository, 'am', *exported(exporting, *NAMES))
    assert git(repository, 'log', '--reverse', '--format=%s').split('\n')[1:-1] == [
        header.read_header(series.patch_file(TREE, name)).synopsis for name in NAMES]
    assert 'License: GPL-2.0-only\n' in git(repository, 'log', '-1', '--format=%(trailers)')
    assert git(repository, 'log', '-1', '--format=%an <%ae>').strip() == header.read_header(
        series.patch_file(TREE, NAMES[-1])).fields['Author']


@pytest.mark.parametrize('name', NAMES)
def test_patch_takes_an_exported_patch(exporting, vanilla, name):
    for exported_patch in exported(exporting, name):
        with exported_patch.open() as file:
            done = subprocess.run(['patch', '-p1', '--fuzz=0'], stdin=file, cwd=vanilla,
                                  text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
    with (exporting.path / f'patches/{TREE}/{name}.patch').open() as file:
        subprocess.run(['patch', '-p1', '--fuzz=0', '-R', '--dry-run'], stdin=file, cwd=vanilla,
                       check=True, capture_output=True)


def test_quilt_takes_an_exported_patch_and_an_exported_tree(exporting, repository):
    def quilt(*words):
        subprocess.run(['quilt', '--quiltrc', '-', *words], cwd=repository, check=True,
                       capture_output=True, env=environment())

    files = exported(exporting, *NAMES)
    quilt('import', *files)
    quilt('push', '-a', '--fuzz=0')
    git(repository, 'add', '--all', '--', ':!patches', ':!.pc')
    git(repository, 'commit', '-qm', 'imported')
    quilt('pop', '-a')
    subprocess.run(['rm', '-r', repository / 'patches', repository / '.pc'], check=True)
    shutil.copytree(files[0].parent, repository / 'patches')
    quilt('push', '-a', '--fuzz=0')
    assert git(repository, 'status', '--porcelain', '--', ':!patches', ':!.pc') == ''


def test_export_of_a_subset_that_leaves_out_what_it_needs(checkout):
    for file in (checkout.path / f'patches/{TREE}').iterdir():
        file.unlink()
    for name, depends in (('a', 'none'), ('b', 'a'), ('c', 'b')):
        checkout.write(f'patches/{TREE}/{name}.patch',
                       f'Description: {name}\nAuthor: A <a@b>\nDepends: {depends}\n---\n')
    checkout.write('series', 'a\nb\nc\n')
    status, text = checkout.run('make', 'export-patch', 'NAME=c a')
    assert status != 0
    assert "'c' needs 'b'" in text and f'make export-patch TREE={TREE} NAME="a b c"' in text
    assert checkout.run('make', 'export-patch', 'NAME=c a b')[0] == 0
    exported = checkout.path / f'dist/export/{TREE}/a+b+c'
    assert (exported / 'series').read_text() == 'a.patch\nb.patch\nc.patch\n'


def test_export_of_what_is_not_there(checkout):
    status, text = checkout.run('make', 'export-patch', 'NAME=nonsense')
    assert status != 0 and "'nonsense'" in text and f'known patches: {" ".join(NAMES)}' in text
    status, text = checkout.run('make', 'export-patch', 'NAME=x', 'TREE=9.9')
    assert status != 0 and 'no release tree 9.9' in text


@pytest.mark.parametrize('content', [
    MAIL.format(diff=DIFF, blank=' '),
    MAIL.format(diff=DIFF, blank=' ').replace('[PATCH 2/3] ', '').partition('\n')[2],
], ids=['git format-patch', 'saved from a mailbox'])
def test_import_of_a_mail(short, content):
    status, text = take(short, content)
    assert status == 0, text
    made = header.read_header(patch(short, 'dump-words'))
    assert made.synopsis == 'buf0dump: say what a dump is for, in words that take more than ' \
        'one line'
    assert made.fields['Description'].endswith(
        'A dump warms the pool.\n\nReally.\n\nSigned-off-by: A Person <a@example.org>')
    assert made.fields['Author'] == 'Jürgen B <jb@example.org>'
    assert made.fields['Last-Update'] == '2026-05-01'
    assert made.fields['Origin'] == 'other, 0001-Dump-Words.patch'
    assert patch(short, 'dump-words').read_text().endswith(f'---\n{DIFF}')
    assert (short.path / 'series').read_text().split()[-1] == 'dump-words'
    assert (short.path / 'docs/patches/dump-words.md').is_file()
    assert re.search('to do: .*/dump-words.patch:1: .* Test', text)


def test_import_of_a_plain_diff(checkout):
    plain = 'Only in new: notes\ndiff -ru old/buf0dump.cc new/buf0dump.cc\n' + DIFF.replace(
        '--- a/', '--- old/').replace('+++ b/', '+++ new/').replace(
            '.cc\n@@', '.cc\t2026-05-01 10:00:00 +0300\n@@')
    status, text = take(checkout, plain, name='dump-words')
    assert status == 0, text
    assert patch(checkout, 'dump-words').read_text().endswith(f'---\n{DIFF}')
    assert f"\nNAMES='{' '.join([*NAMES, 'dump-words'])}'\n" in checkout.run(
        'scripts/python', '-m', 'millrace.context')[1]


def test_import_of_a_debian_patch(short):
    status, text = take(short, 'Description: say what a dump is for\n'
                               'Author: A Person <a@example.org>\nReviewed-By: B\n'
                               'Forwarded: https://example.org/1\n\n' + DIFF)
    assert status == 0, text
    made = header.read_header(patch(short, 'dump-words'))
    assert made.fields['Description'] == 'say what a dump is for\n\nReviewed-By: B'
    assert made.fields['Forwarded'] == 'https://example.org/1'
    assert 'Reviewed-By: B' in text, 'what has no field is named'


@pytest.mark.parametrize('head, description, fields', [
    ('Description: say what a dump is for\nReviewed-By: B\nReviewed-By: C\nBug:\n\nMore words.\n',
     'say what a dump is for\n\nReviewed-By: B\nReviewed-By: C\n\nMore words.', {}),
    ('Say what a dump is for.\n', 'Say what a dump is for.', {}),
    (b'Description: f\xfcr den Pool, der warm wird\nAuthor: J\xf6rg <j@example.org>\n',
     'für den Pool, der warm wird', {'Author': 'Jörg <j@example.org>'}),
    ('From: A <a@example.org>\nDate: yesterday\nSubject: [PATCH] say what a dump is for\n\n'
     'Bug: MDEV-1\nAcked-by: A\nAcked-by: B\n---\n',
     'say what a dump is for\nAcked-by: A\nAcked-by: B',
     {'Bug': 'MDEV-1', 'Author': 'A <a@example.org>'}),
], ids=['DEP-3', 'words', 'Latin-1', 'mail'])
def test_import_keeps_what_a_header_says(short, head, description, fields):
    head = head if isinstance(head, bytes) else head.encode()
    status, text = take(short, head + DIFF.encode())
    assert status == 0, text
    made = header.read_header(patch(short, 'dump-words')).fields
    assert made['Description'] == description
    assert {name: made[name] for name in fields} == fields
    assert 'Bug' in fields or 'Bug' not in made
    synopsis = description.split('\n')[0]
    for page in ('docs/patches/dump-words.md', 'README.md'):
        assert synopsis in (short.path / page).read_text()


def added(path, *lines, header=''):
    """The diff that adds a file."""
    return f'{header}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n' \
        + ''.join(f'+{line}\n' for line in lines)


NEW = added('include/m.h', '/* m */', '/* n */')
PERSON = 'Pat Author <pat@example.org>'
BODY = 'Why it is so.\n'
COMMIT = 'commit 0123456789012345678901234567890123456789'


@pytest.mark.parametrize('head, expected, named', [
    (f'Forwarded: https://example.org/1\nFrom: {PERSON}\n'
     f'Date: Sun, 25 Dec 2022 21:58:05 -0800\nSubject: Add a marker\n\n{BODY}---\n',
     {'Forwarded': 'https://example.org/1', 'Last-Update': '2022-12-25'}, []),
    (f'From: {PERSON}\nSubject: Add a marker\nBug: MDEV-1\nBug-Debian: https://d.org/2\n'
     f'Origin: other, https://o.org\nLast-Update: 2020-02-02\n\n{BODY}---\n',
     {'Bug': 'MDEV-1', 'Origin': 'other, https://o.org', 'Last-Update': '2020-02-02'},
     ['Bug-Debian: https://d.org/2']),
    (f'description: Add a marker\n {BODY}author: {PERSON}\nforwarded: no\n',
     {'Forwarded': 'no'}, []),
    (f'last-update: 2020-02-02\nSUBJECT: Add a marker\n {BODY}Author: {PERSON}\n',
     {'Last-Update': '2020-02-02'}, []),
    (f'Delivered-To: me@example.org\nReceived: by x\n with y\nX-Received: z\nFrom: {PERSON}\n'
     'Subject: =?utf-8?q?Add_a_marker?=\nContent-Type: text/plain; charset=utf-8\n'
     'Content-Transfer-Encoding: quoted-printable\n\nWhy=20it is so.\n---\n', {}, []),
    (f'\n \nFrom: {PERSON}\nSubject: Add a marker\n\n{BODY}---\n', {}, []),
    (f'\ufeffFrom: {PERSON}\nSubject: Add a marker\n\n{BODY}---\n', {}, []),
    (f'{COMMIT} (HEAD -> main)\nAuthor: {PERSON}\nDate:   Fri May 1 10:00:00 2026 +0300\n\n'
     f'    Add a marker\n    \n    {BODY}    \n    Bug: MDEV-1\n\n',
     {'Last-Update': '2026-05-01', 'Bug': 'MDEV-1'}, []),
    (f'{COMMIT}\nMerge: 1 2\nAuthor:     {PERSON}\nAuthorDate: 2026-05-01 10:00:00\n'
     'Commit:     B <b@example.org>\nCommitDate: 2026-06-01 10:00:00\n\n    Add a marker\n    \n'
     f'    {BODY}\n', {'Last-Update': '2026-05-01'}, []),
    (f'From: {PERSON}\nSubject: Add a marker\n\n{BODY}---\nForwarded: no\n'
     'Bug-Debian: https://d.org/2\n include/m.h | 1 +\n\n', {'Forwarded': 'no'},
     ['Bug-Debian: https://d.org/2']),
], ids=['Debian, From', 'Debian, in a mail', 'small letters', 'any order', 'Gmail', 'blank first',
        'byte order mark', 'git show', 'git show --pretty=fuller', 'after the dashes'])
def test_import_gives_credit_and_keeps_the_fields(short, head, expected, named):
    status, text = take(short, head + NEW)
    assert status == 0, text
    made = header.read_header(patch(short, 'dump-words'))
    assert made.synopsis == 'Add a marker' and made.fields['Author'] == PERSON
    assert BODY.strip() in made.fields['Description']
    assert {name: made.fields[name] for name in expected} == expected
    for line in named:
        assert line in made.fields['Description'] and f': {line}\n' in text
    assert patch(short, 'dump-words').read_text().endswith(f'---\n{NEW}')


def state(checkout):
    """The files that an import may change."""
    files = [file for top in ('patches', 'docs', 'series', 'README.md')
             for file in [checkout.path / top, *(checkout.path / top).rglob('*')]
             if file.is_file()]
    return {file: file.read_bytes() for file in files}


ONE = MAIL.format(diff=DIFF, blank=' ')
GIT = 'diff --git a/{0} b/{0}\n'
LINK = GIT.format('l') + 'new file mode 120000\nindex 0000000..1234567\n' \
    '--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n'


@pytest.mark.parametrize('content, words', [
    (DIFF.replace('a/storage', 'a/../storage').replace('b/storage', 'b/../storage'),
     'outside the tree'),
    (DIFF.replace('a/storage', '/etc').replace('b/storage', '/etc'), 'outside the tree'),
    (DIFF.replace('\n', '\r\n'), 'CR LF'),
    (ONE.replace('\n', '\r\n'), 'CR LF'),
    ('diff --git a/x.png b/x.png\nnew file mode 100644\nindex 000..111\nGIT binary patch\n'
     'literal 3\nKcmZQz\n\n', 'binary hunk'),
    ('Binary files a/x.png and b/x.png differ\n', 'binary hunk'),
    ('', 'no hunk'),
    (MAIL.format(diff='', blank=' '), 'no hunk'),
    (DIFF.replace('2017, Oracle', '1999, Nobody'), 'does not apply to mariadb-'),
    (DIFF.replace('buf0dump', 'buf0nothing'), 'does not apply to mariadb-'),
    (added('debian/mariadb-server.install', 'usr/bin/more'), 'debian/'),
    (DIFF + GIT.format('debian/x') + added('debian/x', 'y'), 'debian/'),
    (added('.pc/applied-patches', 'x'), '.pc'),
    (DIFF + LINK, 'symbolic link'),
    (added('include/a b.h\t', 'x'), 'blank'),
    (DIFF + GIT.format('include/empty.h') + 'new file mode 100644\nindex 0000000..e69de29\n',
     'include/empty.h'),
    (ONE + ONE.replace('J=C3=BCrgen', 'Bob'), '2 mails'),
    (f'{COMMIT}\nAuthor: {PERSON}\n\n    One\n\n{DIFF}\n{COMMIT[:-1]}1\nAuthor: B <b@b>\n\n'
     f'    Two\n\n{NEW}', '2 commits'),
    (ONE + ONE.partition('\n')[2], 'begins another patch: '),
    (f'Description: one\nAuthor: A <a@b>\n{DIFF}Description: two\nAuthor: C <c@d>\n{NEW}',
     'begins another patch: '),
    (f'1234567 One\n{DIFF}89abcde Two\n{NEW}', 'begins another patch: '),
    (f'One\n{DIFF}Two\n\nSigned-off-by: C <c@d>\n---\n{NEW}', 'begins another patch: '),
    (ONE.replace('Subject:', 'Content-Type: multipart/mixed; boundary="x"\nSubject:'), 'parts'),
    ('# HG changeset patch\n# User A <a@example.org>\nSay more\n\n' + DIFF, 'Mercurial'),
    (DIFF.removesuffix(DIFF.splitlines(keepends=True)[-1]), 'goes on'),
], ids=['outside', 'absolute', 'CRLF', 'CRLF mail', 'git binary', 'binary', 'empty', 'empty mail',
        'context', 'no such file', 'debian', 'debian beside another', 'quilt', 'link', 'blank',
        'empty file', 'two mails', 'git log', 'two mails without envelope',
        'two with DEP-3', 'git log --oneline', 'two signed off',
        'several parts', 'Mercurial', 'cut off'])
def test_import_refuses(short, content, words):
    before = state(short)
    status, text = take(short, content)
    assert status != 0 and 'Traceback' not in text
    assert words in text and '0001-Dump-Words.patch' in text, text
    assert state(short) == before


@pytest.mark.parametrize('words', [
    'Property changes on: storage/x\n____\nAdded: svn:eol-style\n## -0,0 +1 ##\n+native\n',
    '\\ Kein Zeilenumbruch am Dateiende.\nNur in neu: x\n', 'RCS file: /cvs/x,v\nretrieving 1.2\n',
    'From here on the names are longer.\nacceded to\n'])
def test_words_between_files_begin_no_other_patch(words):
    assert patchfile.check_foreign('x', f'{DIFF}{words}{NEW}') is None


def test_several_mails_are_taken_one_by_one_as_the_refusal_says(short):
    people = ('Ann', 'Bob')
    mails = [f'From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n'
             f'From: {who} <x@example.org>\nDate: Fri, 27 Nov 2026 00:33:28 +0000\n'
             f'Subject: [PATCH] Change of {who}\n\nWhy.\n\nSigned-off-by: {who} <x@example.org>\n'
             f'---\n\n{added(f"sql/{who}.h", "x")}-- \n2.39.5\n\n' for who in people]
    status, text = take(short, ''.join(mails), 'pr.patch')
    assert status != 0
    command = re.search('mkdir .*', text)[0]
    status, text = short.run('sh', '-c', command)
    assert status == 0, text
    for number, who in enumerate(people, 1):
        status, text = short.run('make', 'import-patch', f'FILE=mails/000{number}',
                                 f'NAME=of-{who.lower()}')
        assert status == 0, text
        made = header.read_header(patch(short, f'of-{who.lower()}'))
        assert made.synopsis == f'Change of {who}'
        assert made.fields['Author'] == f'{who} <x@example.org>'
        assert f'Signed-off-by: {who}' in made.fields['Description']


def test_modes_that_are_lost_are_named(short):
    status, text = take(short, added('scripts/tool.sh', '#!/bin/sh', header=GIT.format(
        'scripts/tool.sh') + 'new file mode 100755\nindex 0000000..1234567\n'))
    assert status == 0, text
    assert re.search('import-patch: .*modes.*: scripts/tool.sh', text)


def test_import_under_a_name_that_is_taken(checkout):
    status, text = take(checkout, DIFF, name=NAMES[0])
    assert status != 0
    assert f'{NAMES[0]}.patch' in text and 'NAME=' in text
    status, text = checkout.run('make', 'import-patch', 'FILE=nothing.patch')
    assert status != 0 and 'FILE=nothing.patch: no such file' in text


def test_a_new_patch(checkout, vanilla):
    # as some editors leave it
    checkout.write('series', (checkout.path / 'series').read_text().rstrip('\n'))
    status, text = checkout.run('make', 'new-patch', 'NAME=faster-thing')
    assert status == 0, text
    assert 'to do' not in text, 'its header keeps the rules'
    made = header.read_header(patch(checkout, 'faster-thing'))
    assert made.fields['Test'] == 'innodb.faster_thing'
    assert '# faster-thing' in (checkout.path / 'docs/patches/faster-thing.md').read_text()
    assert (checkout.path / 'series').read_text().split()[-2:] == [NAMES[-1], 'faster-thing']
    assert 'faster-thing' in (checkout.path / 'README.md').read_text()
    subprocess.run(['patch', '-p1', '--fuzz=0', '-i', patch(checkout, 'faster-thing')],
                   cwd=vanilla, check=True, capture_output=True)
    test = (vanilla / 'mysql-test/suite/innodb/t/faster_thing.test').read_text()
    result = (vanilla / 'mysql-test/suite/innodb/r/faster_thing.result').read_text()
    assert [line.removeprefix('--echo ') for line in test.splitlines()
            if line.startswith('--echo')] == result.splitlines()


def test_the_first_patch_of_a_tree(checkout):
    for file in patch(checkout, '').parent.iterdir():
        file.unlink()
    checkout.write('series', '')
    status, text = checkout.run('make', 'new-patch', 'NAME=faster-thing')
    assert status == 0 and patch(checkout, 'faster-thing').exists(), text


@pytest.mark.parametrize('name, words', [
    (NAMES[0], 'already'), ('Faster', 'hyphens'), ('', 'hyphens'), ('a b', 'hyphens'),
    ('../x', 'hyphens'),
])
def test_a_new_patch_of_a_wrong_name(checkout, name, words):
    status, text = checkout.run('make', 'new-patch', f'NAME={name}')
    assert status != 0 and words in text, text


def test_a_new_patch_whose_test_upstream_has(checkout):
    status, text = checkout.run('make', 'new-patch', 'NAME=instant-alter')
    assert status != 0 and TEST in text and 'NAME=' in text
    assert not patch(checkout, 'instant-alter').exists()


def test_compare_trees(checkout):
    name = NAMES[0]
    # the others are compared with the first
    text = patch(checkout, name, pins.trees()[0]).read_text()
    checkout.write('trees/99.1/pin.conf', (checkout.path / f'trees/{TREE}/pin.conf').read_text())
    status, said = checkout.run('scripts/compare-trees', name)
    assert status == 0 and f'{name}: 99.1 does not have it' in said
    # a hunk elsewhere in one file, another line in another
    first, *others = [file for file in diff.parse(text) if file.old]
    moved, hunk = first.path, first.hunks[0]
    place = f'--- a/{moved}\n+++ b/{moved}\n@@ -{hunk.old},'
    changed, line = next((file.path, line) for file in others for each in file.hunks
                         for line in each.changes
                         if line.startswith('+') and text.count(f'\n{line}\n') == 1)
    assert place in text
    other = text.replace(place, place.replace(f'-{hunk.old},', f'-{hunk.old + 10},'))
    other = other.replace(f'\n{line}\n', f'\n{line} // other\n')
    checkout.write(f'patches/99.1/{name}.patch',
                   other.replace('Forwarded: no', 'Forwarded: not-needed'))
    status, said = checkout.run('scripts/compare-trees', name)
    assert status == 0, said
    assert 'Forwarded:\n    @@ -1 +1 @@\n    -no\n    +not-needed\n' in said
    assert f'{moved}: the same, +10 lines away\n' in said
    assert f'{changed}: other changes\n' in said
    assert f'    -{line}\n    +{line} // other\n' in said
    assert ': the same\n' in said
    status, said = checkout.run('scripts/compare-trees', 'nonsense')
    assert status == 1 and "'nonsense'" in said


@pytest.mark.parametrize('head, words', [
    (b'no header\n', 'no header'), (b'Description: f\xfcr den Pool\n---\n', 'UTF-8'),
    (b'Description: an example\nAuthor: A <a@example.org>\nLast-Update: today\n---\n',
     "Last-Update: 'today'"),
    (b'Description: an example\n Subject: another\nAuthor: A <a@example.org>\n---\n',
     'Subject: another'),
], ids=['none', 'Latin-1', 'date', 'a mail in it'])
def test_a_header_that_cannot_be_read_is_named(checkout, head, words):
    patch(checkout, NAMES[-1]).write_bytes(head)
    status, text = checkout.run('scripts/export-patch', NAMES[-1])
    assert status == 1 and f'error: {NAMES[-1]}: ' in text and 'Traceback' not in text
    assert words in text, text


def test_tables_of_a_series_that_names_what_is_not_there(checkout):
    before = (checkout.path / 'README.md').read_bytes()
    with (checkout.path / 'series').open('a') as file:
        file.write('nothing\n')
    status, text = checkout.run('scripts/tables', '--write')
    assert status != 0 and 'series: names nothing' in text and 'Traceback' not in text
    assert (checkout.path / 'README.md').read_bytes() == before


def test_the_table_of_proofs_links_the_suites_of_the_header_and_no_others(tmp_path, monkeypatch):
    """Neither undospace where the header names undo, nor what is incomplete or without it."""
    name = 'extra-undo-segments'
    sets = {'undo': 'undo', 'undo-iops3000': 'undo', 'undospace': 'undospace',
            'undo+part': 'undo', 'undo+other': 'undo'}
    for place, suite in sets.items():
        shutil.copytree(next(KEPT.glob('*-undo')), tmp_path / f'{TREE}-{place}')
        file = tmp_path / f'{TREE}-{place}/result.json'
        data = json.loads(file.read_text()) | {'tree': TREE, 'suite': suite}
        if place == 'undo+part':
            data |= {'complete': False, 'error': 'interrupted'}
        for build in data['builds']:
            build['patches'] = ['read-ahead'] if place == 'undo+other' else [name]
        file.write_text(json.dumps(data))
    monkeypatch.setattr('millrace_bench.report.sets.KEPT', tmp_path)
    tables.result_sets.cache_clear()
    links = tables.benchmark(TREE, header.Header(name, {'Bench': 'undo: it is an example'}, {}))
    tables.result_sets.cache_clear()
    assert re.findall(r'/sets/([^/]+)/', links) == [f'{TREE}-undo', f'{TREE}-undo-iops3000']


def test_the_release_is_named(checkout):
    status, text = checkout.run('scripts/export-patch', NAMES[0])
    assert status == 0 and f'for mariadb-{release()[0]}' in text


def test_differences_show_what_is_otherwise_and_no_line_numbers(checkout):
    first, other = pins.trees()[:2]
    name = NAMES[0]
    file = patch(checkout, name, other)
    text = patch(checkout, name, first).read_text()
    file.write_text(text)
    differences = checkout.path / f'patches/differences/{other}/{name}.diff'
    assert checkout.run('scripts/compare-trees', '--write')[0] == 0
    assert not differences.exists(), 'a patch that changes the same lines has none'

    line = next(line for entry in diff.parse(text) for hunk in entry.hunks for line in hunk.changes
                if line.startswith('+') and text.count(f'\n{line}\n') == 1)
    file.write_text(text.replace(f'\n{line}\n', f'\n{line} // other\n'))
    status, said = checkout.run('scripts/compare-trees', '--check')
    assert status == 1 and f'{name}.diff' in said and 'scripts/compare-trees --write' in said
    assert checkout.run('scripts/compare-trees', '--write')[0] == 0
    made = differences.read_text()
    assert f'\n-{line}\n+{line} // other\n' in made and len(made.splitlines()) < 12

    moved = [HUNK.sub(lambda match: match[0].replace(f'-{match[1]}', f'-{int(match[1]) + 7}', 1),
                      each) if each.startswith('@@ ') else each
             for each in file.read_text().split('\n')]
    file.write_text('\n'.join(moved))
    assert checkout.run('scripts/compare-trees', '--check')[0] == 0, 'lines have only moved'

    file.unlink()
    assert checkout.run('scripts/compare-trees', '--check')[0] == 1
    assert checkout.run('scripts/compare-trees', '--write')[0] == 0
    assert not differences.exists()


def test_many_patches_have_a_short_label():
    many = [f'patch-{number}' for number in range(40)]
    assert series.label(many[:2]) == 'patch-0+patch-1'
    assert re.fullmatch('40-patches-[0-9a-f]{8}', series.label(many))
    assert series.label(many) != series.label(many[::-1])
