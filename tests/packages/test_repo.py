"""make repo and make promote: with real keys, aptly and createrepo_c, and real apt and dnf that
take packages from what they publish, over HTTP."""
import os
import re
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from millrace import TOP
from support.checkout import ONCE, PYPI
from support.clients import Apt, Dnf
from support.finished import sum_up
from support.shop import Shop, gpg

# its keys, packages and server are made once
pytestmark = [pytest.mark.xdist_group('repo'), ONCE]

SERVER, CLIENT, COMMON = 'millrace-server', 'millrace-client', 'millrace-common'


@pytest.fixture
def apt(tmp_path):
    """An apt."""
    return Apt(tmp_path / 'apt')


@pytest.fixture
def dnf(tmp_path):
    """A dnf."""
    (tmp_path / 'dnf').mkdir()
    return Dnf(tmp_path / 'dnf')


def test_apt_takes_both_channels_and_the_way_back(shop, apt):
    shop.begin(stable=True, content='content 1')
    first = {path.name: path.read_bytes() for path in (shop.dist / '10.11').glob('*.deb')}
    shop.finish(revision=2, content='content 2')
    second = {path.name: path.read_bytes() for path in (shop.dist / '10.11').glob('*.deb')}
    shop.publish()
    apt.add(shop.repo, 'millrace-10.11-bookworm.sources',
            'millrace-10.11-bookworm-testing.sources')
    assert apt('update'), apt.text
    assert 'W:' not in apt.text, apt.text
    # stable unless testing is asked for
    assert apt.candidate(SERVER) == '1:10.11.18-1'
    assert apt.fetch(SERVER), apt.text
    wanted = {name for name in first if re.match('millrace-(server|client|common)_', name)}
    assert apt.archives == {name: first[name] for name in wanted}
    assert apt.fetch('-t', 'bookworm-testing', SERVER), apt.text
    assert apt.archives == {name: data for name, data in {**first, **second}.items()
                            if re.match('millrace-(server|client|common)_', name)}
    assert apt('source', '--download-only', 'millrace=1:10.11.18-1'), apt.text
    assert (apt.root / 'millrace_10.11.18-1.dsc').exists()
    # the way back from the next one is a version, of both
    shop.promote()
    assert apt('update'), apt.text
    assert apt.candidate(SERVER) == '1:10.11.18-2'
    shutil.rmtree(apt.root / 'var/cache/apt/archives')
    assert apt.fetch(*(f'{name}=1:10.11.18-1' for name in (SERVER, CLIENT, COMMON))), apt.text
    assert apt.archives == {name: first[name] for name in wanted}
    # the index of stable that was there before the promotion is still to be had by its hash
    assert len(list((shop.repo / 'apt/dists/bookworm/10.11/binary-amd64/by-hash/SHA256')
                    .iterdir())) > 3


def test_it_says_which_holes_a_revision_leaves_open(shop):
    shop.finish(rpm=False)
    line = '10.11.18-1 of tree 10.11 is behind upstream: 10.11.19 closes CVE-2026-47023, '
    assert line in shop.publish() and line in shop.promote()


def test_unattended_upgrades_are_for_who_copies_a_line(shop, apt):
    """The pattern is that of the stable suite, as apt knows it, and of no other."""
    shop.begin(stable=True, content='content 1')
    apt.add(shop.repo, 'millrace-10.11-bookworm.sources',
            'millrace-10.11-bookworm-testing.sources')
    assert apt('update'), apt.text
    text = (TOP / 'docs/operate.md').read_text()
    source, target = re.search('^    cp (.*) (.*)$', text, re.MULTILINE).groups()
    assert source.rpartition('/')[2] not in os.listdir(f'{apt.root}{target}')
    # besides this machine's own
    assert apt.run('env', f'APT_CONFIG={apt.root}{source}', 'apt-config', 'dump',
                   '--format=%v%n', 'Unattended-Upgrade::Origins-Pattern'), apt.text
    [pattern] = [line for line in apt.text.splitlines() if 'Millrace' in line]
    wanted = dict(word.split('=') for word in
                  pattern.replace('${distro_codename}', 'bookworm').split(','))
    assert apt('policy'), apt.text
    suites = [dict(word.split('=') for word in line.split(','))
              for line in re.findall('release (.*o=Millrace.*)', apt.text)]
    letters = {'origin': 'o', 'codename': 'n'}
    matched = {suite['n'] for suite in suites
               if all(suite[letters[key]] == value for key, value in wanted.items())}
    assert {suite['n'] for suite in suites} == {'bookworm', 'bookworm-testing'}
    assert matched == {'bookworm'}


