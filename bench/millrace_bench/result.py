"""Result sets: test-results/<date>-<tree>-<suite>/ with result.json and the raw logs."""
import csv
import gzip
import io
import json
import re
import tempfile
from pathlib import Path

from .errors import BenchError

SCHEMA = Path(__file__).resolve().parent.parent / 'schema.json'
_TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'null': type(None)}


def _is(value, kind):
    if kind == 'number':
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == 'integer':
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, _TYPES[kind])


def faults(value, schema, place='result'):
    """What is wrong with a value by a JSON Schema, as texts that name the place.  Knows the words that
    bench/schema.json uses: type, enum, const, pattern, minimum, required, properties,
    additionalProperties, items, minItems, description."""
    known = {'type', 'enum', 'const', 'pattern', 'minimum', 'required', 'properties', 'additionalProperties',
             'items', 'minItems', 'description', 'title', '$schema'}
    unknown = set(schema) - known
    if unknown:
        raise ValueError(f'{place}: the validator does not know {", ".join(sorted(unknown))}')
    kinds = schema.get('type', [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f'{place}: {json.dumps(value)[:60]} is not {" or ".join(kinds)}']
    found = []
    if 'const' in schema and value != schema['const']:
        found.append(f'{place}: {value!r} is not {schema["const"]!r}')
    if 'enum' in schema and value not in schema['enum']:
        found.append(f'{place}: {value!r} is none of {schema["enum"]}')
    if 'pattern' in schema and isinstance(value, str) and not re.search(schema['pattern'], value):
        found.append(f'{place}: {value!r} does not match {schema["pattern"]}')
    if 'minimum' in schema and _is(value, 'number') and value < schema['minimum']:
        found.append(f'{place}: {value} is less than {schema["minimum"]}')
    if isinstance(value, dict):
        properties, others = schema.get('properties', {}), schema.get('additionalProperties', {})
        found += [f'{place}: no {name}' for name in schema.get('required', []) if name not in value]
        for name, member in value.items():
            rule = properties.get(name, others)
            found += [f'{place}: unknown member {name}'] if rule is False else faults(member, rule, f'{place}.{name}')
    if isinstance(value, list):
        if len(value) < schema.get('minItems', 0):
            found.append(f'{place}: {len(value)} members, fewer than {schema["minItems"]}')
        for i, member in enumerate(value):
            found += faults(member, schema.get('items', {}), f'{place}[{i}]')
    return found


def validate(result):
    """Raises where a result is not what bench/schema.json says."""
    found = faults(result, json.loads(SCHEMA.read_text(encoding='utf-8')))
    if found:
        raise BenchError('the result is not what bench/schema.json says', *found[:20])


def rounded(value):
    """Numbers of a result to six significant digits: more was not measured."""
    if isinstance(value, float):
        return float(f'{value:.6g}')
    if isinstance(value, dict):
        return {name: rounded(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(member) for member in value]
    return value


class ResultSet:
    """A directory of results while it is written.  `private` maps paths of the machine to the words that
    stand for them in the logs."""

    def __init__(self, results, name, private):
        self.path = Path(results) / name
        number = 1
        while self.path.exists():
            number += 1
            self.path = Path(results) / f'{name}-{number}'
        (self.path / 'raw').mkdir(parents=True)
        # the longest first: one may lie in another
        self._private = sorted(((str(path), word) for path, word in private.items()), key=lambda pair: -len(pair[0]))

    def _pack(self, name, text):
        with open(self.path / 'raw' / name, 'wb') as file, \
                gzip.GzipFile(filename='', mode='wb', fileobj=file, mtime=0) as packed:
            packed.write(text.encode())
        return f'raw/{name}'

    def without_places(self, text):
        """A text with words in the place of the machine's paths."""
        for path, word in self._private:
            text = text.replace(path, word)
        return re.sub(rf'{tempfile.gettempdir()}/millrace-bench-\w+', 'RUN', text)

    def log(self, name, text):
        """Keeps a log; its path in the set."""
        return self._pack(f'{name}.log.gz', self.without_places(text))

    def table(self, name, columns, rows):
        """Keeps a table as CSV; its path in the set, or None where there are no rows."""
        if not rows:
            return None
        text = io.StringIO()
        writer = csv.writer(text, lineterminator='\n')
        writer.writerow(columns)
        writer.writerows(rows)
        return self._pack(f'{name}.csv.gz', text.getvalue())

    def write(self, result):
        """Writes result.json as it stands; never half of it."""
        result = rounded(result)
        validate(result)
        new = self.path / 'result.json.new'
        new.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
        new.replace(self.path / 'result.json')
