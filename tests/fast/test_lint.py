"""The lint of the series and of the patches' texts: each fault is named, with its mend."""
import pytest

from conftest import TREE
from millrace import header, lint, patchfile, series
from patchmaker import HEADER, hunks

GOOD = HEADER.format(depends='none', test='thing') + hunks('mysql-test/suite/innodb/t/thing.test', None, 'SELECT 1;\n') \
    + hunks('sql/x.cc', 'a\nb\n', 'a\n-- b/../c\n')


def faults(text, tmp_path, name='thing'):
    """What patchfile says of a patch."""
    file = tmp_path / f'{name}.patch'
    file.write_bytes(text.encode())
    return patchfile.read(file).faults


def test_a_good_patch(tmp_path):
    file = tmp_path / 'thing.patch'
    file.write_text(GOOD)
    patch = patchfile.read(file)
    assert patch.faults == ()
    assert patch.paths == ('mysql-test/suite/innodb/t/thing.test', 'sql/x.cc')
    assert lint.check_tests(patch, header.read_header(file).fields) == []


@pytest.mark.parametrize('old, new, words', [
    ('+++ b/sql/x.cc', '+++ b/../../etc/passwd', ['path outside the tree', '../../etc/passwd']),
    ('+++ b/sql/x.cc', '+++ /etc/passwd', ['path outside the tree', '/etc/passwd']),
    ('--- a/sql/x.cc', '--- a/sql/../../x.cc', ['path outside the tree']),
    ('+++ b/sql/x.cc', '+++ mariadb/sql/x.cc', ['not as quilt writes it', 'make refresh']),
    ('+++ b/sql/x.cc', '+++ b/sql/x.cc\t2026-11-21 12:00:00', ['not as quilt writes it', 'without a date']),
    ('\n', '\r\n', ['CR LF', 'sed -i']),
    ('-b\n', '-b\r\n', ['CR LF', "'-b'"]),
    ('-b\n', '-b\0\n', ['is binary']),
    ('--- a/sql/x.cc', 'diff --git a/x.png b/x.png\nGIT binary patch\nliteral 3\nxyz\n\n--- a/sql/x.cc', ['binary hunk']),
    ('--- a/sql/x.cc', 'Binary files a/x.png and b/x.png differ\n--- a/sql/x.cc', ['binary hunk']),
    ('--- a/sql/x.cc', 'Index: sql/x.cc\n--- a/sql/x.cc', ['neither of a file nor of a hunk', 'make refresh']),
    (GOOD[GOOD.index('\n--- ') + 1:], '', ['no hunk', 'or remove']),
    ('+-- b/../c\n', '', ['its hunk goes on', 'make refresh']),
    ('@@ -1,2 +1,2 @@', '@@ -1,2 +1,3 @@', ['its hunk goes on']),
    ('@@ -1,2 +1,2 @@', '@@ -1,1 +1,1 @@', ['neither of a file nor of a hunk', "'-b'"]),
])
def test_a_fault_is_named_with_its_mend(old, new, words, tmp_path):
    assert old in GOOD
    found = faults(GOOD.replace(old, new), tmp_path)
    text = '\n'.join(found)
    assert all(word in text for word in words), text
    assert all(fault.startswith('thing: ') and '\n  mend: ' in fault for fault in found)


def test_crlf_is_said_once(tmp_path):
    assert len(faults(GOOD.replace('\n', '\r\n'), tmp_path)) == 1


@pytest.mark.parametrize('old, new, words', [
    ('Test: innodb.thing', 'Test: innodb.thing innodb.other', ['names innodb.other', 'not in the patch', 'quilt add']),
    ('Test: innodb.thing', 'Test: main.thing', ['names main.thing']),
    ('Test: innodb.thing', 'Test: innodb.no', ['new test innodb.thing is not named', 'Test: innodb.no innodb.thing']),
])
def test_tests_are_named_and_there(old, new, words, tmp_path):
    file = tmp_path / 'thing.patch'
    file.write_text(GOOD.replace(old, new))
    text = '\n'.join(lint.check_tests(patchfile.read(file), header.read_header(file).fields))
    assert all(word in text for word in words), text


@pytest.mark.parametrize('tree', series.trees())
def test_the_series_keeps_the_rules(tree):
    assert lint.check_tree(tree) == []


@pytest.mark.parametrize('lines, words', [
    ('read-ahead\nread-ahead\nshow-patches\n', ['two patches are named read-ahead', 'take one of the lines out']),
    ('read-ahead\nshow-patches\nno-such\n', ['names no-such', f'patches/{TREE}/no-such.patch', 'take its line out']),
    ('show-patches\n', ['read-ahead.patch: is in no series', 'git rm']),
    ('read-ahead\nshow-patches\n../x\n', ["'../x' is not the name of a patch"]),
])
def test_faults_of_the_series(lines, words, checkout):
    checkout.write('series', lines)
    status, text = checkout.run('scripts/prove-series', '--quick', TREE)
    assert status == 1
    assert all(word in text for word in words), text
    assert 'mend: ' in text and 'Traceback' not in text
    assert not (checkout.path / 'work').exists(), 'nothing is applied'
