"""The packages' changelogs: what changed in the series since the releases before."""
import json
import re
import subprocess

import pytest
from millrace import released
from support.tinytree import tiny

PIN = {'TREE': 'tiny', 'VERSION': '1.0.0', 'RELEASE': '3', 'SOURCE_DATE_EPOCH': '1795219200'}


@pytest.fixture
def series(checkout, tmp_path):
    """A checkout of the tree tiny with three patches."""
    maker = tiny(checkout, tmp_path / 'cache')
    for name in ('one', 'two', 'three'):
        maker.add(name, {f'sql/{name}.cc': lambda _, name=name: f'// {name}\n'})
    return checkout


def path(checkout, name):
    """The file of a patch."""
    return checkout.path / f'patches/tiny/{name}.patch'


def described(checkout, *names):
    """What released.json has of these patches."""
    return released.described({name: path(checkout, name).read_text() for name in names})


def release(checkout, **releases):
    """Writes released.json: {revision: {'date':, 'patches':}}."""
    checkout.write('trees/tiny/released.json', released.text(releases))


def changelog(checkout, kind, *names, **variables):
    """Exit status and output of build/lib/changelog for these patches."""
    return checkout.run('build/lib/changelog', kind, *(path(checkout, name) for name in names),
                        **{**PIN, **variables})


def entries(checkout, *names, **variables):
    """[(version, lines)] of Debian's changelog, as dpkg reads it."""
    status, text = changelog(checkout, 'deb', *names, **variables)
    assert status == 0, text
    done = subprocess.run(['dpkg-parsechangelog', '-l', '-', '--all', '--format', 'rfc822'],
                          input=text, text=True, capture_output=True, check=True)
    assert done.stderr == ''
    return [(version, re.findall(r'^   \* (.*)', changes, re.MULTILINE)) for version, changes
            in re.findall(r'^ millrace \((.*?)\) unstable.*?\n(.*?)(?=^ millrace|\Z)',
                          done.stdout, re.MULTILINE | re.DOTALL)]


def test_the_first_release_and_a_subset_list_their_patches(series):
    [(version, lines)] = entries(series, 'one', 'two')
    assert version == '1:1.0.0-3' and len(lines) == 3
    assert lines[0].startswith('MariaDB Server 1.0.0 with the patches of the Millrace series')
    assert [line.partition(':')[0] for line in lines[1:]] == ['one', 'two']
    release(series, **{'1.0.0-1': {'date': '2026-11-01', 'patches': described(series, 'one')}})
    [(version, lines)] = entries(series, 'one', RELEASE='3~one')
    assert version == '1:1.0.0-3~one' and len(lines) == 2


def test_a_release_says_what_changed_since_the_last_one(series):
    first, second = described(series, 'one', 'two'), described(series, 'one', 'two', 'three')
    release(series, **{'1.0.0-2': {'date': '2026-11-20', 'patches': second},
                       '1.0.0-10': {'date': '2026-11-21', 'patches': second},
                       '0.9.9-1': {'date': '2026-11-01', 'patches': first}})
    assert list(json.loads((series.path / 'trees/tiny/released.json').read_text())) \
        == ['0.9.9-1', '1.0.0-2', '1.0.0-10']
    # other line numbers and another field of the header are no change, a line of the diff is
    one, three = path(series, 'one'), path(series, 'three')
    one.write_text(one.read_text().replace('Forwarded: no', 'Forwarded: not-needed'))
    three.write_text(three.read_text().replace('+// three', '+// 3'))
    found = entries(series, 'one', 'three', RELEASE='11')
    assert [version for version, _ in found] == ['1:1.0.0-11', '1:1.0.0-10', '1:1.0.0-2',
                                                 '1:0.9.9-1']
    said = [[re.sub(': .*', '', line) for line in lines] for _, lines in found]
    assert found[0][1][0] == 'MariaDB Server 1.0.0 with the Millrace series, since 1.0.0-10:'
    assert said[0][1:] == ['three, changed', 'two, gone']
    assert said[1][1:] == ['the same patches.'] and said[2][1:] == ['three, new']
    assert said[3][1:] == ['one', 'two']
    status, text = changelog(series, 'rpm', 'one', 'three', RELEASE='11')
    assert status == 0 and re.findall(r'^\* (\w+ \w+ \d+ \d+) .* - (\S+)$', text, re.MULTILINE) \
        == [('Sat Nov 21 2026', '1.0.0-11'), ('Sat Nov 21 2026', '1.0.0-10'),
            ('Fri Nov 20 2026', '1.0.0-2'), ('Sun Nov 01 2026', '0.9.9-1')]
    assert '\n- three, changed: ' in text and '\n- two, gone: ' in text
    # a release that was made from this commit is the one that is built
    assert [version for version, _ in entries(series, 'one', RELEASE='10')] \
        == ['1:1.0.0-10', '1:1.0.0-2', '1:0.9.9-1']


def test_a_date_before_the_last_release_is_refused(series):
    release(series, **{'1.0.0-1': {'date': '2026-11-22', 'patches': described(series, 'one')}})
    status, text = changelog(series, 'rpm', 'one')
    assert status == 1 and '1.0.0-3 is of an earlier date than 1.0.0-1' in text, text
    assert 'raise DATE in trees/tiny/pin.conf' in text
