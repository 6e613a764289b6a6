"""Publishes the finished packages of the trees: signed repositories in dist/repo/.

Called by make repo [TREE=10.11] [KEY=...] [BASE=...] [DIST=bookworm], and by make promote
[TREE=10.11] [REVISION=10.11.18-1].

Takes the packages of dist/<tree>/, of all trees unless some are named, into the channel
`testing` of the repository, beside all that it has.  --promote takes a revision from there
into `stable` instead: the same bytes.  dist/repo/ is static files:

    apt/                   suites bookworm, bookworm-testing...; a component a tree; .sources
    rpm/                   a repository a tree and channel; .repo
    tarballs/              with their SHA256SUMS, signed
    releases/              the documents of make release
    index.html, docs/...   the site
    millrace-archive-keyring.gpg, .asc      the public key
    releases.json          what is in it
    SHA256SUMS             of all of it, signed

It is made beside, and takes its place when it is whole.  A run with nothing new changes nothing.
A file that the repository has is never replaced by another of its name.  What the repository
has is verified before it is signed again.
"""
import dataclasses
import os
import re

from millrace import TOP, publisher
from millrace.command import parser, run_command, say
from millrace.errors import Failure
from millrace.repo import apt, finished, place, releases, site, yum
from millrace.repo.key import Key
from millrace.repo.sums import Sums
from millrace.repo.tools import copy, link
from millrace.upstream import pins, security

LABEL = place.HERE.relative_to(TOP)


class Plan:
    """Where the bytes of each file come from: dist/<tree>/, or the repository before."""

    def __init__(self):
        self.taken = {}             # {(tree, name): file of dist/<tree>/}
        self.before = {}            # {(tree, name): file of the repository}
        self.new_key = False

    def bring(self, release, name, target, again=False):
        """Puts a file at its place, `again` as one that may be written into; whether the
        repository had it, and it was not `again`."""
        known = self.before.get((release.tree, name))
        if known and not again:
            link(known, target)
            return True
        copy(known or self.taken[release.tree, name], target)
        return False


def base_url(given, before):
    """The URL of the repository, as the maintainer gave it, now or the last time."""
    base = (given or before and before.base or '').rstrip('/')
    if not base:
        raise Failure('where will the repository be? its URL is in the files for apt and dnf',
                      'make repo BASE=https://...')
    if not re.fullmatch(r'(https?|file)://[^\s\[\]]+', base):
        raise Failure(f'BASE={base} is no URL of a directory', 'as in BASE=https://...')
    return base


def remember(plan, before):
    """Enters what the repository has into a plan."""
    for release in before.releases if before else ():
        for name in release.files:
            plan.before[release.tree, name] = place.HERE / release.places(name)[0]


def say_state(release):
    """Says which security fixes of upstream's a release lacks."""
    for line in security.closed(release.tree, release.version):
        say('repo', f'{release} is behind upstream: {line}')


def take_in(plan, known, found, files):
    """The releases of the repository with one of dist/, and its {name: file}.  Raises Failure."""
    tree = found.tree
    raise_it = f'a change of the packages is a revision: raise REVISION in trees/{tree}/pin.conf'
    for name, file in files.items():
        there = plan.before.get((tree, name))
        if there and not releases.same(file, there):
            raise Failure(f'{name} is in the repository with other bytes',
                          f'published: {LABEL}/{there.relative_to(place.HERE)}', raise_it)
    plan.taken.update({(tree, name): file for name, file in files.items()})
    old = next((release for release in known
                if (release.tree, release.revision) == (tree, found.revision)), None)
    if old is None:
        security.check(tree, found.version)
        say('repo', f'{found}{" for " if found.debian else ""}{found.debian}: {len(files)} files, '
            'into testing')
        say_state(found)
        return (*known, found)
    if found.debian and old.debian and old.debian != found.debian:
        raise Failure(f'{found} is in the repository for {old.debian}', raise_it)
    added = sorted(set(found.files) - set(old.files))
    if not added:
        return known
    if old.channel == 'stable':
        raise Failure(f'{found} is stable, and {added[0]} was never in testing', raise_it)
    say('repo', f'{found}: {len(added)} more files')
    both = dataclasses.replace(old, debian=found.debian or old.debian,
                               date=found.date or old.date,
                               files=tuple(sorted({*old.files, *found.files})))
    return tuple(both if release is old else release for release in known)


def wanted_trees(named):
    """The trees to take in: those named, or those with packages.  Raises Failure."""
    trees = named or [tree for tree in pins.trees()
                      if (finished.directory(tree) / 'SHA256SUMS').exists()]
    if not trees:
        raise Failure('there are no finished packages of any tree',
                      f'looked in {" ".join(f"dist/{tree}" for tree in pins.trees())}', 'make')
    return trees


