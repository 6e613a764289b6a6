"""How far a long step is: a bar on a terminal, a line now and then elsewhere."""
import re
import sys
import time

WIDTH, EVERY = 30, 15      # characters; seconds


def ninja(line):
    """How far ninja is, (done, of), by a line of its output; None where the line does not say."""
    step = re.match(r'\[(\d+)/(\d+)\]', line)
    return step and (int(step[1]), int(step[2]))


class Progress:
    """Says how far `what` is; it is called with (done, of) as often as anyone likes."""

    def __init__(self, what, bar=None, every=EVERY):
        self.what, self.every, self.begin, self.said = what, every, None, 0
        self.bar = sys.stdout.isatty() if bar is None else bar

    def __call__(self, done, of):
        now = time.monotonic()
        if self.begin is None:      # what was before the first of them says nothing of the pace
            self.begin = self.said = now
        if self.bar and (now - self.said >= 0.1 or done == of):
            full = WIDTH * done // max(of, 1)
            print(f'\r{self.what} [{"#" * full}{" " * (WIDTH - full)}] {done} of {of}', end='', flush=True)
        elif not self.bar and now - self.said >= self.every:
            left = (now - self.begin) * (of - done) / max(done, 1)
            print(f'{self.what}: {done} of {of}, about {left:.0f} s left', flush=True)
        else:
            return
        self.said = now

    def clear(self):
        """Takes the bar away, for what is printed next."""
        if self.bar:
            print('\r\033[K', end='', flush=True)
