"""Draws result sets: a page with pictures for each, and an index with all comparisons.

Usage: bench/report [SET...]
       bench/report --headline [SET...]

SET is a directory of test-results/sets, or one that `make bench` has written; by default all of
test-results/sets are drawn.  The pages are in dist/report/.  --headline writes docs/headline.svg
and the lines about it in README.md, by default from all kept sets of vanilla and millrace.
"""
from pathlib import Path

from millrace.command import parser, run_command
from millrace_bench.report import headline


def main(argv):
    """Draws."""
    options = parser('bench/report', __doc__)
    options.add_argument('sets', nargs='*', type=Path, metavar='SET',
                         help='result sets; default: all of test-results/sets')
    options.add_argument('--headline', action='store_true',
                         help="draw the README's picture instead of pages")
    asked = options.parse_args(argv)
    if asked.headline:
        headline.write(paths=asked.sets)
        print('report: docs/headline.svg')
        return
    from millrace_bench.report import pages     # takes a second: matplotlib
    pages.draw(asked.sets)


if __name__ == '__main__':
    run_command('report', main)
