"""How a benchmark fails."""


class BenchError(Exception):
    """What is wrong, its cause and its mend: the first line names it, the others follow."""

    def __init__(self, what, *lines):
        super().__init__('\n  '.join([what, *filter(None, lines)]))
