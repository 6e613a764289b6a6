"""Reading result sets: result.json and the raw files that it names."""
import csv
import gzip
import json
from pathlib import Path

from millrace_bench.errors import BenchError
from millrace_bench.result import SCHEMA, faults

MEND = 'restore the result set from git, or measure again with make bench'


class ResultSet:
    """One result set: `path`, `name` and, as `data`, its result.json, which is as bench/schema.json says
    and whose raw files are there."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.resolve().name
        file = self.path / 'result.json'
        try:
            self.data = json.loads(file.read_text(encoding='utf-8'))
        except FileNotFoundError:
            raise BenchError(f'{self.path}: no result.json in it',
                             'name a directory that make bench has written: test-results/<date>-<tree>-<suite>') from None
        except ValueError as error:
            raise BenchError(f'{file}: not JSON: {error}', MEND) from None
        found = faults(self.data, json.loads(SCHEMA.read_text(encoding='utf-8')))
        if found:
            raise BenchError(f'{file}: not as bench/schema.json says', *found[:5], MEND)
        for case in self.data['cases']:
            for item in [*case['runs'], *case['comparisons']]:
                if item['build'] not in self.builds:
                    raise BenchError(f'{file}: case {case["name"]} names the build {item["build"]}, which is not among '
                                     'its builds', MEND)
            for run in case['runs']:
                for name in raw_files(run):
                    if not (self.path / name).is_file():
                        raise BenchError(f'{self.path / name}: no such file', f'result.json names it: case {case["name"]}, '
                                         f'{run["build"]}, round {run["round"]}', MEND)

    @property
    def builds(self):
        """Names of the builds, in the order of the record."""
        return [build['name'] for build in self.data['builds']]

    def builds_of(self, case):
        """Names of the builds that have runs in a case."""
        ran = {run['build'] for run in case['runs']}
        return [build for build in self.builds if build in ran]

    def table(self, name, columns):
        """Rows of a raw CSV file as tuples of numbers; none for name None."""
        if name is None:
            return []
        file = self.path / name
        try:
            with gzip.open(file, 'rt', encoding='utf-8', newline='') as text:
                return [tuple(float(row[column]) for column in columns)
                        for row in csv.DictReader(text)]
        except KeyError as error:
            raise BenchError(f'{file}: no column {error}', MEND) from None
        except (OSError, EOFError, TypeError, ValueError) as error:
            raise BenchError(f'{file}: cannot be read: {error}', MEND) from None


def raw_files(run):
    """Names of the raw files of a run: its timeline and histogram, where it has them, and its logs."""
    return [name for name in (run['timeline'], run['histogram'], *run['logs']) if name]


def comparison(case, build, measure=None):
    """The comparison of a build with the base in a measure (default: that of the case), or None."""
    for found in case['comparisons']:
        if found['build'] == build and found['measure'] == (measure or case['measure']):
            return found
    return None


def found_under(top):
    """The result sets in a directory, the newest first."""
    return [ResultSet(file.parent) for file in sorted(Path(top).glob('*/result.json'), reverse=True)]
