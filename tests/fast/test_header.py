"""The patches' headers: parsing, and the rules."""
import pytest
from millrace import TOP
from millrace.errors import Failure
from millrace.patches import header, series
from millrace.upstream import pins
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


@pytest.mark.parametrize('tree', pins.trees())
def test_the_suites_that_show_a_patch_are_there(tree):
    for name in series.names(tree):
        head = header.read_header(series.patch_file(tree, name))
        assert set(head.suites) <= set(suites.NAMES), name


def test_a_good_header():
    parsed = header.parse('thing', GOOD)
    assert parsed.synopsis == 'does a thing that is useful'
    assert parsed.fields['Description'].endswith('A longer text.\n\nA second paragraph.')
    assert parsed.upstream_status == 'not forwarded'
    assert header.check(parsed, ['thing']) == []
    assert header.text(parsed.fields) == GOOD.partition('---\n')[0]


def test_a_fix_needs_no_benchmark():
    without = GOOD.replace('Bench: scan: what it does is done faster\n', '')
    assert header.check(header.parse('fix-thing', without), ['fix-thing']) == []
    fault, = header.check(header.parse('thing', without), ['thing'])
    assert 'no field Bench' in str(fault)


@pytest.mark.parametrize('old, new, line, words', [
    ('Author: A Person <a@example.org>\n', '', 1, ['Author', 'Name <address>']),
    ('Last-Update: 2026-11-21', 'Last-Update: yesterday', 8, ["'yesterday'", 'YYYY-MM-DD']),
    ('Forwarded: no', 'Forwarded: perhaps', 7, ["'perhaps'", 'not-needed']),
    ('Depends: none', 'Depends: other', 10, ['Depends', 'other', 'series']),
    ('Bench: scan', 'Speed: high\nBench: scan', 12, ['Speed']),
    ('Bench: scan: what it does is done faster', 'Bench: scan', 12, ["'scan'", 'none, and why']),
    ('License: GPL-2.0-only', 'License: MIT', 9, ["'MIT'", 'GPL-2.0-only']),
])
def test_a_fault_is_named_with_its_mend(old, new, line, words):
    fault, = header.check(header.parse('thing', GOOD.replace(old, new)), ['thing'])
    assert fault.line == line and fault.mend
    assert all(word in str(fault) for word in words)


@pytest.mark.parametrize('text, words', [
    ('--- a/x\n+++ b/x\n', 'no header'),
    (GOOD.replace('Origin: vendor', 'Origin: vendor\nOrigin: vendor'), 'line 7.*Origin.*twice'),
    (GOOD.replace('Origin: vendor', 'a line of text'), "line 6.*'a line of text'"),
    (GOOD.replace('useful', '\udcfc'), 'line 1.*UTF-8'),
])
def test_a_header_that_cannot_be_read(text, words):
    with pytest.raises(Failure, match=words) as raised:
        header.parse('thing', text)
    assert raised.value.lines[0].startswith('thing: ')
    assert raised.value.lines[-1].startswith('mend: ')
