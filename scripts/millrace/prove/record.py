"""The record of what was proven, in test-results/proofs/<tree>.json, which is committed.

A proof is about the change that a patch makes, on what it needs ('patch'), about what
of it is compiled ('source'), with the tests that it names ('tests'), with its mutations as
well ('mutations'), about those of the whole series ('series', 'sources'), or about the files
of the series, headers and all ('files'), on one tarball.  It stands under the hash of just
that.  So a patch that changed is not proven until it is proven again, but a better
Description takes nothing back, nor does another test take back the compilation.  Mutations
are in the whole series, but stand under their own patch: all others change too often.
"""
import json

from millrace import TOP
from millrace.files import read_json, write_whole
from millrace.patches import diff, mutations, series
from millrace.patches.header import read_header
from millrace.patches.patchfile import read
from millrace.prove.facts import digest
from millrace.upstream import pins

# what is proven of a patch, as the table names it: what the proof is about
PROOFS = {
    'applies alone': 'patch',
    'in every subset': 'series',
    'refresh': 'files',
    'builds alone': 'source',
    'with the others': 'sources',
    'tests': 'tests',
    'mutations': 'mutations',
}


def record_file(tree):
    """Path of the record of a tree."""
    return TOP / 'test-results/proofs' / f'{tree}.json'


def compiled(file):
    """A patch's changes to files that are compiled or configure, in values that JSON has."""
    return [(each.old, each.new, [(hunk.old, hunk.new, hunk.section, hunk.lines)
                                  for hunk in each.hunks])
            for each in diff.parse(diff.split(diff.read(file))[1])
            if not diff.is_test(each.path)]


def keys(tree, sha256):
    """{patch: {proof: the key of its present inputs}}; `sha256` is the tarball's."""
    needs = series.depends(tree)
    patches = {name: read(series.patch_file(tree, name)) for name in needs}
    changes = {name: patch.change for name, patch in patches.items()}
    sources = {name: compiled(patch.file) for name, patch in patches.items()}
    # of the whole series, so the same for each patch
    whole = {'series': list(changes.items()), 'sources': list(sources.items()),
             'files': [(name, patch.sha256) for name, patch in patches.items()]}
    whole = {subject: digest(sha256, about)[:16] for subject, about in whole.items()}
    made = {}
    for name, patch in patches.items():
        chain = series.closure([name], needs)
        on = [(needed, changes[needed]) for needed in chain]
        tested = [on, read_header(patch.file).fields.get('Test')]
        own = {'patch': on,
               'source': [(needed, sources[needed]) for needed in chain],
               'tests': tested,
               'mutations': [tested, [file.read_text(encoding='utf-8')
                                      for file in mutations.files(tree, name)]]}
        made[name] = {proof: whole.get(subject) or digest(sha256, own[subject])[:16]
                      for proof, subject in PROOFS.items()}
    return made


def load(tree):
    """The record of a tree: {patch: {proof: 'verdict date key'}}."""
    file = record_file(tree)
    return read_json(file) if file.exists() else {}


def entry(known, name, proof):
    """Verdict, date and key of a proof in a record; dashes where it has none."""
    return known.get(name, {}).get(proof, '- - -').split()


def verdicts(tree):
    """{patch: {proof: verdict}}: yes, no, or not proven for the patches as they are now."""
    known, made = load(tree), {}
    for name, proofs in keys(tree, pins.read(tree)['SHA256']).items():
        made[name] = {}
        for proof, key in proofs.items():
            verdict, _, proven = entry(known, name, proof)
            made[name][proof] = verdict if proven == key else 'not proven'
    return made


def update(tree, about, new, date):
    """Takes new verdicts into the record, {patch: {proof: verdict}}, under this date; an unchanged
    verdict keeps its date.  `about`, as keys() has it, is from before the proofs began, for a
    patch that was edited meanwhile is not proven."""
    known, made = load(tree), {}
    for name, proofs in about.items():
        made[name] = {}
        for proof, key in proofs.items():
            before, then, proven = entry(known, name, proof)
            verdict = new.get(name, {}).get(proof, before if proven == key else None)
            if verdict:
                same = (before, proven) == (verdict, key)
                made[name][proof] = f'{verdict} {then if same else date} {key}'
    if made != known:
        record_file(tree).parent.mkdir(parents=True, exist_ok=True)
        write_whole(record_file(tree), json.dumps(made, indent=1) + '\n')
