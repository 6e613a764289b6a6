"""The lint of the checkout, of the series and of the patches: each fault is named, with its
file, line and mend."""
import subprocess

import pytest
from millrace import lint as house
from millrace.patches import header, patchfile
from millrace.prove import lint, options
from millrace.upstream import pins
from support.checkout import TREE
from support.patchmaker import HEADER, hunks

GOOD = HEADER.format(depends='none', test='thing') \
    + hunks('mysql-test/suite/innodb/t/thing.test', None, 'SELECT 1;\n') \
    + hunks('sql/x.cc', 'a\nb\n', 'a\n-- b/../c\n')
LINK = 'diff --git a/x b/x\nnew file mode 120000\nindex 0000000..1234567\n'


def faults(text, tmp_path):
    """The faults that patchfile has of a patch."""
    file = tmp_path / 'thing.patch'
    file.write_bytes(text.encode())
    return patchfile.read(file).faults


def test_a_good_patch(tmp_path):
    file = tmp_path / 'thing.patch'
    file.write_text(GOOD)
    patch = patchfile.read(file)
    assert patch.faults == ()
    assert patch.paths == ('mysql-test/suite/innodb/t/thing.test', 'sql/x.cc')
    assert lint.check_tests(patch, header.read_header(file)) == []


@pytest.mark.parametrize('old, new, words', [
    ('+++ b/sql/x.cc', '+++ b/../../etc/passwd', ['outside the tree', '../../etc/passwd']),
    ('+++ b/sql/x.cc', '+++ /etc/passwd', ['outside the tree', '/etc/passwd']),
    ('--- a/sql/x.cc', '--- a/sql/../../x.cc', ['outside the tree']),
    ('+++ b/sql/x.cc', '+++ mariadb/sql/x.cc', ['quilt', 'make refresh']),
    ('+++ b/sql/x.cc', '+++ b/sql/x.cc\t2026-11-21 12:00:00', ['quilt', 'without a date']),
    ('+++ b/sql/x.cc', '+++ b/sql/y.cc', ['makes sql/y.cc of sql/x.cc', 'make refresh']),
    ('+++ b/sql/x.cc', '+++ b/debian/rules', ['debian/']),
    ('--- a/sql/x.cc', '--- a/debian/mariadb-server.install', ['debian/']),
    ('+++ b/sql/x.cc', '+++ b/.pc/applied-patches', ['.pc']),
    ('+++ b/sql/x.cc', '+++ b/builddir-deb/x.cc', ['builddir-deb']),
    ('+++ b/sql/x.cc', '+++ b/sql/x y.cc', ['blank', 'x y.cc']),
    ('+++ b/sql/x.cc', '+++ "b/sql/\\303\\244.cc"', ['quote']),
    ('+++ b/sql/x.cc', '+++ b/sql/$(x).cc', ['$(x)']),
    ('--- a/sql/x.cc', f'{LINK}--- a/sql/x.cc', ['symbolic link']),
    ('\n', '\r\n', ['CR LF', 'sed -i']),
    ('-b\n', '-b\r\n', ['CR LF', "'-b'"]),
    ('-b\n', '-b\0\n', ['binary']),
    ('--- a/sql/x.cc', 'diff --git a/x.png b/x.png\nGIT binary patch\nliteral 3\nxyz\n\n'
                       '--- a/sql/x.cc', ['binary hunk']),
    ('--- a/sql/x.cc', 'Binary files a/x.png and b/x.png differ\n--- a/sql/x.cc',
     ['binary hunk']),
    ('--- a/sql/x.cc', 'Index: sql/x.cc\n--- a/sql/x.cc', ['neither', 'make refresh']),
    (GOOD[GOOD.index('\n--- ') + 1:], '', ['no hunk', 'or remove']),
    ('+-- b/../c\n', '', ['its hunk goes on', 'make refresh']),
    ('@@ -1,2 +1,2 @@', '@@ -1,2 +1,3 @@', ['its hunk goes on']),
    ('@@ -1,2 +1,2 @@', '@@ -1,1 +1,1 @@', ['neither', "'-b'"]),
])
def test_a_fault_is_named_with_its_mend(old, new, words, tmp_path):
    assert old in GOOD
    text = GOOD.replace(old, new)
    named = faults(text, tmp_path)
    assert all(word in '\n'.join(map(str, named)) for word in words), named
    assert all(fault.mend and 1 <= fault.line <= text.count('\n') for fault in named)


