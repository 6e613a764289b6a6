"""How every command of the project fails."""


class Failure(Exception):
    """What is wrong, then a line each for its cause and its mend; `lines` has them all."""

    def __init__(self, what, *more):
        self.lines = [line for text in (what, *more) if text for line in str(text).splitlines()]
        super().__init__('\n  '.join(self.lines))