def promote(known, tree, revision):
    """The releases with one of them in stable: the named one, or the newest of the tree."""
    pins.read(tree)
    there = [release for release in known if release.tree == tree]
    chosen = [release for release in there if revision in ('', release.revision)]
    if not chosen:
        raise Failure(f'the repository has no {revision or "packages"} of tree {tree}',
                      'it has ' + (' '.join(release.revision for release in there) or 'none'),
                      f'make repo TREE={tree}')
    say('repo', f'{chosen[-1]} is stable')
    say_state(chosen[-1])
    return tuple(dataclasses.replace(release, channel='stable') if release is chosen[-1]
                 else release for release in known)


def make(plan, contents, key, sums, confirm):
    """Makes the repository beside, and puts it into its place, where it stays unless `confirm`
    raises."""
    public, work = place.NEW / 'repo', place.NEW / 'work'
    for path in (public / 'apt', work):
        path.mkdir(parents=True)
    apt.publish(public, work, plan, key, contents)
    yum.publish(public, plan, key, contents)
    for release in contents.releases:
        for name in release.of_kind('tarballs'):
            first, *others = (public / path for path in release.places(name))
            plan.bring(release, name, first)
            for other in others:
                link(first, other)
        for name in release.of_kind('releases'):
            plan.bring(release, name, public / release.places(name)[0])
    for file in sorted(public.glob(f'releases/*/*/*{releases.PROVENANCE}')):
        key.sign(file)
    for directory in sorted(public.glob('tarballs/*/*')):
        sums.write(directory, key)
    key.export(public / f'{apt.NAME}.gpg')
    key.export(public / f'{apt.NAME}.asc', '--armor')
    contents.write(public)
    site.put(public)
    if place.HERE.exists():
        apt.keep_indices(place.HERE, public)
    sums.write(public, key)
    place.take_place(public, confirm)


class Repository:
    """The repository in dist/repo/, or none yet, verified; and what a run makes of it.

    For use in place.alone().  Raises Failure where there is no key or no URL."""

    def __init__(self, key, base):
        self.sums = Sums()
        self.before = releases.read(place.HERE, self.sums)
        self.key = Key(key or (self.before.key if self.before else ''))
        self.base = base_url(base, self.before)
        self.plan, self.known = Plan(), self.before.releases if self.before else ()
        remember(self.plan, self.before)
        self.plan.new_key = bool(self.before) and self.before.key != self.key.fingerprint

    def take_in(self, found, files):
        """Takes in a release of dist/, and its {name: file}.  Raises Failure."""
        self.known = take_in(self.plan, self.known, found, files)

    def promote(self, tree, revision):
        """Takes a release into stable.  Raises Failure."""
        self.known = promote(self.known, tree, revision)

    def put(self, confirm=lambda: None):
        """Makes it, where anything is new, and calls `confirm`; where that raises, all of it
        stays as it was."""
        self.key.check()
        contents = releases.Contents(self.key.fingerprint,
                                     apt.keyring_version(self.key, self.before), self.base,
                                     self.known)
        contents = site.build(contents, self.plan)
        if contents == self.before:
            confirm()
            say('repo', f'{LABEL} is up to date')
            return
        make(self.plan, contents, self.key, self.sums, confirm)
        say('repo', f'{LABEL}: {len(self.known)} revisions, for {self.base}, signed by '
            f'{self.key.fingerprint}')


def add_options(options):
    """Adds the options of whatever publishes, make repo and make release, to a parser."""
    options.add_argument('--key', default='', help='fingerprint of the key that signs '
                         '(default: that of the repository)')
    options.add_argument('--base', default='', help='URL that the repository will have '
                         '(default: that of the repository)')
    options.add_argument('--debian', default='', help='release of Debian that the .deb are for '
                         "(default: the tree's)")


def main(argv):
    """Takes packages in, or promotes a revision; and makes the repository where that is new."""
    options = parser('scripts/repo', __doc__)
    add_options(options)
    options.add_argument('--promote', metavar='REVISION',
                         help="take a revision into stable; '': the newest of the tree")
    options.add_argument('trees', nargs='*', help='the trees (default: all)')
    chosen = options.parse_args(argv)
    os.umask(0o022)
    with place.alone():
        if chosen.promote is not None and not place.HERE.exists():
            raise Failure(f'there is no repository in {LABEL}', 'make repo KEY=... BASE=...')
        repository = Repository(chosen.key, chosen.base)
        if chosen.promote is not None:
            for tree in chosen.trees or [pins.default_tree()]:
                repository.promote(tree, chosen.promote)
        else:
            publisher.check()
            for tree in wanted_trees(chosen.trees):
                repository.take_in(*finished.read(
                    tree, finished.debian_release(tree, chosen.debian)))
        repository.put()


if __name__ == '__main__':
    run_command('repo', main)
