"""A release tree that compiles in a second: an upstream of a few files, like the real one.

A plugin is any directory of plugin/ with a CMakeLists.txt; a header is generated; one file has a
warning already; and mysql-test-run.pl runs tests that say what the server must print.
"""
import hashlib
import io
import os
import shutil
import tarfile

from support.patchmaker import PatchMaker

VERSION = '1.0.0'
# cmake tries the compilers out with a build each, which takes longer than all else in it
UNTRIED = '''FOREACH(language C CXX)
  SET(CMAKE_${language}_COMPILER_WORKS TRUE)
  SET(CMAKE_${language}_ABI_COMPILED TRUE)
ENDFOREACH()
'''
FILES = {
    'CMakeLists.txt': f'''CMAKE_MINIMUM_REQUIRED(VERSION 3.10)
{UNTRIED}PROJECT(tiny C CXX)
''' '''\
ADD_CUSTOM_COMMAND(OUTPUT ${CMAKE_BINARY_DIR}/generated.h
  DEPENDS ${CMAKE_SOURCE_DIR}/generated.in
  COMMAND ${CMAKE_COMMAND} -E copy
          ${CMAKE_SOURCE_DIR}/generated.in ${CMAKE_BINARY_DIR}/generated.h)
ADD_CUSTOM_TARGET(generate DEPENDS ${CMAKE_BINARY_DIR}/generated.h)
INCLUDE_DIRECTORIES(include ${CMAKE_BINARY_DIR})
ADD_COMPILE_OPTIONS(-Wall)
ADD_EXECUTABLE(server sql/main.cc sql/other.cc)
ADD_DEPENDENCIES(server generate)
FILE(GLOB plugins ${CMAKE_SOURCE_DIR}/plugin/*)
FOREACH(plugin ${plugins})
  IF(EXISTS ${plugin}/CMakeLists.txt)
    ADD_SUBDIRECTORY(${plugin})
  ENDIF()
ENDFOREACH()
FILE(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/mysql-test)
CONFIGURE_FILE(mysql-test/mysql-test-run.in ${CMAKE_BINARY_DIR}/mysql-test/mysql-test-run.pl @ONLY)
''',
    'include/shared.h': '''inline int shared() { return 1; }\n''',
    'generated.in': '#define GENERATED 1\n',
    'sql/main.cc': '''#include <cstdio>
#include "shared.h"
#include "generated.h"
int other();
int main()
{
  int unused;
  printf("shared %d generated %d other %d\\n", shared(), GENERATED, other());
}
''',
    'sql/other.cc': '''#include "shared.h"
int other() { return shared(); }
''',
    'sql/none.h': 'included by nobody\n',
    '.hidden': 'included by nobody, and hidden\n',
    'mysql-test/mysql-test-run.in': r'''my $said= `@CMAKE_BINARY_DIR@/server`;
for my $test (grep { !/^--/ } @ARGV)
{
  my ($suite, $name)= split /\./, $test;
  open my $file, '<', "@CMAKE_SOURCE_DIR@/mysql-test/suite/$suite/t/$name.test" or die;
  chomp(my $wanted= <$file>);
  printf "%-40s w1 [ %s ]  1\n", $test,
    $wanted eq 'skip' ? 'skipped' : index($said, $wanted) >= 0 ? 'pass' : 'fail';
}
''',
    'mysql-test/suite/innodb/t/old.test': 'shared\n',
}


def tiny(checkout, cache):
    """Adds the tree to a checkout as its only one: the maker of its patches."""
    cache.mkdir()
    tarball = cache / f'mariadb-{VERSION}.tar.gz'
    with tarfile.open(tarball, 'w:gz') as archive:
        for path, text in FILES.items():
            member = tarfile.TarInfo(f'mariadb-{VERSION}/{path}')
            member.size, member.mtime = len(text), 1
            archive.addfile(member, io.BytesIO(text.encode()))
    sha256 = hashlib.sha256(tarball.read_bytes()).hexdigest()
    # as build/fetch leaves a tarball that it has verified
    (cache / f'{tarball.name}.asc').touch()
    (cache / f'{tarball.name}.verified').write_text(f'{sha256}\n')
    for file in (tarball, cache / f'{tarball.name}.verified'):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    for tree in (checkout.path / 'trees').iterdir():
        if tree.is_dir():
            shutil.rmtree(tree)
    checkout.write('trees/default', 'tiny\n')
    checkout.write('trees/tiny/pin.conf',
                   f'VERSION={VERSION}\nSHA256={sha256}\nSIGNED_BY=nobody\nARCHIVE=\n'
                   'DEBIAN_SOURCE=\nDEBIAN_SUITES=\nREVISION=1\nDATE=2026-11-21\n')
    checkout.write('patches/tiny/.keep', '')
    vanilla = cache / 'vanilla'
    for path, text in FILES.items():
        (vanilla / path).parent.mkdir(parents=True, exist_ok=True)
        (vanilla / path).write_text(text)
    checkout.cache = cache
    return PatchMaker(checkout, 'tiny', vanilla)
