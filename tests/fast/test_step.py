"""build/lib/step and the places of builds: what is done again, and what two builds share."""
import hashlib
import os
import shutil
import subprocess

import pytest
from millrace import TOP, inputs
from millrace.errors import Failure
from support.tinytree import tiny

STEP = '''#!/usr/bin/env bash
. "$(dirname -- "$0")/lib/context.sh" && context
mkdir -p "$DIST"
echo "$VERSION" >> "$DIST/made"
touch "$DIST/millrace-$VERSION-linux-x.tar.zst"
if [ -f "$TOP/while" ]; then mv "$TOP/while" "$TOP/build/lib/tarball/README"; fi
'''
CONFIGURE = TOP / 'build/cmake/configure'
ROAD = ('bash', '-ec', 'build/apply && build/lib/step tarball')
# the files with the steps that are taken again when they change
INPUTS = {'debian/control': {'source-deb', 'deb', 'source-rpm', 'rpm'},
          'debian/rules': {'source-deb', 'deb'}, 'rpm/millrace.spec.in': {'source-rpm', 'rpm'},
          'trees/upstream.asc': {'source-deb', 'deb'}, 'build/deb': {'deb'},
          'build/cmake/layout-rpm.cmake': {'source-rpm', 'rpm'},
          'build/lib/tarball/README': {'tarball'},
          'build/cmake/portable.cmake': {'rpm', 'tarball'},
          'build/lib/components': {'source-rpm', 'rpm', 'tarball'},
          'build/compiler/cached': {'deb', 'rpm', 'tarball'},
          **dict.fromkeys(('build/cmake/server.cmake', 'build/cmake/configure',
                           'build/compiler/profiled', 'build/compiler/with-profile',
                           'build/lib/wsrep-environment',
                           'trees/tiny/profile-gcc12.tar.xz', 'trees/tiny/pin.conf',
                           'patches/tiny/one.patch'),
                          {'source-deb', 'deb', 'source-rpm', 'rpm', 'tarball'}),
          'README.md': set(), 'build/compiler/sanitizing': set()}
STEPS = ('source-deb', 'deb', 'source-rpm', 'rpm', 'tarball')


@pytest.fixture
def road(checkout, tmp_path):
    """A checkout of the tree tiny, without patches, whose step tarball only notes that it ran."""
    tiny(checkout, tmp_path / 'cache')
    checkout.write('series', '')
    checkout.write('build/tarball', STEP)
    (checkout.path / 'build/tarball').chmod(0o755)

    def run(**variables):
        status, text = checkout.run(*ROAD, TREE='tiny', PATCHES='none', **variables)
        assert status == 0, text
        return text
    checkout.road = run
    return checkout


def made(road, dist='dist/tiny+vanilla'):
    """The releases that the step has made."""
    return (road.path / dist / 'made').read_text().split()


def change(path, text=None):
    """Changes a file as cp -p, rsync -a or tar do: with a time long ago."""
    path.write_text(path.read_text() + '# changed\n' if text is None else text)
    os.utime(path, (1_000_000_000, 1_000_000_000))


def test_a_step_is_taken_once(road):
    assert 'tarball took' in road.road()
    assert road.road() == '' and made(road) == ['1.0.0']


def test_a_file_that_got_an_old_time_is_taken_up(road):
    road.road()
    readme = road.path / 'build/lib/tarball/README'
    change(readme)
    assert 'tarball took' in road.road()
    readme.chmod(0o755)
    assert 'tarball took' in road.road()
    added = readme.with_name('another')
    added.write_text('')
    old = added.with_name('renamed')
    assert 'tarball took' in road.road()
    added.rename(old)
    assert 'tarball took' in road.road()
    old.unlink()
    assert 'tarball took' in road.road()
    pin = road.path / 'trees/tiny/pin.conf'
    change(pin, pin.read_text().replace('REVISION=1', 'REVISION=2'))
    assert 'tarball took' in road.road()
    assert road.road() == ''


def test_a_new_time_alone_takes_no_step(road):
    road.road()
    for path in road.path.rglob('*'):
        if path.is_file() and 'work' not in path.parts and 'dist' not in path.parts:
            os.utime(path)
    assert road.road() == ''


def test_a_product_that_was_removed_is_made_again(road):
    road.road()
    (road.path / 'dist/tiny+vanilla/millrace-1.0.0-linux-x.tar.zst').unlink()
    assert 'tarball took' in road.road() and len(made(road)) == 2


