"""The edits in a patched source that no patch holds.

Usage: scripts/python -m millrace.unsaved [--drop] < PATHS

Compares these files of the patched source with what upstream and the applied patches make of
them; build/lib/unsaved calls it with the files that may differ.  Prints those that do, one a
line, and writes unsaved.diff beside the source.  With --drop it prints nothing, and puts them
back to what they should be.
"""
import fnmatch
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from millrace.command import environment, run_command
from millrace.context import resolve
from millrace.errors import Failure
from millrace.upstream import tarballs

# files that no patch need hold: of editors, patch, quilt, mysql-test-run and Python
LEFT = ('*.orig', '*.rej', '*.reject', '*.pyc', '*~', '.*', 'tags', 'TAGS', 'cscope.out',
        'compile_commands.json')
# files that a build of the Debian packages leaves in debian/
LEFT_IN_DEBIAN = (*LEFT, 'files', '*.substvars', '*.debhelper', '*.debhelper.log',
                  'debhelper-build-stamp', '*.keep', '*.give-back', 'autoreconf.*')
MANY = 1000


def is_left(path):
    """Whether a file that neither upstream nor a patch has is no edit."""
    patterns = LEFT_IN_DEBIAN if path.startswith('debian/') else LEFT
    return any(fnmatch.fnmatchcase(os.path.basename(path), pattern) for pattern in patterns)


def state(file):
    """The state of a file: its kind, whether it is executable, its content; None if missing."""
    try:
        mode = os.lstat(file).st_mode
        if stat.S_ISLNK(mode):
            return 'link', False, os.readlink(file)
        if stat.S_ISREG(mode):
            return 'file', bool(mode & 0o100), Path(file).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.filemode(mode), False, b''


class Expected:
    """The files as they should be, made in a scratch directory from the tarball and patches."""

    def __init__(self, context, scratch):
        self.context, self.scratch = context, scratch
        applied = context.source / '.pc/applied-patches'
        self.applied = applied.read_text(encoding='utf-8').split() if applied.exists() else []

    def find(self, paths):
        """{path: [a place with its expected content]}: several places where a patch has changed
        since it was applied."""
        holders = {path: self._holder(path) for path in paths}
        places = {holder: self._places(holder, [path for path in paths
                                                if holders[path] == holder])
                  for holder in set(holders.values())}
        return {path: [place / path for place in places[holders[path]]] for path in paths}

    def _holder(self, path):
        """The owner of a file: the last applied patch that has it, or upstream."""
        if path.startswith('debian/') and self._debian().is_dir():
            return 'debian'
        for patch in reversed(self.applied):
            if os.path.lexists(self.context.source / '.pc' / patch / path):
                return patch
        return ''

    def _debian(self):
        return self.context.work / 'debian'

    def _places(self, holder, paths):
        if holder == 'debian':
            return [self._debian().parent]
        if not holder:
            return [self._upstream(paths)]
        texts = [directory / holder
                 for directory in (self.context.patch_dir, self.context.work / 'applied')]
        made = [self._patched(holder, text) for text in texts if text.is_file()]
        return [place for place in made if place] or [self._before(holder)]

    def _upstream(self, paths):
        """Upstream's files of these, unpacked; what the tarball does not have is left out."""
        place = self.scratch / 'upstream'
        try:
            # tar compares each file with each name: all are unpacked sooner than many of them
            tarballs.extract(self.context.version, paths if len(paths) < MANY else None, place)
        except Failure as error:
            raise Failure(f'nobody knows what was edited in {self.context.source}', *error.lines,
                          'bring the tarball back: build/fetch') from None
        return place

    def _before(self, patch):
        """The files of a patch as they were before it, as quilt has kept them."""
        place = Path(tempfile.mkdtemp(dir=self.scratch))
        backup = self.context.source / '.pc' / patch
        for directory, _, names in os.walk(backup):
            for name in names:
                file = Path(directory, name)
                if file.is_symlink() or file.stat().st_size:     # empty: the file was not there
                    target = place / file.relative_to(backup)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, target, follow_symlinks=False)
        return place

    def _patched(self, patch, text):
        """The files of a patch with this text applied; None where it does not apply."""
        place = self._before(patch)
        done = subprocess.run(['patch', '-p1', '-f', '-s', '--fuzz=0', '--no-backup-if-mismatch',
                               '-d', place, '-i', text], capture_output=True, check=False)
        return place if done.returncode == 0 else None


def described(path, is_now, should_be):
    """A line about an edited file."""
    if is_now is None:
        return f'{path} (deleted)'
    if should_be and is_now[0] != should_be[0]:
        return f'{path} (a {is_now[0]})'
    if should_be and is_now[2] == should_be[2]:
        return f'{path} ({"executable" if is_now[1] else "not executable"})'
    return path


def write_diff(edited, source, target):
    """Writes how files differ, {path: its place where it is right}, as git writes it."""
    with tempfile.TemporaryDirectory() as scratch:
        for path, right in edited.items():
            for side, file in (('a', right), ('b', source / path)):
                if os.path.lexists(file):
                    copy = Path(scratch, side, path)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, copy, follow_symlinks=False)
        for side in 'ab':
            Path(scratch, side).mkdir(exist_ok=True)
        done = subprocess.run(
            ['git', 'diff', '--no-index', '--no-prefix', '--no-renames', '--no-color',
             '--no-ext-diff', '--binary', 'a', 'b'], cwd=scratch, capture_output=True, check=False,
            env=environment(GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_NOSYSTEM=1,
                            GIT_CEILING_DIRECTORIES=scratch))
        if done.returncode not in (0, 1):
            raise Failure(f'git diff failed with status {done.returncode}: the edits are not kept',
                          *done.stderr.decode(errors='replace').splitlines()[-5:])
        target.write_bytes(done.stdout)


def put_back(right, file):
    """Restores a file, with a new time, so that ninja compiles it again."""
    if os.path.lexists(file):
        file.unlink()
    if os.path.lexists(right):
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(right, file, follow_symlinks=False)


def main(argv):
    """Prints which files of the list on standard input are edited, or drops the edits."""
    context = resolve()
    paths = sys.stdin.read().splitlines()
    with tempfile.TemporaryDirectory() as scratch:
        edited, lines = {}, []
        for path, places in Expected(context, Path(scratch)).find(paths).items():
            is_now = state(context.source / path)
            rights = [state(place) for place in places]
            if is_now in rights or rights == [None] and is_left(path):
                continue
            edited[path] = places[0]
            lines.append(described(path, is_now, rights[0]))
        if edited:
            write_diff(edited, context.source, context.work / 'unsaved.diff')
        if argv == ['--drop']:
            for path, right in edited.items():
                put_back(right, context.source / path)
            return
    print('\n'.join(sorted(lines)), end='\n' if lines else '')


if __name__ == '__main__':
    run_command('unsaved', main)
