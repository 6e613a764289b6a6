#!/usr/bin/python3
"""Draws result sets: their pictures, a page for each, and the overview of all.

Usage: bench/report [SET...]
       bench/report --headline SET...

SET is a directory that `make bench` has written, such as test-results/<date>-<tree>-<suite>; without
one, all of test-results/ are drawn.  Written are index.html and pictures/ in each, and
test-results/index.html.  The same results give the same bytes, with the same matplotlib.

--headline writes docs/headline.svg from the sets, and the lines about it in README.md.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from millrace_report import draw, headline  # noqa: E402
from millrace_bench.errors import BenchError  # noqa: E402

TOP = Path(__file__).resolve().parent.parent


def main(arguments):
    if any(argument.startswith('-') and argument != '--headline' for argument in arguments) or arguments == ['--headline']:
        sys.exit(__doc__)
    try:
        if arguments[:1] == ['--headline']:
            headline.write(TOP, arguments[1:])
        else:
            draw.draw(TOP / 'test-results', arguments)
    except BenchError as error:
        sys.exit(f'report: error: {error}')


if __name__ == '__main__':
    main(sys.argv[1:])
