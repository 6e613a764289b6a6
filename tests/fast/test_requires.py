"""tests/support/requires.py finds a name that only Debian has."""
import subprocess

import pytest
from support import requires

# of the packages of 10.11.18-1, built without build/cmake/portable.cmake
DEBIAN = {'libbz2.so.1.0()(64bit)': 'nothing there provides it',
          'libedit.so.2()(64bit)': 'nothing there provides it',
          'libcrypt.so.1(XCRYPT_2.0)(64bit)': 'nothing there provides it',
          'libaio.so.1t64()(64bit)': 'nothing there provides it',
          'libncurses.so.6(NCURSES6_5.0.19991023)(64bit)':
              'its ncurses-libs has no such symbol version',
          'libtinfo.so.6(NCURSES6_TINFO_5.0.19991023)(64bit)':
              'its ncurses-libs has no such symbol version'}
SPEC = '''Name: millrace-made-up
Version: 1
Release: 1
Summary: Asks for what only Debian has
License: GPL-2.0-only
Requires: libbz2.so.1.0()(64bit)
Requires: libz.so.1()(64bit)
%description
%{summary}
%files
'''


@pytest.mark.parametrize('name', DEBIAN)
def test_a_name_of_debian_is_a_fault(name):
    assert requires.faults('FILE', [name, 'libz.so.1()(64bit)'], 'EL 10') == [
        f'FILE asks EL 10 for {name}, and {DEBIAN[name]}; mend: {requires.PORTABLE}']


@pytest.mark.parametrize('system, fault', [
    ('EL 9', ['FILE asks EL 9 for libstdc++.so.6(GLIBCXX_3.4.30)(64bit), and its libstdc++ ends '
              'at GLIBCXX_3.4.29 CXXABI_1.3.13; mend: build the source package on EL 9']),
    ('EL 10', []), ('Fedora', [])])
def test_a_symbol_version_that_is_too_new_is_a_fault(system, fault):
    names = [f'libstdc++.so.6({version})(64bit)' for version in
             ('', 'GLIBCXX_3.4', 'GLIBCXX_3.4.9', 'GLIBCXX_3.4.30', 'CXXABI_1.3.13')]
    assert requires.faults('FILE', names, system) == fault


def test_another_name_that_is_not_in_the_table_is_a_fault():
    assert requires.faults('FILE', ['perl(No::Such)', 'perl >= 0:5.005'], 'Fedora') == [
        'FILE asks Fedora for perl(No::Such), and nothing there provides it; mend: if Fedora has '
        'it, a line in provides.txt']


@pytest.mark.parametrize('system', requires.SYSTEMS)
def test_a_name_that_is_asked_for_on_a_condition_is_looked_up(system):
    assert requires.faults('FILE', ['(mysql-selinux if selinux-policy-targeted)'], system) == []
    [fault] = requires.faults('FILE', ['(no-such if selinux-policy-targeted)'], system)
    assert f'asks {system} for (no-such if ' in fault


def test_what_a_program_asks_for_is_read_from_it(tmp_path):
    """A program is linked to a library that is called as Debian's is."""
    for command in (['-shared', '-Wl,-soname,libbz2.so.1.0', '-o', 'libbz2.so', '-xc', '-'],
                    ['-Wl,--no-as-needed', '-o', 'program', '-xc', '-', '-L.', '-lbz2']):
        subprocess.run(['cc', *command], input='int main(void) { return 0; }\n', text=True,
                       check=True, cwd=tmp_path)
    (tmp_path / 'README').write_text('no program\n')
    needs = requires.of_directory(tmp_path)
    assert set(needs) == {'libbz2.so', 'program'}
    assert 'libc.so.6()(64bit)' in needs['program']
    assert any(name.startswith('libc.so.6(GLIBC_') for name in needs['program'])
    [fault] = requires.faults('program', needs['program'], 'Fedora')
    assert fault.startswith('program asks Fedora for libbz2.so.1.0()(64bit), and nothing')


def test_what_an_rpm_asks_for_is_read_from_it(tmp_path):
    (tmp_path / 'made-up.spec').write_text(SPEC)
    subprocess.run(['rpmbuild', '-bb', '--quiet', '-D', f'_topdir {tmp_path}', 'made-up.spec'],
                   cwd=tmp_path, check=True, capture_output=True)
    [rpm] = tmp_path.glob('RPMS/*/*.rpm')
    [(name, asked)] = requires.of_rpms([rpm]).items()
    assert name == rpm.name
    faults = requires.faults(name, asked, 'Fedora')
    assert len(faults) == 1 and 'libbz2.so.1.0' in faults[0], faults
