"""Proves the series: lint, application, refresh and compilation of its patches.

For each release tree (where none is named, all whose tarball can be had):
  - the series, the headers and the texts of the patches keep the rules;
  - every subset closed under Depends applies to vanilla with fuzz 0;
  - refreshing the whole series changes no byte of a patch;
  - each patch alone, all that go without each, and all compile, with no warning more
    than vanilla's (not with --quick);
  - with --tests: each patch's own tests fail without it and pass with it alone;
  - with --mutations: each patch's own tests fail where a part of it is broken on purpose.

A proof holds until one of its inputs changes.  The result is
in work/<tree>/prove/result.json, and the record that the tables are made from in
test-results/proofs/<tree>.json.  Exits 1 where something is not right, with the
commands that mend it.
"""
import sys

from millrace.command import parser, run_command
from millrace.errors import Failure
from millrace.patches import tables
from millrace.prove.proof import NoTarball, prove
from millrace.upstream import pins


def prove_all(named, how, only):
    """Proves the trees named, or all that can be had: (faults, how many trees were proven)."""
    faults, proven = [], 0
    for tree in named or pins.trees():
        try:
            faults += prove(tree, how, only)
            proven += 1
        except NoTarball as error:
            if named:
                faults.append(str(error))
            else:
                print(error)
        except Failure as error:
            faults.append(str(error))
    return faults, proven


def main(argv):
    """Proves trees, and brings the tables up to date with what was proven."""
    options = parser('scripts/prove', __doc__)
    how = options.add_mutually_exclusive_group()
    how.add_argument('--quick', dest='how', action='store_const', const='quick', default='compile',
                     help='compile nothing')
    how.add_argument('--tests', dest='how', action='store_const', const='tests',
                     help="run the patches' tests, too")
    how.add_argument('--missing', dest='how', action='store_const', const='missing',
                     help='as --tests, but only what the record does not have of the patches')
    how.add_argument('--mutations', dest='how', action='store_const', const='mutations',
                     help='run what tests/mutations has that the record lacks, and compile only '
                          'for that')
    options.add_argument('--patch', action='append', default=[], metavar='PATCH',
                         help='with --mutations: run those of this patch')
    options.add_argument('tree', nargs='*', help='release trees; default: all')
    chosen = options.parse_args(argv)
    if chosen.patch and chosen.how != 'mutations':
        options.error('--patch goes with --mutations')
    faults = []
    try:
        faults, proven = prove_all(chosen.tree, chosen.how, chosen.patch)
    finally:                            # an interrupted run has a record, too
        try:
            tables.write()
        except Failure as error:        # a fault of a header, which is among the faults already
            if not faults:
                print(f'prove: {error}', file=sys.stderr)
    sys.stdout.flush()
    for fault in faults:
        print(f'\n{fault}', file=sys.stderr)
    if faults:
        print(f'\n{len(faults)} fault{"s" * (len(faults) > 1)}', file=sys.stderr)
        return 1
    if not proven:
        raise Failure('nothing was proven',
                      'mend: make TARBALL=/path/to/mariadb-<release>.tar.gz patched')
    return 0


if __name__ == '__main__':
    run_command('prove', main)
