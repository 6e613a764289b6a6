"""Follows the output of a build and prints its progress.

Usage: build/lib/progress STEP [EVERY] < OUTPUT

Prints a line every EVERY seconds (15): how far ninja is, and how long the rest will take at
the pace so far.
"""
import signal
import sys

from millrace.progress import EVERY, Progress, ninja


def main(step, every=EVERY):
    """Reads standard input to its end; `step` stands before each line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdin.reconfigure(errors='replace')
    # several steps run side by side: no bar
    tell = Progress(step, bar=False, every=float(every))
    for line in sys.stdin:
        if done := ninja(line):
            tell(*done)


if __name__ == '__main__':
    main(*sys.argv[1:])
