"""How far a long step is: a bar on a terminal, a line now and then elsewhere."""
import sys
import time

WIDTH, EVERY = 30, 15      # characters; seconds


class Progress:
    """Says how far `what` is; it is called with (done, of) as often as anyone likes."""

    def __init__(self, what):
        self.what, self.bar, self.begin, self.said = what, sys.stdout.isatty(), None, 0

    def __call__(self, done, of):
        now = time.monotonic()
        if self.begin is None:      # what was before the first of them says nothing of the pace
            self.begin = self.said = now
        if self.bar and (now - self.said >= 0.1 or done == of):
            full = WIDTH * done // max(of, 1)
            print(f'\r{self.what} [{"#" * full}{" " * (WIDTH - full)}] {done} of {of}', end='', flush=True)
        elif not self.bar and now - self.said >= EVERY:
            left = (now - self.begin) * (of - done) / max(done, 1)
            print(f'{self.what}: {done} of {of}, about {left:.0f} s left', flush=True)
        else:
            return
        self.said = now

    def clear(self):
        """Takes the bar away, for what is printed next."""
        if self.bar:
            print('\r\033[K', end='', flush=True)