def test_what_changes_while_a_step_works_is_taken_up_by_the_next(road):
    road.write('while', 'changed meanwhile\n')
    road.road()
    assert 'tarball took' in road.road() and len(made(road)) == 2
    assert road.road() == ''


def test_a_step_that_fails_is_taken_again(road):
    road.road()
    road.write('build/tarball', STEP + 'exit 1\n')
    assert road.run(*ROAD, TREE='tiny', PATCHES='none')[0] == 1
    road.write('build/tarball', STEP)
    assert 'tarball took' in road.road()


def test_each_step_has_its_inputs(checkout, tmp_path):
    """All of them, and the hash of each step changes with these and with no others."""
    maker = tiny(checkout, tmp_path / 'cache')
    maker.add('one', {'sql/main.cc': lambda text: '// one\n' + text})
    checkout.write('trees/tiny/profile-gcc12.tar.xz', 'a profile\n')

    def digests():
        status, text = checkout.run('scripts/python', '-m', 'millrace.inputs', *STEPS, TREE='tiny')
        assert status == 0, text
        return dict(line.split() for line in text.splitlines())
    before = digests()
    assert set(before) == set(STEPS) == set(inputs.steps())
    for name, steps in INPUTS.items():
        path = checkout.path / name
        text = path.read_text()
        path.write_text(text.replace('=2026-11-21', '=2026-11-22') if name.endswith('pin.conf')
                        else f'{text}\n')
        after = digests()
        assert {step for step in STEPS if after[step] != before[step]} == steps, name
        path.write_text(text)
    assert digests() == before

    # neither the place nor times nor the umask of the checkout count
    checkout.path = checkout.path.rename(tmp_path / 'elsewhere')
    for path in checkout.path.rglob('*'):
        path.chmod(path.stat().st_mode & ~0o077)
        os.utime(path, (1, 1))
    assert digests() == before


CC = '''#!/bin/sh
case $1 in
    -print-file-name=libedit.a) echo "${0%/*}/libedit.a" ;;
    *) exec /usr/bin/cc "$@" ;;
esac
'''


def test_a_static_library_of_debians_that_changes(checkout, tmp_path):
    """It is in the programs of the RPM packages and of the tarball, and in no others."""
    tiny(checkout, tmp_path / 'cache')
    compiler = tmp_path / 'bin/cc'
    compiler.parent.mkdir()
    compiler.write_text(CC)
    compiler.chmod(0o755)
    path = f'{compiler.parent}:{os.environ["PATH"]}'

    def changed(*command):
        """The lines of the command with each state of the library."""
        for content in (None, 'one\n', 'two\n', 'one\n'):
            if content:
                compiler.with_name('libedit.a').write_text(content)
            status, text = checkout.run(*command, TREE='tiny', PATCHES='none', PATH=path,
                                        CC=None)
            assert status == 0, text
            yield text.splitlines()
    missing, one, two, again = changed('scripts/python', '-m', 'millrace.inputs', *STEPS)
    assert one == again and len({*one} & {*two} & {*missing}) == len(STEPS) - 2
    assert {line.split()[0] for line in {*one} ^ {*two}} == {'rpm', 'tarball'}
    assert {line.split()[0] for line in {*one} ^ {*missing}} == {'rpm', 'tarball'}
    lines = list(changed('build/lib/static-libraries'))[1]
    assert hashlib.sha256(b'one\n').hexdigest() + ' libedit.a' in lines
    # all that build/cmake/portable.cmake names, and Debian has each
    assert len({line.split()[1] for line in lines}) == len(lines) > 5
    assert not [line for line in lines if line.startswith('missing')]


def test_an_input_that_is_missing_is_named(checkout):
    (checkout.path / 'build/lib/components').unlink()
    status, text = checkout.run('scripts/python', '-m', 'millrace.inputs', 'rpm')
    assert status == 1 and 'git checkout build/lib/components' in text
    with pytest.raises(Failure, match='no-such-step'):
        inputs.digest('no-such-step', inputs.resolve(environ={}))


def test_another_release_has_places_of_its_own(road):
    later = shutil.copytree(road.cache / 'vanilla', road.cache / 'mariadb-1.0.1')
    archive = road.cache / 'mariadb-1.0.1.tar.gz'
    subprocess.run(['tar', '-czf', archive, '-C', road.cache, later.name], check=True)
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    road.road()
    road.road(VERSION='1.0.1', SHA256=sha256)
    assert made(road, 'dist/tiny-1.0.1+vanilla') == ['1.0.1']
    assert (road.path / 'work/tiny/1.0.1/vanilla/mariadb-1.0.1').is_dir()
    # and the pinned one's stay
    assert road.road() == '' and made(road) == ['1.0.0']


