"""Edits in the patched source, copied checkouts and callers' environments, on a tiny tree."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.checkout import Checkout
from support.patchmaker import replace
from support.tinytree import tiny

# they copy what one has prepared
pytestmark = pytest.mark.xdist_group('edits')
PATCHED = '// two\n'


@pytest.fixture(scope='module')
def prepared(tmp_path_factory):
    """A checkout with a tiny tree of two patches, which are applied; its cache is beside it."""
    place = tmp_path_factory.mktemp('prepared')
    (place / 'millrace').mkdir()
    checkout = Checkout(place / 'millrace')
    maker = tiny(checkout, place / 'cache')
    maker.add('one', {'sql/main.cc': replace('int unused;', 'int unused; int used = 0;')})
    maker.add('two', {'sql/other.cc': lambda text: PATCHED + text,
                      'sql/main.cc': replace('"generated.h"', '"generated.h"\n// two')})
    pin = checkout.path / 'trees/tiny/pin.conf'
    pin.write_text(pin.read_text().replace(
        'ARCHIVE=', 'ARCHIVE=https://archive.invalid/mariadb-@VERSION@.tar.gz'))
    apply(checkout)
    return checkout


@pytest.fixture
def small(prepared, tmp_path):
    """A copy of the prepared checkout."""
    return prepared.copy(tmp_path)


@pytest.fixture(scope='module')
def usual(prepared, tmp_path_factory):
    """The checksums of the source packages as they are made where nothing is unusual."""
    checkout = prepared.copy(tmp_path_factory.mktemp('usual'))
    shutil.rmtree(checkout.path / 'work')
    run(checkout, 'make', 'source')
    return (checkout.path / 'dist/tiny/SHA256SUMS').read_text()


def source(checkout):
    """The patched source."""
    return checkout.path / 'work/tiny/all/mariadb-1.0.0'


def patch(checkout, name):
    """The text of a patch."""
    return (checkout.path / f'patches/tiny/{name}.patch').read_text()


def run(checkout, *command, **options):
    """The output of a command, which must succeed."""
    status, text = checkout.run(*command, **{'TREE': 'tiny', **options})
    assert status == 0, text
    return text


def apply(checkout, **options):
    """build/apply, which must succeed."""
    return run(checkout, 'build/apply', **options)


def refused(checkout, *names, command='build/apply', **options):
    """build/apply, which must refuse and name these files, and no others: what it prints."""
    status, text = checkout.run(command, **{'TREE': 'tiny', **options})
    assert status == 1, text
    lines = text.splitlines()
    listed = lines[[': error: ' in line for line in lines].index(True) + 1].strip()
    assert [part.split(' (')[0] for part in listed.split(', ')] == sorted(names), text
    return text


def drop(checkout, text):
    """Drops the edits in the way that build/apply has advised."""
    advice = next(line for line in text.splitlines() if 'drop them' in line).partition(': ')[2]
    run(checkout, 'sh', '-c', advice)


def old(path):
    """Gives a file the time of a file that rsync -a, cp -p or tar has brought."""
    os.utime(path, (1_000_000_000, 1_000_000_000))


def edited_yesterday(path):
    path.write_text('int other() { return 7; }\n')
    old(path)


def same_size(path):
    path.write_text(path.read_text().replace('two', 'TWO'))
    old(path)


def link(path):
    path.unlink()
    path.symlink_to('main.cc')


# what is done to a file, the file, and the files that are named
EDITS = {
    'deleted': (Path.unlink, 'sql/none.h', ['sql/none.h']),
    'deleted, of a patch': (Path.unlink, 'sql/other.cc', ['sql/other.cc']),
    'renamed': (lambda path: path.rename(path.with_name('moved.h')), 'sql/none.h',
                ['sql/moved.h', 'sql/none.h']),
    'executable': (lambda path: path.chmod(0o755), 'sql/none.h', ['sql/none.h']),
    'executable, of a patch': (lambda path: path.chmod(0o755), 'sql/other.cc', ['sql/other.cc']),
    'with an old time': (edited_yesterday, 'sql/none.h', ['sql/none.h']),
    'with an old time, of a patch': (edited_yesterday, 'sql/other.cc', ['sql/other.cc']),
    'of the same size': (same_size, 'sql/other.cc', ['sql/other.cc']),
    'new, with an old time': (edited_yesterday, 'sql/new.cc', ['sql/new.cc']),
    'a link': (link, 'sql/other.cc', ['sql/other.cc']),
    'a new link': (lambda path: path.symlink_to('other.cc'), 'sql/x.cc', ['sql/x.cc']),
    'binary': (lambda path: path.write_bytes(b'\0\1\2'), 'sql/none.h', ['sql/none.h']),
    'with blanks': (edited_yesterday, 'sql/a new file.cc', ['sql/a new file.cc']),
    'hidden, of upstream': (Path.unlink, '.hidden', ['.hidden']),
}


@pytest.mark.parametrize('kind', EDITS)
def test_every_edit_is_refused_and_can_be_dropped(small, kind):
    edit, name, named = EDITS[kind]
    before = sorted(path for path in source(small).rglob('*') if '.pc' not in path.parts)
    edit(source(small) / name)
    text = refused(small, *named)
    drop(small, text)
    assert apply(small) == ''
    after = sorted(path for path in source(small).rglob('*') if '.pc' not in path.parts)
    assert after == before
    assert (source(small) / 'sql/other.cc').read_text().startswith(PATCHED)


def test_a_new_time_is_no_edit(small):
    for path in source(small).rglob('*'):
        if path.is_file() and '.pc' not in path.parts:
            os.utime(path)
    assert apply(small) == ''
    (small.path / 'work/tiny/all/patched').write_text('')      # a list that was lost
    assert apply(small) == ''


def test_edits_of_debian_are_refused(small):
    """Also after a source package was made, which puts our debian/ into the source."""
    text = run(small, 'build/lib/step', 'source-deb')
    assert 'source-deb' in text
    assert apply(small) == ''
    control = source(small) / 'debian/control'
    control.write_text(control.read_text() + '# x\n')
    old(control)
    text = refused(small, 'debian/control')
    status, said = small.run('build/source-deb', TREE='tiny')
    assert status == 1 and 'debian/control' in said
    assert control.read_text().endswith('# x\n')
    drop(small, text)
    assert apply(small) == ''
    (source(small) / 'debian/millrace-new.install').write_text('usr\n')
    refused(small, 'debian/millrace-new.install')


def test_the_commands_that_refresh_advises_find_the_same_source(small):
    apply(small, PROFILE='none')
    other = small.path / 'work/tiny/plain/mariadb-1.0.0'
    (other / 'sql/none.h').write_text('edited\n')
    status, text = small.run('scripts/refresh', TREE='tiny', PROFILE='none')
    assert status == 1 and 'PROFILE=none PATCHES="all"' in text
    assert len(re.findall('make refresh .*PROFILE=none', text)) == 1
    run(small, 'sh', '-c', re.search('or drop them: +(.*)', text)[1])
    assert apply(small, PROFILE='none') == ''
    (other / 'sql/other.cc').write_text('// edited\n')
    two = small.path / 'patches/tiny/two.patch'
    two.write_text(patch(small, 'two').replace('+// two', '+// more'))
    status, text = small.run('scripts/refresh', TREE='tiny', PROFILE='none')
    assert status == 1 and re.search('make patched .*PROFILE=none', text)
    assert re.search('make refresh .*PROFILE=none', text)


def test_an_edit_survives_a_changed_patch(small):
    (source(small) / 'sql/none.h').write_text('edited\n')
    two = small.path / 'patches/tiny/two.patch'
    two.write_text(patch(small, 'two').replace('+// two', '+// more'))
    text = refused(small, 'sql/none.h')
    drop(small, text)
    assert 'two' in apply(small)
    assert (source(small) / 'sql/other.cc').read_text().startswith('// more\n')


def test_a_tarball_that_is_gone_is_named(small):
    (source(small) / 'sql/none.h').write_text('edited\n')
    (small.cache / 'mariadb-1.0.0.tar.gz').unlink()
    status, text = small.run('build/apply', TREE='tiny')
    assert status == 1
    assert str(small.cache / 'mariadb-1.0.0.tar.gz') in text and 'build/fetch' in text


def test_a_relative_cache(small):
    """The diff of an edit is the edit, not the whole file as new: its advice deleted the file."""
    small.cache.rename(small.path / 'relative')
    (source(small) / 'sql/none.h').write_text('included by nobody\nedit\n')
    text = refused(small, 'sql/none.h', MILLRACE_CACHE='relative')
    diff = (small.path / 'work/tiny/all/unsaved.diff').read_text()
    assert '+edit' in diff and '+included' not in diff
    small.cache = 'relative'
    drop(small, text)
    assert (source(small) / 'sql/none.h').read_text() == 'included by nobody\n'
    assert apply(small, MILLRACE_CACHE='relative') == ''
    shutil.rmtree(small.path / 'work')
    assert 'one two' in apply(small, MILLRACE_CACHE='relative')


def edit_and_refresh(checkout, **variables):
    """An edit of a file of the top patch, taken back by make refresh."""
    file = source(checkout) / 'sql/main.cc'
    file.write_text(file.read_text().replace('// two', '// two, edited'))
    run(checkout, 'make', 'refresh', **variables)
    assert '+// two, edited' in patch(checkout, 'two')
    assert 'applied' not in apply(checkout, **variables)


@pytest.mark.parametrize('how', ['cp -a', 'cp -r', 'mv', 'old state'])
def test_a_copied_checkout_has_its_own_patches(small, tmp_path, how):
    there = tmp_path / 'elsewhere'
    original = {name: patch(small, name) for name in ('one', 'two')}
    if how == 'old state':      # absolute paths, of a checkout that is still there
        for name, target in (('patches', small.path / 'patches/tiny'),
                             ('series', small.path / 'work/tiny/all/series')):
            (source(small) / f'.pc/.quilt_{name}').write_text(f'{target}\n')
    subprocess.run([*(how.split() if how != 'old state' else ['cp', '-a']), small.path, there],
                   check=True)
    here, small.path = small.path, there
    assert apply(small) == ''
    edit_and_refresh(small)
    if here.exists():
        assert {name: (here / f'patches/tiny/{name}.patch').read_text()
                for name in original} == original
    # quilt by itself writes here, too
    (source(small) / 'sql/main.cc').write_text(
        (source(small) / 'sql/main.cc').read_text().replace('two, edited', 'by quilt'))
    subprocess.run(['quilt', '--quiltrc', '-', 'refresh'], cwd=source(small), check=True,
                   capture_output=True)
    assert 'by quilt' in patch(small, 'two')
    # and a patch that has changed is applied from here
    changed = there / 'patches/tiny/one.patch'
    changed.write_text(changed.read_text().replace('used = 0', 'used = 5'))
    apply(small)
    assert 'used = 5' in (source(small) / 'sql/main.cc').read_text()


def test_the_tarballs_server_finds_its_directory(checkout, tmp_path):
    """By whatever path it is called, with blanks and behind links."""
    place = tmp_path / 'a place'
    for name in ('bin', 'libexec'):
        (place / name).mkdir(parents=True)
    shutil.copy(checkout.path / 'build/lib/tarball/mariadbd', place / 'bin')
    (place / 'libexec/mariadbd').write_text('#!/bin/sh\necho "$MY_BASEDIR_VERSION $*"\n')
    (place / 'libexec/mariadbd').chmod(0o755)
    (tmp_path / 'link').symlink_to(place / 'bin/mariadbd')
    for command, directory in (('./mariadbd', place / 'bin'), ('bin/mariadbd', place),
                               (place / 'bin/mariadbd', '/'), ('./link', tmp_path)):
        done = subprocess.run([command, '--help'], cwd=directory, text=True, check=True,
                              capture_output=True, env={**os.environ, 'CDPATH': '.:/tmp'})
        assert done.stdout == f'{place} --help\n'


def test_a_work_directory_behind_a_link(small, tmp_path):
    """On another disk, say."""
    (small.path / 'work').rename(tmp_path / 'disk')
    (small.path / 'work').symlink_to(tmp_path / 'disk')
    assert apply(small) == ''
    edit_and_refresh(small)


@pytest.mark.parametrize('name', ['a place', 'a:b', 'a\\b'])
def test_a_path_that_the_tools_do_not_take(checkout, tmp_path, name):
    checkout.path = checkout.path.rename(tmp_path / name)
    status, text = checkout.run('build/apply')
    assert status and str(checkout.path) in text and 'move it: mv ' in text
    assert text.count('error: ') == 1 and not (checkout.path / 'work').exists()


# variables that a caller may have, none of which may change what the steps do
SURROUNDINGS = {
    'of other programs': {
        'QUILT_PC': 'elsewhere', 'QUILT_PATCHES': '/nowhere', 'QUILT_SERIES': 'none',
        'QUILT_PUSH_ARGS': '--no-such-option', 'QUILT_REFRESH_ARGS': '--no-such-option',
        'QUILT_PATCH_OPTS': '--reverse', 'QUILT_DIFF_OPTS': '-y',
        # of a hook
        'GIT_DIR': '/nowhere/.git', 'GIT_INDEX_FILE': '/nowhere/index',
        'GIT_WORK_TREE': '/nowhere', 'GIT_EXTERNAL_DIFF': 'false',
        'CDPATH': '.:/tmp:/', 'MAKEFLAGS': 'k', 'MFLAGS': '-k', 'MAKELEVEL': '3',
        'TAR_OPTIONS': '--no-such-option', 'GREP_OPTIONS': '-v', 'POSIXLY_CORRECT': '1',
        'XZ_OPT': '--no-such-option', 'GZIP': '--no-such-option'},
    'other messages': {'LC_ALL': 'nowhere', 'LANGUAGE': 'de', 'LANG': 'tr_TR.UTF-8'},
    'no home': {'HOME': None, 'USER': None, 'LOGNAME': None, 'TMPDIR': '/nonexistent'},
    'a home that is not there': {'HOME': '/nonexistent', 'TMPDIR': 'a place'},
}


@pytest.mark.parametrize('kind', SURROUNDINGS)
def test_the_environment_of_the_caller(small, usual, tmp_path, kind):
    variables = dict(SURROUNDINGS[kind])
    if variables.get('TMPDIR') == 'a place':
        variables['TMPDIR'] = str(tmp_path / 'a place')
        Path(variables['TMPDIR']).mkdir()
    shutil.rmtree(small.path / 'work')
    # the same bytes, and once
    assert 'one two' in run(small, 'make', 'source', **variables)
    assert (small.path / 'dist/tiny/SHA256SUMS').read_text() == usual
    assert 'took' not in run(small, 'make', 'source', **variables)
    (source(small) / 'sql/none.h').write_text('edited\n')
    text = refused(small, 'sql/none.h', **variables)
    drop(small, text)
    edit_and_refresh(small, **variables)
