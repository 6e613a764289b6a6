"""Packs builds, load engine and scripts into an archive, for a machine with nothing installed.

Usage: bench/bundle [--builds "vanilla millrace"] [--tree TREE]

The archive is dist/bench/millrace-bench-*.tar.gz; there: tar -xzf it, and ./run --suite
contention.  It brings everything down to the C library, so that any x86-64 Linux takes it, as
root or as any user; its README says more.
"""
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from importlib.util import find_spec
from pathlib import Path

from millrace import TOP
from millrace.command import STRAY, parser, run_command
from millrace.errors import Failure
from millrace.upstream.pins import default_tree
from millrace_bench import builds, run, suites
from millrace_bench.measure import held, runner, sysbench

LOADER = 'ld-linux-x86-64.so.2'
LARGEST = 64 << 20
# parts of Python's library that no benchmark uses; _ssl has libraries of its own
LEFT_OUT = shutil.ignore_patterns(
    '__pycache__', 'test', 'tests', 'idlelib', 'lib2to3', 'ensurepip', 'pydoc_data', 'tkinter',
    'turtledemo', 'unittest', 'dist-packages', 'config-*', '*.a', '_ssl.*')
MODULES = ('_bz2', '_ctypes', '_hashlib', '_lzma')    # of Python, whose libraries come along
RUN = '''#!/bin/sh
# Measures the builds of this archive: ./run --help
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
PYTHONHOME=$here/bench/python PYTHONPATH=$here/scripts:$here/bench exec \\
    "$here/bench/lib/{loader}" --library-path "$here/bench/lib" "$here/bench/bin/python3" -P \\
    -m millrace_bench.run --tree {tree} "$@"
'''
README = '''Millrace benchmarks, MariaDB {version}: {names}

    ./run --suite contention            one suite, its result in test-results/new/ here
    ./run --help                        suites, builds, limits

It runs on any x86-64 Linux, as any user (--iops and --volume want root), and
brings its own C library, Python and sysbench.  The data, up to 4 GB, are in work/
here: put the directory on the disk that is to be measured.  Bring back
test-results/new/.
'''


def libraries(program):
    """The shared libraries that a program is loaded with, the loader among them."""
    text = subprocess.run(['ldd', program], text=True, capture_output=True, check=True).stdout
    missing = [line.strip() for line in text.splitlines() if 'not found' in line]
    if missing:
        raise Failure(f'{program}: a library is missing', *missing)
    return {Path(path) for path in re.findall(r'(/\S+) \(0x', text)}


def add(source, target):
    """Copies a file or a directory."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=LEFT_OUT, ignore_dangling_symlinks=True)
    else:
        shutil.copy2(source, target)


def programs_of(build):
    """The programs of a build that benchmarks run."""
    names = sorted({name for suite in suites.SUITES.values() for name in suite.programs})
    return [build.binary, *filter(None, map(build.beside, names))]


def add_build(build, target):
    """Copies what a benchmark needs of a build: its programs, stripped, messages, character
    sets, scripts for the system tables."""
    for path in (build.share / 'english/errmsg.sys', build.share / 'charsets',
                 build.script('system_tables'), build.script('performance_tables')):
        add(path, target / path.relative_to(build.root))
    for path in programs_of(build):
        add(path, target / path.relative_to(build.root))
        subprocess.run(['strip', target / path.relative_to(build.root)], check=True)


def add_python(bench):
    """Copies Python, its library and pymysql: the programs and modules that need libraries."""
    python, library = Path(sys.executable).resolve(), Path(sysconfig.get_path('stdlib'))
    add(python, bench / 'bin/python3')
    add(library, bench / 'python/lib' / library.name)
    add(Path(find_spec('pymysql').origin).parent,
        bench / 'python/lib' / library.name / 'pymysql')
    return [python, *(path for name in MODULES
                      for path in library.glob(f'lib-dynload/{name}.*.so'))]


def shared():
    """Paths of the modules of scripts/millrace that bench/run imports, which is imported here, and
    of the file that they read."""
    return [STRAY, *(Path(module.__file__) for name, module in sorted(sys.modules.items())
                     if name.partition('.')[0] == 'millrace')]


def fill(target, tree, chosen):
    """Makes the whole archive's content below `target`."""
    bench, version = target / 'bench', builds.version(tree)
    for part in ('millrace_bench', 'lua'):
        add(TOP / 'bench' / part, bench / part)
    held.make_library(bench / held.SHIPPED.relative_to(TOP / 'bench'))
    for path in shared():
        add(path, target / path.relative_to(TOP))
    (bench / 'commit').write_text(runner.commit() + '\n')
    for build in chosen:
        add_build(build, bench / 'builds' / tree / build.name)
    (bench / 'builds' / tree / 'version').write_text(version + '\n')
    add(Path(sysbench.command()[0]), bench / 'bin/sysbench')
    add(sysbench.SYSTEM, bench / 'share/sysbench')

    programs = [*(program for build in chosen for program in programs_of(build)),
                bench / 'bin/sysbench', *add_python(bench)]
    for path in set().union(*map(libraries, programs)):
        add(path.resolve(), bench / 'lib' / path.name)
    (target / 'run').write_text(RUN.format(loader=LOADER, tree=tree))
    (target / 'run').chmod(0o755)
    names = ', '.join(build.name for build in chosen)
    (target / 'README').write_text(README.format(version=version, names=names))


def nobody(member):
    """A member of the archive, as nobody's in particular."""
    member.uid = member.gid = 0
    member.uname = member.gname = ''
    return member


def make(tree, chosen, directory):
    """Makes the archive in `directory`: its path."""
    name = f'millrace-bench-{builds.version(tree)}-linux-x86_64'
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        fill(Path(scratch) / name, tree, chosen)
        new = Path(scratch) / 'archive'
        # 9 takes three times as long, for half a percent
        with tarfile.open(new, 'w:gz', compresslevel=6) as archive:
            archive.add(Path(scratch) / name, name, filter=nobody)
        if new.stat().st_size > LARGEST:
            raise Failure(f'the archive has {new.stat().st_size >> 20} MiB, more than '
                          f'{LARGEST >> 20}', 'fewer BUILDS')
        new.replace(directory / f'{name}.tar.gz')
    return directory / f'{name}.tar.gz'


def main(argv):
    """Makes or fetches the builds, and packs them."""
    options = parser('bench/bundle', __doc__)
    options.add_argument('--builds', default='vanilla millrace',
                         help='names of builds, the base first; default: %(default)s')
    options.add_argument('--tree', help='release tree; default: that of trees/default')
    asked = options.parse_args(argv)
    tree = asked.tree or default_tree()
    chosen = [builds.resolve(name, tree, run.WORK) for name in asked.builds.split()]
    archive = make(tree, chosen, TOP / 'dist/bench')
    print(f'{os.path.relpath(archive)}: {archive.stat().st_size / (1 << 20):.1f} MiB')


if __name__ == '__main__':
    run_command('bundle', main)