PRINT_TOP = '. build/lib/context.sh && echo "$TOP"'


def test_a_checkout_behind_a_symbolic_link(road, tmp_path):
    (tmp_path / 'link').symlink_to(road.path)
    status, text = road.run('bash', '-ec', f'cd "$1" && {PRINT_TOP}', 'sh', tmp_path / 'link',
                            TREE='tiny', CDPATH='.:/tmp')
    assert (status, text) == (0, f'{road.path.resolve()}\n')


# how a step and a command of scripts/ begin
BEGINNINGS = {'step': '. build/lib/context.sh && {}', 'command': """scripts/python -c '
import subprocess, sys
from millrace.command import forget_stray_variables
forget_stray_variables()
sys.exit(subprocess.call(sys.argv[1], shell=True))' '{}'"""}


@pytest.mark.parametrize('beginning', BEGINNINGS)
@pytest.mark.parametrize('variable', ['CPATH', 'C_INCLUDE_PATH', 'CPLUS_INCLUDE_PATH'])
def test_headers_of_the_caller_reach_no_object(road, tmp_path, variable, beginning):
    (tmp_path / 'stray.h').touch()
    language = 'c++' if variable.startswith('CPLUS') else 'c'
    compiled = f'echo "#include <stray.h>" | cc -E -x {language} -o /dev/null -'
    for line, status in ((compiled, 0), (BEGINNINGS[beginning].format(compiled), 1)):
        done, text = road.run('bash', '-ec', line, TREE='tiny', **{variable: str(tmp_path)})
        assert done == status, text
    assert 'stray.h: No such file' in text


@pytest.mark.parametrize('beginning', BEGINNINGS)
def test_who_commits_reaches_a_command(road, beginning):
    who = 'git var GIT_AUTHOR_IDENT'
    status, text = road.run('bash', '-ec', BEGINNINGS[beginning].format(who), TREE='tiny',
                            GIT_AUTHOR_NAME='Ann', GIT_AUTHOR_EMAIL='ann@example.org')
    assert status == 0 and text.startswith('Ann <ann@example.org> '), text


def test_a_blank_in_the_path_is_refused(road, tmp_path):
    other = road.path.rename(tmp_path / 'a place')
    road.path = other
    status, text = road.run('build/apply', TREE='tiny', PATCHES='none')
    assert status == 1 and f"mv '{other}'" in text
    assert not (other / 'work').exists()


def test_the_context_is_made_once(road, tmp_path):
    """A step takes it from its caller, unless one of the variables is another."""
    python = road.path / 'scripts/python'
    python.rename(python.with_name('python.real'))
    road.write('scripts/python', '#!/bin/sh\necho "$*" >> "${0%/*}/asked"\n'
                                 'exec "$0.real" "$@"\n')
    python.chmod(0o755)
    road.write('patches/tiny/one.patch', 'Description: an example\n---\n')
    road.write('series', 'one\n')
    inner = '. build/lib/context.sh && context; echo "$VERSION $SUBSET $CACHE"'
    outer = '. build/lib/context.sh && context && export VERSION && %s bash -c "$0"'
    asked = road.path / 'scripts/asked'
    for variables, times, subset in (('', 1, 'vanilla'), ('PATCHES=all', 2, 'all'),
                                     ('PROFILE=none', 2, 'vanilla+plain')):
        asked.unlink(missing_ok=True)
        status, text = road.run('bash', '-c', outer % variables, inner, TREE='tiny',
                                PATCHES='none')
        assert (status, text) == (0, f'1.0.0 {subset} {road.cache}\n')
        assert asked.read_text().count('millrace.context') == times


CCACHE = '''. build/lib/context.sh && context; . build/lib/compile.sh
use_ccache
echo "directory: ${CCACHE_DIR:-usual}, $(ccache --get-config compiler)"
'''