def test_apt_asks_for_indices_by_hash(shop, apt):
    shop.begin(rpm=False)
    asked = []
    handler = shop.server.RequestHandlerClass.func
    original = handler.send_head
    handler.send_head = lambda self: asked.append(self.path) or original(self)
    try:
        apt.add(shop.repo, 'millrace-10.11-bookworm-testing.sources')
        assert apt('update'), apt.text
    finally:
        handler.send_head = original
    assert any('/by-hash/' in path for path in asked) \
        and not any(path.endswith(('/Packages', '/Packages.gz')) for path in asked), asked


def sign_again(shop, home, key, file, *options):
    """Puts another key's signature into the place of the repository's."""
    path = shop.repo / file
    if options == ('--clearsign',):
        text = gpg(home, '--decrypt', path)
        path.with_suffix('.text').write_text(text)
        gpg(home, '--yes', '--local-user', key, '--output', path, '--clearsign',
            path.with_suffix('.text'))
    else:
        gpg(home, '--yes', '--local-user', key, '--armor', '--output', f'{path}.asc',
            '--detach-sign', path)


def test_apt_refuses_what_is_not_the_maintainers(shop, apt, home, keys):
    shop.begin(rpm=False)
    package = next(shop.repo.glob(f'apt/pool/**/{SERVER}_*.deb'))
    apt.add(shop.repo, 'millrace-10.11-bookworm-testing.sources')
    assert apt('update'), apt.text
    package.write_bytes(package.read_bytes().replace(b'content', b'malware', 1))
    assert not apt.fetch(SERVER) and 'Hash Sum mismatch' in apt.text, apt.text
    release = shop.repo / 'apt/dists/bookworm-testing/InRelease'
    whole = release.read_text()
    later = time.time() + 9         # apt asks for what is newer by seconds
    release.write_text(whole.replace('Label: Millrace', 'Label: Mallory'))
    os.utime(release, (later, later))
    # gpgv's word, and sqv's
    assert not apt('update') and re.search('BADSIG|manipulated|[Bb]ad signature', apt.text), \
        apt.text
    release.write_text(whole)
    sign_again(shop, home, keys['Mallory'], release.relative_to(shop.repo), '--clearsign')
    os.utime(release, (later, later))
    assert not apt('update') and re.search('NO_PUBKEY|Missing key', apt.text), apt.text


def test_dnf_takes_both_channels_and_the_way_back(shop, dnf):
    shop.begin(stable=True, content='content 1')
    shop.finish(revision=2, content='content 2')
    shop.publish()
    dnf.add(shop.repo, 'millrace-10.11.repo')
    file = dnf.root / 'installed/usr/share/millrace/content'
    assert dnf('install', SERVER), dnf.text
    assert dnf.installed() == [f'millrace-{name}-10.11.18-1.x86_64'
                               for name in ('client', 'server')]
    assert file.read_text() == 'content 1\n'
    assert dnf('--enablerepo=millrace-10.11-testing', 'upgrade'), dnf.text
    assert file.read_text() == 'content 2\n'
    shop.promote()
    assert dnf('downgrade', f'{SERVER}-10.11.18-1', f'{CLIENT}-10.11.18-1'), dnf.text
    assert file.read_text() == 'content 1\n'
    assert dnf('upgrade'), dnf.text
    assert file.read_text() == 'content 2\n'


