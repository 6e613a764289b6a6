"""Patches written by quilt, in the one form that all of ours have."""
import os
import subprocess
import tempfile
from pathlib import Path

from millrace import diff
from millrace.series import TOP


def quilt(tree, *words, **variables):
    """Runs quilt in a tree, without anybody's quiltrc."""
    return subprocess.run(['quilt', '--quiltrc', '-', *words], cwd=tree, check=True, text=True, capture_output=True,
                          env={**os.environ, **variables}).stdout


def text(header, repository, old, new):
    """The text of the patch with this header that makes one tree of another."""
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        tree, patches = Path(place, 'tree'), Path(place, 'patches')
        tree.mkdir()
        patches.mkdir()
        names = {'QUILT_PATCHES': str(patches), 'QUILT_SERIES': str(patches / 'series')}
        paths = repository.changed(old, new)
        repository.write(old, paths, tree)
        begin(tree, patches / 'it.patch', header, repository, new, paths, **names)
        subprocess.run([TOP / 'build/refresh-top'], cwd=tree, check=True, capture_output=True,
                       env={**os.environ, **names})
        return diff.read(patches / 'it.patch')


def begin(tree, patch, header, repository, new, paths, **variables):
    """Begins a patch on top of a tree: its header, and its files as they are in `new`; not refreshed yet."""
    quilt(tree, 'new', patch.name, **variables)
    patch.write_bytes(diff.encode(header))
    quilt(tree, 'add', *paths, **variables)
    repository.write(new, paths, tree)