def test_the_line_of_a_fault_is_that_of_the_file(tmp_path):
    text = GOOD.replace('+++ b/sql/x.cc', '+++ b/debian/rules')
    fault, = faults(text, tmp_path)
    assert text.splitlines()[fault.line - 1] == '+++ b/debian/rules'


def test_crlf_is_named_once(tmp_path):
    assert len(faults(GOOD.replace('\n', '\r\n'), tmp_path)) == 1


@pytest.mark.parametrize('old, new, words', [
    ('Test: innodb.thing', 'Test: innodb.thing innodb.other', ['innodb.other', 'quilt add']),
    ('Test: innodb.thing', 'Test: main.thing', ['main.thing']),
    ('Test: innodb.thing', 'Test: innodb.no', ['innodb.thing', 'Test: innodb.no innodb.thing']),
])
def test_tests_are_named_and_there(old, new, words, tmp_path):
    file = tmp_path / 'thing.patch'
    file.write_text(GOOD.replace(old, new))
    named = lint.check_tests(patchfile.read(file), header.read_header(file))
    assert all(word in '\n'.join(map(str, named)) for word in words), named
    assert all(fault.line == GOOD.splitlines().index('Test: innodb.thing') + 1 for fault in named)


UPSTREAM = options.listed(['VARIABLE_NAME\tINNODB_READ_AHEAD_THRESHOLD\nSESSION_VALUE\tNULL\n'
                           'VARIABLE_NAME\tINNODB_THING\n'])


@pytest.mark.parametrize('one, other, words', [
    ('read_ahead', 'other', ['one.patch:2: innodb_read_ahead is a prefix of '
                             'innodb_read_ahead_threshold', 'by upstream', 'mend: ']),
    ('thing_limit', 'other', ['one.patch:2: innodb_thing is a prefix of innodb_thing_limit']),
    ('new', 'new_limit', ['one.patch:2: innodb_new is a prefix', 'by two.patch',
                          'two.patch:1: innodb_new is a prefix', 'by one.patch']),
    ('readahead', 'thin', ['two.patch:1: innodb_thin is a prefix of innodb_thing']),
    ('readahead', 'read_only', []),
])
def test_no_variable_is_a_prefix_of_another(one, other, words):
    found = '\n'.join(map(str, options.check(
        {'one.patch': f' {{}}\n+  MYSQL_SYSVAR({one}),\n   MYSQL_SYSVAR(thing),\n',
         'two.patch': f'+VARIABLE_NAME\tINNODB_{other.upper()}\n VARIABLE_NAME\tINNODB_THING\n'},
        UPSTREAM)))
    assert all(word in found for word in words), found
    assert bool(found) == bool(words), found


@pytest.mark.parametrize('tree', pins.trees())
def test_the_series_keeps_the_rules(tree):
    assert lint.check_tree(tree) == []


@pytest.mark.parametrize('lines, words', [
    ('read-ahead\nread-ahead\nshow-patches\n', ['series:2: ', 'read-ahead', 'lines out']),
    ('read-ahead\nshow-patches\nno-such\n', ['series:3: ', f'patches/{TREE}/no-such.patch']),
    ('show-patches\n', ['read-ahead.patch:1: ', 'git rm']),
    ('read-ahead\nshow-patches\n../x\n', ['series:3: ', "'../x'"]),
])
def test_faults_of_the_series(lines, words, checkout):
    checkout.write('series', lines)
    status, text = checkout.run('scripts/prove', '--quick', TREE)
    assert status == 1
    assert all(word in text for word in words), text
    assert 'mend: ' in text and 'Traceback' not in text
    assert not (checkout.path / 'work').exists(), 'nothing is applied'