def test_dnf_refuses_what_is_not_the_maintainers(shop, dnf, home, keys):
    shop.begin()
    dnf.add(shop.repo, 'millrace-10.11.repo')
    testing = shop.repo / 'rpm/10.11/testing'
    whole = (testing / 'repodata/repomd.xml.asc').read_text()
    sign_again(shop, home, keys['Mallory'], 'rpm/10.11/testing/repodata/repomd.xml')
    words = ('--enablerepo=millrace-10.11-testing', '--disablerepo=millrace-10.11', 'install',
             CLIENT)
    assert not dnf(*words) and 'GPG' in dnf.text, dnf.text
    (testing / 'repodata/repomd.xml.asc').write_text(whole)
    # a package of Mallory's, in metadata that are ours
    package = next(testing.glob(f'{CLIENT}-*.x86_64.rpm'))
    subprocess.run(['rpmsign', '--define', f'_gpg_name {keys["Mallory"]}', '--define',
                    f'__gpg {shutil.which("gpg")}', '--addsign', package], check=True,
                   capture_output=True, env={**os.environ, 'GNUPGHOME': str(home)})
    subprocess.run(['createrepo_c', '--quiet', testing], check=True)
    sign_again(shop, home, shop.key, 'rpm/10.11/testing/repodata/repomd.xml')
    assert not dnf(*words) and 'GPG' in dnf.text, dnf.text
    assert dnf.installed() == []


def test_all_of_it_is_signed_and_says_nothing_of_this_machine(shop, home, tmp_path):
    shop.finish()
    shop.finish('11.8', '11.8.6', depends='libaio1t64 (>= 0.3)')
    text = shop.publish()
    assert '10.11.18-1 of tree 10.11 for bookworm' in text
    assert '11.8.6-1 of tree 11.8 for trixie' in text
    shop.promote()
    files = shop.files()
    assert {path.split('/')[2] for path in files if path.startswith('apt/dists/')} \
        == {f'{name}{channel}' for name in ('bookworm', 'trixie') for channel in ('', '-testing')}
    for place in ('', 'tarballs/10.11/testing', 'tarballs/10.11/stable', 'tarballs/11.8/testing'):
        gpg(home, '--verify', shop.repo / place / 'SHA256SUMS.asc',
            shop.repo / place / 'SHA256SUMS')
        listed = subprocess.run(['sha256sum', '-c', 'SHA256SUMS'], cwd=shop.repo / place,
                                check=True, text=True, capture_output=True).stdout
        names = {path.removeprefix(place).lstrip('/') for path in files if path.startswith(place)}
        assert {line.removesuffix(': OK') for line in listed.splitlines()} \
            == names - {'SHA256SUMS', 'SHA256SUMS.asc'}
    published = {Path(path).name for path in files}
    for tree in ('10.11', '11.8'):
        assert {path.name for path in (shop.dist / tree).iterdir()} <= published
    assert not [path for path in shop.repo.rglob('*') if path.is_symlink()]
    places = [str(place).encode() for place in (shop.checkout.path, shop.market.place)]
    # of the src.rpm the test's own spec is a part
    assert [path for path, (*_, data) in files.items()
            if any(place in data for place in places) and not path.endswith('.src.rpm')] == []
    # the user's rpm takes the key and finds it on the packages, the source package, too
    database = tmp_path / 'rpmdb'
    subprocess.run(['rpmkeys', '--dbpath', database, '--import',
                    shop.repo / 'millrace-archive-keyring.asc'], check=True)
    packages = list(shop.repo.glob('rpm/*/testing/*.rpm'))
    said = subprocess.run(['rpmkeys', '--dbpath', database, '--checksig', *packages], check=True,
                          capture_output=True, text=True).stdout
    assert len(packages) == 12 and said.count('digests signatures OK') == 12, said


