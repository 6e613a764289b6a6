"""Copies of the checkout, free to be broken, and running their commands."""
import compileall
import copy
import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from millrace import TOP
from millrace.upstream import pins

CACHE = Path(os.environ.get('MILLRACE_CACHE') or TOP / 'cache')
TREE = os.environ.get('TREE') or pins.default_tree()
# tests of what no tree changes
ONCE = pytest.mark.skipif(TREE != pins.default_tree(),
                          reason=f'the same for every tree: run with {pins.default_tree()}')
# tests of make release
PYPI = pytest.mark.skipif(not (CACHE / 'python').is_dir(),
                          reason=f'there is no {CACHE}/python: build/setup release')
# what a copy has: all that the commands under test read
PARTS = ('Makefile', 'README.md', 'SECURITY.md', 'series', 'build', 'debian', 'docs', 'rpm',
         'patches', 'scripts', 'trees')
# variables of the caller's that would change what a command of the copy does
REACHES_IN = ('PATCHES', 'VERSION', 'TARBALL', 'UPSTREAM', 'SHA256', 'PROFILE', 'MAKE', 'MFLAGS',
              'MILLRACE_', 'GIT_', 'QUILT_', 'CDPATH')
# the words with which these programs do not wait before they try again
IMPATIENT = {'curl': '--retry 0', 'apt-get': '-o Acquire::Retries=0'}
# that all packages are there, as build/setup notes it
COMPLETE = 'work/.complete-packages'

# the copies have the compiled modules, too: their commands start in three quarters of the time
compileall.compile_dir(TOP / 'scripts', quiet=1)


@functools.cache
def packed():
    """A tar archive of the parts."""
    return subprocess.run(['tar', '-c', *PARTS], cwd=TOP, stdout=subprocess.PIPE,
                          check=True).stdout


class Checkout:
    """A copy of the project in a directory of its own, free to be broken."""

    def __init__(self, path):
        self.path = path
        self.cache = CACHE
        self.variables = {}     # of all its commands
        # in a fifth of the time that shutil.copytree takes, and hundreds of tests make one
        subprocess.run(['tar', '-x', '-C', path], input=packed(), check=True)

    def copy(self, place):
        """A copy of this one in a directory, with its cache, which stands beside it."""
        subprocess.run(['cp', '-a', self.path, self.cache, place], check=True)
        other = copy.copy(self)
        other.path, other.cache = place / self.path.name, place / self.cache.name
        return other

    def _take_note(self):
        """Lets make know that all packages are there, where it is known here: dpkg need not be
        asked again for each copy."""
        if (TOP / COMPLETE).exists() and not (self.path / 'work').exists():
            (self.path / 'work').mkdir()
            shutil.copy(TOP / COMPLETE, self.path / COMPLETE)

    def run(self, *command, prefix=(), **variables):
        """Runs a command of the copy: its exit status and all that it printed.

        A variable that is None is not in its environment."""
        if command[0] == 'make':
            self._take_note()
        env = {key: value for key, value in os.environ.items() if not key.startswith(REACHES_IN)}
        env.update({'MILLRACE_CACHE': str(self.cache), 'TREE': TREE, **self.variables,
                    **variables})
        env = {key: value for key, value in env.items() if value is not None}
        done = subprocess.run([*prefix, *map(str, command)], cwd=self.path, env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                              check=False)
        return done.returncode, done.stdout + done.stderr

    def run_offline(self, *command, **variables):
        """Runs a command of the copy without a network, as run() does.  What would be tried again
        later is tried once, as nothing changes meanwhile."""
        place = self.path.parent / 'impatient'
        place.mkdir(exist_ok=True)
        for name, words in IMPATIENT.items():
            (place / name).write_text(f'#!/bin/sh\nexec {shutil.which(name)} "$@" {words}\n')
            (place / name).chmod(0o755)
        return self.run(*command, prefix=('unshare', '-rn'), **variables,
                        PATH=f'{place}:{os.environ["PATH"]}')

    def write(self, name, text):
        """Writes a file of the copy."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding='utf-8')
