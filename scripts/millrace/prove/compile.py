"""One configured source, compiled in many states of its files.

The source is vanilla's, in work/<tree>/prove, its build directory inside it.  switch()
writes the files that differ in the wanted state, with a new time, so that ninja knows
what to compile; ccache has most of it from another time.  Warnings are kept beside the
objects (keep-warnings), so those of a state are there whoever compiled what.  The
compiler is called as the packages' build calls it, but without debug information and profile,
so ccache shares nothing with that.  Of a state, only the objects are compiled that it can
change; vanilla's are, where any patch can change them.
"""
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections import Counter

from millrace import TOP
from millrace.command import environment
from millrace.errors import Failure
from millrace.files import write_whole
from millrace.patches.diff import is_test
from millrace.progress import ninja
from millrace.prove.facts import digest
from millrace.prove.reach import Includes
from millrace.upstream import tarballs

CONFIGURE = TOP / 'build/cmake/configure'
KEEP_WARNINGS = TOP / 'build/compiler/keep-warnings'
ASK = '''. build/lib/context.sh && context && . build/lib/compile.sh && SOURCE=$1
use_ccache >&2
export JOBS
env -0'''
ROOM = 4500     # MB, of a source and all that is compiled of it
CONFIGURATION = ('server.cmake', 'layout-tarball.cmake')


def compiling(context):
    """The environment in which the proofs compile: ccache's settings are the packages' own.

    Raises Failure."""
    done = subprocess.run(['bash', '-c', ASK, 'prove', context.source], cwd=TOP, check=False,
                          capture_output=True, text=True,
                          env=environment(TREE=context.tree, PATCHES='none'))
    if done.returncode:
        raise Failure('the compiler cannot be set up', done.stderr)
    return dict(pair.split('=', 1) for pair in done.stdout.split('\0') if '=' in pair)


@functools.cache
def toolchain(configuration=CONFIGURATION):
    """Everything that decides, besides the source, which warnings a compiler gives, and what a
    build configured with these files of build/cmake does."""
    versions = [subprocess.run([program, '--version'], text=True, capture_output=True,
                               check=True).stdout for program in ('cc', 'c++', 'cmake')]
    return versions + [(TOP / 'build/cmake' / name).read_text() for name in configuration]


def normalized(text):
    """The warnings of a compiler without line and column, which a patch moves."""
    return [re.sub(r':\d+(:\d+)?:', ':', line, count=1) for line in text.splitlines()
            if 'warning: ' in line]


def added(warnings, vanilla):
    """(object, warning) for each that occurs more often in `warnings`, {object: [warning]},
    than in `vanilla`."""
    return [(name, warning) for name, lines in warnings.items()
            for warning in (Counter(lines) - Counter(vanilla.get(name, []))).elements()]


