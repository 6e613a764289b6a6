"""What is known of upstream's security fixes: trees/<tree>/security.toml, and who reads it."""
import datetime
import re

import pytest
from millrace import lint, publisher
from millrace.errors import Failure
from millrace.patches import tables
from millrace.upstream import pins, security

TREE, PINNED, CHECKED = '10.11', '10.11.18', datetime.date(2026, 11, 28)
ENTRY = '["10.11.19"]\nsource = "a changelog"\ncves = ["CVE-2026-60001", "CVE-2026-60002"]\n'
GOOD = f'''checked = {CHECKED}
{ENTRY}
["10.11.18"]
source = "another"
cves = ["CVE-2026-50001"]
["10.11.9"]
source = "an old one"
cves = []
'''


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A function that writes the file of a tree, the only one there is, and how it is pinned."""
    def write(text, version=PINNED, date='2026-11-21'):
        place = tmp_path / 'trees' / TREE
        place.mkdir(parents=True, exist_ok=True)
        (place / 'pin.conf').write_text(
            f'VERSION={version}\nSHA256=x\nSIGNED_BY=x\nARCHIVE=\nDEBIAN_SOURCE=\n'
            f'DEBIAN_SUITES=\nREVISION=1\nDATE={date}\n')
        (tmp_path / 'trees/default').write_text(f'{TREE}\n')
        if text is not None:
            (place / 'security.toml').write_text(text)
    monkeypatch.setattr(pins, 'TOP', tmp_path)
    monkeypatch.setattr(security, 'TOP', tmp_path)
    return write


def test_what_lies_between_two_releases(tree):
    tree(GOOD)
    known = security.read(TREE)
    assert known.releases == ['10.11.9', '10.11.18', '10.11.19']
    assert known.between('10.11.9', '10.11.18') == [('10.11.18', ('CVE-2026-50001',))]
    assert security.closed(TREE, PINNED) == ['10.11.19 closes CVE-2026-60001, CVE-2026-60002']
    assert security.closed(TREE, '10.11.19') == []
    assert security.closed(TREE, '10.11.8', '10.11.9') == ['10.11.9 closes no CVE']
    [line] = security.closed(TREE, '10.11.19', '10.11.20')
    assert f'trees/{TREE}/security.toml does not know 10.11.20' in line
    assert security.lacking(TREE, PINNED) == '2 security fixes of 10.11.19'
    assert security.lacking(TREE, '10.11.8') == '3 security fixes of 10.11.18 to 10.11.19'
    assert security.lacking(TREE, '10.11.19') is None


@pytest.mark.parametrize('text, words', [
    ('checked = ', 'Invalid value'), ('', 'no date `checked`'),
    ('checked = "today"\n', 'no date `checked`'),
    (f'checked = {CHECKED}\n[next]\n', "'next' is no release"),
    (f'checked = {CHECKED}\n["10.11.19"]\ncves = []\n', '10.11.19 has not `cves` and `source`'),
    (GOOD.replace('cves = []', 'cves = 5'), '10.11.9: `cves` is a list and `source` a text'),
    (GOOD.replace('cves = []', 'cves = "CVE-2026-1234"'), '10.11.9: `cves` is a list and'),
    (GOOD.replace('"another"', '5'), '10.11.18: `cves` is a list and `source` a text'),
    (GOOD.replace('CVE-2026-60002', 'MDEV-1'), "10.11.19: 'MDEV-1' is no CVE"),
    (GOOD.replace('CVE-2026-50001', 'CVE-2026-60001'), 'CVE-2026-60001 is in 10.11.19 and in')])
def test_a_faulty_file_is_one_error(tree, text, words):
    tree(text)
    with pytest.raises(Failure, match=re.escape(words)) as error:
        security.read(TREE)
    assert error.value.lines[0].startswith(f'trees/{TREE}/security.toml: ')


@pytest.mark.parametrize('text, pinned, words', [
    (None, {}, 'does not know 10.11.18'),
    (GOOD, {'version': '10.11.20'}, 'does not know 10.11.20'),
    (GOOD, {'date': '2026-11-29'}, 'was checked on 2026-11-28, before DATE=2026-11-29')])
def test_a_release_needs_a_file_that_is_up_to_date(tree, text, pinned, words):
    tree(text, **pinned)
    [fault] = lint.check_security()
    assert words in fault.what and fault.file == f'trees/{TREE}/security.toml'
    assert 'make upstream-watch' in fault.mend
    tree(GOOD)
    assert lint.check_security() == []


def test_the_state_of_a_tree(tree):
    tree(GOOD)
    assert tables.state() == '10.11.18 **lacks 2 security fixes of 10.11.19** ' \
        '(looked up on 2026-11-28).'
    assert [[cell.strip() for cell in row.split('|')[2:5]]
            for row in tables.holes().splitlines()[2:]] == [
        ['10.11.19', '**open**', 'CVE-2026-60001, CVE-2026-60002'],
        ['10.11.18, ours', 'closed', 'CVE-2026-50001'], ['10.11.9', 'closed', 'none']]
    tree(GOOD, version='10.11.19')
    assert tables.state() == '10.11.19 has every security fix known on 2026-11-28.'
    tree(GOOD, version='10.11.20')
    assert tables.state() == '10.11.20 **may lack security fixes**: not looked up.'


def test_the_pages_follow_the_files(checkout):
    for how in ('--write', '--check'):
        assert checkout.run('scripts/tables', how) == (0, '')
    file = checkout.path / f'trees/{TREE}/security.toml'
    file.write_text(file.read_text().replace('"CVE-2026-61081"', '"CVE-2026-61081", '
                                             '"CVE-2026-69999"'))
    control = checkout.path / 'debian/control'
    control.write_text(re.sub('^Maintainer: .*', 'Maintainer: You <you@example.org>',
                              control.read_text(), flags=re.MULTILINE))
    status, text = checkout.run('scripts/tables', '--check')
    assert status == 1 and 'README.md' in text and 'SECURITY.md' in text
    assert checkout.run('scripts/tables', '--write')[0] == 0
    page = (checkout.path / 'SECURITY.md').read_text()
    assert 'CVE-2026-69999' in page and 'Write to You <you@example.org>.' in page
    assert 'lacks 7 security fixes' in (checkout.path / 'README.md').read_text()


def test_the_watch_says_what_is_known_without_a_network(checkout):
    status, text = checkout.run_offline('scripts/upstream-watch')
    assert status == 1
    for tree in pins.trees():
        assert re.search(f'^{tree}: .* is pinned; nobody could be asked', text, re.M), text
    assert 'Traceback' not in text
    assert re.search(r'^10\.11: 10\.11\.19 closes CVE-2026-47023, ', text, re.MULTILINE), text


def test_packages_and_changelogs_have_one_address(checkout):
    control = checkout.path / 'debian/control'
    control.write_text(re.sub('^Maintainer: .*', 'Maintainer: You <you@example.org>',
                              control.read_text(), flags=re.MULTILINE))
    for kind in ('deb', 'rpm'):
        status, text = checkout.run('build/lib/changelog', kind, VERSION='1', RELEASE='1',
                                    SOURCE_DATE_EPOCH='1')
        assert status == 0 and 'You <you@example.org>' in text, text
    control.write_text(control.read_text().replace('Maintainer:', 'Maintained-By:'))
    status, text = checkout.run('build/lib/changelog', 'deb', VERSION='1', RELEASE='1',
                                SOURCE_DATE_EPOCH='1')
    assert status == 1 and 'debian/control has no Maintainer:' in text
    assert publisher.is_placeholder('A <a@localhost.invalid>')
    assert not publisher.is_placeholder('A <invalid@example.org>')
