"""A maintainer's keys, and a checkout with packages whose dist/repo/ is served: fixtures."""
import copy
import re
import shutil
import subprocess

import pytest
from millrace import TOP
from millrace.command import environment
from support.finished import finish
from support.upstream import serve

KEYS = ('Maintainer', 'Mallory', 'Successor')


def gpg(home, *words, check=True):
    """The output of gpg with a home."""
    return subprocess.run(['gpg', '--homedir', home, '--batch', '--quiet', '--pinentry-mode',
                           'loopback', '--passphrase', '', *map(str, words)], check=check,
                          capture_output=True, text=True).stdout


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    """A GNUPGHOME with the keys; the public part of a fourth one."""
    place = tmp_path_factory.mktemp('gnupg')
    place.chmod(0o700)
    other = tmp_path_factory.mktemp('other')
    other.chmod(0o700)
    for name in KEYS:
        gpg(place, '--quick-generate-key', f'{name} <{name.lower()}@example.org>', 'rsa2048')
    gpg(other, '--quick-generate-key', 'Away <away@example.org>', 'ed25519')
    (other / 'key').write_text(gpg(other, '--armor', '--export'))
    gpg(place, '--import', other / 'key')
    yield place
    for each in (place, other):
        subprocess.run(['gpgconf', '--homedir', each, '--kill', 'gpg-agent'], check=False)


@pytest.fixture(scope='module')
def keys(home):
    """{name: fingerprint}."""
    listing = gpg(home, '--with-colons', '--list-keys')
    return dict((name, fingerprint) for fingerprint, name in re.findall(
        r'^fpr:+([0-9A-F]+):\nuid:.*?:(\w+) <', listing, re.MULTILINE))


class Market:
    """A server for one shop at a time; and what was made once, for all of them."""

    def __init__(self, home, key, place):
        self.home, self.key, self.place = home, key, place
        self.made, self.begun = {}, {}
        self.server = serve(place / 'repo')
        self.base = f'http://127.0.0.1:{self.server.server_port}'

    def packages(self, version, facts):
        """A directory with packages."""
        name = repr((version, sorted(facts.items())))
        if name not in self.made:
            self.made[name] = self.place / f'packages-{len(self.made)}'
            finish(self.made[name], self.place / f'work-{len(self.made)}', version, **facts)
        return self.made[name]


@pytest.fixture(scope='module')
def market(home, keys, tmp_path_factory):
    """The market of the file."""
    made = Market(home, keys['Maintainer'], tmp_path_factory.mktemp('market'))
    yield made
    made.server.shutdown()
    made.server.server_close()


