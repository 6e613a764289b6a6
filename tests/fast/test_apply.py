"""build/apply and the choice of patches: quilt's state, subsets, and what is refused."""
import fcntl
import os
import subprocess

import pytest
from conftest import release, small
from millrace.patches import series
from support.checkout import TREE

# they copy what one has applied
pytestmark = pytest.mark.xdist_group('apply')
VERSION, _ = release()
NAMES = series.names(TREE)


def source_of(checkout, subset='all'):
    """The patched source of a subset."""
    return checkout.path / 'work' / TREE / subset / f'mariadb-{VERSION}'


def run_quilt(source, *words):
    """The output of quilt in a patched source, called as a developer calls it."""
    return subprocess.run(['quilt', '--quiltrc', '-', *words], cwd=source, text=True, check=True,
                          capture_output=True, env={**os.environ, 'QUILT_DIFF_OPTS': '-p'}).stdout


@pytest.fixture(scope='module')
def applied(small_release, tmp_path_factory):
    """A checkout with the whole series applied to the files that it is about, and some more."""
    checkout = small(small_release, tmp_path_factory.mktemp('applied'))
    status, text = checkout.run('build/apply')
    assert status == 0, text
    return checkout


@pytest.fixture
def patched(applied, tmp_path):
    """A copy of it."""
    return applied.copy(tmp_path)


def test_quilt_works_in_the_patched_source(patched):
    source = source_of(patched)
    assert run_quilt(source, 'top').strip().endswith(f'{NAMES[-1]}.patch')
    # of the others, too, a refresh is proven to change nothing: test_prove.py
    for name in NAMES[:-3:-1]:
        patch = patched.path / 'patches' / TREE / f'{name}.patch'
        before = patch.read_bytes()
        run_quilt(source, 'refresh', '-p', 'ab', '--no-timestamps', '--no-index', '--sort')
        assert patch.read_bytes() == before, f'refreshing {name} changes it: make refresh'
        run_quilt(source, 'pop')
    assert run_quilt(source, 'next').strip().endswith(f'{NAMES[-2]}.patch')


def test_edits_are_never_lost(patched):
    source = source_of(patched)
    file = source / 'README.md'
    run_quilt(source, 'add', 'README.md')
    text = file.read_text()
    file.unlink()
    file.write_text(text + 'an edit\n')
    status, text = patched.run('build/apply')
    assert status == 1
    assert 'README.md' in text and 'make refresh' in text
    assert file.read_text().endswith('an edit\n')

    status, text = patched.run('scripts/refresh')
    assert status == 0, text
    assert '+an edit' in (patched.path / 'patches' / TREE / f'{NAMES[-1]}.patch').read_text()
    assert patched.run('build/apply')[0] == 0


def test_an_edit_of_a_file_that_no_patch_has(patched):
    """quilt does not know it, so refresh names it, too, and nothing is compiled from it."""
    source = source_of(patched)
    file, new = source / 'CREDITS', source / 'storage/innobase/buf/new.cc'
    file.write_text('an edit\n' + file.read_text())
    new.write_text('int new_function() { return 0; }\n')
    for command in ('build/apply', 'scripts/refresh', 'build/apply'):
        status, text = patched.run(command)
        assert status == 1 and 'CREDITS' in text and 'storage/innobase/buf/new.cc' in text, text
    subprocess.run('patch -R -p1 < ../unsaved.diff', shell=True, cwd=source, check=True,
                   capture_output=True)
    assert not file.read_text().startswith('an edit') and not new.exists()
    assert patched.run('build/apply')[0] == 0


