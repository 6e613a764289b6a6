"""Reads result sets: result.json, runs.csv.gz and log.gz."""
import csv
import functools
import gzip
import json
import re
from pathlib import Path

import jsonschema

from millrace import TOP
from millrace.errors import Failure
from millrace_bench import suites
from millrace_bench.measure.limits import suffix
from millrace_bench.measure.result import FORMAT, heading

SCHEMA = TOP / 'bench/schema.json'
KEPT = TOP / 'test-results/sets'
MEND = 'restore the result set from git, or measure again with make bench'
USUAL = ('vanilla', 'millrace', 'debian')    # builds that a set's name does not list


@functools.lru_cache(maxsize=1)
def _validator():
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))


def faults(data):
    """List the faults of a result.json by bench/schema.json, as texts that name the place."""
    return [f'{error.json_path}: {error.message[:200]}'
            for error in sorted(_validator().iter_errors(data), key=lambda error: error.json_path)]


def comparison(case, build, measure=None):
    """The comparison of a build with the base in a measure (default: that of the case), or
    None."""
    for one in case['comparisons']:
        if one['build'] == build and one['measure'] == (measure or case['measure']):
            return one
    return None


class ResultSet:
    """One result set: `path`, `name` and, as `data`, its result.json, which is as
    bench/schema.json says.  Raises Failure where a file is missing or wrong."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.resolve().name
        file = self.path / 'result.json'
        try:
            self.data = json.loads(file.read_text(encoding='utf-8'))
        except FileNotFoundError:
            raise Failure(f'{self.path}: no result.json in it', 'name a result set: a directory '
                          'of test-results/sets, or one that make bench has written') from None
        except ValueError as error:
            raise Failure(f'{file}: not JSON: {error}', MEND) from None
        if isinstance(self.data, dict) and self.data.get('format') != FORMAT:
            raise Failure(f'{file}: format {self.data.get("format")}, and not {FORMAT}', MEND)
        if wrong := faults(self.data):
            raise Failure(f'{file}: not as bench/schema.json says', *wrong[:5], MEND)
        for case in self.data['cases']:
            for item in [*case['runs'], *case['comparisons']]:
                if item['build'] not in self.builds:
                    raise Failure(f'{file}: case {case["name"]} names the build '
                                  f'{item["build"]}, which is not among its builds', MEND)
        for name in ('runs.csv.gz', 'log.gz'):
            if not (self.path / name).is_file():
                raise Failure(f'{self.path / name}: no such file', MEND)

    @property
    def builds(self):
        """Names of the builds, in the order of the record."""
        return [build['name'] for build in self.data['builds']]

    @property
    def whole(self):
        """Whether all cases of its suite ran."""
        return 'cases' not in self.data['load']

    @property
    def usual_size(self):
        """Whether it has the usual amount of data."""
        return self.data['load'].get('size', 1) == 1

    @property
    def usual(self):
        """Whether its size is the usual one, and its builds are vanilla and millrace, and perhaps
        debian."""
        return self.usual_size and {'vanilla', 'millrace'} <= set(self.builds) <= set(USUAL)

    def builds_of(self, case):
        """Names of the builds that have runs in a case."""
        ran = {run['build'] for run in case['runs']}
        return [build for build in self.builds if build in ran]

    @functools.cached_property
    def _table(self):
        """The rows of runs.csv.gz, {case: [{column: text}]}."""
        by_case = {}
        for row in csv.DictReader(self.text('runs.csv.gz').splitlines()):
            by_case.setdefault(row.get('case'), []).append(row)
        return by_case

    def text(self, name):
        """The text of runs.csv.gz or log.gz."""
        try:
            with gzip.open(self.path / name, 'rt', encoding='utf-8', newline='') as file:
                return file.read()
        except (OSError, EOFError, ValueError) as error:
            raise Failure(f'{self.path / name}: cannot be read: {error}', MEND) from None

    def rows(self, case, columns):
        """The rows of a case that have something in the first of some columns, as tuples: the
        build, and a number for each column."""
        file = self.path / 'runs.csv.gz'
        try:
            return [(row['build'], *(float(row[column]) for column in columns))
                    for row in self._table.get(case['name'], ()) if row[columns[0]]]
        except KeyError as error:
            raise Failure(f'{file}: no column {error}', MEND) from None
        except (TypeError, ValueError) as error:
            raise Failure(f'{file}: cannot be read: {error}', MEND) from None

    def check_whole(self):
        """Raises Failure where the set is incomplete, or the log or the rows of a run are
        missing that result.json has."""
        if not self.data['complete']:
            raise Failure(f'{self.name}: incomplete: {self.data["error"]}',
                          'measure it again with make bench')
        log = self.text('log.gz')
        for case in self.data['cases']:
            if not case['runs']:
                raise Failure(f'{self.name}: no run of {case["name"]}', MEND)
            for run in case['runs']:
                head = heading(case['name'], run['round'], run['build'])
                if head not in log:
                    raise Failure(f'{self.path}/log.gz: no log of a run: {head.strip("= ")}', MEND)

    def kept_name(self):
        """Its name in test-results/sets: tree, suite, limit, and what is not as usual: builds,
        size, cases."""
        data, load = self.data, self.data['load']
        others = [build for build in self.builds if build not in USUAL]
        others += [] if self.usual_size else [f'size{load["size"]:g}']
        others += load.get('cases', '').split()
        return '+'.join([f'{data["tree"]}-{data["suite"]}{suffix(data["limit"])}',
                         *(re.sub(r'[^\w.-]+', '-', other) for other in others)])


def place(result):
    """Key to sort result sets by: tree, suite in the order of make help, limit, what is not as
    usual."""
    data = result.data
    suite = data['suite']
    number = suites.NAMES.index(suite) if suite in suites.NAMES else len(suites.NAMES)
    version = [int(part) for part in re.findall(r'\d+', data['tree'])]
    limit = data['limit']
    return version, number, suite, limit['iops'] or 0, limit.get('bandwidth') or 0, \
        not result.usual, result.name


def sets_in(directory):
    """The result sets in a directory, sorted by place()."""
    return sorted((ResultSet(file.parent) for file in Path(directory).glob('*/result.json')),
                  key=place)


@functools.cache
def kept():
    """The result sets that are kept, read and checked once."""
    return sets_in(KEPT)
