"""The profile: trained, kept and built with, by the real compiler, ccache and cmake.

The source is one of two files."""
import os
import re
import shutil
import subprocess

import pytest

from millrace import TOP
from millrace.errors import Failure
from millrace.patches import header, series
from millrace.upstream import pins
from millrace_bench.train import gcda, training, workloads
from support.tinytree import UNTRIED, tiny

# they build with one profile
pytestmark = pytest.mark.xdist_group('profile')
COMPILER = TOP / 'build/compiler'
SOURCE = {
    'CMakeLists.txt': f'''CMAKE_MINIMUM_REQUIRED(VERSION 3.10)
{UNTRIED}PROJECT(small CXX)
''' '''\
SET(maps "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=/usr/src/small")
SET(maps "${maps} -ffile-prefix-map=${CMAKE_BINARY_DIR}=/usr/src/small/build")
SET(CMAKE_CXX_FLAGS "-O2 -g -Wall -Werror ${maps}")
INCLUDE_DIRECTORIES(include)
ADD_EXECUTABLE(server sql/main.cc sql/work.cc)
ADD_EXECUTABLE(client client/client.cc)
''',
    'VERSION': 'MYSQL_VERSION_MAJOR=1\nMYSQL_VERSION_MINOR=0\nMYSQL_VERSION_PATCH=0\n'
               'SERVER_MATURITY=stable\n',
    'include/work.h': '''int work(int n);
static inline int step(int i) { return i % 7 == 0 ? i : -i; }
''',
    'sql/work.cc': '''#include "work.h"
#define ALONE __attribute__((noinline))
#define EACH(n) for (int i= 0; i < n; i++)
static ALONE int often(int n) { int sum= 0; EACH(n) sum+= step(i); return sum; }
static ALONE int rarely(int n) { int sum= 1; EACH(n) sum*= step(i) + n; return sum; }
int (*which[])(int)= {often, rarely};
int work(int n) { return which[n % 100 == 99](n); }
ALONE int never(int n) { int sum= 0; EACH(n) sum^= work(i); return sum; }
''',
    'sql/main.cc': '''#include <cstdlib>
#include "work.h"
int main(int, char **argv)
{
  int sum= 0;
  for (int i= 0; i < atoi(argv[1]); i++) sum+= work(i);
  return sum == 42;
}
''',
    'client/client.cc': '#include "work.h"\n'
                        'int main(int argc, char **) { return step(argc) == 42; }\n',
}
# a parser, made as upstream makes its own, with a static function of the grammar and bison's own
PARSER = {
    'CMakeLists.txt': f'CMAKE_MINIMUM_REQUIRED(VERSION 3.10)\n{UNTRIED}PROJECT(parser CXX)\n'
                      'ADD_SUBDIRECTORY(sql)\n',
    'VERSION': SOURCE['VERSION'],
    'sql/CMakeLists.txt': '''FIND_PACKAGE(BISON 2.4)
CONFIGURE_FILE(sql_yacc.yy yy_mariadb.yy COPYONLY)
CONFIGURE_FILE(myskel.m4.in myskel.m4)
BISON_TARGET(gen_mariadb_cc_hh
             ${CMAKE_CURRENT_BINARY_DIR}/yy_mariadb.yy ${CMAKE_CURRENT_BINARY_DIR}/yy_mariadb.cc
             COMPILE_FLAGS "-S ${CMAKE_CURRENT_BINARY_DIR}/myskel.m4")
ADD_EXECUTABLE(server ${CMAKE_CURRENT_BINARY_DIR}/yy_mariadb.cc)
''',
    'sql/myskel.m4.in': r'''m4_define([b4_syncline],
[b4_sync_start([$1], m4_bpatsubst([$2],
  [@CMAKE_CURRENT_BINARY_DIR@/yy_[a-z]+\.yy],
  @CMAKE_CURRENT_SOURCE_DIR@/sql_yacc.yy))[]dnl

])
m4_include(skeletons/c-skel.m4)
''',
    'sql/sql_yacc.yy': '''%{
#include <cstdlib>
static long left;
static __attribute__((noinline)) int step(long i) { return i % 7 == 0 ? i : -i; }
static int yylex() { return left-- > 0 ? 'a' + (step(left) == 42) : 0; }
static void yyerror(const char *) {}
%}
%%
query: | query 'a' | query 'b' ;
%%
int main(int, char **argv) { left= atol(argv[1]); return yyparse(); }
''',
}
COUNTING = (f'sh;{COMPILER}/profiled;counting', '-DCMAKE_EXE_LINKER_FLAGS=-fprofile-generate')
RECORD = 'tree: small\nrelease: 1.0.0\ndate: 2026-11-22\n'


