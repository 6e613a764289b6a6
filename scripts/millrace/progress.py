"""How far a long step is: a bar on a terminal, a line now and then elsewhere."""
import re
import sys
import time

WIDTH, EVERY = 30, 15      # characters; seconds


def ninja(line):
    """How far ninja is, as (done, of), by a line of its output; None for any other line."""
    step = re.match(r'\[(\d+)/(\d+)\]', line)
    return step and (int(step[1]), int(step[2]))


def duration(seconds):
    """A length of time as text: '5 s', '1 min 05 s'."""
    minutes, seconds = divmod(round(max(0, seconds)), 60)
    return f'{minutes} min {seconds:02} s' if minutes else f'{seconds} s'


class Progress:
    """Reports the progress of `what`; called with (done, of) any number of times.

    `bar` (default: whether `stream` is a terminal) rewrites one line; without it a line is
    printed every `every` seconds."""

    def __init__(self, what, bar=None, every=EVERY, stream=None):
        self.what, self.every, self.begin, self.told = what, every, None, 0
        self.stream = stream or sys.stdout
        self.bar = self.stream.isatty() if bar is None else bar

    def __call__(self, done, of):
        now = time.monotonic()
        if self.begin is None:      # work before the first call says nothing about the pace
            self.begin = self.told = now
        if self.bar and (now - self.told >= 0.1 or done == of):
            full = WIDTH * done // max(of, 1)
            self.write(f'\r{self.what} [{"#" * full}{" " * (WIDTH - full)}] {done} of {of}')
        elif not self.bar and now - self.told >= self.every:
            left = (now - self.begin) * (of - done) / max(done, 1)
            self.write(f'{self.what}: {done} of {of}, about {left:.0f} s left\n')
        else:
            return
        self.told = now

    def write(self, text):
        """Writes a text at once."""
        self.stream.write(text)
        self.stream.flush()

    def clear(self):
        """Removes the bar before other output."""
        if self.bar:
            self.write('\r\033[K')


class Runs(Progress):
    """Progress of runs that were estimated beforehand, `estimates` in seconds, on stderr.

    Each run begins with start() and ends with finish(); show() brings the line up to date."""

    def __init__(self, what, estimates, stream=None):
        super().__init__(what, stream=stream or sys.stderr)
        self.estimates, self.done, self.title = estimates, 0, ''
        self.begin = self.run_begin = time.monotonic()

    def restart(self):
        """Forgets the time that has passed: the first run begins now."""
        self.begin = self.run_begin = time.monotonic()

    def left(self):
        """Seconds that are left: the estimates, corrected by the time of the finished runs."""
        now = time.monotonic()
        finished, rest = sum(self.estimates[:self.done]), sum(self.estimates[self.done:])
        pace = (self.run_begin - self.begin) / finished if finished else 1
        current = self.estimates[self.done] * pace if self.done < len(self.estimates) else 0
        return rest * pace - min(now - self.run_begin, current)

    def start(self, title):
        """Begins a run."""
        self.title, self.run_begin = title, time.monotonic()
        self.write(('\r\033[K' if self.bar else '') + self._line() + ('' if self.bar else '\n'))

    def finish(self):
        """Ends a run."""
        self.done += 1
        self.run_begin = time.monotonic()

    def show(self):
        """Brings the line of a terminal up to date."""
        if self.bar:
            self.clear()
            self.write(self._line())

    def say(self, text):
        """Prints a message on a line of its own."""
        self.clear()
        self.write(f'{self.what}: {text}\n')

    def _line(self):
        return (f'{self.what}: {self.done + 1}/{len(self.estimates)} {self.title}, '
                f'{duration(self.left())} left')