def test_a_promotion_copies_no_byte_and_a_second_run_changes_none(shop):
    shop.begin()
    before = shop.files()
    assert 'up to date' in shop.publish() and 'up to date' in shop.run()[1]
    home = os.path.relpath(shop.market.home, shop.checkout.path)
    assert 'up to date' in shop.run(GNUPGHOME=home)[1]
    assert shop.files() == before
    shop.promote('10.11.18-1')
    after = shop.files()
    packages = [path for path in before if path.endswith(('.deb', '.rpm', '.zst', '.dsc', '.gz'))
                and 'repodata' not in path and 'dists' not in path]
    assert len(packages) > 15
    for path in packages:
        assert after[path][0] == before[path][0] or 'keyring' in path, path
        assert after[path][2] == before[path][2], path
        stable = path.replace('/testing/', '/stable/')
        assert after[stable][0] == after[path][0], path
    assert 'up to date' in shop.promote()
    assert shop.files() == after


def test_the_second_tree_comes_beside_the_first(shop):
    shop.finish('11.8', '11.8.6', rpm=False)
    shop.publish('11.8')
    shutil.rmtree(shop.dist / '11.8')
    shop.finish(rpm=False)
    shop.publish()
    status, text = shop.run('11.8')
    assert status == 1 and 'no finished packages in dist/11.8' in text, text
    assert {path.name for path in (shop.repo / 'apt').glob('*.sources')} == {
        f'millrace-{name}.sources' for name in (
            '10.11-bookworm', '10.11-bookworm-testing', '11.8-trixie', '11.8-trixie-testing')}
    assert next(shop.repo.glob('apt/pool/11.8/m/millrace/millrace-server_*'))
    # what another format adds is taken in, until the revision is stable
    shop.finish(rpm=True)
    assert '6 more files' in shop.publish('10.11')
    shop.promote()
    (shop.dist / '10.11/millrace-10.11.18-1-linux-riscv64.tar.zst').write_text('new\n')
    sum_up(shop.dist / '10.11')
    status, text = shop.run('10.11')
    assert status == 1 and 'never in testing' in text and 'raise REVISION' in text, text


def other_bytes(shop):
    shop.begin()
    shop.finish(content='other bytes')


def other_rpm(shop):
    """Only what an RPM package carries is another."""
    shop.begin()
    kept = {path: path.read_bytes() for path in (shop.dist / '10.11').iterdir()}
    shop.finish(content='other bytes')
    for path, data in kept.items():
        if path.suffix != '.rpm':
            path.write_bytes(data)
    sum_up(shop.dist / '10.11')


def two_revisions(shop):
    shop.finish(revision=2)
    file = next((shop.dist / '10.11').glob('millrace-server_*.deb')).read_bytes()
    shop.finish()
    (shop.dist / '10.11/millrace-server_10.11.18-2_amd64.deb').write_bytes(file)
    sum_up(shop.dist / '10.11')


def half_made(shop):
    shop.finish()
    (shop.dist / '10.11/millrace_10.11.18-1.dsc').write_text('half')


def another_release(shop):
    shop.finish(depends='libaio1t64')


def no_release(shop):
    shop.finish()
    conf = shop.checkout.path / 'trees/10.11/pin.conf'
    conf.write_text(conf.read_text().replace('DEBIAN_RELEASE', 'DEBIAN_RELAESE'))


def no_publisher(shop):
    shop.finish()
    shop.publisher('A Person <a@localhost.invalid>', 'https://example.org/')


def no_homepage(shop):
    shop.finish()
    shop.publisher('A Person <a@example.org>', 'https://millrace.invalid/')


def security(shop, old, new):
    shop.finish()
    file = shop.checkout.path / 'trees/10.11/security.toml'
    file.write_text(re.sub(old, new, file.read_text(), count=1, flags=re.MULTILINE))


def changed_since(shop):
    shop.begin()
    next(shop.repo.glob('rpm/**/*.src.rpm')).write_text('changed')


def sums_of_somebody(shop):
    shop.begin()
    with (shop.repo / 'SHA256SUMS').open('a') as file:
        file.write(f'{"0" * 64}  another\n')


