"""The servers that are compared: made by the project's own road, fetched from the distribution,
or at hand.

    vanilla            the tree's release without a patch and without our profile
    millrace           with the whole series
    only:a+b           with these patches alone
    without:a          with the whole series but these
    plain:millrace     millrace, only: or without:, compiled without the profile
    debian             the distribution's own mariadb-server, unpacked from its package
    /a/path            a server unpacked there
"""
import os
from pathlib import Path

from millrace import TOP
from millrace.errors import Failure
from millrace_bench.builds import debian, made
from millrace_bench.builds.unpacked import SHIPPED, Build

__all__ = ['Build', 'SHIPPED', 'check', 'resolve', 'version']


def version(tree):
    """The upstream release of a tree."""
    shipped = SHIPPED / tree / 'version'
    return shipped.read_text().strip() if shipped.exists() else made.context(tree, 'none').version


def check(name, tree):
    """Raises Failure where there can be no such build; builds nothing."""
    if '/' in name:
        if not Path(name).is_dir():
            raise Failure(f'{name}: no such directory', 'a path is that of an unpacked server')
    elif not (SHIPPED / tree / name).is_dir():
        if not (TOP / 'Makefile').exists():
            there = sorted(path.name for path in (SHIPPED / tree).glob('*') if path.is_dir())
            raise Failure(f'{name}: not in this archive', f'it has: {" ".join(there)}')
        if name != 'debian':
            made.check(name, tree)


def resolve(name, tree, work, say=print):
    """The Build called `name` of a tree, made or fetched below `work` where it is not at hand."""
    check(name, tree)
    if '/' in name:
        return Build(Path(os.path.abspath(name)).name, name)
    if (SHIPPED / tree / name).is_dir():
        return Build(name, SHIPPED / tree / name)
    unpacked = work / 'builds' / tree / name
    if name == 'debian':
        debian.fetch(tree, version(tree), unpacked, say)
    else:
        made.make(name, tree, unpacked, say)
    return Build(name, unpacked)
