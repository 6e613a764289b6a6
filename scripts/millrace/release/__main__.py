"""Makes a release of a tree: a revision with its documents, in dist/repo/, and a signed tag.

Called by make release [TREE=10.11] KEY=... BASE=... [DIST=bookworm].

Takes the finished packages of dist/<tree>/, and refuses those that were not made from this
commit.  Writes the documents: the notes, a bill of materials of each package, the provenance.
Builds the packages again and compares the bytes (scripts/reproduce), unless the record in
work/reproduced/ is of these bytes.  Then everything goes into the channel `testing` of the
repository, as make repo does it, documents in releases/<tree>/<revision>/; and the tag
release/<revision>, signed with the same key, names the commit.

All of it or nothing: a run that fails leaves repository and tags as they were.  If it was killed
between the two, the same command makes the tag.
"""
import dataclasses
import os
import subprocess
import sys

from millrace import TOP, publisher
from millrace.command import environment, parser, run_command, say
from millrace.context import resolve
from millrace.errors import Failure
from millrace.release import history
from millrace.repo import finished, place, releases
from millrace.repo.__main__ import Repository, add_options
from millrace.upstream import pins, security

STEPS = ('source-deb', 'deb', 'source-rpm', 'rpm', 'tarball')


def build_variables(tree):
    """The variables under which the whole packages of a tree are built."""
    return {'TREE': tree, 'PATCHES': 'all', 'VERSION': '', 'SHA256': '', 'PROFILE': '',
            'TARBALL': ''}


def check_commit(expected=''):
    """The commit of the checkout.  Raises Failure where it is not the expected one, or where
    files are not committed."""
    commit = history.git('rev-parse', '--verify', 'HEAD').strip()
    if expected not in ('', commit):
        raise Failure('another commit was checked out meanwhile',
                      f'it was {expected}', f'git checkout {expected}')
    changed = history.git('status', '--porcelain', '--untracked-files=normal').splitlines()
    if changed:
        raise Failure('the checkout has changes that are not committed', *changed[:5],
                      'a release names a commit: git commit, or git stash')
    return commit


def check_history(tree, revision, before):
    """Raises Failure where a revision was released, or a release of the tree has no tag here;
    `before` is what the repository has."""
    if history.has_tag(revision):
        raise Failure(f'{revision} of tree {tree} was released: there is a tag '
                      f'{history.tag_of(revision)}',
                      f'raise REVISION in trees/{tree}/pin.conf, commit, and build')
    for release in before.releases if before else ():
        if release.tree == tree and release.documented and release.revision != revision \
                and not history.has_tag(release.revision):
            raise Failure(f'the tag {history.tag_of(release.revision)} is not here',
                          'the notes are about what changed since then', 'git fetch --tags')
    if lacking := history.unrecorded(tree):
        raise Failure(f'the changelogs of the packages do not tell of {", ".join(lacking)}',
                      f'make tables, commit trees/{tree}/released.json, and build')


def check_variables(tree):
    """Raises Failure where the packages that make builds would not be those of the release."""
    for name, value in build_variables(tree).items():
        given = os.environ.get(name)
        if given and given != value and name != 'TARBALL':
            raise Failure(f'{name}={given} is not of a release of tree {tree}',
                          f'a release has {name}={value}', f'env -u {name} make release')


def check_packages(found, revision):
    """Raises Failure where the packages of a tree are not those of this checkout."""
    tree = found.tree
    if found.revision != revision:
        raise Failure(f'the packages in dist/{tree} are {found.revision}, and trees/{tree}/'
                      f'pin.conf says {revision}', f'make TREE={tree}')
    done = subprocess.run([TOP / 'build/lib/step', '--due', *STEPS], text=True, check=False,
                          capture_output=True, env=environment(**build_variables(tree)))
    if done.returncode:
        raise Failure('the packages cannot be compared with the checkout',
                      *done.stderr.splitlines()[-5:])
    if due := done.stdout.split():
        raise Failure(f'the packages in dist/{tree} are not those of this commit',
                      f'to be made again: {" ".join(due)}', f'make TREE={tree}')


