"""Patches written by quilt, in the one form that all of ours have."""
import subprocess
import tempfile
from pathlib import Path

from millrace import TOP
from millrace.command import environment
from millrace.errors import Failure
from millrace.patches import diff

NONE = '/dev/null'
REFRESH_TOP = TOP / 'build/lib/refresh-top'


def quilt(source, *words, **variables):
    """The output of quilt in a source, without anybody's quiltrc.  Raises Failure."""
    return run(source, 'quilt', '--quiltrc', '-', *words, **variables)


def refresh_top(source, **variables):
    """Writes the top patch of a source anew, in the form of ours.  Raises Failure."""
    run(source, REFRESH_TOP, **variables)


def run(source, *command, **variables):
    """The output of a command of quilt in a source.  Raises Failure."""
    done = subprocess.run(command, cwd=source, check=False, text=True, errors='replace',
                          capture_output=True, env=environment(**variables))
    if done.returncode:
        raise Failure(f'{" ".join(map(str, command))} failed in {source}',
                      (done.stderr + done.stdout)[-1000:])
    return done.stdout


def text(header, repository, old, new):
    """The text of the patch with this header that makes a git tree of another.

    It is what build/lib/refresh-top writes; quilt takes a hundred processes for it."""
    paths = repository.changed(old, new)
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        for side, tree in (('a', old), ('b', new)):
            repository.write(tree, paths, Path(place, side))
        return header + ''.join(difference(place, path) for path in paths)


def difference(place, path):
    """The diff of a file from place/a to place/b.  Raises Failure."""
    old, new = f'a/{path}', f'b/{path}'
    if not Path(place, old).exists() or not Path(place, old).stat().st_size:
        old = NONE      # quilt takes an empty file for none
    if not Path(place, new).exists():
        new = NONE
    done = subprocess.run(['diff', '-p', '-u', '--label', old, '--label', new, old, new],
                          cwd=place, capture_output=True, check=False,
                          env=environment(LC_ALL='C.UTF-8'))
    if done.returncode > 1 or done.stdout.startswith(b'Binary files '):
        raise Failure(f'{path}: quilt cannot write how it differs',
                      (done.stderr or done.stdout).decode(errors='replace'))
    return diff.decode(done.stdout)


def begin(source, patch, header, repository, new, paths):
    """Begins a patch on top of a source: its header, and its files as the git tree `new` has
    them; not refreshed yet."""
    quilt(source, 'new', patch.name)
    patch.write_bytes(diff.encode(header))
    quilt(source, 'add', *paths)
    repository.write(new, paths, source)
