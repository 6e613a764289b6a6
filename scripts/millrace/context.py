"""The context of a build: release tree, release, patches, profile, places of its files.

Usage: scripts/python -m millrace.context

Prints the context as assignments for a shell, which build/lib/context.sh evaluates.  It is
made from the variables of `make help`: TREE, PATCHES, VERSION, SHA256, PROFILE, and
MILLRACE_CACHE.
"""
import datetime
import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from millrace import TOP
from millrace.command import run_command
from millrace.errors import Failure
from millrace.patches import series
from millrace.patches.header import read_header
from millrace.upstream import pins, tarballs


class Context(NamedTuple):
    """One build.  In a shell each field is a variable of the same name in capitals."""
    tree: str
    version: str            # the release of upstream
    sha256: str             # of its tarball
    signed_by: str          # fingerprint of the key that signed it
    archive: str            # upstream's release archive: a URL with @VERSION@ in it
    debian_source: str      # Debian's source package of the same release ...
    debian_suites: str      # ... and its suites
    revision: str           # of our packages
    release: str            # revision, and the subset where it is not the whole: 1~read.ahead
    date: str               # in our packages
    source_date_epoch: int
    patch_dir: Path         # where the patches are ...
    series: Path            # ... and the file with their order
    names: tuple            # the chosen patches, in series order
    subset: str             # all, or series.label(names), or vanilla; +plain without a profile
    rebase: str             # directory of the unfinished rebase that is worked in, or empty
    other: str              # the release, where it is not the one the tree is pinned to, or empty
    work: Path              # work/<tree>/<subset>, below another release or rebase where one is
    source: Path            # the patched source, in work
    dist: Path              # the packages
    profiles: tuple         # profiles of the tree, one for each compiler that has one
    cache: Path             # where downloads are kept
    tarball_file: Path      # upstream's tarball in the cache

    def at(self, place):
        """The same build with work/<tree>/<place> as its place of work."""
        work = TOP / 'work' / self.tree / place
        return self._replace(work=work, source=work / self.source.name)


def _patches(tree, patch_dir, order):
    """{name: what it needs} for the patches of a series file that are in a directory."""
    needs = {}
    names = series.listed(order.read_text(encoding='utf-8'))
    if twice := series.twice(names):
        raise Failure(f"series names '{twice}' twice", 'leave one of the lines')
    for name in names:
        file = patch_dir / f'{name}.patch'
        if file.is_file():
            needs[name] = read_header(file).depends
        elif os.path.lexists(file):
            raise Failure(f'{patch_dir.name}/{name}.patch is not a file, or a link to nothing',
                          f"the patch '{name}' would be left out of tree {tree} unseen",
                          f'mend: git checkout patches/{tree}/{name}.patch')
        elif not list((TOP / 'patches').glob(f'*/{name}.patch')):
            raise Failure(f"series names '{name}', but there is no patches/{tree}/{name}.patch",
                          'add the patch, or take its line out of the file series')
    return needs


def _choose(tree, needs, wanted):
    """The patches that PATCHES names, in series order; None stands for all of them."""
    everything = tuple(needs)
    known = f'known patches: {" ".join(everything)}'
    if wanted is None or wanted.strip() == 'all':
        return everything
    if wanted.strip() == 'none':
        return ()
    for name in wanted.split():
        if name not in needs:
            raise Failure(f"no patch '{name}' in the series of tree {tree}", known,
                          'or PATCHES=none for the vanilla server')
    if twice := series.twice(wanted.split()):
        raise Failure(f"PATCHES names '{twice}' twice", 'name it once')
    if not wanted.split():
        raise Failure('PATCHES is empty', known,
                      'leave PATCHES out for all, or say PATCHES=none for the vanilla server')
    series.check_closed(wanted.split(), needs, lambda closed: f'make PATCHES="{closed}"')
    return tuple(name for name in everything if name in wanted.split())


def _check_top():
    """Raises Failure where the checkout's path cannot be built in."""
    if any(character.isspace() for character in str(TOP)):
        raise Failure(f'the path of the checkout has a blank in it: {TOP}',
                      'neither ninja nor rpmbuild takes that', f"move it: mv '{TOP}' ELSEWHERE")


