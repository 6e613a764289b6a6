"""build/apply and the choice of patches: quilt's state, subsets, and what is refused."""
import fcntl
import os
import subprocess

import pytest

from conftest import TREE, release, unpack
from millrace import series

VERSION, _ = release()
NAMES = series.names(TREE)


def source_of(checkout, subset='all'):
    """The patched source of a subset."""
    return checkout.path / 'work' / TREE / subset / f'mariadb-{VERSION}'


@pytest.fixture
def patched(checkout, unpacked):
    """A checkout with the whole series applied."""
    unpack(unpacked, source_of(checkout))
    status, text = checkout.run('build/apply')
    assert status == 0, text
    return checkout


def test_quilt_works_in_the_patched_tree(patched):
    tree = source_of(patched)
    quilt = ['quilt', '--quiltrc', '-']

    def ask(*words):
        return subprocess.run([*quilt, *words], cwd=tree, text=True, capture_output=True, check=True,
                              env={**os.environ, 'QUILT_DIFF_OPTS': '-p'}).stdout

    assert ask('top').strip().endswith(f'{NAMES[-1]}.patch')
    ask('pop', '-a')
    ask('push', '-a')
    assert len(ask('applied').split()) == len(NAMES)
    for name in reversed(NAMES):
        before = (patched.path / 'patches' / TREE / f'{name}.patch').read_bytes()
        ask('refresh', '-p', 'ab', '--no-timestamps', '--no-index', '--sort')
        after = (patched.path / 'patches' / TREE / f'{name}.patch').read_bytes()
        assert after == before, f'refreshing {name} changes it: make refresh'
        ask('pop')


def test_edits_are_never_lost(patched):
    file = source_of(patched) / 'README.md'
    tree = source_of(patched)
    subprocess.run(['quilt', 'add', 'README.md'], cwd=tree, check=True, capture_output=True)
    text = file.read_text()
    file.unlink()
    file.write_text(text + 'an edit\n')
    status, text = patched.run('build/apply')
    assert status == 1
    assert 'edits that no patch holds' in text and 'make refresh' in text
    assert file.read_text().endswith('an edit\n')

    status, text = patched.run('scripts/refresh')
    assert status == 0, text
    assert '+an edit' in (patched.path / 'patches' / TREE / f'{NAMES[-1]}.patch').read_text()
    assert patched.run('build/apply')[0] == 0


def test_an_edit_of_a_file_that_no_patch_has(patched):
    """quilt knows nothing of it: it is named all the same, by a refresh, too, and nothing is compiled of it."""
    tree = source_of(patched)
    file, new = tree / 'CREDITS', tree / 'storage/innobase/buf/new.cc'
    file.write_text('an edit\n' + file.read_text())
    new.write_text('int new_function() { return 0; }\n')
    for command, words in (('build/apply', 'edits that no patch holds'), ('scripts/refresh', f'edits that {NAMES[-1]}.patch does not hold'),
                           ('build/apply', 'edits that no patch holds')):
        status, text = patched.run(command)
        assert status == 1 and words in text and 'CREDITS storage/innobase/buf/new.cc\n' in text, text
    subprocess.run('patch -R -p1 < ../unsaved.diff', shell=True, cwd=tree, check=True, capture_output=True)
    assert not file.read_text().startswith('an edit') and not new.exists()
    assert patched.run('build/apply')[0] == 0


def test_what_quilt_and_tests_leave_is_no_edit(patched):
    tree = source_of(patched)
    for words in (['pop', '-a'], ['push', '-a']):
        subprocess.run(['quilt', '--quiltrc', '-', *words], cwd=tree, check=True, capture_output=True)
    for name in ('CREDITS~', 'CREDITS.orig', '.CREDITS.swp', 'tags', 'mysql-test/suite/innodb/r/x.reject', 'builddir-tarball/x.cc', 'debian/x'):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text('left\n')
    assert patched.run('build/apply') == (0, '')
    assert patched.run('scripts/refresh')[0] == 0