class BuildTree:
    """The source of a tree and its build directory.

    `context` is the Context of the proofs, `vanilla` gives the vanilla state of any paths,
    `paths` are all that the patches of the tree touch.
    """
    configuration = CONFIGURATION

    def __init__(self, context, facts, vanilla, paths):
        self.context, self.facts, self.vanilla = context, facts, vanilla
        self.paths = {path for path in paths if not is_test(path)}
        self.environ = compiling(context)
        self.work, self.source = context.work, context.source
        self.builddir = self.source / 'builddir-prove'
        self.laid = self.work / 'laid'              # paths that were ever written
        self.to_configure = self.work / 'to-configure'

    def _run(self, *command, log, tell=lambda done, of: None):
        """Runs a command with its output in a log: whether it succeeded."""
        with log.open('a', encoding='utf-8') as file, \
                subprocess.Popen(command, env=self.environ, cwd=self.source, text=True,
                                 errors='replace', stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            for line in process.stdout:
                file.write(line)
                if step := ninja(line):
                    tell(*step)
        return process.returncode == 0

    def prepare(self, say):
        """Unpacks the source, where it is not there; refuses where it could not be compiled."""
        free = shutil.disk_usage(self.work).free // 1_000_000
        if not (self.builddir / 'build.ninja').exists() and free < ROOM:
            raise Failure(f'only {free} MB are free in {self.work}, and the proofs compile {ROOM} '
                          'there', f'make room on the file system of {TOP}')
        if not self.source.is_dir():
            for old in self.work.glob('mariadb-*'):
                shutil.rmtree(old)      # of another release
            say(f'unpacking {self.source.name}')
            part = self.work / '.unpack'
            shutil.rmtree(part, ignore_errors=True)
            tarballs.extract(self.context.version, None, part)
            self.laid.unlink(missing_ok=True)
            part.rename(self.source)

    def _laid(self):
        """The paths that were ever written."""
        return set(self.laid.read_text().split('\n')[:-1]) if self.laid.exists() else set()

    def switch(self, state):
        """Brings the source into a state: vanilla but for the paths in it."""
        laid = self._laid() | set(state)
        write_whole(self.laid, ''.join(f'{path}\n' for path in sorted(laid)))
        for path, content in {**self.vanilla(laid), **state}.items():
            file = self.source / path
            present = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
            if present == content:
                continue
            # cmake looks for directories of plugins, and at its own files
            if not is_test(path) and (not present or not content or file.name == 'CMakeLists.txt'
                                      or file.suffix in ('.cmake', '.in')):
                self.to_configure.touch()
            if content:
                self._write(file, content, present)
            else:
                self._remove(file)

    def _write(self, file, content, present):
        """Writes a file of the source whole, with the mode that it has where it is present."""
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f'.{file.name}.part')
        part.write_bytes(self.facts.content(content))
        if present:
            part.chmod(file.stat().st_mode)
        part.replace(file)

    def _remove(self, file):
        """Removes a file of the source, and the directories that it leaves empty."""
        file.unlink()
        for directory in file.parents:
            if directory == self.source or any(directory.iterdir()):
                break
            directory.rmdir()

    def different(self, state):
        """The part of a state that is not vanilla's."""
        vanilla = self.vanilla(state)
        return {path: content for path, content in state.items() if content != vanilla[path]}

    def configure(self, log):
        """Runs cmake where the configuration, or a file that it reads, has changed: whether it
        succeeded."""
        launcher = f'{KEEP_WARNINGS};{self.environ["MILLRACE_LAUNCHER"]}'
        initial = [word for name in self.configuration
                   for word in ('-C', str(TOP / 'build/cmake' / name))]
        if not self._run(str(CONFIGURE), self.builddir.name, *initial,
                         f'-DCMAKE_C_COMPILER_LAUNCHER={launcher}',
                         f'-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}', log=log):
            return False
        # with what it has found out of the machine: that takes a minute
        if self.to_configure.exists() and not self._run('cmake', self.builddir.name, log=log):
            return False
        self.to_configure.unlink(missing_ok=True)
        return True

    def _ask_ninja(self, *words):
        """The output of a tool of ninja about the build."""
        return subprocess.run(['ninja', '-C', self.builddir, '-t', *words], text=True,
                              capture_output=True, check=True).stdout

    @functools.cached_property
    def includes(self):
        """The Includes of vanilla."""
        vanilla = self.vanilla(self._laid() | self.paths)
        return Includes(self.source, {path: self.facts.content(content) if content else None
                                      for path, content in vanilla.items()})

    def objects(self, paths):
        """The objects of the whole build that these paths can change."""
        reach, source = self.includes.reach(paths), self.source.resolve()
        built = set(self._ask_ninja('inputs', 'all').splitlines())
        return [edge['output'] for edge in json.loads(self._ask_ninja('compdb'))
                if edge['output'].endswith('.o') and edge['output'] in built
                and os.path.relpath(os.path.join(edge['directory'], edge['file']),
                                    source) in reach]

    def kept_warnings(self, objects):
        """{object: its warnings}, of those that have any."""
        kept = {}
        for name in objects:
            file = self.builddir / f'{name}.said'
            if file.exists() and file.stat().st_size:
                if warnings := normalized(file.read_text(errors='replace')):
                    kept[name] = warnings
        return kept

    def made_from(self, paths):
        """How many objects are made from any of these paths, by ninja's own record."""
        wanted = {f'    ../{path}' for path in paths}
        blocks = self._ask_ninja('deps').split('\n\n')
        return sum(not wanted.isdisjoint(block.split('\n')) for block in blocks)

    def make(self, state, log, tell, paths=None):
        """Compiles the objects of a state that these paths can change, or makes the whole build:
        lines that show a failure, or None."""
        self.switch(state)
        log.unlink(missing_ok=True)
        if not self.configure(log):
            return ['cmake fails', *self._errors(log, 'CMake Error')]
        command = ['ninja', '-C', str(self.builddir), '-k0', f'-j{self.environ["JOBS"]}']
        objects = [] if paths is None else self.objects(paths)
        if (objects or paths is None) and not self._run(*command, *objects, log=log, tell=tell):
            return self._errors(log, 'error: ')
        return None

    def _errors(self, log, word):
        """The lines of a log with a word in them, or where the log is."""
        lines = [line for line in log.read_text(encoding='utf-8').splitlines() if word in line]
        return lines[:8] or [f'see {log}']

    def warnings(self, state, log, tell):
        """Compiles the objects that a state can change, or those of vanilla that any patch can:
        {'failed': lines}, or {'compiled': how many these are, 'changed': how many of them are
        made from files that are not vanilla's, 'warnings': {object: [warning]}}.
        """
        different = {path: content for path, content in self.different(state).items()
                     if not is_test(path)}
        paths = set(different) or self.paths
        key = digest('compile', self.context.sha256, toolchain(), different or sorted(paths))
        fact = self.facts.get(key)
        if fact is None:
            failed = self.make(state, log, tell, paths)
            if failed:
                return {'failed': failed}       # not kept: the disk may have been full
            objects = self.objects(paths)
            fact = self.facts.learn(key, {'compiled': len(objects),
                                          'changed': self.made_from(different),
                                          'warnings': self.kept_warnings(objects)})
        return fact
