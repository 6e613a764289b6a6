"""What the packages' changelogs tell of earlier releases: trees/<tree>/released.json.

It has each release of the tree with its date, and its patches with a hash of what they change.
make tables takes a release in from its tag, once the tree is pinned to the next revision: the
packages are made from the files of a commit alone, and tags are none.
"""
import hashlib
import json
import re

from millrace import TOP
from millrace.files import read_json
from millrace.patches import diff
from millrace.patches.header import parse


def file(tree):
    """Where the releases of a tree are kept."""
    return TOP / 'trees' / tree / 'released.json'


def read(tree):
    """{revision: {'date': ISO date, 'patches': {name: {'synopsis':, 'changes':}}}}, the first
    release first."""
    path = file(tree)
    return read_json(path) if path.exists() else {}


def text(releases):
    """The text of the file with these releases."""
    def key(revision):
        return [int(number) for number in re.findall(r'\d+', revision)]
    ordered = {revision: releases[revision] for revision in sorted(releases, key=key)}
    return json.dumps(ordered, indent=1, ensure_ascii=False) + '\n'


def described(patches):
    """The patches of a release, {name: text}, as the file has them.

    Other line numbers, other lines around a change and other fields of a header are no change."""
    made = {}
    for name, patch in patches.items():
        changes = [(entry.old, entry.new, [hunk.changes for hunk in entry.hunks])
                   for entry in diff.parse(patch)]
        made[name] = {'synopsis': parse(name, patch).synopsis,
                      'changes': hashlib.sha256(json.dumps(changes).encode()).hexdigest()}
    return made


def news(before, after):
    """What became of patches between two releases, a text each; both as described() has them."""
    told = [f'{name}, {"new" if name not in before else "changed"}: {patch["synopsis"]}'
            for name, patch in after.items() if before.get(name) != patch]
    return told + [f'{name}, gone: {patch["synopsis"]}'
                   for name, patch in before.items() if name not in after]
