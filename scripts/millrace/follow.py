"""Follows the output of a build and prints its progress.

Usage: build/lib/progress STEP [EVERY] < OUTPUT

Prints a line every EVERY seconds (15): how far ninja is, and how long the rest will take at
the pace so far.
"""
import signal
import sys

from millrace.command import number, parser
from millrace.progress import EVERY, Progress, ninja


def main(argv):
    """Reads standard input to its end; the step stands before each line."""
    options = parser('build/lib/progress', __doc__)
    options.add_argument('step', help='its name, which begins each line')
    options.add_argument('every', nargs='?', type=number(float, 0), default=EVERY,
                         help=f'seconds between two lines ({EVERY})')
    asked = options.parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdin.reconfigure(errors='replace')
    # several steps run side by side: no bar
    tell = Progress(asked.step, bar=False, every=asked.every)
    for line in sys.stdin:
        if done := ninja(line):
            tell(*done)


if __name__ == '__main__':
    main(sys.argv[1:])
