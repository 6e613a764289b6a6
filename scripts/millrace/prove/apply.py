"""Proof that patches apply: to the vanilla files, in series order, with fuzz 0.

A state is {path: SHA-256 of the file, or None where there is none} for all paths that
any patch of the series is about; the contents are among the Facts.  The subsets are a
prefix tree (series.closed_subsets): each is the one without its last patch and one
application more.  That application is done once for the same patch on the same files, in
however many subsets and runs it occurs.
"""
import subprocess
import tarfile
import tempfile
from pathlib import Path

from millrace.command import environment
from millrace.prove.facts import digest

# as quilt calls it (quilt push --fuzz=0), but for the backups that it pops with
PATCH = ('patch', '-p1', '--fuzz=0', '-f', '--no-backup-if-mismatch', '--reject-file=-')


def vanilla(facts, tarball, sha256, paths):
    """State of some paths of the vanilla tarball; extracted once, all at a time."""
    key = digest('vanilla', sha256)
    known = facts.get(key) or {}
    missing = {path for path in paths if path not in known}
    if missing:
        extracted = dict.fromkeys(missing)
        with tarfile.open(tarball, 'r|gz') as archive:
            for member in archive:
                path = member.name.partition('/')[2]
                if path in missing and member.isfile():
                    extracted[path] = facts.add(archive.extractfile(member).read())
        known = facts.learn(key, {**known, **extracted})
    return {path: known[path] for path in paths}


def lay(facts, state, directory):
    """Writes the files of a state below a directory."""
    for path, content in state.items():
        if content:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(facts.content(content))


def telling(output):
    """The lines of patch's output that show why it failed."""
    lines = [line for line in output.splitlines() if 'succeeded' not in line] + ['']
    return [line for line, after in zip(lines, lines[1:])
            if not (line.startswith('patching file')
                    and (not after or after.startswith('patching file')))]


def apply_one(facts, patch, state):
    """A patch applied to a state: {'files': the state after it, 'moved': its offsets}, or
    {'failed': the lines of patch that show it}."""
    before = {path: state[path] for path in patch.paths}
    key = digest('apply', PATCH, patch.sha256, before)
    fact = facts.get(key)
    if fact is not None:
        return fact
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        lay(facts, before, directory)
        done = subprocess.run([*PATCH, '-i', patch.file.resolve()], cwd=directory, text=True,
                              errors='replace', capture_output=True, check=False,
                              env=environment(LC_ALL='C'))
        if done.returncode:
            return facts.learn(key, {'failed': telling(done.stdout)[:12]})
        files = {path: facts.add((directory / path).read_bytes())
                 if (directory / path).is_file() else None for path in patch.paths}
    moved = [line for line in done.stdout.splitlines() if 'offset' in line]
    return facts.learn(key, {'files': files, 'moved': moved})


def apply_subsets(facts, patches, subsets, state, tell=lambda done, of: None):
    """Applies every subset: {subset: {'state':, 'moved':} or {'failed':, 'at':}}.

    `patches` is {name: Patch}, `state` the vanilla one.  A subset that goes on from one that
    failed has failed with it; 'at' is the smallest, by the patch that it ends with.
    """
    applied = {(): {'state': state, 'moved': []}}
    for number, subset in enumerate(subsets, 1):
        if subset:
            before = applied[subset[:-1]]
            if 'failed' in before:
                applied[subset] = before
            else:
                fact = apply_one(facts, patches[subset[-1]], before['state'])
                if 'failed' in fact:
                    applied[subset] = {'failed': fact['failed'], 'at': subset}
                else:
                    applied[subset] = {'state': {**before['state'], **fact['files']},
                                       'moved': fact['moved']}
        tell(number, len(subsets))
    return applied
