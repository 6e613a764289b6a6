"""The patches' headers: parsing, and the rules."""
import pytest

from conftest import TOP
from millrace import header, series
from millrace_bench import suites

GOOD = '''Description: does a thing that is useful
 A longer text.
 .
 A second paragraph.
Author: A Person <a@example.org>
Origin: vendor
Forwarded: no
Last-Update: 2026-11-21
License: GPL-2.0-only
Depends: none
Test: innodb.thing
Bench: scan: what it does is done faster
Drop-When: upstream does it
---
--- a/x
+++ b/x
'''


@pytest.mark.parametrize('name', series.names())
def test_every_patch_has_a_page(name):
    assert (TOP / 'docs/patches' / f'{name}.md').is_file()


@pytest.mark.parametrize('tree', series.trees())
def test_the_suites_that_show_a_patch_are_there(tree):
    for name in series.names(tree):
        assert set(header.read_header(series.patch_file(tree, name)).suites) <= set(suites.NAMES), name


def test_a_good_header():
    parsed = header.parse('thing', GOOD)
    assert parsed.synopsis == 'does a thing that is useful'
    assert parsed.fields['Description'].endswith('A longer text.\n\nA second paragraph.')
    assert parsed.upstream_status == 'not forwarded'
    assert header.check(parsed, ['thing']) == []


@pytest.mark.parametrize('old, new, words', [
    ('Author: A Person <a@example.org>\n', '', ['no field Author', 'Name <address>']),
    ('Last-Update: 2026-11-21', 'Last-Update: yesterday', ["Last-Update: 'yesterday'", 'YYYY-MM-DD']),
    ('Forwarded: no', 'Forwarded: perhaps', ["'perhaps'", 'not-needed']),
    ('Depends: none', 'Depends: other', ['Depends on other', 'not in the series before it']),
    ('Bench: scan', 'Speed: high\nBench: scan', ['unknown field Speed']),
    ('Bench: scan: what it does is done faster', 'Bench: scan', ["Bench: 'scan'", 'none, and why']),
    ('License: GPL-2.0-only', 'License: MIT', ["'MIT'", 'GPL-2.0-only']),
])
def test_a_fault_is_named_with_its_mend(old, new, words):
    faults = header.check(header.parse('thing', GOOD.replace(old, new)), ['thing'])
    assert len(faults) == 1
    assert faults[0].startswith('thing: ') and 'mend: ' in faults[0]
    assert all(word in faults[0] for word in words)


@pytest.mark.parametrize('text, words', [
    ('--- a/x\n+++ b/x\n', 'no header'),
    (GOOD.replace('Origin: vendor', 'Origin: vendor\nOrigin: vendor'), 'stands twice'),
    (GOOD.replace('Origin: vendor', 'a line of text'), 'not a header line'),
])
def test_a_header_that_cannot_be_read(text, words):
    with pytest.raises(header.HeaderError, match=words):
        header.parse('thing', text)
