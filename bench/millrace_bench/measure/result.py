"""Writes result sets: a directory with result.json, runs.csv.gz and log.gz.

runs.csv.gz has the seconds of every run under load, and its histogram of response times, a row
each; log.gz the output of the load engine and the error log of the servers, with a line
`=== CASE, round N, BUILD` before each run.  Format 2; bench/schema.json is result.json's.
"""
import csv
import gzip
import io
import json
import re
import tempfile
from pathlib import Path

from millrace import files

FORMAT = 2
SECONDS, BUCKETS = ('second', 'value', 'cpu', 'read_bytes', 'write_bytes'), ('ms', 'count')
COLUMNS = ('case', 'build', 'round', *SECONDS, *BUCKETS)
FOLDED, PERIOD = 3, 4     # repetitions that are folded, and lines in one at most


def _shape(line):
    """A line without what differs in a series of like lines: digits, and bars of asterisks."""
    return re.sub(r'[ *]+', ' ', re.sub(r'\d+', '0', line))


def folded(text):
    """A text in which series of lines that differ only in their digits are folded.

    The first line stays, and the others become a line '... 12 like lines'.  Several lines that
    repeat in turn are folded likewise."""
    lines = text.splitlines()
    shapes, out, at = [_shape(line) for line in lines], [], 0
    while at < len(lines):
        for period in range(1, PERIOD + 1):
            end = at + period
            while end < len(lines) and shapes[end] == shapes[end - period]:
                end += 1
            end -= (end - at) % period
            if end - at > FOLDED * period:
                out += [*lines[at:at + period], f'... {end - at - period:,} like lines']
                at = end
                break
        else:
            out.append(lines[at])
            at += 1
    return ''.join(f'{line}\n' for line in out)


def heading(case, number, build):
    """The line of log.gz that a run's log begins after."""
    return f'=== {case}, round {number}, {build}\n'


def table(rows):
    """runs.csv.gz as text; a row is a dictionary with some of COLUMNS."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval='', lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_whole(path, content):
    """Writes a file, whole or not at all; a .gz is packed, the same text into the same bytes."""
    if path.suffix == '.gz':
        content = gzip.compress(content.encode(), mtime=0)
    files.write_whole(path, content)


def rounded(value):
    """Numbers of a result to six significant digits: more was not measured."""
    if isinstance(value, float):
        return float(f'{value:.6g}')
    if isinstance(value, dict):
        return {name: rounded(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(member) for member in value]
    return value


class Writer:
    """A result set while it is measured, in a new directory `path` of `results`.

    `private` maps paths of the machine to the words that stand for them in the log."""

    def __init__(self, results, name, private):
        self.path = Path(results) / name
        number = 1
        while self.path.exists():
            number += 1
            self.path = Path(results) / f'{name}-{number}'
        self.path.mkdir(parents=True)
        # the longest first: a path may lie in another
        self._private = sorted(((str(path), word) for path, word in private.items()),
                               key=lambda pair: -len(pair[0]))
        self._rows, self._log = [], []

    def without_places(self, text):
        """A text with words in place of the machine's paths."""
        for path, word in self._private:
            text = text.replace(path, word)
        return re.sub(rf'{tempfile.gettempdir()}/millrace-bench-\w+', 'RUN', text)

    def add_log(self, case, number, build, text):
        """Keeps the log of a run."""
        self._log.append(heading(case, number, build) + folded(self.without_places(text)))
        write_whole(self.path / 'log.gz', '\n'.join(self._log))

    def add_rows(self, case, number, build, timeline, histogram):
        """Keeps the seconds and the response times of a run, tuples of SECONDS and BUCKETS."""
        run = {'case': case, 'build': build, 'round': number}
        self._rows += [{**run, **dict(zip(SECONDS, second))} for second in timeline]
        self._rows += [{**run, **dict(zip(BUCKETS, bucket))} for bucket in histogram]
        write_whole(self.path / 'runs.csv.gz', table(self._rows))

    def write(self, result):
        """Writes result.json as it stands, and the other files where no run has done so."""
        for name, content in (('runs.csv.gz', table([])), ('log.gz', '')):
            if not (self.path / name).exists():
                write_whole(self.path / name, content)
        write_whole(self.path / 'result.json', json.dumps(rounded(result), indent=1) + '\n')