@pytest.mark.parametrize('home', ['/nonexistent', 'read-only'])
def test_ccache_without_a_home_that_can_be_written(road, tmp_path, tmp_path_factory, home):
    """As in a container or on a build daemon: root could write there."""
    (tmp_path / 'read-only').mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    base = tmp_path_factory.getbasetemp()
    for path in tmp_path.parents:
        # pytest's own, and that of its option --basetemp
        if path.name.startswith(('pytest-', 'popen-')) \
                or path in (base, base.parent) and path.stat().st_mode & 0o777 == 0o700:
            path.chmod(0o755)
    (road.path / 'work').mkdir(mode=0o777)
    (road.path / 'work').chmod(0o777)
    user = () if os.getuid() else ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
    status, text = road.run('bash', '-c', CCACHE, prefix=user, TREE='tiny', PATCHES='none',
                            HOME=str(tmp_path / home), CCACHE_COMPILER='/bin/false')
    assert status == 0, text
    assert f'directory: {road.path}/work/ccache, \n' in text and 'work/ccache\n' in text
    status, text = road.run('bash', '-c', CCACHE, prefix=user, TREE='tiny', PATCHES='none',
                            CCACHE_DIR=str(road.path / 'work'))
    assert status == 0 and f'directory: {road.path}/work, \n' == text


def test_the_servers_for_tests_say_what_they_take(road, tmp_path):
    for words in ((), ('nothing',), ('debug', '--print-path'), ('debug', 'x', 'y')):
        status, text = road.run('build/server', *words, TREE='tiny')
        assert status == 1 and 'build/server ' in text
    assert not (road.path / 'work').exists()


@pytest.fixture(scope='session')
def small_source(tmp_path_factory):
    """A source that cmake configures at once."""
    source = tmp_path_factory.mktemp('configure')
    (source / 'CMakeLists.txt').write_text('CMAKE_MINIMUM_REQUIRED(VERSION 3.10)\n'
                                           'PROJECT(small NONE)\n')
    (source / 'cache.cmake').write_text('set(A 1 CACHE STRING "")\n')
    return source


def test_all_is_linked_again_with_other_static_libraries(tmp_path):
    """Nothing else tells ninja of them."""
    (tmp_path / 'CMakeLists.txt').write_text(
        'CMAKE_MINIMUM_REQUIRED(VERSION 3.10)\nPROJECT(small C)\n'
        'ADD_EXECUTABLE(small small.c)\nTARGET_LINK_LIBRARIES(small crypt)\n')
    (tmp_path / 'small.c').write_text('#include <crypt.h>\n'
                                      'int main() { return !crypt("a", "$1$b"); }\n')

    def linked(hash_):
        """Whether the program was compiled, and whether it was linked."""
        said = [subprocess.run(command, cwd=tmp_path, text=True, check=True,
                               stdout=subprocess.PIPE).stdout
                for command in ([CONFIGURE, 'b', f'-DSTATIC_LIBRARIES={hash_}', '-C',
                                 TOP / 'build/cmake/portable.cmake'], ['ninja', '-C', 'b'])]
        return 'Building C' in said[1], 'Linking C' in said[1]
    assert linked('one') == (True, True)
    assert linked('one') == (False, False)
    assert linked('two') == (False, True)
    needed = subprocess.run(['readelf', '--dynamic', tmp_path / 'b/small'], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    assert 'libc.so' in needed and 'libcrypt' not in needed


def test_configured_only_where_the_outcome_would_differ(small_source):
    def configure(*words, **variables):
        """Whether cmake was run."""
        done = subprocess.run([CONFIGURE, 'b', '-C', 'cache.cmake', *words],
                              cwd=small_source, text=True, capture_output=True, check=False,
                              env={**os.environ, **variables})
        assert done.returncode == 0, done.stdout + done.stderr
        return 'Generating done' in done.stdout

    def cached(name):
        text = (small_source / 'b/CMakeCache.txt').read_text()
        return next((line.partition('=')[2] for line in text.splitlines()
                     if line.startswith(f'{name}:')), None)
    assert configure() and not configure()
    assert configure('-DB=2') and cached('B') == '2' and not configure('-DB=2')
    assert configure() and cached('B') is None, 'nothing stays of the last time'
    change(small_source / 'cache.cmake', 'set(A 2 CACHE STRING "")\n')
    assert configure() and cached('A') == '2' and not configure()
    assert configure(CC='gcc') and not configure(CC='gcc')
    (small_source / 'b/build.ninja').unlink()
    assert configure(CC='gcc')
    (small_source / 'b/configured').unlink()
    assert configure(CC='gcc')
    change(small_source / 'cache.cmake', 'message(FATAL_ERROR no)\n')
    done = subprocess.run([CONFIGURE, 'b', '-C', 'cache.cmake'],
                          cwd=small_source, capture_output=True, check=False)
    assert done.returncode
    change(small_source / 'cache.cmake', 'set(A 2 CACHE STRING "")\n')
    assert configure(), 'again, where it failed'
