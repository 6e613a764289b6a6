"""The files of the packages: what they contain, and what Debian's and rpm's linters say."""
import re
import subprocess

import pytest
from millrace import TOP
from millrace.command import output
from support.checkout import TREE
from support.packages import DIST

# mysql-test-run makes result~ of an .rdiff while it runs, beside these tests, and leaves a .reject
# where a test fails
DIFF = ['diff', '-rq', '--no-dereference', *(f'--exclude={name}' for name in (
    '.pc', 'builddir-*', 'debian', '*.result~', '*.reject'))]


def test_checksums():
    done = subprocess.run(['sha256sum', '--quiet', '--strict', '-c', 'SHA256SUMS'], cwd=DIST,
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = {line.split(maxsplit=1)[1] for line in (DIST / 'SHA256SUMS').read_text().splitlines()}
    there = {path.name for path in DIST.iterdir() if not path.name.startswith('.')}
    assert listed == there - {'SHA256SUMS'}


def test_the_source_package_unpacks_to_the_patched_tree(tmp_path):
    source = next((TOP / 'work' / TREE / 'all').glob('mariadb-*'))
    dsc = next(DIST.glob('*.dsc'))
    subprocess.run(['dpkg-source', '--no-check', '-x', dsc, tmp_path / 'x'], check=True,
                   capture_output=True)
    done = subprocess.run([*DIFF, source, tmp_path / 'x'], text=True, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stdout[:4000]


def test_the_src_rpm_unpacks_to_the_patched_tree(tmp_path):
    source = next((TOP / 'work' / TREE / 'all').glob('mariadb-*'))
    src_rpm = next(DIST.glob('*.src.rpm'))
    top = f'_topdir {tmp_path}'
    subprocess.run(['rpm', '--dbpath', tmp_path / 'db', '-D', top, '-i', src_rpm], check=True,
                   capture_output=True)
    spec = next((tmp_path / 'SPECS').glob('*.spec'))
    subprocess.run(['rpmbuild', '--nodeps', '-D', top, '-bp', spec], check=True,
                   capture_output=True)
    # in a directory of the package's own from rpm 4.20 on
    build = tmp_path / 'BUILD'
    [unpacked] = [*build.glob('mariadb-*'), *build.glob('*-build/mariadb-*')]
    done = subprocess.run([*DIFF, source, unpacked], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[:4000]


def test_lintian():
    """For all packages but two: lintian takes a quarter of an hour for the 15,000 files of the
    test suite, which are upstream's own, and reports nothing about debug symbols."""
    packages = [path for path in sorted(DIST.glob('*.deb'))
                if not re.search('-test_|-dbgsym_', path.name)]
    done = subprocess.run(['lintian', '--allow-root', '--fail-on', 'error,warning',
                           '--tag-display-limit', '0', *packages], text=True, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_rpmlint():
    packages = sorted(DIST.glob('*.rpm'))
    done = subprocess.run(['rpmlint', '-c', TOP / 'rpm/rpmlint.toml', *packages], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_no_path_of_the_checkout_in_the_binaries(tmp_path):
    for package in [*DIST.glob('*.deb')]:
        subprocess.run(['dpkg-deb', '-x', package, tmp_path / 'deb'], check=True)
    done = subprocess.run(['grep', '-rlF', str(TOP), tmp_path / 'deb'], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 1, done.stdout[:4000]


# the files of a package whose names match, on stdout
UNPACK = {'millrace-server_*.deb': 'dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "$2"',
          'millrace-server-[0-9]*.rpm': 'rpm2cpio "$1" | cpio -i --quiet --to-stdout "$2"',
          'millrace-[0-9]*.tar.zst': 'tar --zstd -xf "$1" -O --wildcards "$2"'}


@pytest.mark.parametrize('package', UNPACK)
def test_the_unit_takes_no_variable_from_where_mysql_writes(package):
    def content(name):
        return output('sh', '-c', UNPACK[package], 'sh', next(DIST.glob(package)), name)
    unit = content('*/systemd/*/mariadb.service' if 'tar' not in package
                   else '*/systemd/mariadb.service')
    assert re.findall('^EnvironmentFile=.*', unit, re.MULTILINE) \
        == ['EnvironmentFile=-/run/mariadb-wsrep-new-cluster']
    assert 'exec /' in unit and unit.count('\nExecStart=') == 1
    assert ('\nExecStartPre=/usr/libexec/mariadb-prepare-db-dir\n' in unit) == ('rpm' in package)
    script = content('*/bin/galera_new_cluster')
    assert '> /run/mariadb-wsrep-new-cluster ' in script


def test_configured_again_it_is_the_same():
    """An edit of a CMakeLists.txt configures a build directory again, and its products stay."""
    [builddir] = (TOP / 'work' / TREE / 'all').glob('mariadb-*/builddir-tarball')

    def state():
        # files that only another compiler than gcc writes, and cmake's own modules, come and go
        ninja = [line for line in (builddir / 'build.ninja').read_text().splitlines()
                 if not re.search(r'^  TARGET_\w*PDB = |/Modules/CMake', line)]
        return {'build.ninja': ninja, **{name: (builddir / name).read_text() for name in (
            'sql/sql_builtin.cc', 'include/my_config.h')}}
    before = state()
    subprocess.run(['cmake', builddir], check=True, capture_output=True)
    again = state()
    assert [name for name in before if before[name] != again[name]] == []


def test_no_source_uses_what_differs_between_builds_through_another_file():
    """A build gets another's object from build/compiler/cached if the source names neither a place
    of the installation nor the comment.  So a file that sources include may give such a name a
    value, and nothing more."""
    source = next((TOP / 'work' / TREE / 'all').glob('mariadb-*'))
    assigned = re.findall('^names=.*$', (TOP / 'build/compiler/cached').read_text(), re.MULTILINE)
    names = output('sh', '-c', '\n'.join([*assigned, 'echo "$names"'])).strip()
    assert names.count('|') >= 7
    elsewhere = ['.pc', 'builddir-*', 'debian', 'mysql-test', 'connect', 'columnstore', 'mroonga',
                 'rocksdb', 'spider']
    kinds = ('c', 'cc', 'cpp', 'h', 'hh', 'hpp', 'i', 'ic', 'inc', 'inl', 'yy', 'in')
    code = [*(f'--include=*.{kind}' for kind in kinds),
            *(f'--exclude-dir={name}' for name in elsewhere),
            '--exclude=lib_sql.cc']    # of the embedded server, which is not built

    def grep(*arguments):
        return output('grep', '-rE', *code, *arguments, '.', cwd=source).splitlines()
    included = {re.split('["</]', line)[-1]
                for line in grep('-ho', r'^\s*#\s*include\s*[<"][^>"]+')}
    assert len(included) > 500
    naming = [line.split(':', 1) for line in grep('-wH', names)]
    assert {'./sql/mysqld.cc', './mysys/my_default.c', './sql/unireg.h'} \
        <= {name for name, _ in naming}
    value = re.compile(rf'\s*#\s*(ifndef|define|undef|cmakedefine)\s+({names})\b')
    assert [(name, line) for name, line in naming
            if name.rsplit('/', 1)[-1].removesuffix('.in') in included
            and not value.match(line)] == []
