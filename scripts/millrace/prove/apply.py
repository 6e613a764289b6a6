"""Proof that patches apply: to the vanilla files, in series order, with fuzz 0.

A patch applies to each file by itself.  So a subset of the series applies if, in each file, those
of its patches that change the file do.  What is proven is therefore not each subset of the series,
of which one more patch makes twice as many, but, file by file, each different choice that the
subsets closed under Depends make among the patches of that file.  These choices are a prefix tree
(series.closed_subsets): each is the one without its last patch and one application more.

A state is {path: SHA-256 of the file, or None where there is none}; the contents are among the
Facts, where each application is kept under the part of the patch and the content that it met.
"""
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from millrace.command import environment
from millrace.patches.diff import encode, parts, read
from millrace.patches.series import closed_subsets, closure
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


def apply_part(facts, part, path, before):
    """The part of a patch about a file applied to a content: {'file': the content after it,
    'moved': its offsets}, or {'failed': the lines of patch that show it}."""
    key = digest('apply', PATCH, part, before)
    fact = facts.get(key)
    if fact is not None:
        return fact
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        lay(facts, {path: before}, directory)
        done = subprocess.run(PATCH, input=encode(part), cwd=directory, capture_output=True,
                              check=False, env=environment(LC_ALL='C'))
        said = done.stdout.decode(errors='replace')
        if done.returncode:
            return facts.learn(key, {'failed': telling(said)[:12]})
        file = directory / path
        after = facts.add(file.read_bytes()) if file.is_file() else None
    moved = [line for line in said.splitlines() if 'offset' in line]
    return facts.learn(key, {'file': after, 'moved': moved})


def choices(needs, changed):
    """The choices that the closed subsets make among some patches, a prefix tree.

    `needs` as series.depends() has it, `changed` some of its names in its order."""
    within = {name: [other for other in closure([name], needs)
                     if other != name and other in changed] for name in changed}
    return closed_subsets(within)


def apply_choices(facts, path, changes, chosen, vanilla):
    """Applies each choice among the patches of a file: {choice: {'file':, 'moved':} or
    {'failed':, 'at':}}.

    `changes` is {patch: its part about the file}, `chosen` the choices, `vanilla` the file.  A
    choice that goes on from one that failed has failed with it; 'at' is the smallest, by the
    patch that it ends with.
    """
    applied = {(): {'file': vanilla, 'moved': []}}
    for choice in chosen[1:]:
        before = applied[choice[:-1]]
        if 'failed' in before:
            applied[choice] = before
            continue
        outcome = apply_part(facts, changes[choice[-1]], path, before['file'])
        applied[choice] = {**outcome, 'at': choice} if 'failed' in outcome else outcome
    return applied


@dataclass(frozen=True)
class Applied:
    """How the series applies to vanilla files."""
    needs: dict         # {patch: the patches that it needs}
    changed: dict       # {path: the patches that change the file}
    outcomes: dict      # {path: {choice: outcome}}, as apply_choices() has it

    def state(self, subset):
        """The state of the files with a closed subset applied; None where it does not apply."""
        outcomes = {path: self.outcomes[path][tuple(name for name in names if name in subset)]
                    for path, names in self.changed.items()}
        if any('failed' in outcome for outcome in outcomes.values()):
            return None
        return {path: outcome['file'] for path, outcome in outcomes.items()}

    def failed(self):
        """{subset: lines that show it} for the smallest subsets that do not apply, by the patch
        that each ends with; closed, so that they can be made."""
        failed = {}
        for of in self.outcomes.values():
            for at in {outcome['at']: None for outcome in of.values() if 'failed' in outcome}:
                failed.setdefault(closure(at, self.needs), []).extend(of[at]['failed'])
        return {at: lines for at, lines in failed.items()
                if not any(set(other) < set(at) and other[-1] == at[-1] for other in failed)}


def apply_series(facts, needs, patches, vanilla, tell=lambda done, of: None):
    """Applies what the closed subsets of the series make of each file.  Returns Applied.

    `needs` as series.depends() has it, `patches` is {name: Patch}, `vanilla` a state."""
    changes = {}
    for name in needs:
        for path, part in parts(read(patches[name].file)).items():
            changes.setdefault(path, {})[name] = part
    changed = {path: tuple(changes[path]) for path in sorted(changes)}
    chosen = {path: choices(needs, names) for path, names in changed.items()}
    outcomes, done, total = {}, 0, sum(map(len, chosen.values()))
    for path, of in chosen.items():
        outcomes[path] = apply_choices(facts, path, changes[path], of, vanilla[path])
        tell(done := done + len(of), total)
    return Applied(needs, changed, outcomes)
