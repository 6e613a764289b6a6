"""The series: subsets that go together."""
import itertools

import pytest
from millrace.errors import Failure
from millrace.patches import series


@pytest.mark.parametrize('needs', [
    {},
    {name: [] for name in 'abcdefg'},
    {'a': [], 'b': ['a'], 'c': ['b'], 'd': []},
    {'a': [], 'b': [], 'c': ['a', 'b'], 'd': ['a']},
], ids=['no patch', 'seven free ones', 'a chain', 'a diamond'])
def test_closed_subsets(needs):
    closed = series.closed_subsets(needs)
    every = [subset for size in range(len(needs) + 1)
             for subset in itertools.combinations(needs, size)]
    assert sorted(closed) == sorted(
        subset for subset in every
        if all(needed in subset for name in subset for needed in needs[name]))
    assert all(subset[:-1] in closed[:index] for index, subset in enumerate(closed) if subset), \
        'a prefix tree'


def test_closure():
    needs = {'a': [], 'b': ['a'], 'c': ['b'], 'd': []}
    assert series.closure(['c'], needs) == ('a', 'b', 'c')
    assert series.closure(['d', 'a'], needs) == ('a', 'd')
    assert series.closure([], needs) == ()


def test_a_subset_that_leaves_out_what_it_needs():
    needs = {'a': [], 'b': ['a'], 'c': ['b']}
    series.check_closed(['a', 'b'], needs, str)
    with pytest.raises(Failure, match="'c' needs 'b'.*\n.*PATCHES=a b c"):
        series.check_closed(['a', 'c'], needs, lambda closed: f'PATCHES={closed}')
