"""The record of what was proven, in test-results/proofs/<tree>.json, which is committed.

A proof is about the change that one patch makes, on what it needs ('patch'), about what
of it is compiled ('source'), with the tests that it names ('tests'), about those of the
whole series ('series', 'sources'), or about the files of the series, headers and all
('files'), on one tarball.  It stands under the hash of just that: a patch that changed is
not proven until it is proven again, but a better Description takes nothing back, nor does
another test what the compiler said.
"""
import dataclasses
import json

from millrace import diff, series
from millrace.header import read_header
from millrace.kept import digest
from millrace.patchfile import is_test, read

# what is proven of a patch, as the table names it: what the proof is about
PROOFS = {
    'applies alone': 'patch',
    'in every subset': 'series',
    'refresh': 'files',
    'builds alone': 'source',
    'with the others': 'sources',
    'tests': 'tests',
}


def record_file(tree):
    """Where the record of a tree is."""
    return series.TOP / 'test-results/proofs' / f'{tree}.json'


def compiled(file):
    """What a patch does to files that are compiled or configure, as what JSON can say."""
    return [dataclasses.astuple(each) for each in diff.parse(diff.split(diff.read(file))[1]) if not is_test(each.path)]


def keys(tree, sha256):
    """{patch: {proof: the key of what it is about now}}, `sha256` the tarball's."""
    needs = series.depends(tree)
    patches = {name: read(series.patch_file(tree, name)) for name in needs}
    changes = {name: patch.change for name, patch in patches.items()}
    sources = {name: compiled(patch.file) for name, patch in patches.items()}
    about = {}
    for name, patch in patches.items():
        chain = series.closure([name], needs)
        on = [(needed, changes[needed]) for needed in chain]
        about[name] = {'patch': on, 'source': [(needed, sources[needed]) for needed in chain],
                       'tests': [on, read_header(patch.file).fields.get('Test')],
                       'series': list(changes.items()), 'sources': list(sources.items()),
                       'files': [(of, each.sha256) for of, each in patches.items()]}
    return {name: {proof: digest(sha256, about[name][what])[:16] for proof, what in PROOFS.items()} for name in needs}


def load(tree):
    """The record of a tree: {patch: {proof: 'verdict date key'}}."""
    file = record_file(tree)
    return json.loads(file.read_text(encoding='utf-8')) if file.exists() else {}


def verdicts(tree):
    """{patch: {proof: verdict}} as far as it was proven for the patches as they are now."""
    known = load(tree)
    return {name: {proof: verdict if found == key else 'not proven'
                   for proof, key in proofs.items()
                   for verdict, _, found in [known.get(name, {}).get(proof, '- - -').split()]}
            for name, proofs in keys(tree, series.release(tree)['SHA256']).items()}


def update(tree, found, date):
    """Takes up what was found, {patch: {proof: verdict}}; what stays the same keeps its date."""
    known, made = load(tree), {}
    for name, proofs in keys(tree, series.release(tree)['SHA256']).items():
        made[name] = {}
        for proof, key in proofs.items():
            before = known.get(name, {}).get(proof, '- - -')
            verdict = found.get(name, {}).get(proof, before.split()[0] if before.endswith(key) else None)
            if verdict:
                same = before.split()[::2] == [verdict, key]
                made[name][proof] = before if same else f'{verdict} {date} {key}'
    if made != known:
        record_file(tree).parent.mkdir(parents=True, exist_ok=True)
        record_file(tree).write_text(json.dumps(made, indent=1) + '\n', encoding='utf-8')
