"""Patches written by quilt, in the one form that all of ours have."""
import subprocess
import tempfile
from pathlib import Path

from millrace import TOP
from millrace.command import environment
from millrace.errors import Failure
from millrace.patches import diff

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
    """The text of the patch with this header that makes a git tree of another."""
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        source, patches = Path(place, 'source'), Path(place, 'patches')
        source.mkdir()
        patches.mkdir()
        names = {'QUILT_PATCHES': patches, 'QUILT_SERIES': patches / 'series'}
        paths = repository.changed(old, new)
        repository.write(old, paths, source)
        begin(source, patches / 'it.patch', header, repository, new, paths, **names)
        refresh_top(source, **names)
        return diff.read(patches / 'it.patch')


def begin(source, patch, header, repository, new, paths, **variables):
    """Begins a patch on top of a source: its header, and its files as the git tree `new` has
    them; not refreshed yet."""
    quilt(source, 'new', patch.name, **variables)
    patch.write_bytes(diff.encode(header))
    quilt(source, 'add', *paths, **variables)
    repository.write(new, paths, source)
