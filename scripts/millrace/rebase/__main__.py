"""Carries the series of a release tree to another upstream release.

Called by make rebase VERSION=x.y.z [TREE=10.11] [TARBALL=...] [CHECK=1].

Fetches the release and verifies its signature; merges each patch into it; says
of each whether it is

    unchanged         not a byte of its change is different
    moved             its hunks are at other lines, or in a file of another name
    merged            upstream changed lines around its hunks, or some of its hunks
    conflict          a person has to decide; where, and what stands there
    resolved          a person has decided
    already upstream  it is dropped, and from the Depends: of the others

and which functions it changes that upstream has changed as well.  When all
patches are carried, and apply with fuzz 0, patches/<tree> is rewritten and the
release is pinned in trees/<tree>/pin.conf.  Until then neither is touched.

A conflict leaves the patched source of the new release, with git's markers, in
work/<tree>/rebase-<version>/.  Edit there, make refresh VERSION=x.y.z, and run
this again: it goes on where it was.
"""
import os
import tempfile
from pathlib import Path

from millrace import TOP
from millrace.command import parser, run_command, say
from millrace.errors import Failure
from millrace.files import write_whole
from millrace.patches import diff, series
from millrace.rebase import merge
from millrace.rebase.report import report
from millrace.rebase.state import State
from millrace.upstream import pins, security, tarballs


def resume(state, old):
    """Begins a rebase of the series {name: text}, or goes on with it; returns the patches that
    are carried."""
    if state.begun:
        state.check_unchanged(old)
    else:
        state.begin(old)
    state.take_resolved()
    return state.carried()


def keep(state, results, repository):
    """Keeps the carried patches.  Raises Failure at the first conflict and names its source."""
    stopped = next((result for result in results if result.state == 'conflict'), None)
    for result in results[:results.index(stopped) if stopped else None]:
        if not result.upstream:
            write_whole(state.patches / f'{result.name}.patch', result.text)
    if stopped:
        state.leave_conflict(repository, results, stopped)
        raise Failure(f"patch '{stopped.name}' conflicts with {state.version}",
                      f'resolve it in {state.source}', f'then: {state.refresh}',
                      f'and:  make rebase TREE={state.tree} VERSION={state.version}')
    write_whole(state.dropped_file, ' '.join(result.name for result in results if result.upstream))


def install(state):
    """Ends a rebase in which every patch is carried."""
    state.install()
    say('rebase', f'patches/{state.tree} is for {state.version} now, and '
        f'trees/{state.tree}/pin.conf pins it; prove it: make prove')


def main(argv):
    """Carries the series, or goes on with that."""
    options = parser('scripts/rebase', __doc__)
    options.add_argument('--check', action='store_true', help='only report')
    options.add_argument('version', nargs='?', default='', help='the release: x.y.z')
    chosen = options.parse_args(argv)
    tree = os.environ.get('TREE') or pins.default_tree()
    pinned, version = pins.read(tree)['VERSION'], chosen.version
    if not version.replace('.', '').isdigit():
        raise Failure('which release?', f'make rebase TREE={tree} VERSION=x.y.z',
                      f'pinned now: {pinned}', 'newer ones: make upstream-watch')
    state = State(tree, version)
    if state.dropped_file.exists() and not chosen.check:
        return install(state)
    if version == pinned:
        raise Failure(f'tree {tree} is at {version} already')
    tarballs.fetch(tree)
    tarballs.fetch(tree, version)
    old = {name: diff.read(series.patch_file(tree, name)) for name in series.names(tree)}
    carried = {} if chosen.check else resume(state, old)
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        # a person may have resolved a conflict in other files than the series had
        bases = merge.Bases(Path(place), pinned, version, [*old.values(), *carried.values()])
        results = merge.carry(bases, old, version, carried, state.by_hand())
        merge.check_applies(bases, results)
        for name in merge.dependent(bases, results):
            next(result for result in results if result.name == name).notes.append(
                'applies only with patches before it: make prove')
        text = report(f'{tree}: the series from {pinned} to {version}', results,
                      state.source.relative_to(TOP),
                      security.closed(tree, pinned, version))
        print(text, end='')
        if chosen.check:
            return 0
        state.path.with_name(f'rebase-{version}.txt').write_text(text, encoding='utf-8')
        keep(state, results, bases.repository)
    return install(state)


if __name__ == '__main__':
    run_command('rebase', main)