def test_what_quilt_and_tests_leave_is_no_edit(patched):
    source = source_of(patched)
    run_quilt(source, 'pop', '-a')
    run_quilt(source, 'push', '-a')
    assert len(run_quilt(source, 'applied').split()) == len(NAMES)
    for name in ('CREDITS~', 'CREDITS.orig', '.CREDITS.swp', 'tags', 'builddir-tarball/x.cc',
                 'mysql-test/suite/innodb/r/x.reject', 'debian/files', 'debian/x.substvars',
                 'debian/tmp/usr/bin/x', 'debian/millrace-test/x', 'debian/x.postinst.debhelper'):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text('left\n')
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
    patch.write_text(patch.read_text()
                     + '--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-no such line\n+x\n')
    status, text = patched.run('build/apply')
    assert status == 1
    assert f"'{name}'" in text and 'README.md' in text and 'quilt push -f' in text
    status, text = patched.run('build/apply')
    assert status == 1, 'a second try fails as the first did'


def test_a_series_that_names_no_patch(checkout):
    checkout.write('series', 'show-patches\nno-such-patch\n')
    status, text = checkout.run('build/apply')
    assert status == 1
    assert f'patches/{TREE}/no-such-patch.patch' in text
    assert not (checkout.path / 'work').exists()


def test_an_unknown_patch(checkout):
    status, text = checkout.run('build/apply', PATCHES='read-ahead nonsense')
    assert status == 1
    assert "'nonsense'" in text and ' '.join(NAMES) in text


def test_a_patch_that_is_named_twice(checkout):
    status, text = checkout.run('build/apply', PATCHES='read-ahead read-ahead')
    assert status == 1 and "PATCHES names 'read-ahead' twice" in text


def chosen(checkout, **variables):
    """The patches that a step of the road works with."""
    status, text = checkout.run('bash', '-c', '. build/lib/context.sh && context; echo "$NAMES"',
                                **variables)
    assert status == 0, text
    return text.split()


def test_a_subset_without_what_it_needs(checkout):
    for name, needed in (('b', 'a'), ('c', 'b')):
        checkout.write(f'patches/{TREE}/{name}.patch',
                       f'Description: {name}\n Depends: no\nDepends: {needed}\n---\n')
    checkout.write(f'patches/{TREE}/a.patch',
                   'Description: a\nDepends: none\n---\n Depends: c\n')
    checkout.write('series', 'a\nb\nc\n')
    status, text = checkout.run('build/apply', PATCHES='c')
    assert status == 1
    assert "'c' needs 'b'" in text and "'b' needs 'a'" in text
    assert 'make PATCHES="a b c"' in text or 'make PATCHES="c b a"' in text
    assert not (checkout.path / 'work').exists()
    for complete in ('a', 'a b', 'c b a'):
        assert chosen(checkout, PATCHES=complete) == sorted(complete.split())
    assert chosen(checkout, PATCHES='none') == []


def test_no_patch_at_all(checkout):
    status, text = checkout.run('build/apply', PATCHES=' ')
    assert status == 1
    assert 'PATCHES' in text and 'PATCHES=none' in text


def test_two_makes_at_once(checkout):
    work = checkout.path / 'work' / TREE / 'all'
    work.mkdir(parents=True)
    with (work / '.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, text = checkout.run('build/lib/locked', 'build/apply')
    assert status == 1
    assert str(work) in text
    assert not source_of(checkout).exists()


def test_unwritable_work_directory(checkout):
    checkout.write('work', 'a file in the way')
    status, text = checkout.run('build/apply')
    assert status == 1
    assert f'cannot write to {checkout.path}/work' in text


ON_TMPFS = ('unshare', '-rm', 'sh', '-c',
            'mount -t tmpfs -o size=$0 none "$1" && shift && exec "$@"')


def test_no_room_to_compile_in(small_checkout):
    work = small_checkout.path / 'work'
    work.mkdir()
    status, text = small_checkout.run(work, 'build/road', 'deb', prefix=(*ON_TMPFS, '2g'))
    assert status == 1
    assert ' 3500\n' in text and f'the file system of {small_checkout.path}' in text


def test_no_room_to_unpack_in(small_checkout):
    work = small_checkout.path / 'work'
    work.mkdir()
    status, text = small_checkout.run(work, 'build/apply', prefix=(*ON_TMPFS, '1m'))
    assert status == 1
    assert f'df -h {work}' in text
