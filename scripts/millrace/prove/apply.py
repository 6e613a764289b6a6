"""Proof that patches apply: to the vanilla files, in series order, with fuzz 0.

A state is {path: SHA-256 of the file, or None where there is none} for all paths that
any patch of the series is about; the contents are in a Kept.  The subsets are a prefix
tree (series.closed_subsets): each is the one without its last patch and one
application more, and that application is done once for the same patch on the same
files, however many subsets and runs it comes up in.
"""
import subprocess
import tarfile
import tempfile
from pathlib import Path

from millrace.kept import digest

# as quilt calls it (quilt push --fuzz=0), but for the backups that it pops with
PATCH = ('patch', '-p1', '--fuzz=0', '-f', '--no-backup-if-mismatch', '--reject-file=-')


def vanilla(kept, tarball, sha256, paths):
    """State of the vanilla tarball; extracted once, all at a time."""
    key = digest('vanilla', sha256)
    known = kept.fact(key) or {}
    missing = {path for path in paths if path not in known}
    if missing:
        found = dict.fromkeys(missing)
        with tarfile.open(tarball, 'r|gz') as archive:
            for member in archive:
                path = member.name.partition('/')[2]
                if path in missing and member.isfile():
                    found[path] = kept.add(archive.extractfile(member).read())
        known = kept.learn(key, {**known, **found})
    return {path: known[path] for path in paths}


def lay(kept, state, tree):
    """Writes the files of a state below the directory `tree`."""
    for path, content in state.items():
        if content:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(kept.content(content))


def apply_one(kept, patch, state):
    """A patch on a state: {'files': what it leaves} or {'failed': what patch says}; 'moved' are its offsets."""
    before = {path: state[path] for path in patch.paths}
    key = digest('apply', PATCH, patch.sha256, before)
    fact = kept.fact(key)
    if fact is not None:
        return fact
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        lay(kept, before, tree)
        done = subprocess.run([*PATCH, '-i', patch.file.resolve()], cwd=tree, text=True, errors='replace',
                              capture_output=True, check=False)
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if 'succeeded' not in line] + ['']
            told = [line for line, after in zip(said, said[1:])
                    if not (line.startswith('patching file') and (not after or after.startswith('patching file')))]
            return kept.learn(key, {'failed': told[:12]})
        files = {path: kept.add((tree / path).read_bytes()) if (tree / path).is_file() else None
                 for path in patch.paths}
    moved = [line for line in done.stdout.splitlines() if 'offset' in line]
    return kept.learn(key, {'files': files, 'moved': moved})


def apply_subsets(kept, patches, subsets, state, tell=lambda done, of: None):
    """Applies every subset: {subset: {'state':, 'moved':} or {'failed':, 'at':}}.

    `patches` is {name: Patch}, `state` the vanilla one.  What goes on from a subset
    that failed has failed with it; 'at' is the one where it came up, by its last patch.
    """
    found = {(): {'state': state, 'moved': []}}
    for number, subset in enumerate(subsets, 1):
        if subset:
            before = found[subset[:-1]]
            if 'failed' in before:
                found[subset] = before
            else:
                fact = apply_one(kept, patches[subset[-1]], before['state'])
                if 'failed' in fact:
                    found[subset] = {'failed': fact['failed'], 'at': subset}
                else:
                    found[subset] = {'state': {**before['state'], **fact['files']}, 'moved': fact['moved']}
        tell(number, len(subsets))
    return found