NO_KEY, PUBLIC, NO_BASE = ['--base', 'BASE'], ['--key', 'AWAY', '--base', 'BASE'], ['--key', 'KEY']
ALL = ['--key', 'KEY', '--base', 'BASE']
# name: (what spoils it, the arguments, the thing in the first line, the mend in the others)
FAULTS = {
    'no key': (Shop.finish, NO_KEY, 'no key to sign with', 'make repo KEY=FINGERPRINT'),
    'a short key': (Shop.finish, ['--key', 'ABCD1234'], 'KEY=ABCD1234', '40 hexadecimal digits'),
    'a key of nobody': (Shop.finish, ['--key', 'AB' * 20], f'no key {"AB" * 20}',
                        'gpg --list-secret-keys'),
    'a public key': (Shop.finish, PUBLIC, 'without its secret part', 'gpg --import'),
    'no base': (Shop.finish, NO_BASE, 'where will the repository be', 'make repo BASE='),
    'a base of words': (Shop.finish, [*NO_BASE, '--base', 'my server'], 'BASE=my server',
                        'BASE=https://'),
    'no packages': (lambda _shop: None, ALL, 'no finished packages of any tree', 'make'),
    'no such tree': (Shop.finish, [*ALL, '9.9'], 'no release tree 9.9', 'known trees: 10.11'),
    'no packages of the tree': (Shop.finish, [*ALL, '11.8'], 'packages in dist/11.8',
                                'make TREE=11.8'),
    'half-made': (half_made, ALL, 'dist/10.11 is not what its SHA256SUMS', 'make TREE=10.11'),
    'other bytes': (other_bytes, ALL, 'with other bytes',
                    'raise REVISION in trees/10.11/pin.conf'),
    'another RPM': (other_rpm, ALL, '.rpm is in the repository with other bytes', 'raise REV'),
    'two revisions': (two_revisions, ALL, 'packages of 2 revisions', 'make TREE=10.11'),
    'another Debian': (another_release, ALL, 'was built on trixie, and is to be for bookworm',
                       'DIST=trixie'),
    'no Debian': (no_release, ALL, 'trees/10.11/pin.conf names no DEBIAN_RELEASE', 'add it'),
    'no such Debian': (Shop.finish, [*ALL, '--debian', '../..'], 'DIST=../..', 'DIST=bookworm'),
    'nobody': (no_publisher, ALL, 'Maintainer: A Person <a@localhost.invalid> is a placeholder',
               'write yours, then make'),
    'no homepage': (no_homepage, ALL, 'Homepage: https://millrace.invalid/ is a', 'write yours'),
    'packages of nobody': (
        lambda shop: shop.finish(maintainer='A Person <a@localhost.invalid>'), ALL,
        'was built with the placeholder Maintainer', 'make TREE=10.11'),
    'unknown fixes': (lambda shop: security(shop, r'10\.11\.18"', '10.11.14"'), ALL,
                      'trees/10.11/security.toml does not know 10.11.18', 'make upstream-watch'),
    'fixes of before': (lambda shop: security(shop, '^checked.*', 'checked = 2020-01-01'), ALL,
                        'trees/10.11/security.toml was checked on 2020-01-01', 'set `checked`'),
    'changed since': (changed_since, ALL, 'not the one that was signed', 'bring repo/ back'),
    'sums of somebody': (sums_of_somebody, ALL, 'not signed by a key of yours', 'bring repo/ '),
    'nothing to promote from': (Shop.finish, ['--promote', '', '10.11'], 'no repository',
                                'make repo KEY='),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_bad_input_gets_one_error_and_changes_nothing(shop, keys, fault):
    spoil, words, expected, mend = FAULTS[fault]
    spoil(shop)
    before = shop.files()
    given = {'KEY': shop.key, 'AWAY': keys['Away'], 'BASE': shop.base}
    status, text = shop.run(*(given.get(word, word) for word in words))
    lines = text.splitlines()
    assert status == 1 and 'Traceback' not in text, text
    assert len([line for line in lines if 'error: ' in line]) == 1
    error = next(number for number, line in enumerate(lines) if 'error: ' in line)
    assert expected in lines[error], text
    assert mend in '\n'.join(lines[error + 1:]), text
    assert shop.files() == before
    assert not list(shop.dist.glob('.repo.[no]*'))


def test_an_unknown_revision_is_not_promoted(shop):
    shop.begin(rpm=False)
    before = shop.files()
    for words in (('--promote', '10.11.18-9', '10.11'), ('--promote', '', '11.8')):
        status, text = shop.run(*words)
        assert status == 1 and 'error: the repository has no ' in text, text
        assert f'make repo TREE={words[2]}' in text
    assert shop.files() == before


def test_a_key_that_expired_is_named(shop, home):
    gpg(home, '--quick-generate-key', 'Expired <expired@example.org>', 'ed25519', 'sign',
        'seconds=1')
    listing = gpg(home, '--with-colons', '--list-keys', 'expired@example.org')
    fingerprint = re.search(r'^fpr:+([0-9A-F]+):', listing, re.MULTILINE)[1]
    subprocess.run(['sleep', '2'], check=True)
    shop.finish(rpm=False)
    status, text = shop.run('--key', fingerprint, '--base', shop.base)
    assert status == 1 and f'the key {fingerprint} does not sign' in text, text
    assert 'expired' in text and 'gpg --edit-key' in text


# gpg-agent asks it; it notes the terminal that it was to ask on
PINENTRY = """#!/bin/sh
echo OK
while read -r word rest; do
    case $word:$rest in
        OPTION:ttyname=*) echo "${rest#*=}" > "$0.tty" ;;
        GETPIN:) echo 'D a passphrase' ;;
    esac
    echo OK
done
"""
CHECK = """
import sys
from millrace.repo.key import Key
Key(sys.argv[1]).check()
"""


def test_a_passphrase_is_asked_for_on_the_terminal(tmp_path):
    home, pinentry = tmp_path / 'gnupg', tmp_path / 'pinentry'
    home.mkdir(mode=0o700)
    pinentry.write_text(PINENTRY)
    pinentry.chmod(0o755)
    (home / 'gpg-agent.conf').write_text(f'pinentry-program {pinentry}\n')
    gpg(home, '--passphrase', 'a passphrase', '--quick-generate-key', 'A <a@example.org>',
        'ed25519')
    key = re.search(r'^fpr:+([0-9A-F]+):', gpg(home, '--with-colons', '--list-keys'),
                    re.MULTILINE)[1]
    subprocess.run(['gpgconf', '--homedir', home, '--kill', 'gpg-agent'], check=True)
    main, terminal = os.openpty()
    try:
        subprocess.run([TOP / 'scripts/python', '-c', CHECK, key], check=True, stdin=terminal,
                       env={**{name: value for name, value in os.environ.items()
                               if name != 'GPG_TTY'},
                            'GNUPGHOME': str(home)})
        assert pinentry.with_suffix('.tty').read_text().strip() == os.ttyname(terminal)
    finally:
        os.close(main)
        os.close(terminal)
        subprocess.run(['gpgconf', '--homedir', home, '--kill', 'gpg-agent'], check=False)


@pytest.mark.parametrize('program, how', [
    ('aptly', 'exit 3'), ('createrepo_c', 'kill -9 $PPID')])
def test_a_run_that_ends_halfway_leaves_the_repository_whole(shop, program, how, tmp_path):
    shop.begin()
    shop.finish(revision=2)
    before = shop.files()
    (tmp_path / 'bin').mkdir()
    (tmp_path / f'bin/{program}').write_text(f'#!/bin/sh\necho "error: no" >&2\n{how}\n')
    (tmp_path / f'bin/{program}').chmod(0o755)
    status, text = shop.run(PATH=f'{tmp_path}/bin:{os.environ["PATH"]}')
    assert status in (1, -9) and shop.files() == before, text
    if status == 1:
        assert f'error: {program} failed\n  error: no' in text
        assert not list(shop.dist.glob('.repo.[no]*'))
    shop.publish()
    assert not list(shop.dist.glob('.repo.[no]*'))
    assert len(list(shop.repo.glob(f'apt/pool/10.11/m/millrace/{SERVER}_*'))) == 2


def test_a_repository_that_was_moved_aside_comes_back(shop):
    """Where a file system cannot exchange two directories, they are renamed one after another."""
    shop.begin(rpm=False)
    before = shop.files()
    shop.repo.rename(shop.dist / '.repo.old')
    assert 'up to date' in shop.run()[1]
    assert shop.files() == before


def test_one_run_at_a_time(shop):
    shop.finish(rpm=False)
    with subprocess.Popen(['flock', shop.dist / '.repo.lock', 'cat'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        other.stdin.write(b'held\n')
        other.stdin.flush()
        assert other.stdout.read(5) == b'held\n'
        status, text = shop.run('--key', shop.key, '--base', shop.base)
        other.stdin.close()
    assert status == 1 and 'another make repo is at work' in text, text
    shop.publish()


def test_another_key_signs_all_of_it_anew(shop, keys, apt, dnf):
    shop.begin()
    old = shop.files()
    version = re.search(r'keyring_([\d.]+)_all', ' '.join(old))[1]
    shop.key = keys['Successor']
    shop.publish()
    [package] = {path.name for path in shop.repo.glob('apt/pool/**/*keyring_*')}
    assert package > f'millrace-archive-keyring_{version}_all.deb'
    assert 'up to date' in shop.run()[1]
    apt.add(shop.repo, 'millrace-10.11-bookworm-testing.sources')
    assert apt('update') and apt.fetch(SERVER), apt.text
    dnf.add(shop.repo, 'millrace-10.11.repo')
    assert dnf('--enablerepo=millrace-10.11-testing', 'install', SERVER), dnf.text
    for path, (*_, data) in shop.files().items():
        if path.endswith('_amd64.deb'):
            assert data == old[path][2]


def test_a_keyring_package_of_other_bytes_has_another_version(shop):
    shop.begin(rpm=False)
    [old] = shop.repo.glob('apt/pool/**/*keyring_*')
    shop.publisher('A Person <a@example.org>', 'https://example.org/elsewhere')
    shop.publish()
    [new] = shop.repo.glob('apt/pool/**/*keyring_*')
    assert subprocess.run(['dpkg', '--compare-versions', new.name.split('_')[1], 'gt',
                           old.name.split('_')[1]], check=False).returncode == 0
    assert 'up to date' in shop.run()[1]


def test_packages_for_another_release_of_debian(shop):
    shop.finish(depends='libaio1t64', rpm=False)
    shop.publish('--debian', 'trixie')
    assert (shop.repo / 'apt/millrace-10.11-trixie.sources').exists()


def test_clean_spares_the_repository(shop):
    shop.begin(rpm=False)
    before = shop.files()
    status, text = shop.checkout.run('make', 'clean')
    assert status == 0 and {path.name for path in shop.dist.iterdir()} == {"repo"}, text
    assert shop.files() == before
    shutil.rmtree(shop.dist)
    assert shop.checkout.run('make', 'clean') == (0, '')


PAGE = (TOP / 'docs/release.md').read_text()
BLOCKS = re.findall(r'^```sh ?(\w*)\n(.*?)\n```$', PAGE, re.DOTALL | re.MULTILINE)
# what a person answers
GPG = '#!/bin/sh\nexec {gpg} --batch --pinentry-mode loopback --passphrase "" "$@"\n'


@PYPI
def test_every_command_of_the_page(shop, tmp_path):
    for tree, version in re.findall(r'TREE=([\d.]+) REVISION=([\d.]+)-1', PAGE):
        shop.finish(tree, version, rpm=False)
    shop.pin()
    shop.commit()
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin/gpg').write_text(GPG.format(gpg=shutil.which('gpg')))
    (tmp_path / 'bin/gpg').chmod(0o755)
    place = tmp_path / 'own'
    place.mkdir(mode=0o700)
    variables = {'TREE': None, 'GNUPGHOME': str(place),
                 'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}'}
    try:
        for kind, commands in BLOCKS:
            if kind == 'slow':
                if commands.startswith('make\n'):
                    shop.make(rpm=False)
                continue
            listing = gpg(place, '--with-colons', '--list-keys')
            for key in re.findall(r'^fpr:+([0-9A-F]+):', listing, re.MULTILINE)[:1]:
                commands = commands.replace('0123456789ABCDEF0123456789ABCDEF01234567', key)
            status, text = shop.checkout.run('bash', '-euxc', commands, **variables)
            assert status == 0, text
    finally:
        subprocess.run(['gpgconf', '--homedir', place, '--kill', 'gpg-agent'], check=False)
    assert 'repo: dist/repo is up to date' in text
    assert (shop.repo / 'releases.json').read_text().count('"stable"') == 2
    base = re.search('BASE=(.*)', PAGE)[1]
    assert f'URIs: {base}/apt\n' in (shop.repo / 'apt/millrace-10.11-bookworm.sources').read_text()


@PYPI
def test_what_the_page_names_is_there(shop):
    slow = [command for kind, text in BLOCKS if kind == 'slow' for command in text.splitlines()]
    assert len(slow) > 4
    for command in slow:
        program = command.split()[0]
        assert shutil.which(program), command
        if program == 'make':
            status, text = shop.checkout.run('bash', '-c', command.replace('make', 'make -n', 1))
            assert status == 0 and text, f'{command}: {text}'
    shop.pin()
    shop.commit()
    shop.make()
    status, text = shop.release()
    assert status == 0, text
    shop.promote()
    table = re.search(r'^\| path .*?\n\n', PAGE, re.DOTALL | re.MULTILINE)[0]
    rows = re.findall(r'^\| ([^|]+) \|', table, re.MULTILINE)[2:]
    assert len(rows) > 8
    for row in rows:
        first, *others = row.rstrip('.').split(', ')
        parent = Path(first).parent
        for path in (first, *(str(parent / other) if '/' in first and '/' in other
                              else other for other in others)):
            path = path if not path.startswith('.') else f'millrace-archive-keyring{path}'
            assert (shop.repo / path).exists(), path


def test_the_lines_for_users(shop, apt, tmp_path):
    """They name files that are there, and packages that can be had and verified."""
    shop.begin(stable=True, content='content 1')
    shop.finish('11.8', '11.8.6', rpm=False)
    shop.publish()
    blocks = [textwrap.dedent(block) for block in re.findall(
        r'(?<=\n\n)((?:    .*\n)+)', (TOP / 'docs/install.md').read_text(encoding='utf-8'))]
    named = re.findall(r'\$BASE/(\S+)', '\n'.join(blocks))
    assert len(named) == 9
    for path in named:
        assert (shop.repo / path).exists(), path
    [tarball] = [block for block in blocks if 'gpgv' in block]
    assert '/etc' not in tarball
    done = subprocess.run(['bash', '-euc', tarball], cwd=tmp_path, check=False, text=True,
                          capture_output=True,
                          env={**os.environ, 'BASE': shop.base, 'no_proxy': '127.0.0.1'})
    assert done.returncode == 0 and '.tar.zst: OK' in done.stdout, done.stderr
    bookworm, trixie = (block for block in blocks if '.sources' in block)
    assert trixie == bookworm.replace('10.11-bookworm', '11.8-trixie')
    apt.add(shop.repo, re.search(r'\S+\.sources$', bookworm, re.MULTILINE)[0].split('/')[-1])
    assert apt('update'), apt.text
    for package in re.findall('apt install (millrace-[a-z]+)', bookworm):
        assert apt.fetch(package), apt.text
