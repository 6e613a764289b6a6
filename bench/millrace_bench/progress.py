"""One line that says how far a benchmark is, and the time that is left."""
import sys
import time


def words(seconds):
    """A length of time for people."""
    minutes, seconds = divmod(round(max(0, seconds)), 60)
    return f'{minutes} min {seconds:02} s' if minutes else f'{seconds} s'


class Progress:
    """On a terminal the line is rewritten; elsewhere a line is printed for each run."""

    def __init__(self, estimates, stream=sys.stderr):
        self.estimates, self.stream = estimates, stream
        self.terminal = stream.isatty()
        self.done, self.begin, self.run_begin = 0, time.monotonic(), time.monotonic()
        self.title = ''
        self._open = False

    def left(self):
        """Seconds that are left: the estimates, corrected by what the finished runs took."""
        now = time.monotonic()
        finished, rest = sum(self.estimates[:self.done]), sum(self.estimates[self.done:])
        pace = (self.run_begin - self.begin) / finished if finished else 1
        current = self.estimates[self.done] * pace if self.done < len(self.estimates) else 0
        return rest * pace - min(now - self.run_begin, current)

    def start(self, title):
        """A run begins."""
        self.title, self.run_begin = title, time.monotonic()
        self.show(new=True)

    def finish(self):
        """A run is over."""
        self.done += 1
        self.run_begin = time.monotonic()

    def show(self, new=False):
        """Brings the line up to date."""
        if not self.terminal and not new:
            return
        text = f'bench: {self.done + 1}/{len(self.estimates)} {self.title}, {words(self.left())} left'
        self.stream.write(f'\r\033[K{text}' if self.terminal else text + '\n')
        self.stream.flush()
        self._open = self.terminal

    def say(self, text):
        """A message of its own line."""
        self.stream.write(('\n' if self._open else '') + f'bench: {text}\n')
        self.stream.flush()
        self._open = False
