"""Builds that the project's road makes: `make tarball` with some PATCHES, unpacked."""
import os
import re
import shutil
import subprocess

from millrace import TOP
from millrace import context as contexts
from millrace.errors import Failure
from millrace.inputs import digest
from millrace.patches import series

MAKE = ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL')    # of a make that has called us


def environment(patches, plain=False):
    """The variables that make these patches (None: the whole series) be built."""
    chosen = {key: value for key, value in os.environ.items()
              if key not in ('PATCHES', 'PROFILE', *MAKE)}
    if patches is not None:
        chosen['PATCHES'] = patches
    if plain:
        chosen['PROFILE'] = 'none'
    return chosen


def context(tree, patches, plain=False):
    """The Context of these patches in a tree, or in the release that VERSION= names."""
    return contexts.resolve(tree, environment(patches, plain))


def parsed(name, tree):
    """A build's PATCHES in a tree, None for the whole series, and whether it has no profile."""
    plain, base = name == 'vanilla' or name.startswith('plain:'), name.removeprefix('plain:')
    kind, _, rest = base.partition(':')
    chosen, known = re.split(r'[+,]', rest), series.names(tree)
    if base == 'vanilla':
        return 'none', plain
    if base == 'millrace':
        return None, plain
    if kind == 'only':
        return ' '.join(chosen), plain
    if kind == 'without':
        unknown = set(chosen) - set(known)
        if unknown:
            raise Failure(f'{name}: no patch {", ".join(sorted(unknown))} in the series '
                          f'of tree {tree}',
                          f'known patches: {" ".join(known)}')
        return ' '.join(patch for patch in known if patch not in chosen) or 'none', plain
    raise Failure(f'{name}: no such build', 'known: vanilla, millrace, only:<patch>, '
                  'without:<patch>, debian, plain:<one of the first four>, or a path with a / '
                  'in it')


def check(name, tree):
    """Raises Failure where a tree can have no build of this name."""
    context(tree, *parsed(name, tree))


def make(name, tree, unpacked, say):
    """Makes a build where its inputs have changed since it was unpacked."""
    patches, plain = parsed(name, tree)
    target = context(tree, patches, plain)
    key = digest('tarball', target)
    stamp = unpacked / '.made-from'
    if stamp.exists() and stamp.read_text() == key:
        return
    say(f'{name}: make tarball' + ('' if patches is None else f' PATCHES="{patches}"')
        + (' PROFILE=none' if plain else ''))
    whole, kept = target.subset == 'all', target.work.exists()
    if subprocess.run(['make', '--no-print-directory', '-C', TOP, 'tarball', f'TREE={tree}'],
                      env=environment(patches, plain), stdin=subprocess.DEVNULL,
                      check=False).returncode:
        raise Failure(f'{name}: not built; make says why, above')
    archive = next(target.dist.glob(f'millrace-{target.version}-*.tar.*'))
    new = unpacked.with_name(unpacked.name + '.new')
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    subprocess.run(['tar', '-xf', archive, '-C', new, '--strip-components=1'], check=True)
    (new / '.made-from').write_text(key)
    shutil.rmtree(unpacked, ignore_errors=True)
    new.rename(unpacked)
    if not whole and not kept:
        shutil.rmtree(target.work)    # 3 GB that nothing needs any more
