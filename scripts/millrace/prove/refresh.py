"""Proof that refresh is a fixed point: what quilt exports is the committed patch, byte for byte."""
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from millrace.apply import lay
from millrace.kept import digest
from millrace.series import TOP

REFRESH = TOP / 'build/refresh-top'


def unchanged(kept, patches, state):
    """Refreshes each patch of the series in its place: {name: what differs, as a list}.

    `patches` is {name: Patch}, all of which apply to `state`, the vanilla one.
    """
    key = digest('refresh', REFRESH.read_text(), state, [patch.sha256 for patch in patches.values()])
    fact = kept.fact(key)
    if fact is not None:
        return fact
    with tempfile.TemporaryDirectory() as directory:
        tree, copies = Path(directory) / 'tree', Path(directory) / 'patches'
        lay(kept, state, tree)
        copies.mkdir()
        tree.mkdir(exist_ok=True)
        for patch in patches.values():
            shutil.copy(patch.file, copies)
        (copies / 'series').write_text(''.join(f'{name}.patch\n' for name in patches))

        def run(*words):
            subprocess.run(words, cwd=tree, text=True, capture_output=True, check=True,
                           env={**os.environ, 'QUILT_PATCHES': str(copies), 'QUILT_SERIES': str(copies / 'series')})

        found = {}
        if patches:
            run('quilt', '--quiltrc', '-', 'push', '-a', '--fuzz=0')
        for name, patch in reversed(patches.items()):
            run(REFRESH)
            after = (copies / f'{name}.patch').read_bytes()
            found[name] = []
            if hashlib.sha256(after).hexdigest() != patch.sha256:
                done = subprocess.run(['diff', '-U0', patch.file.resolve(), copies / f'{name}.patch'], text=True,
                                      errors='replace', capture_output=True, check=False)
                found[name] = done.stdout.splitlines()[2:12]
            run('quilt', '--quiltrc', '-', 'pop')
    return kept.learn(key, found)
