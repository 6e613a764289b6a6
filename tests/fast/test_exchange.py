"""new-patch, import-patch, export-patch and compare-trees: what they write, and what they refuse."""
import hashlib
import re
import shutil
import subprocess
import tarfile

import pytest

from conftest import TOP, TREE, release
from millrace import diff, header, mail, series, sources

NAMES = series.names(TREE)
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
 
 Copyright (c) 2011, 2017, Oracle and/or its affiliates. All Rights Reserved.
'''


@pytest.fixture(scope='session')
def touched(tarball, tmp_path_factory):
    """The files of the vanilla source that these tests need."""
    paths = {entry.old for name in NAMES for entry in diff.parse(series.patch_file(TREE, name).read_text()) if entry.old}
    place = tmp_path_factory.mktemp('touched')
    sources.extract(release()[0], {*paths, TEST, 'storage/innobase/buf/buf0dump.cc'}, place)
    return place


@pytest.fixture
def checkout(checkout, touched, tmp_path):
    """A checkout for a release of nothing but these files."""
    checkout.cache = tmp_path / 'cache'
    checkout.cache.mkdir()
    small = checkout.cache / f'mariadb-{release()[0]}.tar.gz'
    with tarfile.open(small, 'w:gz', compresslevel=1) as archive:
        archive.add(touched, small.name.removesuffix('.tar.gz'))
    sha256 = hashlib.sha256(small.read_bytes()).hexdigest()
    (checkout.cache / f'{small.name}.asc').write_text('verified before')
    (checkout.cache / f'{small.name}.verified').write_text(sha256)
    conf = checkout.path / f'trees/{TREE}.conf'
    conf.write_text(conf.read_text().replace(release()[1], sha256))
    return checkout


@pytest.fixture
def vanilla(touched, tmp_path):
    """A git repository of these files."""
    tree = tmp_path / 'vanilla'
    shutil.copytree(touched, tree)
    for words in (['init', '-q'], ['add', '.'], ['commit', '-q', '-m', 'vanilla']):
        git(tree, *words)
    return tree


def patch(checkout, name, tree=TREE):
    """A patch of the copy."""
    return checkout.path / f'patches/{tree}/{name}.patch'


def take(checkout, content, name='0001-Dump-Words.patch', **variables):
    """Runs make import-patch on a file of this content."""
    file = checkout.path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return checkout.run('make', 'import-patch', f'FILE={name}', **variables)


def git(tree, *words):
    """What a git command prints."""
    return subprocess.run(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.org', *words], cwd=tree, check=True,
                          text=True, capture_output=True).stdout


@pytest.mark.parametrize('tree, name', [(tree, name) for tree in series.trees() for name in series.names(tree)])
def test_a_mail_is_read_back_byte_for_byte(tree, name):
    text = series.patch_file(tree, name).read_text()
    for content in (mail.write(name, text), text):
        fields, diff = mail.read(content.encode())
        assert header.text(fields) + '---\n' + diff == text


def anywhere(text):
    """A patch without its line numbers: at the end of the series they are others."""
    return re.sub(rb'^@@ -\d+(,\d+)? \+\d+(,\d+)? @@', rb'@@ \1 \2 @@', text, flags=re.MULTILINE)


@pytest.mark.parametrize('name', NAMES)
def test_import_of_what_was_exported(checkout, name):
    before = anywhere(patch(checkout, name).read_bytes())
    assert checkout.run('make', 'export-patch', f'NAME={name}')[0] == 0
    patch(checkout, name).unlink()
    checkout.write('series', ''.join(f'{other}\n' for other in NAMES if other != name))
    status, text = checkout.run('make', 'import-patch', f'FILE=dist/export/{TREE}/{name}.patch')
    assert status == 0, text
    assert anywhere(patch(checkout, name).read_bytes()) == before


@pytest.mark.parametrize('name', NAMES)
def test_import_of_a_patch_that_another_tree_has(checkout, name):
    """It takes its place in the series, and is what it was, line numbers and all."""
    before = patch(checkout, name).read_bytes()
    assert checkout.run('make', 'export-patch', f'NAME={name}')[0] == 0
    patch(checkout, name).unlink()
    status, text = checkout.run('make', 'import-patch', f'FILE=dist/export/{TREE}/{name}.patch', f'NAME={name}')
    assert status == 0, text
    assert patch(checkout, name).read_bytes() == before and (checkout.path / 'series').read_text() == (TOP / 'series').read_text()


def test_import_of_a_patch_that_stands_in_the_way_of_one_after_it(checkout):
    first, last = (f'patches/{TREE}/{name}.patch' for name in ('one', 'two'))
    for other in NAMES:
        patch(checkout, other).unlink()
    checkout.write('series', 'one\ntwo\n')
    checkout.write('patches/99.1/one.patch', '')
    checkout.write(last, (TOP / f'patches/{TREE}/{NAMES[0]}.patch').read_text().partition('\n---\n')[0] + '\n---\n' + DIFF)
    status, text = take(checkout, DIFF.replace('warms', 'heats'), NAME='one')
    assert status != 0 and "'two' after it does not apply any more" in text, text
    assert not (checkout.path / first).exists()


def test_git_takes_an_exported_patch(checkout, vanilla):
    for name in NAMES:
        assert checkout.run('scripts/export-patch', name)[0] == 0
    git(vanilla, 'am', *(checkout.path / f'dist/export/{TREE}/{name}.patch' for name in NAMES))
    assert git(vanilla, 'log', '--reverse', '--format=%s').split('\n')[1:-1] == [
        header.read_header(series.patch_file(TREE, name)).synopsis for name in NAMES]
    assert 'License: GPL-2.0-only\n' in git(vanilla, 'log', '-1', '--format=%(trailers)')
    assert git(vanilla, 'log', '-1', '--format=%an <%ae>').strip() == header.read_header(
        series.patch_file(TREE, NAMES[-1])).fields['Author']


@pytest.mark.parametrize('name', NAMES)
def test_patch_takes_an_exported_patch(checkout, vanilla, name):
    assert checkout.run('scripts/export-patch', name)[0] == 0
    with (checkout.path / f'dist/export/{TREE}/{name}.patch').open() as file:
        done = subprocess.run(['patch', '-p1', '--fuzz=0'], stdin=file, cwd=vanilla, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    with (checkout.path / f'patches/{TREE}/{name}.patch').open() as file:
        subprocess.run(['patch', '-p1', '--fuzz=0', '-R', '--dry-run'], stdin=file, cwd=vanilla, check=True, capture_output=True)


def test_quilt_takes_an_exported_patch_and_an_exported_tree(checkout, vanilla):
    quilt = ['quilt', '--quiltrc', '-']
    for name in NAMES:
        assert checkout.run('scripts/export-patch', name)[0] == 0
    assert checkout.run('scripts/export-patch', *NAMES)[0] == 0
    out = checkout.path / f'dist/export/{TREE}'
    for name in NAMES:
        subprocess.run([*quilt, 'import', out / f'{name}.patch'], cwd=vanilla, check=True, capture_output=True)
        subprocess.run([*quilt, 'push', '--fuzz=0'], cwd=vanilla, check=True, capture_output=True)
    git(vanilla, 'add', '--all', '--', ':!patches', ':!.pc')
    git(vanilla, 'commit', '-qm', 'imported')
    subprocess.run([*quilt, 'pop', '-a'], cwd=vanilla, check=True, capture_output=True)
    subprocess.run(['rm', '-r', vanilla / 'patches', vanilla / '.pc'], check=True)
    (out / '+'.join(NAMES)).rename(vanilla / 'patches')
    subprocess.run([*quilt, 'push', '-a', '--fuzz=0'], cwd=vanilla, check=True, capture_output=True)
    assert git(vanilla, 'status', '--porcelain', '--', ':!patches', ':!.pc') == ''


def test_export_of_a_subset_that_leaves_out_what_it_needs(checkout):
    for file in (checkout.path / f'patches/{TREE}').iterdir():
        file.unlink()
    for name, depends in (('a', 'none'), ('b', 'a'), ('c', 'b')):
        checkout.write(f'patches/{TREE}/{name}.patch', f'Description: {name}\nAuthor: A <a@b>\nDepends: {depends}\n---\n')
    checkout.write('series', 'a\nb\nc\n')
    status, text = checkout.run('make', 'export-patch', 'NAME=c a')
    assert status != 0
    assert "'c' needs 'b', which is left out" in text and f'make export-patch TREE={TREE} NAME="a b c"' in text
    assert checkout.run('make', 'export-patch', 'NAME=c a b')[0] == 0
    assert (checkout.path / f'dist/export/{TREE}/a+b+c/series').read_text() == 'a.patch\nb.patch\nc.patch\n'


def test_export_of_what_is_not_there(checkout):
    status, text = checkout.run('make', 'export-patch', 'NAME=nonsense')
    assert status != 0 and "no patch 'nonsense'" in text and f'known patches: {" ".join(NAMES)}' in text
    status, text = checkout.run('make', 'export-patch', 'NAME=x', 'TREE=9.9')
    assert status != 0 and 'no release tree 9.9' in text


@pytest.mark.parametrize('content', [
    MAIL.format(diff=DIFF, blank=' '),
    MAIL.format(diff=DIFF, blank=' ').replace('[PATCH 2/3] ', '').partition('\n')[2],
], ids=['git format-patch', 'saved from a mailbox'])
def test_import_of_a_mail(checkout, content):
    status, text = take(checkout, content)
    assert status == 0, text
    made = header.read_header(patch(checkout, 'dump-words'))
    assert made.synopsis == 'buf0dump: say what a dump is for, in words that take more than one line'
    assert made.fields['Description'].endswith('A dump warms the pool.\n\nReally.\n\nSigned-off-by: A Person <a@example.org>')
    assert made.fields['Author'] == 'Jürgen B <jb@example.org>'
    assert made.fields['Last-Update'] == '2026-05-01'
    assert made.fields['Origin'] == 'other, 0001-Dump-Words.patch'
    assert patch(checkout, 'dump-words').read_text().endswith(f'---\n{DIFF}')
    assert (checkout.path / 'series').read_text().split()[-1] == 'dump-words'
    assert (checkout.path / 'docs/patches/dump-words.md').is_file()
    assert 'to do: dump-words: no field Test' in text


def test_import_of_a_plain_diff(checkout):
    plain = 'Only in new: notes\ndiff -ru old/buf0dump.cc new/buf0dump.cc\n' + DIFF.replace(
        '--- a/', '--- old/').replace('+++ b/', '+++ new/').replace('.cc\n@@', '.cc\t2026-05-01 10:00:00 +0300\n@@')
    status, text = take(checkout, plain, NAME='dump-words')
    assert status == 0, text
    assert patch(checkout, 'dump-words').read_text().endswith(f'---\n{DIFF}')
    assert checkout.run('bash', '-c', '. build/lib.sh; echo $NAMES')[1].split() == [*NAMES, 'dump-words']


def test_import_of_a_debian_patch(checkout):
    status, text = take(checkout, 'Description: say what a dump is for\nAuthor: A Person <a@example.org>\n'
                                  'Reviewed-By: B\nForwarded: https://example.org/1\n\n' + DIFF)
    assert status == 0, text
    made = header.read_header(patch(checkout, 'dump-words'))
    assert made.fields['Description'] == 'say what a dump is for\n\nReviewed-By: B'
    assert made.fields['Forwarded'] == 'https://example.org/1'


@pytest.mark.parametrize('head, description, fields', [
    ('Description: say what a dump is for\nReviewed-By: B\nReviewed-By: C\nBug:\n\nMore words.\n',
     'say what a dump is for\n\nReviewed-By: B\nReviewed-By: C\n\nMore words.', {}),
    ('Say what a dump is for.\n', 'Say what a dump is for.', {}),
    (b'Description: f\xfcr den Pool, der warm wird\nAuthor: J\xf6rg <j@example.org>\n', 'für den Pool, der warm wird',
     {'Author': 'Jörg <j@example.org>'}),
    ('From: A <a@example.org>\nDate: yesterday\nSubject: [PATCH] say what a dump is for\n\nBug: MDEV-1\nAcked-by: A\nAcked-by: B\n---\n',
     'say what a dump is for\nAcked-by: A\nAcked-by: B', {'Bug': 'MDEV-1', 'Author': 'A <a@example.org>'}),
], ids=['DEP-3', 'words', 'Latin-1', 'mail'])
def test_import_keeps_what_a_header_says(checkout, head, description, fields):
    status, text = take(checkout, (head if isinstance(head, bytes) else head.encode()) + DIFF.encode())
    assert status == 0, text
    made = header.read_header(patch(checkout, 'dump-words')).fields
    assert made['Description'] == description
    assert {name: made[name] for name in fields} == fields and 'Bug' in fields or 'Bug' not in made
    assert description.split('\n')[0] in (checkout.path / 'docs/patches/dump-words.md').read_text()
    assert description.split('\n')[0] in (checkout.path / 'README.md').read_text()


@pytest.mark.parametrize('content, words', [
    (DIFF.replace('a/storage', 'a/../storage').replace('b/storage', 'b/../storage'), 'names a path outside the tree'),
    (DIFF.replace('a/storage', '/etc').replace('b/storage', '/etc'), 'names a path outside the tree'),
    (DIFF.replace('\n', '\r\n'), 'ends in CR LF'),
    (MAIL.format(diff=DIFF, blank=' ').replace('\n', '\r\n'), 'ends in CR LF'),
    ('diff --git a/x.png b/x.png\nnew file mode 100644\nindex 000..111\nGIT binary patch\nliteral 3\nKcmZQz\n\n', 'is a binary hunk'),
    ('Binary files a/x.png and b/x.png differ\n', 'is a binary hunk'),
    ('', 'there is no hunk in it'),
    (MAIL.format(diff='', blank=' '), 'there is no hunk in it'),
    (DIFF.replace('2017, Oracle', '1999, Nobody'), 'does not apply to mariadb-'),
    (DIFF.replace('buf0dump', 'buf0nothing'), 'does not apply to mariadb-'),
], ids=['outside', 'absolute', 'CRLF', 'CRLF mail', 'git binary', 'binary', 'empty', 'empty mail', 'context', 'no such file'])
def test_import_refuses(checkout, content, words):
    def state():
        files = [file for top in ('patches', 'docs', 'series', 'README.md')
                 for file in [checkout.path / top, *(checkout.path / top).rglob('*')] if file.is_file()]
        return {file: file.read_bytes() for file in files}

    before = state()
    status, text = take(checkout, content)
    assert status != 0
    assert words in text and '0001-Dump-Words.patch' in text, text
    assert state() == before


def test_import_under_a_name_that_is_taken(checkout):
    status, text = take(checkout, DIFF, NAME=NAMES[0])
    assert status != 0
    assert f'there is a patch {NAMES[0]} already' in text and 'NAME=' in text
    status, text = checkout.run('make', 'import-patch', 'FILE=nothing.patch')
    assert status != 0 and 'FILE=nothing.patch: no such file' in text


def test_a_new_patch(checkout, vanilla):
    checkout.write('series', (checkout.path / 'series').read_text().rstrip('\n'))      # as some editors leave it
    status, text = checkout.run('make', 'new-patch', 'NAME=faster-thing')
    assert status == 0, text
    assert 'to do' not in text, 'its header keeps the rules'
    made = header.read_header(patch(checkout, 'faster-thing'))
    assert made.fields['Test'] == 'innodb.faster_thing'
    assert '# faster-thing' in (checkout.path / 'docs/patches/faster-thing.md').read_text()
    assert (checkout.path / 'series').read_text().split()[-2:] == [NAMES[-1], 'faster-thing']
    assert 'faster-thing' in (checkout.path / 'README.md').read_text()
    subprocess.run(['patch', '-p1', '--fuzz=0', '-i', patch(checkout, 'faster-thing')], cwd=vanilla, check=True, capture_output=True)
    test = (vanilla / 'mysql-test/suite/innodb/t/faster_thing.test').read_text()
    result = (vanilla / 'mysql-test/suite/innodb/r/faster_thing.result').read_text()
    assert [line.removeprefix('--echo ') for line in test.splitlines() if line.startswith('--echo')] == result.splitlines()


@pytest.mark.parametrize('name, words', [
    (NAMES[0], 'already'), ('Faster', 'is not the name of a patch'), ('', 'is not the name of a patch'),
    ('a b', 'is not the name of a patch'), ('../x', 'is not the name of a patch'),
])
def test_a_new_patch_of_a_wrong_name(checkout, name, words):
    status, text = checkout.run('make', 'new-patch', f'NAME={name}')
    assert status != 0 and words in text, text


def test_a_new_patch_whose_test_upstream_has(checkout):
    status, text = checkout.run('make', 'new-patch', 'NAME=instant-alter')
    assert status != 0 and f'has the test of patch instant-alter already: {TEST}' in text and 'NAME=' in text
    assert not patch(checkout, 'instant-alter').exists()


def test_compare_trees(checkout):
    name = NAMES[0]
    text = patch(checkout, name, series.trees()[0]).read_text()      # with which the others are compared
    checkout.write('trees/99.1.conf', (checkout.path / f'trees/{TREE}.conf').read_text())
    status, said = checkout.run('scripts/compare-trees', name)
    assert status == 0 and f'{name}: 99.1 does not have it' in said
    # a hunk elsewhere in one file, another line in another
    first, *others = [file for file in diff.parse(text) if file.old]
    moved, hunk = first.path, first.hunks[0]
    place = f'--- a/{moved}\n+++ b/{moved}\n@@ -{hunk.old},'
    changed, added = next((file.path, line) for file in others for each in file.hunks for line in each.changes
                          if line.startswith('+') and text.count(f'\n{line}\n') == 1)
    assert place in text
    other = text.replace(place, place.replace(f'-{hunk.old},', f'-{hunk.old + 10},')).replace(f'\n{added}\n', f'\n{added} // other\n')
    checkout.write(f'patches/99.1/{name}.patch', other.replace('Forwarded: no', 'Forwarded: not-needed'))
    status, said = checkout.run('scripts/compare-trees', name)
    assert status == 0, said
    assert 'Forwarded:\n    @@ -1 +1 @@\n    -no\n    +not-needed\n' in said
    assert f'{moved}: the same, +10 lines away\n' in said
    assert f'{changed}: other changes\n' in said and f'    -{added}\n    +{added} // other\n' in said
    assert ': the same\n' in said
    status, said = checkout.run('scripts/compare-trees', 'nonsense')
    assert status == 1 and "no tree has a patch 'nonsense'" in said


@pytest.mark.parametrize('head, words', [
    (b'no header\n', 'no header'), (b'Description: f\xfcr den Pool\n---\n', 'the header is not in UTF-8'),
    (b'Description: an example\nAuthor: A <a@example.org>\nLast-Update: today\n---\n', "Last-Update: 'today' is no date"),
], ids=['none', 'Latin-1', 'date'])
def test_a_header_that_cannot_be_read_is_named(checkout, head, words):
    patch(checkout, NAMES[-1]).write_bytes(head)
    status, text = checkout.run('scripts/export-patch', NAMES[-1])
    assert status == 1 and f'error: {NAMES[-1]}: {words}' in text and 'mend:' in text and 'Traceback' not in text, text


def test_tables_of_a_series_that_names_what_is_not_there(checkout):
    before = (checkout.path / 'README.md').read_bytes()
    with (checkout.path / 'series').open('a') as file:
        file.write('nothing\n')
    status, text = checkout.run('make', 'docs')
    assert status != 0 and 'series: names nothing, which no tree has' in text and 'Traceback' not in text
    assert (checkout.path / 'README.md').read_bytes() == before


def test_the_release_is_named(checkout):
    status, text = checkout.run('scripts/export-patch', NAMES[0])
    assert status == 0 and f'for mariadb-{release()[0]}' in text