def test_a_changed_patch_is_applied_anew(patched):
    patch = patched.path / 'patches' / TREE / f'{NAMES[-1]}.patch'
    patch.write_text(patch.read_text() + '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n')
    assert patched.run('build/apply')[0] == 0
    assert (source_of(patched) / 'new.txt').read_text() == 'new\n'


def test_a_patch_that_does_not_apply(patched):
    name = NAMES[-1]
    patch = patched.path / 'patches' / TREE / f'{name}.patch'
    patch.write_text(patch.read_text() + '--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-no such line\n+x\n')
    status, text = patched.run('build/apply')
    assert status == 1
    assert f"patch '{name}' does not apply" in text and 'README.md' in text and 'quilt push -f' in text
    status, text = patched.run('build/apply')
    assert status == 1, 'a second try fails as the first did'


def test_a_series_that_names_no_patch(checkout):
    checkout.write('series', 'show-patches\nno-such-patch\n')
    status, text = checkout.run('build/apply')
    assert status == 1
    assert "series names 'no-such-patch'" in text and f'patches/{TREE}/no-such-patch.patch' in text
    assert not (checkout.path / 'work').exists()


def test_an_unknown_patch(checkout):
    status, text = checkout.run('build/apply', PATCHES='read-ahead nonsense')
    assert status == 1
    assert "no patch 'nonsense'" in text and f'known patches: {" ".join(NAMES)}' in text


def test_a_subset_without_what_it_needs(checkout):
    for name, needed in (('b', 'a'), ('c', 'b')):
        checkout.write(f'patches/{TREE}/{name}.patch', f'Description: {name}\n Depends: no\nDepends: {needed}\n---\n')
    checkout.write(f'patches/{TREE}/a.patch', 'Description: a\nDepends: none\n---\n Depends: c\n')
    checkout.write('series', 'a\nb\nc\n')
    status, text = checkout.run('build/apply', PATCHES='c')
    assert status == 1
    assert "'c' needs 'b'" in text and "'b' needs 'a'" in text and 'make PATCHES="c b a"' in text
    assert not (checkout.path / 'work').exists()
    for complete in ('a', 'a b', 'c b a', 'none'):
        _, text = checkout.run('bash', '-c', '. build/lib.sh; echo "chosen:$NAMES"', PATCHES=complete)
        assert text == f'chosen:{" ".join(sorted(complete.split())).replace("none", "")}\n'


def test_no_patch_at_all(checkout):
    status, text = checkout.run('build/apply', PATCHES=' ')
    assert status == 1
    assert 'PATCHES is empty' in text and 'PATCHES=none' in text


def test_two_makes_at_once(checkout):
    work = checkout.path / 'work' / TREE / 'all'
    work.mkdir(parents=True)
    with (work / '.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, text = checkout.run('build/locked', 'build/apply')
    assert status == 1
    assert 'another make is at work' in text
    assert not source_of(checkout).exists()


def test_unwritable_work_directory(checkout):
    checkout.write('work', 'a file in the way')
    status, text = checkout.run('build/apply')
    assert status == 1
    assert 'cannot write to' in text


def test_no_room_to_compile_in(checkout, tarball):
    work = checkout.path / 'work'
    work.mkdir()
    status, text = checkout.run(work, 'build/road', 'deb', prefix=(
        'unshare', '-rm', 'sh', '-c', 'mount -t tmpfs -o size=2g none "$1" && shift && exec "$@"', 'sh'))
    assert status == 1
    assert 'compiling there takes 3500' in text and 'make room on the file system of' in text


def test_no_room_to_unpack_in(checkout, tarball):
    work = checkout.path / 'work'
    work.mkdir()
    status, text = checkout.run(work, 'build/apply', prefix=(
        'unshare', '-rm', 'sh', '-c', 'mount -t tmpfs -o size=20m none "$1" && shift && exec "$@"', 'sh'))
    assert status == 1
    assert 'cannot be unpacked into' in text and 'is the disk full?' in text
