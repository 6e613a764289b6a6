"""Failure, the error of every command, and Fault, a finding of a check."""
from typing import NamedTuple


class Failure(Exception):
    """An error: its text, then a line each for its cause and its mend, all in `lines`."""

    def __init__(self, what, *more):
        self.lines = [line for text in (what, *more) if text for line in str(text).splitlines()]
        super().__init__('\n  '.join(self.lines))

    def __reduce__(self):               # from one process to another
        return Failure, tuple(self.lines)


class Fault(NamedTuple):
    """A fault of a file: what is wrong, at which line, and what mends it."""
    what: str
    mend: str
    line: int = 1
    file: str = ''

    def __str__(self):
        return f'{self.file}:{self.line}: {self.what}; mend: {self.mend}'


class FaultyFile(Failure):
    """A file that cannot be read for one fault."""

    def __init__(self, name, fault):
        super().__init__(f'{name}: line {fault.line}: {fault.what}', f'mend: {fault.mend}')
        self.fault = fault
