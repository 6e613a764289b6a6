"""Proof that a refresh is a fixed point: quilt writes the committed patch, byte for byte."""
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from millrace.patches.quilt import REFRESH_TOP, quilt, refresh_top
from millrace.prove.apply import lay
from millrace.prove.facts import digest


def refreshed(facts, patches, applied):
    """Refreshes each patch of the series in its place: {name: the lines that differ}.

    `patches` is {name: Patch}, all of which apply, as `applied` has it."""
    differing, before = {}, ()
    for name, patch in patches.items():
        state = applied.state(before)
        differing[name] = refreshed_one(facts, patch, {path: state[path] for path in patch.paths})
        before = (*before, name)
    return differing


def refreshed_one(facts, patch, state):
    """Refreshes a patch on the state of its files before it: the lines that differ."""
    key = digest('refresh', REFRESH_TOP.read_text(encoding='utf-8'), state, patch.sha256)
    fact = facts.get(key)
    if fact is not None:
        return fact
    with tempfile.TemporaryDirectory() as directory:
        source, copies = Path(directory) / 'source', Path(directory) / 'patches'
        source.mkdir()
        lay(facts, state, source)
        copies.mkdir()
        after = Path(shutil.copy(patch.file, copies))
        (copies / 'series').write_text(f'{after.name}\n')
        names = {'QUILT_PATCHES': copies, 'QUILT_SERIES': copies / 'series'}
        quilt(source, 'push', '--fuzz=0', **names)
        refresh_top(source, **names)
        differing = []
        if hashlib.sha256(after.read_bytes()).hexdigest() != patch.sha256:
            done = subprocess.run(['diff', '-U0', patch.file.resolve(), after], text=True,
                                  errors='replace', capture_output=True, check=False)
            differing = done.stdout.splitlines()[2:12]
    return facts.learn(key, differing)