class Shop:
    """A checkout with packages, whose dist/repo/ is served."""

    def __init__(self, checkout, market):
        self.market, self.key = market, market.key
        self.environment = {'GNUPGHOME': str(market.home), 'TREE': None}
        self.base, self.server = market.base, market.server
        self._open(checkout)
        self.dist.mkdir()
        self.publisher('A Person <a@example.org>', 'https://example.org/millrace')

    def _open(self, checkout):
        """Has the server serve the repository of a checkout."""
        self.checkout = checkout
        self.dist, self.repo = checkout.path / 'dist', checkout.path / 'dist/repo'
        (self.market.place / 'repo').unlink(missing_ok=True)
        (self.market.place / 'repo').symlink_to(self.repo)

    def copy(self, place):
        """A shop of the same state in a directory, which is served in the place of this one."""
        subprocess.run(['cp', '-a', self.checkout.path, place], check=True)
        other, checkout = copy.copy(self), copy.copy(self.checkout)
        checkout.path = place / self.checkout.path.name
        other._open(checkout)
        return other

    def publisher(self, maintainer, homepage):
        """Writes who publishes into debian/control."""
        control = self.checkout.path / 'debian/control'
        text = re.sub('^Maintainer: .*', f'Maintainer: {maintainer}', control.read_text(),
                      flags=re.MULTILINE)
        control.write_text(re.sub('^Homepage: .*', f'Homepage: {homepage}', text,
                                  flags=re.MULTILINE))

    def finish(self, tree='10.11', version='10.11.18', **facts):
        """Makes packages."""
        shutil.rmtree(self.dist / tree, ignore_errors=True)
        shutil.copytree(self.market.packages(version, facts), self.dist / tree)

    def run(self, *words, **variables):
        """Runs scripts/repo: the exit status and what it says."""
        return self.checkout.run('scripts/repo', *words, **{**self.environment, **variables})

    def publish(self, *words, **variables):
        """Takes the packages of dist/ in."""
        status, text = self.run('--key', self.key, '--base', self.base, *words, **variables)
        assert status == 0, text
        return text

    def promote(self, revision='', tree='10.11'):
        """Takes a revision into stable."""
        status, text = self.run('--promote', revision, tree)
        assert status == 0, text
        return text

    def git(self, *words):
        """The output of git in the checkout."""
        return subprocess.run(['git', *words], cwd=self.checkout.path, check=True, text=True,
                              capture_output=True, env=environment()).stdout

    def commit(self, subject='Prepare a revision'):
        """Commits the checkout, in a repository of its own."""
        if not (self.checkout.path / '.git').exists():
            shutil.copy(TOP / '.gitignore', self.checkout.path)
            self.git('init', '--quiet')
            for name, value in (('user.name', 'A Person'), ('user.email', 'a@example.org')):
                self.git('config', name, value)
        self.git('add', '--all')
        self.git('commit', '--quiet', '--allow-empty', '--message', subject)

    def pin(self, tree='10.11', version='10.11.18', revision=1):
        """Pins a tree to this revision; its packages are of 2026-11-21."""
        conf = self.checkout.path / f'trees/{tree}/pin.conf'
        text = conf.read_text()
        for name, value in (('VERSION', version), ('REVISION', revision), ('DATE', '2026-11-21')):
            text = re.sub(rf'^{name}=.*', f'{name}={value}', text, flags=re.MULTILINE)
        conf.write_text(text)

    def make(self, tree='10.11', version='10.11.18', reproduce=True, **facts):
        """Makes packages, and the records of make, and of make reproduce where that is asked
        for: they are of this checkout, and were built twice."""
        self.finish(tree, version, **facts)
        status, text = self.checkout.run(
            'scripts/python', '-m', 'millrace.inputs', 'source-deb', 'deb', 'source-rpm', 'rpm',
            'tarball', TREE=tree)
        assert status == 0, text
        for line in text.splitlines():
            step, digest = line.split()
            (self.dist / tree / f'.{step}.done').write_text(f'{digest}\n')
        record = self.checkout.path / 'work/reproduced' / tree
        record.parent.mkdir(parents=True, exist_ok=True)
        record.unlink(missing_ok=True)
        if reproduce:
            shutil.copy(self.dist / tree / 'SHA256SUMS', record)

    def release(self, *words, **variables):
        """Runs scripts/release: the exit status and what it says."""
        return self.checkout.run('scripts/release', '--key', self.key, '--base', self.base,
                                 *words, **{**self.environment, **variables})

    def begin(self, stable=False, **facts):
        """Makes packages and publishes them: each kind once, and then by copying."""
        self.finish(**facts)
        name = repr((stable, sorted(facts.items())))
        kept = self.market.place / f'begun-{len(self.market.begun)}'
        if name in self.market.begun:
            subprocess.run(['cp', '-a', self.market.begun[name], self.repo], check=True)
            return
        self.publish()
        if stable:
            self.promote()
        subprocess.run(['cp', '-a', self.repo, kept], check=True)
        self.market.begun[name] = kept

    def files(self):
        """{path: (inode, time, bytes)} of the repository."""
        return {str(path.relative_to(self.repo)): (path.stat().st_ino, path.stat().st_mtime_ns,
                                                   path.read_bytes())
                for path in self.repo.rglob('*') if path.is_file()}


@pytest.fixture
def shop(checkout, market):
    """A shop without packages."""
    return Shop(checkout, market)