def reproduced(tree):
    """Whether the record is of these bytes; scripts/reproduce leaves it."""
    sums, record = finished.directory(tree) / 'SHA256SUMS', TOP / 'work/reproduced' / tree
    return record.exists() and record.read_bytes() == sums.read_bytes()


def reproduce(tree):
    """Builds the packages again and compares the bytes, where that is not on record."""
    if reproduced(tree):
        say('release', f'these packages were built twice: work/reproduced/{tree}')
        return
    say('release', 'building the packages again, to compare the bytes')
    done = subprocess.run([TOP / 'scripts/reproduce'], check=False, stdin=subprocess.DEVNULL,
                          env=environment(**build_variables(tree)))
    if done.returncode > 0:
        sys.exit(done.returncode)       # it has told its error
    if done.returncode:
        raise Failure(f'scripts/reproduce was ended by signal {-done.returncode}', 'make release')
    if not reproduced(tree):
        raise Failure(f'the packages in dist/{tree} changed meanwhile', 'make release')


def notes_of(tree, commit):
    """The text of the notes of a release that is made of a commit.  Raises Failure."""
    from millrace.release import notes
    return notes.text(history.last_release(tree), history.Point(commit, tree), commit)


def documents(context, commit, repository, found, files):
    """Writes the documents of a release, and returns them as {name: file}."""
    from millrace.release import provenance, sbom
    here = place.NEW / 'documents'
    here.mkdir(parents=True)
    hash_of, made = repository.sums.of, []

    def write(name, text):
        (here / name).write_text(text, encoding='utf-8')
        made.append(here / name)
    name = f'millrace-{found.revision}'
    write(f'{name}{releases.NOTES}', notes_of(context.tree, commit))
    for file in files.values():
        if package := sbom.read(file, found.debian):
            write(f'{file.name}{releases.SBOM}', sbom.bill(package, context, commit, hash_of))
    write(f'{name}{releases.PROVENANCE}', provenance.statement(
        context, commit, repository.key.fingerprint, files.values(), made, hash_of))
    return {file.name: file for file in made}


def tag(found, commit, key):
    """Makes the signed tag of a release, or none.  Raises Failure."""
    name, there = history.tag_of(found.revision), history.has_tag(found.revision)
    try:
        history.git('tag', '--local-user', key.fingerprint, '--message',
                    f'Millrace {found.revision}', name, commit)
    except BaseException:
        # interrupted, when git had written it
        if not there and history.has_tag(found.revision) \
                and history.git('rev-parse', f'{name}^{{commit}}').strip() == commit:
            history.git('tag', '--delete', name)
        raise


def main(argv):
    """Makes the release."""
    options = parser('scripts/release', __doc__)
    add_options(options)
    options.add_argument('--check', action='store_true',
                         help='check all but the packages, and end')
    options.add_argument('tree', nargs='?', help='the tree (default: that of trees/default)')
    chosen = options.parse_args(argv)
    os.umask(0o022)
    tree = chosen.tree or pins.default_tree()
    context = resolve(tree, {})
    revision = f'{context.version}-{context.revision}'
    with place.alone():
        commit = check_commit()
        publisher.check()
        security.check(tree, context.version)
        security.check_today(tree)
        history.git('var', 'GIT_COMMITTER_IDENT')
        repository = Repository(chosen.key, chosen.base)
        check_history(tree, revision, repository.before)
        debian = finished.debian_release(tree, chosen.debian)
        if chosen.check:
            check_variables(tree)
            repository.key.check()
            notes_of(tree, commit)
            return
        found, files = finished.read(tree, debian)
        check_packages(found, revision)
        try:
            made = documents(context, commit, repository, found, files)
        except ImportError as error:
            raise Failure(f'there is no {error.name}', 'build/setup release') from None
        repository.take_in(dataclasses.replace(
            found, files=tuple(sorted({*files, *made}))), {**files, **made})
        reproduce(tree)
        check_commit(commit)
        finished.read(tree, found.debian)
        repository.put(lambda: tag(found, commit, repository.key))
    say('release', f'{found}: git push origin {history.tag_of(revision)}, and upload dist/repo/')


if __name__ == '__main__':
    run_command('release', main)
