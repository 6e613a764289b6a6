"""Takes a complete result set into test-results/sets, in place of an older one.

Usage: bench/keep SET [--as NAME]

SET is a directory that `make bench` has written, below test-results/new.  Its name among the sets
is made from tree, suite, limit, builds, size and cases, as in 10.11-bulk-gp3-500+import; --as
gives another.  The older set stays in git's history.
"""
import os
import re
import shutil
from pathlib import Path

from millrace.command import parser, run_command
from millrace.errors import Failure
from millrace_bench.report.sets import KEPT, ResultSet


def keep(path, name=None, sets=KEPT):
    """Moves a result set to its place among `sets`: the new place.  Raises Failure where it is
    not whole."""
    result = ResultSet(path)
    result.check_whole()
    name = name or result.kept_name()
    usual = f'{result.data["tree"]}-{result.data["suite"]}'
    if not re.fullmatch(rf'{re.escape(usual)}([-+][\w.+-]+)?', name):
        raise Failure(f'{name}: not a name for a set of this tree and suite',
                      f'a name that begins with {usual}, such as {result.kept_name()}')
    target, old = sets / name, sets / f'{name}.old'
    if target.exists() and target.samefile(path):
        raise Failure(f'{path} is kept already')
    sets.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    try:
        shutil.move(result.path.resolve(), target)
    except OSError as error:
        if old.exists():
            shutil.rmtree(target, ignore_errors=True)
            old.rename(target)
        raise Failure(f'{path} cannot be moved to {target}: {error.strerror}') from None
    shutil.rmtree(old, ignore_errors=True)
    return target


def main(argv):
    """Keeps a set."""
    options = parser('bench/keep', __doc__)
    options.add_argument('set', type=Path, metavar='SET', help='the result set')
    options.add_argument('--as', dest='name', metavar='NAME',
                         help='its name; default: made from the set')
    asked = options.parse_args(argv)
    place = keep(asked.set, asked.name)
    print(f'{os.path.relpath(place)}: kept\nbring the pages up to date: make tables')


if __name__ == '__main__':
    run_command('keep', main)