def resolve(tree=None, environ=None):
    """The Context of a tree (default: TREE, or trees/default) under these variables.

    `environ` (default: os.environ) has the variables of the module's text.  Raises Failure
    where they name what is not there."""
    environ = os.environ if environ is None else environ
    _check_top()
    tree = tree or environ.get('TREE') or pins.default_tree()
    pin = pins.read(tree)
    wanted = environ.get('VERSION') or ''
    if wanted and not re.fullmatch(r'\w+(\.\w+)*', wanted, re.ASCII):
        raise Failure(f'VERSION={wanted} is not a release',
                      f'as in trees/{tree}/pin.conf: VERSION={pin["VERSION"]}')
    work, patch_dir, order = TOP / 'work' / tree, TOP / 'patches' / tree, TOP / 'series'
    rebase = other = ''
    unfinished = work / f'rebase-{wanted}'
    if wanted and (unfinished / 'tree.conf').is_file():
        pin = pins.read(tree, unfinished / 'tree.conf')
        patch_dir, order, work = unfinished / 'patches', unfinished / 'series', unfinished
        rebase, other = str(unfinished), pin['VERSION']
    elif wanted and wanted != pin['VERSION']:
        if not environ.get('SHA256'):
            raise Failure(f'no sha256 is pinned for release {wanted} of tree {tree}',
                          f'pinned in trees/{tree}/pin.conf: {pin["VERSION"]}',
                          f'give the hash too: make VERSION={wanted} SHA256=...')
        pin = {**pin, 'VERSION': wanted, 'SHA256': environ['SHA256']}
        other, work = wanted, work / wanted

    profile = environ.get('PROFILE') or ''
    if profile not in ('', 'none'):
        raise Failure(f'PROFILE={profile}: there is only PROFILE=none',
                      'leave PROFILE out to build with the profile of the tree')
    plain = profile == 'none'
    profiles = () if plain else tuple(sorted((TOP / 'trees' / tree).glob('profile-*.tar.xz')))

    needs = _patches(tree, patch_dir, order)
    names = _choose(tree, needs, environ.get('PATCHES'))
    # an unfinished rebase begins with none
    if not needs and not rebase and environ.get('PATCHES') != 'none':
        raise Failure(f'series names no patch of tree {tree}',
                      'git checkout series, or PATCHES=none for the vanilla server')
    subset = 'all' if names == tuple(needs) and environ.get('PATCHES') != 'none' \
        else series.label(names) or 'vanilla'
    if plain:
        subset = 'plain' if subset == 'all' else f'{subset}+plain'
    dist = f'{tree}-{other}' if other else tree
    release = pin['REVISION']
    if subset != 'all':
        # a tilde sorts before: the full release of the same revision replaces it
        release, dist = f'{release}~{subset.replace("-", ".")}', f'{dist}+{subset}'
    work = work / subset
    cache = tarballs.cache(environ)
    date = datetime.datetime.fromisoformat(pin['DATE'])
    return Context(
        tree=tree, version=pin['VERSION'], sha256=pin['SHA256'], signed_by=pin['SIGNED_BY'],
        archive=pin['ARCHIVE'], debian_source=pin['DEBIAN_SOURCE'],
        debian_suites=pin['DEBIAN_SUITES'], revision=pin['REVISION'], release=release,
        date=pin['DATE'],
        source_date_epoch=int(date.replace(tzinfo=datetime.timezone.utc).timestamp()),
        patch_dir=patch_dir, series=order, names=names, subset=subset, rebase=rebase,
        other=other, work=work, source=work / f'mariadb-{pin["VERSION"]}',
        dist=TOP / 'dist' / dist, profiles=profiles, cache=cache,
        tarball_file=cache / f'mariadb-{pin["VERSION"]}.tar.gz')


def shell(context):
    """The context as assignments for bash; `profiles` becomes an array, `names` a string."""
    lines = []
    for name, value in context._asdict().items():
        if name == 'profiles':
            value = f'({" ".join(shlex.quote(str(path)) for path in value)})'
        else:
            value = shlex.quote(' '.join(value) if isinstance(value, tuple) else str(value))
        lines.append(f'{name.upper()}={value}')
    return '\n'.join(lines)


def main(_argv):
    """Prints the context of the environment's variables."""
    print(shell(resolve()))


if __name__ == '__main__':
    run_command('context', main)