class Small:
    """A copy of the source, in a directory of its own, and its builds."""

    def __init__(self, path, source=None):
        self.path = path
        for name, text in (source or SOURCE).items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)

    def launcher(self, builddir, *profiles, **environment):
        """The output and the messages of with-profile."""
        done = subprocess.run([COMPILER / 'with-profile', builddir, *profiles], cwd=self.path,
                              text=True, capture_output=True, check=False,
                              env={**os.environ, 'PROFILE': '', 'MILLRACE_LAUNCHER': '',
                                   **environment})
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip('\n'), done.stderr

    def build(self, builddir, launcher, *arguments, **environment):
        """Configures and compiles; {object: its bytes}, and what the compiler said."""
        env = {**os.environ, 'CCACHE_BASEDIR': str(self.path), 'CCACHE_NOHASHDIR': '1',
               'CCACHE_SLOPPINESS': 'time_macros,locale', **environment}
        subprocess.run(['cmake', '-GNinja', f'-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}',
                        *arguments, '-B', builddir, '-S', '.'], cwd=self.path, env=env,
                       check=True, capture_output=True)
        done = subprocess.run(['ninja', '-C', builddir, '-v'], cwd=self.path, env=env, text=True,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
        place = self.path / builddir
        return {path.relative_to(place).as_posix(): path.read_bytes()
                for path in place.rglob('*.o')}, done.stdout


@pytest.fixture
def small(tmp_path):
    """Makes copies of the source."""
    return lambda name='one': Small(tmp_path / name)


@pytest.fixture(scope='session')
def trained(tmp_path_factory):
    """A profile of the source: its archive, its files, and {workload: functions that it ran}."""
    home = tmp_path_factory.mktemp('trained')
    one = Small(home / 'source')
    one.build('builddir-counting', *COUNTING)
    builddir, places = one.path / 'builddir-counting', {}
    for name, times in (('long', '1000'), ('short', '20')):
        places[name] = home / name
        with training.counting(places[name], builddir):
            subprocess.run([builddir / 'server', times], check=True)
    profile, ran = gcda.profile(places)
    archive = home / f'small-gcc{gcda.gcc(profile)}.tar.xz'
    gcda.pack(profile, RECORD, archive)
    yield archive, profile, ran
    shutil.rmtree(home)


def dumped(file, *arguments):
    """The output of objdump for an object, without its directory."""
    return subprocess.run(['objdump', *arguments, file.name], cwd=file.parent, text=True,
                          capture_output=True, check=True).stdout


def text_of(directory, name):
    """The names of the sections of code of an object."""
    return set(re.findall(r'\.text\S*', dumped(directory / name, '-h')))


OBJECTS = {'work': 'CMakeFiles/server.dir/sql/work.cc.o',
           'main': 'CMakeFiles/server.dir/sql/main.cc.o',
           'client': 'CMakeFiles/client.dir/client/client.cc.o'}
WORK_COUNTS = 'CMakeFiles/server.dir/sql/work.cc.gcda'


def same(builds, others):
    """Which objects have the same bytes in both builds."""
    return {name: builds[path] == others[path] for name, path in OBJECTS.items()}


def test_workloads_weigh_the_same(trained):
    _, profile, ran = trained
    assert ran == {'long': 4, 'short': 3}, 'main, work and often; rarely only with 100 and more'
    assert sorted(profile) == ['CMakeFiles/server.dir/sql/main.cc.gcda', WORK_COUNTS], \
        'not the client'


def test_counts_are_put_together(trained, tmp_path):
    """gcc reads the merged counts as they were counted, each workload's as often as another's."""
    _, profile, _ = trained
    file = tmp_path / 'work.gcda'
    file.write_bytes(profile[WORK_COUNTS])
    merged = gcda.read(file)
    assert gcda.write(merged, 12345)[20:] == gcda.write(gcda.read(file), 12345)[20:]
    calls = [function.counters for function in merged.functions
             if any(function.counters.get(gcda.INDIRECT, ()))]
    [[(total, values)]] = [gcda._values(found[gcda.INDIRECT]) for found in calls]
    # work() calls often() in 990 of 1000 and in 20 of 20, which weigh as much as many more would
    assert len(values) == 2 and total == sum(values.values())
    assert min(values.values()) == 10 < max(values.values())
    assert max(values.values()) - 990 > 20 and (max(values.values()) - 990) % 20 == 0


def test_faults_of_counts_are_named(trained, tmp_path):
    _, profile, _ = trained
    good = profile[WORK_COUNTS]
    for content in (good[:-9], b'nothing', good[:4] + b'*29A' + good[8:]):
        (tmp_path / 'x.gcda').write_bytes(content)
        with pytest.raises(Failure, match='x.gcda'):
            gcda.read(tmp_path / 'x.gcda')
    other = gcda.Counts(good[4:8], b'othr')
    (tmp_path / 'x.gcda').write_bytes(good)
    with pytest.raises(Failure, match='train again'):
        gcda.merge([(gcda.read(tmp_path / 'x.gcda'), 1), (other, 1)])
    (tmp_path / 'none').mkdir()
    with pytest.raises(Failure, match='^nothing:'):
        gcda.profile({'nothing': tmp_path / 'none'})


def test_the_same_bytes_wherever_and_however_they_are_compiled(trained, small, tmp_path):
    archive, _, _ = trained
    cache = {'CCACHE_DIR': str(tmp_path / 'ccache'), 'CCACHE_LOGFILE': str(tmp_path / 'log')}
    ccached = {'MILLRACE_LAUNCHER': str(COMPILER / 'cached')}
    one, other = small('one'), small('quite/another/place')
    launcher, said = one.launcher('builddir-deb', archive, **ccached)
    assert said.startswith('with-profile: ') and said.count('\n') == 1
    assert archive.name in said and '2026-11-22' in said and ' 2 objects' in said
    first, _ = one.build('builddir-deb', launcher, **cache)
    assert '.text.hot' in text_of(one.path / 'builddir-deb', OBJECTS['work'])

    # by plain tools, as from a source package
    launcher, _ = other.launcher('builddir-rpm', archive)
    assert re.fullmatch(r'sh;(.*);[0-9a-f]{12}', launcher)[1] == str(COMPILER / 'profiled')
    second, _ = other.build('builddir-rpm', launcher)
    assert second == first
    assert [name for name in first if str(tmp_path).encode() in first[name]] == []

    # by ccache, elsewhere: all of it is found again
    (tmp_path / 'log').unlink()
    launcher, _ = other.launcher('builddir-tarball', archive, **ccached)
    third, _ = other.build('builddir-tarball', launcher, **cache)
    assert third == first
    log = (tmp_path / 'log').read_text()
    assert log.count('Result: direct_cache_hit') == 3 and 'Result: cache_miss' not in log
    assert 'unsupported_compiler_option' not in log

    # the client has no counts: it is what it is without a profile
    launcher, said = one.launcher('builddir-plain', archive, PROFILE='none', **ccached)
    assert 'PROFILE=none' in said and launcher == ccached['MILLRACE_LAUNCHER']
    plain, _ = one.build('builddir-plain', launcher, **cache)
    assert same(plain, first) == {'work': False, 'main': False, 'client': True}


def test_the_parser_is_the_same_wherever_it_was_trained_and_compiled(tmp_path):
    """bison writes the names of its files into it, by which gcc finds static functions' counts."""
    server = ('-C', str(TOP / 'build/cmake/server.cmake'))
    one, other = Small(tmp_path / 'one', PARSER), Small(tmp_path / 'quite/another/place', PARSER)
    one.build('builddir-counting', *COUNTING, *server)
    with training.counting(tmp_path / 'counts', one.path / 'builddir-counting'):
        subprocess.run([one.path / 'builddir-counting/sql/server', '5000'], check=True)
    archive = tmp_path / 'p.tar.xz'
    gcda.pack(gcda.profile({'parse': tmp_path / 'counts'})[0], RECORD, archive)

    builds = {}
    for source, builddir in ((one, 'builddir-deb'), (other, 'builddir-tarball'),
                             (other, 'builddir-rpm')):
        launcher, _ = source.launcher(builddir, archive)
        [(name, content)] = source.build(builddir, launcher, *server)[0].items()
        builds[source.path / builddir] = content
        assert '.text.hot' in text_of(source.path / builddir, name)
        symbols = dumped(source.path / builddir / name, '-t', '-C')
        assert re.search(r' \.text\.hot\s.* step\(long\)', symbols)
        lines = dumped(source.path / builddir / name, '--dwarf=decodedline')
        assert 'sql_yacc.yy' in lines and 'yy_mariadb.cc:' in lines and str(tmp_path) not in lines
    assert len(set(builds.values())) == 1


def test_counts_that_were_lost_are_unpacked_again(trained, small):
    archive, _, _ = trained
    one = small()
    launcher, _ = one.launcher('builddir-deb', archive)
    before, _ = one.build('builddir-deb', launcher)
    shutil.rmtree(one.path / 'builddir-deb/CMakeFiles')
    assert one.launcher('builddir-deb', archive)[0] == launcher
    assert len(list(one.path.rglob('*.gcda'))) == 2
    assert one.build('builddir-deb', launcher)[0] == before


def test_another_profile_compiles_what_it_changes(trained, small, tmp_path):
    archive, profile, _ = trained
    cache = {'CCACHE_DIR': str(tmp_path / 'ccache'), 'CCACHE_LOGFILE': str(tmp_path / 'log')}
    ccached = {'MILLRACE_LAUNCHER': str(COMPILER / 'cached')}
    one = small()
    launcher, _ = one.launcher('builddir-deb', archive, **ccached)
    before, _ = one.build('builddir-deb', launcher, **cache)
    # without the counts of main.cc
    other = tmp_path / archive.name
    gcda.pack({WORK_COUNTS: profile[WORK_COUNTS]}, RECORD, other)
    (tmp_path / 'log').unlink()
    launcher, said = one.launcher('builddir-deb', other, **ccached)
    assert ' 1 objects' in said
    assert not (one.path / 'builddir-deb/CMakeFiles/server.dir/sql/main.cc.gcda').exists()
    after, _ = one.build('builddir-deb', launcher, **cache)
    assert same(before, after) == {'work': True, 'main': False, 'client': True}
    log = (tmp_path / 'log').read_text()
    assert (log.count('Result: direct_cache_hit'), log.count('Result: cache_miss')) == (2, 1)
    # and nothing where nothing changed
    launcher, _ = one.launcher('builddir-deb', other, **ccached)
    again, said = one.build('builddir-deb', launcher, **cache)
    assert again == after and 'no work to do' in said


def test_what_a_patch_changes_goes_without(trained, small):
    """Also where lines have moved and a function is new, without a warning (-Werror)."""
    archive, _, _ = trained
    one = small()
    work = one.path / 'sql/work.cc'
    changed = SOURCE['sql/work.cc'].replace('{ return which[',
                                            '{ if (n < 0) return added(-n); return which[')
    assert changed != SOURCE['sql/work.cc']
    work.write_text('// a line\n// and another\nint added(int n);\n' + changed
                    + 'int added(int n) { return n > 5 ? n * 3 : 1; }\n')
    one.build('builddir-deb', one.launcher('builddir-deb', archive)[0])
    assert '.text.hot' in text_of(one.path / 'builddir-deb', OBJECTS['work']), \
        'often() has its counts still'


def stamped(archive, target, stamp):
    """The profile as another gcc would have left it."""
    shutil.copy(archive, target)
    scratch = target.parent / 'scratch'
    scratch.mkdir()
    subprocess.run(['tar', '-xf', archive, '-C', scratch], check=True)
    for path in scratch.rglob('*.gcda'):
        path.write_bytes(path.read_bytes()[:4] + stamp + path.read_bytes()[8:])
    subprocess.run(['tar', '-cJf', target, '-C', scratch, '.'], check=True)
    return target


@pytest.mark.parametrize('kind, words', [
    ('none', ('no profile',)), ('empty', ('warning: ', 'p.tar.xz')),
    ('cut off', ('warning: ', 'p.tar.xz', 'unpacked')),
    ('of another gcc', ('warning: ', 'p.tar.xz', 'another compiler than cc ')),
    ('stale', ('p.tar.xz', ' 2 objects', 'warning: ', '0.9.9', '1.0.0'))])
def test_a_profile_that_does_not_fit_is_told_in_one_line(kind, words, trained, small, tmp_path):
    archive, profile, _ = trained
    one, target = small(), tmp_path / 'p.tar.xz'
    # nothing is left of an earlier build with a profile
    one.launcher('builddir-deb', archive)
    if kind == 'empty':
        gcda.pack({}, RECORD, target)
    elif kind == 'cut off':
        target.write_bytes(archive.read_bytes()[:200])
    elif kind == 'of another gcc':
        stamped(archive, target, b'*29Z')
    elif kind == 'stale':
        gcda.pack(profile, RECORD.replace('1.0.0', '0.9.9'), target)
    launcher, said = one.launcher('builddir-deb', *([] if kind == 'none' else [target]))
    assert said.count('\n') == 1 and [word for word in words if word not in said] == [], said
    assert bool(launcher) == (kind == 'stale') == bool(list(one.path.rglob('*.gcda')))
    one.build('builddir-deb', launcher)


@pytest.mark.parametrize('variables', [{'CDPATH': '.:/tmp'}, {'TAR_OPTIONS': '--no-such-option'},
                                       {'XZ_OPT': '-v'}, {'POSIXLY_CORRECT': '1'}])
def test_the_environment_of_the_caller(trained, small, variables):
    archive, _, _ = trained
    assert small().launcher('builddir-deb', archive, **variables) \
        == small().launcher('builddir-deb', archive)


def test_of_several_profiles_the_compilers_own(trained, small, tmp_path):
    archive, _, _ = trained
    other = stamped(archive, tmp_path / 'small-gcc99.tar.xz', b'*29Z')
    launcher, said = small().launcher('builddir-deb', other, archive)
    assert launcher and archive.name in said


PLACES = '''. build/lib/context.sh && context
printf "%s\\n" "$RELEASE" "$DIST" "$WORK" "${PROFILES[*]}"
'''


def places(checkout, **variables):
    """Release, packages, work and profiles of what the variables choose."""
    status, text = checkout.run('bash', '-c', PLACES, **variables)
    assert status == 0, text
    return [line.replace(f'{checkout.path}/', '') for line in text.splitlines()]


def test_where_a_build_without_the_profile_is_made(checkout, tmp_path):
    tiny(checkout, tmp_path / 'cache')
    checkout.write('patches/tiny/show-patches.patch', 'Depends: none\n---\n')
    checkout.write('patches/tiny/read-ahead.patch', 'Depends: none\n---\n')
    checkout.write('series', 'show-patches\nread-ahead\n')
    checkout.write('trees/tiny/profile-gcc12.tar.xz', '')
    checkout.write('trees/tin/profile-gcc12.tar.xz', '')
    assert places(checkout, TREE='tiny') == [
        '1', 'dist/tiny', 'work/tiny/all', 'trees/tiny/profile-gcc12.tar.xz']
    assert places(checkout, TREE='tiny', PROFILE='none') == [
        '1~plain', 'dist/tiny+plain', 'work/tiny/plain', '']
    assert places(checkout, TREE='tiny', PROFILE='none', PATCHES='none') == [
        '1~vanilla+plain', 'dist/tiny+vanilla+plain', 'work/tiny/vanilla+plain', '']
    status, text = checkout.run('build/apply', TREE='tiny', PROFILE='fast')
    assert status == 1 and 'PROFILE=fast' in text and 'PROFILE=none' in text


def listed(package):
    """The files of a source RPM."""
    return subprocess.run(['rpm', '-qpl', package], text=True, capture_output=True,
                          check=True).stdout.split()


def test_the_source_packages_carry_the_profiles(trained, checkout, tmp_path):
    """With all that a build by plain tools needs, in a form that rpmlint takes."""
    archive, _, _ = trained
    tiny(checkout, tmp_path / 'cache').add(
        'one', {'sql/main.cc': lambda text: '// one\n' + text})
    pin = checkout.path / 'trees/tiny/pin.conf'
    pin.write_text(pin.read_text().replace(
        'ARCHIVE=', 'ARCHIVE=https://archive.invalid/mariadb-@VERSION@.tar.gz'))
    names = ['profile-gcc12.tar.xz', 'profile-gcc14.tar.xz']
    for name in names:
        shutil.copy(archive, checkout.path / 'trees/tiny' / name)
    status, text = checkout.run('build/road', 'source-deb', 'source-rpm', TREE='tiny')
    assert status == 0, text
    dist = checkout.path / 'dist/tiny'
    [dsc], [src_rpm] = dist.glob('*.dsc'), dist.glob('*.src.rpm')
    unpacked = tmp_path / 'x'
    subprocess.run(['dpkg-source', '--no-check', '-x', dsc, unpacked], check=True,
                   capture_output=True)
    debian = unpacked / 'debian'
    assert sorted(path.name for path in (debian / 'profiles').iterdir()) == names
    assert (debian / 'profiles' / names[0]).read_bytes() == archive.read_bytes()
    for name in ('compiler/with-profile', 'compiler/profiled', 'cmake/configure'):
        assert os.access(debian / name, os.X_OK), name
    # as debian/rules calls it; a cd that searches CDPATH prints where it went
    done = subprocess.run('sh debian/compiler/with-profile builddir-deb debian/profiles/*.tar.xz',
                          shell=True, cwd=unpacked, text=True, capture_output=True, check=True,
                          env={**os.environ, 'PROFILE': '', 'MILLRACE_LAUNCHER': '',
                               'CDPATH': '.'})
    assert f'sh;{debian}/compiler/profiled;' in done.stdout

    assert {'with-profile', 'profiled', 'configure', 'components', *names} <= set(listed(src_rpm))
    spec = (checkout.path / 'work/tiny/all/rpm/millrace.spec').read_text()
    assert 'sh %{SOURCE9} builddir-rpm %{SOURCE21} %{SOURCE22} )' in spec
    assert '_sourcedir' not in spec and '@PROFILE' not in spec
    done = subprocess.run(['rpmlint', '-c', TOP / 'rpm/rpmlint.toml', src_rpm], text=True,
                          capture_output=True, check=False)
    assert ' E: ' not in done.stdout and 'RPM_SOURCE_DIR' not in done.stdout, done.stdout

    status, text = checkout.run('build/road', 'source-deb', 'source-rpm', TREE='tiny',
                                PROFILE='none')
    assert status == 0, text
    [src_rpm] = (checkout.path / 'dist/tiny+plain').glob('*.src.rpm')
    assert not [name for name in listed(src_rpm) if name.endswith('tar.xz')]
    spec = (checkout.path / 'work/tiny/plain/rpm/millrace.spec').read_text()
    assert 'sh %{SOURCE9} builddir-rpm )' in spec


def test_every_profile_has_its_record():
    for tree in pins.trees():
        archives = sorted((TOP / 'trees' / tree).glob('*.tar.xz'))
        for archive in archives:
            record = archive.with_name(archive.name.replace('.tar.xz', '.txt'))
            inside = subprocess.run(['tar', '-xOf', archive, 'record'], text=True,
                                    capture_output=True, check=True).stdout
            assert record.read_text() == inside, f'{record} is not the record in {archive}'
            assert re.search(r'^commit: [0-9a-f]{40}', inside, re.MULTILINE)
            assert re.search('^tree: (.*)', inside, re.MULTILINE)[1] == tree
            assert re.fullmatch(r'profile-gcc\d+\.tar\.xz', archive.name)
            assert archive.stat().st_size < 5_000_000
        assert {path.name for path in (TOP / 'trees' / tree).iterdir()} == {
            'pin.conf', 'security.toml', *(archive.name for archive in archives),
            *(archive.name.replace('.tar.xz', '.txt') for archive in archives)}


def test_workloads_are_named_once_and_are_not_what_is_unseen():
    names = [workload.name for workload in workloads.WORKLOADS]
    assert len(set(names)) == len(names) >= 32
    chosen = workloads.workloads(['tpcc', 'alter'])
    assert [workload.name for workload in chosen] == ['tpcc', 'alter']
    with pytest.raises(Failure, match='nothing'):
        workloads.workloads(['nothing'])
    printed = subprocess.run([TOP / 'bench/train', '--list'], text=True, capture_output=True,
                             check=True).stdout
    assert [line.split()[0] for line in printed.splitlines()] == names


# what the suite unseen has: sub-selects and derived tables, window functions, JSON, full-text,
# spatial, views and common table expressions
UNSEEN = re.compile(r'\(\s*SELECT|\bOVER\s*\(|\bWINDOW\s+\w+\s+AS\b|JSON|MATCH|AGAINST|FULLTEXT'
                    r'|SPATIAL|\bPOINT\s*\(|\b(ST_|MBR)\w+\s*\(|CREATE\s.*\bVIEW|\bEXISTS\b'
                    r'|\bWITH\s+(RECURSIVE|\w+\s+AS)\b', re.IGNORECASE)
# statements of the suite that read a view, which is seen where it is made
READ_A_VIEW = ['SELECT * FROM unseen_pairs WHERE id BETWEEN @ AND @ + 50',
               'SELECT * FROM unseen_parts WHERE part BETWEEN @ % 100 AND @ % 100 + 3',
               'SELECT p.total, u.words FROM unseen_parts p JOIN unseen_pairs u ON u.part = p.part'
               ' WHERE u.id = @']
SEEN = ('k IN (SELECT 1)', 'FROM ( select 1) d', 'SUM(k) OVER(PARTITION BY c)',
        'FROM t window w as (ORDER BY id)', 'ST_X(p)', 'mbrwithin(a, b)', 'POINT (1, 2)',
        'WITH t AS (VALUES (1))', 'CREATE OR REPLACE VIEW v')
NOT_SEEN = ('SELECT MASTER_POS_WAIT(1)', 'INSERT INTO t SELECT * FROM s',
            'DECLARE c CURSOR FOR SELECT 1', 'START TRANSACTION WITH CONSISTENT SNAPSHOT',
            'PRIMARY KEY (id)', 'WITH GRANT OPTION')


def loads():
    """The text of the training and of the loads of ours that it runs, {name: text}."""
    texts = {name: (TOP / 'bench/millrace_bench/train' / name).read_text()
             for name in ('training.py', 'workloads.py')}
    run = set(re.findall(r"sysbench(?:\.run)?\([^'\n]*'(\w+)'", texts['workloads.py']))
    ours = [file for file in sorted((TOP / 'bench/lua').glob('*.lua')) if file.stem in run]
    assert 'oltp_read_write' in run and [file.stem for file in ours] == ['tpcc', 'undo']
    return {**texts, **{file.name: file.read_text() for file in ours}}


def test_no_workload_has_what_is_unseen():
    """But two derived tables, without which no statement reads a table backwards for few rows."""
    texts = loads()
    [scan] = re.findall(r"    Workload\('scan-descending'.*?\n(?=    Workload\()",
                        texts['workloads.py'], re.DOTALL)
    assert len(re.findall(r'FROM \(SELECT', scan)) == 2
    assert not UNSEEN.search(scan.replace('FROM (SELECT', ''))
    texts['workloads.py'] = texts['workloads.py'].replace(scan, '')
    assert {name: found[0] for name, text in texts.items() if (found := UNSEEN.search(text))} == {}
    # the binary log: of the other server in replication-apply, of which nothing is counted
    assert ''.join(texts.values()).count('log_bin') == 1
    assert 'training.another(log_bin=' in texts['workloads.py']
    assert not [workload.name for workload in workloads.WORKLOADS
                if 'log_bin' in {**workloads.SERVER, **workload.options}]


def test_what_is_unseen_is_known_when_it_is_seen():
    """In all statements of the suite unseen, and in other spellings."""
    text = re.sub(r'"\n +\.\. "', '', (TOP / 'bench/lua/unseen.lua').read_text())
    statements = re.findall(r'^      "(.*?)",?$', text, re.MULTILINE)
    assert len(statements) >= 22
    assert [words for words in statements if not UNSEEN.search(words)] == READ_A_VIEW
    assert [words for words in SEEN if not UNSEEN.search(words)] == []
    assert [words for words in NOT_SEEN if UNSEEN.search(words)] == []


def test_a_patch_names_workloads_that_there_are():
    names = {workload.name for workload in workloads.WORKLOADS}
    for tree in pins.trees():
        for name in series.names(tree):
            fields = header.read_header(series.patch_file(tree, name)).fields
            trained_by = fields['Train'].split(', ') if 'Train' in fields else []
            assert set(trained_by) <= names, f'{tree}: {name}: Train'
