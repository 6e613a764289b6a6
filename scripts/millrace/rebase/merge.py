"""Carrying a series to another release, by three-way merges.

The files that the series touches are put into a throw-away git repository, as
the old release has them and as the new one has them.  The old series is applied
to the old ones; each step of it is then merged into the new ones, one upon the
other, as the series is applied.  The outcome is written as a patch again.
"""
import re
import subprocess
import tempfile
from pathlib import Path

from millrace.command import environment
from millrace.errors import Failure
from millrace.patches import diff, quilt
from millrace.rebase.report import Carried, compare, regions
from millrace.patches.repository import ENDINGS, Repository
from millrace.upstream import tarballs


class Bases:
    """The files that a series touches, as two releases have them, in one repository."""

    def __init__(self, place, old, new, patches):
        paths = set().union(*map(diff.paths, patches))
        tarballs.extract(old, paths, place / 'old')
        tarballs.extract(new, paths, place / 'new')
        gone = [path for path in paths
                if (place / 'old' / path).exists() and not (place / 'new' / path).exists()]
        if gone:        # to find them where upstream moved them
            added = tarballs.members(new) - tarballs.members(old)
            endings = {Path(path).suffix for path in gone}
            tarballs.extract(new, {path for path in added if Path(path).suffix in endings},
                             place / 'new')
        self.repository = Repository(place / 'git')
        self.old = self.repository.tree(place / 'old')
        self.new = self.repository.tree(place / 'new')
        self.changed = set(self.repository.changed(self.old, self.new))


def carry(bases, series, release, carried, by_hand):
    """Carries a series, {name: text}, to a release: a Carried for each patch.

    `carried` has the patches that are done, {name: text}, those of `by_hand` by a person.
    The patches after one that conflicts are tried without it.
    """
    repository, old, new = bases.repository, bases.old, bases.new
    results, without = [], []
    for name, text in series.items():
        after, message = repository.apply(old, diff.encode(text))
        if after is None:
            if not without:
                raise Failure(f"patch '{name}' does not apply to the release that it is for",
                              message.strip()[:400], 'mend it there first: make prove')
            results.append(Carried(name, 'not tried',
                                   notes=[f'applies only with {" ".join(without)}']))
            without.append(name)
            continue
        if name in carried:
            result = carry_done(repository, name, carried[name], name in by_hand, new)
        else:
            result = carry_one(repository, (old, new, after), name, text, release)
        results.append(result)
        judge(result, text, bases, (old, after))
        if result.state == 'conflict':
            without.append(name)
        elif result.upstream:
            old = after
        else:
            old, new = after, result.merged
    dropped = {result.name for result in results if result.upstream}
    for result in results:
        if result.text and result.name not in dropped:
            need_no_more(result, dropped)
    return results


def carry_done(repository, name, text, by_hand, new):
    """The Carried of a patch that is carried already, in an earlier run or by a person."""
    merged, message = repository.apply(new, diff.encode(text))
    if merged is None:
        raise Failure(f"the patch '{name}', carried before, does not apply any more",
                      message.strip()[:400])
    return Carried(name, 'resolved' if by_hand else '', text, before=new, merged=merged)


def carry_one(repository, trees, name, text, release):
    """Merges a patch into the new release: its Carried, not judged yet.

    `trees` are the old release before the patch, the new one, and the old one after it."""
    old, new, after = trees
    merge = repository.merge(old, new, after, (release, name))
    result = Carried(name, before=new, merged=merge.tree)
    if merge.conflicts:
        gone = {entry.old for entry in diff.parse(text) if not entry.new}
        result.state, result.conflicts = 'conflict', merge.conflicts
        result.deletes = tuple(path for path in merge.conflicts if path in gone)
        result.notes += [message for message in merge.messages
                         if not message.startswith('Merge conflict in ')]
        result.regions = [region for path, text in repository.read(merge.tree,
                                                                   merge.conflicts).items()
                          for region in regions(path, text)]
    elif merge.tree != new:
        result.text = quilt.text(diff.split(text)[0], repository, new, merge.tree)
    return result


def need_no_more(result, dropped):
    """Takes the patches that are dropped out of a patch's Depends."""
    head, body = diff.split(result.text)
    match = re.search('^Depends: *(.*)$', head, re.MULTILINE)
    needed = match[1].split() if match else []
    left = [name for name in needed if name not in dropped]
    if left != needed:
        depends = f'Depends: {" ".join(left) or "none"}'
        result.text = f'{head[:match.start()]}{depends}{head[match.end():]}{body}'
        result.notes.append('Depends no more on '
                            + ' '.join(name for name in needed if name in dropped))


def judge(result, text, bases, step):
    """Sets the state, the hunks and the notes of a Carried, from its text before and after.

    `step` are the git trees of the old release before and after the patch."""
    if result.state != 'conflict':
        result.hunks, notes = compare(text, result.text or '', result.state == 'resolved')
        result.notes += notes
        bare = result.text and only_tests(result.text) and not only_tests(text)
        if bare:
            result.notes.append('nothing but its tests is left')
        # what a person has left of it is for that person to drop
        if not result.text or bare and result.state != 'resolved':
            result.state = 'already upstream'
        elif not result.state:
            merged = result.hunks['merged'] or result.hunks['gone']
            result.state = 'unchanged' if result.text == text else 'merged' if merged else 'moved'
    for entry in diff.parse(text):
        if entry.old in bases.changed \
                and entry.old.endswith(tuple(f'.{ending}' for ending in ENDINGS)):
            both = (bases.repository.functions(bases.old, bases.new, entry.old)
                    & bases.repository.functions(*step, entry.old))
            result.notes += [f'context changed: {entry.old}: upstream changed too: `{function}`'
                             for function in sorted(both)]


def only_tests(text):
    """Whether a patch touches upstream's test suite and nothing else."""
    return all(diff.is_test(entry.path) for entry in diff.parse(text))


def check_applies(bases, results):
    """Applies the carried series with fuzz 0.  Raises Failure where that fails, or where it
    does not make the files that were merged."""
    carried = [result for result in results if result.text and not result.upstream]
    paths = set().union(*(diff.paths(result.text) for result in carried))
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        bases.repository.write(bases.new, paths, Path(place))
        for result in carried:
            message = patch(result.text, place)
            if message is not None:
                raise Failure(f"the carried patch '{result.name}' does not apply with fuzz 0",
                              message)
        merged = bases.repository.read(carried[-1].merged, paths) if carried else {}
        wrong = [path for path in merged if merged[path] != content(Path(place, path))]
    if wrong:
        raise Failure('the carried series does not make the files that were merged',
                      *sorted(wrong))


def dependent(bases, results):
    """The names of the carried patches that do not apply alone, with fuzz 0."""
    names = []
    for result in results:
        if result.text and not result.upstream:
            with tempfile.TemporaryDirectory(prefix='millrace-') as place:
                bases.repository.write(bases.new, diff.paths(result.text), Path(place))
                if patch(result.text, place) is not None:
                    names.append(result.name)
    return names


def patch(text, directory):
    """Applies a patch in a directory with fuzz 0: None, or what patch prints where it fails."""
    done = subprocess.run(['patch', '-p1', '--fuzz=0', '--no-backup-if-mismatch', '--force'],
                          cwd=directory, input=diff.encode(text), capture_output=True,
                          check=False, env=environment(LC_ALL='C'))
    return done.stdout.decode(errors='replace') if done.returncode else None


def content(path):
    """A file's bytes, or None."""
    return path.read_bytes() if path.exists() else None