@pytest.fixture
def linted(checkout):
    """A checkout of which git has the pages, and the faults of its lint, which only looks at
    what git has."""
    (checkout.path / '.flake8').write_text('[flake8]\nmax-line-length = 99\n')
    subprocess.run(['git', 'init', '--quiet'], cwd=checkout.path, check=True)
    checkout.write('.git/info/exclude', '*\n')
    subprocess.run(['git', 'add', '--force', 'docs', 'README.md'], cwd=checkout.path, check=True)

    def run():
        status, text = checkout.run('scripts/lint')
        assert 'Traceback' not in text, text
        assert status == ('lint: error: ' in text)
        return [line for line in text.splitlines() if not line.startswith('lint: ')]
    return run


FAULTS = [      # in one run of the lint, which takes seconds
    ('scripts/command', '#!/bin/bash\nrm -r $undefined/*\nlocal x\n', 'scripts/command:3: '),
    ('scripts/another', '#!/usr/bin/python3\nimport os\n', 'scripts/another:2: F401'),
    ('scripts/millrace/new.py', 'print(undefined)\n', 'scripts/millrace/new.py:1: F821'),
    ('docs/long.md', 'x\n' + 'word ' * 20 + '\n', 'docs/long.md:2: 100 characters'),
    ('docs/patches/tall.md', 'x\n' * 121, 'docs/patches/tall.md:121: 121 lines'),
    ('docs/tall.md', 'x\n' * 151, 'docs/tall.md:151: 151 lines'),
    ('docs/wide.md', f'{"x " * 49}\n' * 150, 'docs/:1: '),
    (f'patches/{TREE}/stray.patch', 'x\n', f'patches/{TREE}/stray.patch:1: is in no series'),
]
LET_BE = f'| {"cell " * 30}|\nhttps://example.org/{"x" * 100}\n'


def test_the_lint_names_file_and_line(linted, checkout):
    before = linted()
    for name, content, _ in FAULTS:
        checkout.write(name, content)
    checkout.write('docs/tables.md', LET_BE * 75)
    subprocess.run(['git', 'add', '--force', 'docs/tables.md', *(name for name, *_ in FAULTS)],
                   cwd=checkout.path, check=True)
    new = set(linted()) - set(before)
    for _, _, fault in FAULTS:
        assert any(line.startswith(fault) and '; mend: ' in line for line in new), (fault, new)
    assert not [line for line in new if line.startswith('docs/tables.md')]


def test_the_lint_names_differences_that_are_not_up_to_date(linted, checkout):
    other = next(tree for tree in pins.trees()[1:])
    file = next((checkout.path / 'patches/differences' / other).iterdir())
    file.write_text('old\n')
    assert [line for line in linted() if line.startswith(str(file.relative_to(checkout.path)))
            and 'compare-trees --write' in line]
    assert checkout.run('scripts/compare-trees', '--write')[0] == 0
    assert not [line for line in linted() if line.startswith('patches/differences/')]


@pytest.mark.parametrize('text, words', [
    ('# One two\n\nthree *four*\n    five\n', 6),
    ('one\n<!-- new -->\ntwo\n\n| x |\n<!-- /new -->\nthree\n', 2),
    ('one\n<!-- none -->\ntwo\n', 5),
    ('one\n| two | three |\n| --- | --- |\nfour\n', 2),
])
def test_words_of_a_page(text, words):
    assert house.words(text) == words


def test_a_file_of_records_is_not_ours_to_shorten():
    assert {'patches/', 'test-results/', 'LICENSE', 'debian/copyright'} <= set(house.OF_OTHERS)
