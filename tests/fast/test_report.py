"""Reading result sets: what is refused, and what the error says; numbers and verdicts in words."""
import gzip
import json
import subprocess
import sys

import pytest

from conftest import TOP
from millrace_bench.errors import BenchError
from millrace_report import words
from millrace_report.results import ResultSet

sys.path.insert(0, str(TOP / 'tests/pages'))
import sample  # noqa: E402


@pytest.fixture
def small(tmp_path):
    """A small result set."""
    path = tmp_path / '2026-11-21-10.11-oltp'
    sample.write(path, rounds=2, seconds=3)
    return path


def change(path, edit):
    """Changes the record of a result set."""
    data = json.loads((path / 'result.json').read_text())
    edit(data)
    (path / 'result.json').write_text(json.dumps(data))


def fault(path):
    """The error that reading a result set ends in."""
    with pytest.raises(BenchError) as error:
        result = ResultSet(path)
        for case in result.data['cases']:
            for run in case['runs']:
                result.table(run['timeline'], ('second', 'value'))
    return str(error.value)


def test_a_good_set_is_read(small):
    result = ResultSet(small)
    case = result.data['cases'][0]
    assert result.builds_of(case) == ['vanilla', 'millrace', 'debian']
    rows = result.table(case['runs'][0]['timeline'], ('second', 'cpu'))
    assert [second for second, _ in rows] == [1, 2, 3] and all(0 < cpu <= 1 for _, cpu in rows)


def test_no_result(tmp_path):
    assert 'no result.json' in fault(tmp_path) and 'make bench' in fault(tmp_path)


def test_not_json(small):
    (small / 'result.json').write_text('{"format": 1,')
    assert 'result.json: not JSON' in fault(small) and 'restore the result set from git' in fault(small)


@pytest.mark.parametrize('edit, said', [
    (lambda data: data.pop('machine'), 'no machine'),
    (lambda data: data['cases'][0]['runs'][0].pop('value'), 'result.cases[0].runs[0]: no value'),
    (lambda data: data.update(format=2), "2 is not 1"),
    (lambda data: data['builds'].pop(), 'names the build debian'),
])
def test_a_record_that_is_not_as_it_should_be(small, edit, said):
    change(small, edit)
    assert said in fault(small) and 'make bench' in fault(small)


def test_a_raw_file_is_missing(small):
    (small / 'raw/read-only-16-2-millrace.csv.gz').unlink()
    said = fault(small)
    assert 'raw/read-only-16-2-millrace.csv.gz: no such file' in said
    assert 'case read-only-16, millrace, round 2' in said and 'restore the result set from git' in said


def test_a_raw_file_is_cut_off(small):
    file = small / 'raw/read-only-16-2-millrace.csv.gz'
    file.write_bytes(file.read_bytes()[:-12])
    assert f'{file.name}: cannot be read' in fault(small)


@pytest.mark.parametrize('text, said', [('second,rate\n1,2\n', "no column 'value'"), ('second,value\n1,fast\n', 'cannot be read'),
                                        ('second,value\n1\n', 'cannot be read')])
def test_a_raw_file_of_another_kind(small, text, said):
    (small / 'raw/read-only-16-2-millrace.csv.gz').write_bytes(gzip.compress(text.encode()))
    assert said in fault(small)


def test_the_command_names_the_fault_and_writes_nothing(small):
    (small / 'raw/read-only-16-2-millrace.log.gz').unlink()
    done = subprocess.run([TOP / 'bench/report', small], text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith('report: error: ') and 'millrace.log.gz: no such file' in done.stderr
    assert not (small / 'index.html').exists() and not (small / 'pictures').exists()


@pytest.mark.parametrize('value, text', [(0, '0'), (0.01234, '0.0123'), (12.34, '12.3'), (123.45, '123.5'), (894.66, '894.7'),
                                         (1234.5, '1,234'), (2.5e6, '2.5 M'), (None, '–')])
def test_numbers(value, text):
    assert words.number(value) == text


@pytest.mark.parametrize('ratio, low, high, better, said', [
    (1.1, 1.05, 1.15, 'higher', 'better'), (0.9, 0.85, 0.95, 'higher', 'worse'), (0.9, 0.85, 0.95, 'lower', 'better'),
    (1.1, 1.05, 1.15, 'lower', 'worse'), (1.1, 0.99, 1.2, 'higher', 'no difference shown')])
def test_verdicts(ratio, low, high, better, said):
    assert words.verdict({'ratio': ratio, 'low': low, 'high': high, 'includes_one': low <= 1 <= high}, better) == said


@pytest.mark.parametrize('name', sorted(file.parent.name for file in (TOP / 'test-results').glob('*/result.json')))
def test_what_was_measured_is_whole_and_drawn(name):
    path = TOP / 'test-results' / name
    result = ResultSet(path)
    assert (path / 'index.html').is_file() and list((path / 'pictures').glob('*.svg')), 'mend: make report'
    assert f'href="{result.name}/index.html"' in (path.parent / 'index.html').read_text(), 'mend: make report'


@pytest.mark.parametrize('seconds, said', [([60.0, 60.02], '1 round of 60\u00a0s'), ([0.028, 0.03], '1 round of 0.03\u00a0s'),
                                           ([3.44, 9.1, 31.2], '1 round of 3.4 to 31\u00a0s'), ([0.2, 0.9], '1 round of 0.2 to 0.9\u00a0s')])
def test_rounds(seconds, said):
    assert words.rounds({'runs': [{'round': 1, 'seconds': value} for value in seconds]}) == said
