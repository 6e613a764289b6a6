"""Proof that a refresh is a fixed point: quilt writes the committed patch, byte for byte."""
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from millrace.patches.quilt import REFRESH_TOP, quilt, refresh_top
from millrace.prove.apply import lay
from millrace.prove.facts import digest


def refreshed(facts, patches, state):
    """Refreshes each patch of the series in its place: {name: the lines that differ}.

    `patches` is {name: Patch}, all of which apply to `state`, the vanilla one.
    """
    key = digest('refresh', REFRESH_TOP.read_text(encoding='utf-8'), state,
                 [patch.sha256 for patch in patches.values()])
    fact = facts.get(key)
    if fact is not None:
        return fact
    with tempfile.TemporaryDirectory() as directory:
        source, copies = Path(directory) / 'source', Path(directory) / 'patches'
        source.mkdir()
        lay(facts, state, source)
        copies.mkdir()
        for patch in patches.values():
            shutil.copy(patch.file, copies)
        (copies / 'series').write_text(''.join(f'{name}.patch\n' for name in patches))
        names = {'QUILT_PATCHES': copies, 'QUILT_SERIES': copies / 'series'}
        differing = {}
        if patches:
            quilt(source, 'push', '-a', '--fuzz=0', **names)
        for name, patch in reversed(patches.items()):
            refresh_top(source, **names)
            after = copies / f'{name}.patch'
            differing[name] = []
            if hashlib.sha256(after.read_bytes()).hexdigest() != patch.sha256:
                done = subprocess.run(['diff', '-U0', patch.file.resolve(), after], text=True,
                                      errors='replace', capture_output=True, check=False)
                differing[name] = done.stdout.splitlines()[2:12]
            quilt(source, 'pop', **names)
    return facts.learn(key, differing)
