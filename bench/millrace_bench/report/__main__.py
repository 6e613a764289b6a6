"""Draws result sets: a page with pictures for each, and an index with all comparisons.

Usage: bench/report [SET...]

SET is a directory of test-results/sets, or one that `make bench` has written; by default all of
test-results/sets are drawn.  The pages are in dist/report/.
"""
from pathlib import Path

from millrace.command import parser, run_command


def main(argv):
    """Draws."""
    options = parser('bench/report', __doc__)
    options.add_argument('sets', nargs='*', type=Path, metavar='SET',
                         help='result sets; default: all of test-results/sets')
    asked = options.parse_args(argv)
    from millrace_bench.report import pages     # takes a second: matplotlib
    pages.draw(asked.sets)


if __name__ == '__main__':
    run_command('report', main)
