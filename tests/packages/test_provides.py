"""Packages for RPM distributions ask for what those have, and so does the source package."""
import subprocess

import pytest
from millrace.command import output
from support import requires
from support.packages import DIST

RPMS = [path for path in sorted(DIST.glob('*.rpm')) if not path.name.endswith('.src.rpm')]
# the macros of a system: `rpmspec -D` and the configuration of an Open Build Service have them
MACROS = {'EL 9': {'rhel': '9', 'dist': '.el9'}, 'EL 10': {'rhel': '10', 'dist': '.el10'},
          'Fedora': {'fedora': '43', 'dist': '.fc43'}}
# what an Open Build Service reads from a spec, by its own parser
OBS = '''
use lib '/usr/lib/obs-build';
use Build;
my $spec = shift;
my $read = Build::parse(Build::read_config('x86_64', \\@ARGV), $spec);
print map {"$_\\n"} "$read->{name}-$read->{version}", sort @{$read->{deps}};
'''


@pytest.fixture
def spec(tmp_path):
    """The spec of the source RPM."""
    [source] = DIST.glob('*.src.rpm')
    subprocess.run(['sh', '-ec', 'rpm2cpio "$0" | cpio -id --quiet "*.spec"', source],
                   cwd=tmp_path, check=True)
    return tmp_path / 'millrace.spec'


def defined(system):
    """The options with which rpm has a system's macros."""
    return [f'-D{name} {value}' for name, value in MACROS[system].items()]


def faults(needs, *systems):
    """A line for each name that one of these systems does not provide."""
    return '\n'.join(line for system in systems for file, names in needs.items()
                     for line in requires.faults(file, names, system))


def test_rpms_ask_for_what_the_systems_have_that_they_are_for():
    needs = requires.of_rpms(RPMS)
    assert len(needs) >= 6
    found = faults(needs, *requires.BUILT_FOR)
    assert not found, found


def test_tarballs_ask_for_what_the_systems_have_that_they_are_for(tmp_path):
    for file in DIST.glob('*.tar.zst'):
        subprocess.run(['tar', '--zstd', '-xf', file, '-C', tmp_path], check=True)
    needs = requires.of_directory(tmp_path)
    assert len(needs) > 50
    found = faults(needs, *requires.BUILT_FOR)
    assert not found, found
    [readme] = tmp_path.glob('*/README')
    assert all(system in readme.read_text() for system in requires.BUILT_FOR)
    assert 'libedit' in (readme.parent / 'LICENSES').read_text()


def test_rpms_say_which_systems_they_are_for():
    """EL 9 they name as one that needs its own: its C++ library is too old."""
    said = {path.name: output('rpm', '-qp', '--nosignature', '--qf', '%{description}', path)
            for path in RPMS if '-common-' not in path.name and '-debuginfo-' not in path.name}
    assert len(said) == 4
    for name, text in said.items():
        assert all(system in text for system in requires.SYSTEMS), f'{name}: {text}'
    assert faults(requires.of_rpms(RPMS), 'EL 9')


@pytest.mark.parametrize('system', MACROS)
def test_the_source_package_can_be_built_there(spec, system):
    """mock and COPR ask for what rpmspec says, an Open Build Service for what its parser says."""
    wanted = output('rpmspec', '-q', '--buildrequires', *defined(system), spec).splitlines()
    assert len(wanted) > 20
    assert requires.faults(spec.name, wanted, system) == []
    # it knows no files, only what packages provide
    assert [name for name in wanted if name.startswith('/')] == []
    macros = (f'%{name} {value}' for name, value in MACROS[system].items())
    config = ('Type: spec', 'Macros:', *macros, ':Macros')
    name, *asked = output('perl', '-e', OBS, spec, *config).splitlines()
    assert name == output('rpmspec', '-q', '--srpm', '--qf', '%{name}-%{version}', spec)
    assert asked == sorted(wanted)


@pytest.mark.parametrize('system', MACROS)
def test_a_package_built_there_has_its_mark_and_its_libraries(spec, system):
    dist = MACROS[system]['dist']
    releases = output('rpmspec', '-q', '--qf', '%{release}\n', *defined(system),
                      spec).splitlines()
    assert releases and all(release.endswith(dist) for release in releases)
    text = output('rpmspec', '--parse', *defined(system), spec)
    assert 'layout-rpm.cmake' in text and 'portable.cmake' not in text and 'LICENSES' not in text
