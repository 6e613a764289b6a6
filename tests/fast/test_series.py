"""The series: subsets that go together."""
import itertools

import pytest

from millrace import series


@pytest.mark.parametrize('needs', [
    {},
    {name: [] for name in 'abcdefg'},
    {'a': [], 'b': ['a'], 'c': ['b'], 'd': []},
    {'a': [], 'b': [], 'c': ['a', 'b'], 'd': ['a']},
], ids=['no patch', 'seven free ones', 'a chain', 'a diamond'])
def test_closed_subsets(needs):
    found = series.closed_subsets(needs)
    every = [subset for size in range(len(needs) + 1) for subset in itertools.combinations(needs, size)]
    assert sorted(found) == sorted(subset for subset in every
                                   if all(needed in subset for name in subset for needed in needs[name]))
    assert all(subset[:-1] in found[:index] for index, subset in enumerate(found) if subset), 'a prefix tree'


def test_closure():
    needs = {'a': [], 'b': ['a'], 'c': ['b'], 'd': []}
    assert series.closure(['c'], needs) == ('a', 'b', 'c')
    assert series.closure(['d', 'a'], needs) == ('a', 'd')
    assert series.closure([], needs) == ()
