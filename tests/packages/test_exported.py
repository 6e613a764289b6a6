"""Other people's source packages take what export-patch writes: Debian's own, and an RPM."""
import os
import re
import subprocess

import pytest
from conftest import release
from millrace import TOP
from millrace.patches import diff, header, series
from millrace.upstream import tarballs
from support.checkout import TREE

NAMES = series.names(TREE)
VERSION, _ = release()
# Debian's source package of the release, with the tarball that is at hand already
DEBIAN = '''
. build/lib/context.sh && context
. build/lib/upstream.sh
debian_open "$1/apt" > /dev/null || exit 77
version=$(debian_versions | grep -E "^([0-9]+:)?${VERSION//./\\\\.}-" | tail -n1) || exit 77
ln -s "$TARBALL_FILE" "$1/${DEBIAN_SOURCE}_$VERSION.orig.tar.gz"
cd "$1"
apt-get "${APT[@]}" source --download-only "$DEBIAN_SOURCE=$version" > /dev/null || exit 77
'''
SPEC = '''
Name: theirs
Version: {version}
Release: 1
Summary: A server of somebody else's
License: GPL-2.0-only
Source0: mariadb-{version}.tar.gz
{patches}
%description
It has patches.
%prep
%autosetup -p1 -n mariadb-{version}{options}
'''


def run(*command, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.fixture
def exported(checkout):
    """The patches as export-patch writes several of them."""
    assert checkout.run('scripts/export-patch', *NAMES)[0] == 0
    return checkout.path / f'dist/export/{TREE}' / series.label(NAMES)


def is_patched(source):
    """Whether what every patch adds is there."""
    for name in NAMES:
        text = series.patch_file(TREE, name).read_text()
        for path in re.findall(r'^--- /dev/null\n\+\+\+ b/(.*)$', text, re.MULTILINE):
            assert (source / path).is_file(), path


def keep_patched_files(work):
    """Takes all out of the release beside a source package that no patch is about, Debian's or
    ours: that leaves 5 MB of 700."""
    own, = work.glob('*.debian.tar.*')
    run('tar', '-xf', own, cwd=work)
    patches = [*(work / 'debian/patches').glob('**/*.patch'),
               *(series.patch_file(TREE, name) for name in NAMES)]
    tarballs.extract(VERSION, set().union(*(diff.paths(diff.read(file)) for file in patches)),
                     work / f'mariadb-{VERSION}')
    orig, = work.glob('*.orig.tar.gz')
    orig.unlink()
    run('tar', '-czf', orig, f'mariadb-{VERSION}', cwd=work)
    run('rm', '-r', 'debian', f'mariadb-{VERSION}', cwd=work)


def test_debians_source_package(exported, tarball, tmp_path):
    work = tmp_path / 'debian'
    work.mkdir()
    done = subprocess.run(['bash', '-euc', DEBIAN, 'debian', work], cwd=TOP, text=True,
                          env={**os.environ, 'TREE': TREE}, capture_output=True, check=False)
    if done.returncode == 77:
        pytest.skip(f'no Debian mirror has the source package of {VERSION}')
    assert done.returncode == 0, done.stderr
    keep_patched_files(work)
    run('dpkg-source', '--no-check', '-x', *work.glob('*.dsc'), 'source', cwd=work)
    theirs = work / 'source/debian/patches'
    own = (theirs / 'series').read_text()
    for name in NAMES:
        (theirs / f'{name}.patch').write_bytes((exported / f'{name}.patch').read_bytes())
    (theirs / 'series').write_text(f'{own}\n' + (exported / 'series').read_text())
    quilt = {**os.environ, 'QUILT_PATCHES': 'debian/patches'}
    run('quilt', '--quiltrc', '-', 'push', '-a', '--fuzz=0', cwd=work / 'source', env=quilt)
    run('dpkg-source', '-b', 'source', cwd=work)
    run('rm', '-r', 'source', cwd=work)
    dsc = min(path.name for path in work.glob('*.dsc'))
    printed = run('dpkg-source', '--no-check', '-x', dsc, 'source', cwd=work)
    assert [name for name in NAMES if f'applying {name}.patch' not in printed] == []
    is_patched(work / 'source')


@pytest.mark.parametrize('options', ['', ' -S git_am'], ids=['patch', 'git am'])
def test_an_rpm_source_package(exported, small_release, tmp_path, options):
    tarball = small_release[0] / f'mariadb-{VERSION}.tar.gz'     # of what the series touches
    top = tmp_path / 'rpm'
    top.mkdir()
    (top / tarball.name).symlink_to(tarball)
    for name in NAMES:
        (top / f'{name}.patch').write_bytes((exported / f'{name}.patch').read_bytes())
    patches = '\n'.join(f'Patch{number}: {name}.patch' for number, name in enumerate(NAMES, 1))
    spec = SPEC.format(version=VERSION, patches=patches, options=options)
    (top / 'theirs.spec').write_text(spec)
    define = [word for name in ('_topdir', '_sourcedir', '_builddir', '_srcrpmdir')
              for word in ('--define', f'{name} {top}')]
    run('rpmbuild', '-bs', *define, 'theirs.spec', cwd=top)
    package, = top.glob('*.src.rpm')
    for name in (tarball.name, 'theirs.spec', *(f'{name}.patch' for name in NAMES)):
        (top / name).unlink()
    git = {'GIT_AUTHOR_NAME': 'A', 'GIT_AUTHOR_EMAIL': 'a@example.org',
           'GIT_COMMITTER_NAME': 'A', 'GIT_COMMITTER_EMAIL': 'a@example.org'}
    run('rpmbuild', '--nodeps', '-rp', *define, package, cwd=top, env={**os.environ, **git})
    source = next(path for path in top.rglob(f'mariadb-{VERSION}') if path.is_dir())
    is_patched(source)
    if options:
        subjects = run('git', 'log', '--reverse', '--format=%s', cwd=source).splitlines()
        assert subjects[-len(NAMES):] == [
            header.read_header(series.patch_file(TREE, name)).synopsis for name in NAMES]
