"""The apt repository: by aptly, whose database lasts as long as one run.

A suite is a release of Debian, and its packages under test are in a suite of their own
(bookworm-testing), from which apt takes nothing unasked.  A component is a tree.  All revisions
stay in the index: `apt install millrace-server=...` is the way back to an earlier one.
"""
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from millrace import publisher
from millrace.repo import place as repository
from millrace.repo.releases import CHANNELS
from millrace.repo.tools import copy, tool

NAME = 'millrace-archive-keyring'
PUBLISHED = f'apt/{NAME}.deb'       # for who has no source for apt yet
KEYRING = f'usr/share/keyrings/{NAME}.gpg'
CONTROL = '''Package: {name}
Version: {version}
Architecture: all
Section: misc
Priority: optional
Maintainer: {maintainer}
Homepage: {homepage}
Description: key of the Millrace repository
 The OpenPGP key that signs the packages of Millrace, a distribution of
 MariaDB Server, for the Signed-By: of an apt source.  Where another server is
 installed, apt takes millrace-server only after millrace-common.
'''
HOOK = f'etc/apt/apt.conf.d/50{NAME}'
# the check of an exchange, which is in millrace-common, has to be there before the exchange
HOOK_TEXT = '''DPkg::Pre-Install-Pkgs { "\
[ -e /usr/share/millrace/check-exchange ] || [ ! -e /usr/sbin/mariadbd ] \
|| ! grep -q -e /millrace-server_ -e /millrace-client_ || { \
echo 'millrace: first, for a check of this exchange:  apt install millrace-common' >&2; \
false; }"; };
'''
# for who copies it to etc/apt/apt.conf.d; unasked, no server restarts for an upgrade
UPGRADES = 'usr/share/millrace/52millrace-upgrades'
UPGRADES_TEXT = '''// In /etc/apt/apt.conf.d/ it lets unattended-upgrades take Millrace's releases.
Unattended-Upgrade::Origins-Pattern:: "origin=Millrace,codename=${distro_codename}";
'''
COPYRIGHT = '''The public key is that of the maintainers of Millrace.
Millrace's own files are under the GNU General Public License, version 2 only:
/usr/share/common-licenses/GPL-2
'''
SOURCES = '''# Millrace {tree} for Debian {suite}; the key is in the package {name}
Types: deb deb-src
URIs: {base}/apt
Suites: {suite}
Components: {tree}
Signed-By: /{keyring}
'''
ALL = 'Name (% *)'      # aptly's words for every package


def keyring_version(key, before):
    """The version of the package with the key: it rises whenever the key changes, or anything
    in the package is another than in the repository before."""
    def version(seconds):
        return time.strftime('%Y.%m.%d.%H%M%S', time.gmtime(seconds))
    if before and before.key != key.fingerprint:
        return version(time.time())
    newest = max(version(key.changed()), before.keyring if before else '')
    if before and newest == before.keyring:
        with tempfile.TemporaryDirectory(prefix='millrace-') as work:
            made = keyring_package(key, newest, Path(work), Path(work))
            if made.read_bytes() != (repository.HERE / PUBLISHED).read_bytes():
                return version(time.time())
    return newest


def keyring_package(key, version, place, work):
    """Makes the package with the public key: the same bytes from the same key."""
    root = work / 'keyring'
    (root / KEYRING).parent.mkdir(parents=True)
    (root / 'DEBIAN').mkdir()
    key.export(root / KEYRING)
    (root / KEYRING).chmod(0o644)
    for file, text in ((HOOK, HOOK_TEXT), (UPGRADES, UPGRADES_TEXT)):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text(text, encoding='utf-8')
    (root / 'DEBIAN/conffiles').write_text(f'/{HOOK}\n', encoding='utf-8')
    document = root / f'usr/share/doc/{NAME}/copyright'
    document.parent.mkdir(parents=True)
    document.write_text(COPYRIGHT, encoding='utf-8')
    (root / 'DEBIAN/control').write_text(
        CONTROL.format(name=NAME, version=version, maintainer=publisher.field('Maintainer'),
                       homepage=publisher.field('Homepage')), encoding='utf-8')
    package = place / f'{NAME}_{version}_all.deb'
    # not compressed: another zlib or xz would make other bytes of it, under the same version
    tool('dpkg-deb', '--root-owner-group', '-Znone', '--build', root, package,
         env={**os.environ, 'SOURCE_DATE_EPOCH': str(key.changed())})
    return package


class Aptly:
    """aptly, with a database of its own in a directory."""

    def __init__(self, work, public):
        self.conf = work / 'aptly.conf'
        self.conf.write_text(json.dumps({
            'rootDir': str(work / 'aptly'), 'gpgProvider': 'gpg', 'skipLegacyPool': True,
            'FileSystemPublishEndpoints': {
                'here': {'rootDir': str(public), 'linkMethod': 'hardlink'}}}), encoding='utf-8')

    def __call__(self, *words):
        return tool('aptly', f'-config={self.conf}', *words)

    def repository(self, name, directory=None):
        """A new list of packages: those of a directory, whose files it takes away."""
        self('repo', 'create', name)
        if directory:
            self('repo', 'add', '-remove-files', name, directory)

    def publish(self, suite, channel, components, architectures, key):
        """Publishes lists, {component: name}, as a suite."""
        testing = channel != 'stable'
        self('publish', 'repo', '-batch', '-acquire-by-hash', '-skip-contents', '-skip-bz2',
             f'-gpg-key={key.fingerprint}', '-origin=Millrace', '-label=Millrace',
             f'-suite={channel}', f'-distribution={suite}',
             f'-architectures={",".join(architectures)}', f'-component={",".join(components)}',
             *(['-notautomatic=yes', '-butautomaticupgrades=yes'] if testing else []),
             *components.values(), 'filesystem:here:apt')


def suite_of(debian, channel):
    """The suite of a channel: bookworm, bookworm-testing."""
    return debian if channel == 'stable' else f'{debian}-{channel}'


def publish(public, work, plan, key, contents):
    """Publishes the .deb and source packages of a plan."""
    aptly = Aptly(work, public)
    incoming = work / 'keyring-package'
    incoming.mkdir()
    package = keyring_package(key, contents.keyring, incoming, work)
    copy(package, public / PUBLISHED)
    aptly.repository('keyring', incoming)

    suites, architectures = {}, set()
    for release in contents.releases:
        names = release.of_kind('apt')
        if not names:
            continue
        directory = work / f'incoming/{release.tree}/{release.revision}'
        for name in names:
            plan.bring(release, name, directory / name)
        aptly.repository(f'{release.tree}_{release.revision}', directory)
        suites.setdefault(release.debian, {}).setdefault(release.tree, []).append(release)
        architectures |= {name.rpartition('_')[2] for name in names if name.endswith('.deb')}
    architectures = sorted({name.removesuffix('.deb') for name in architectures} - {'all'}) \
        + ['source']

    for debian, trees in sorted(suites.items()):
        for channel in CHANNELS:
            suite, components = suite_of(debian, channel), {}
            for tree, releases in sorted(trees.items()):
                components[tree] = f'{suite}_{tree}'
                aptly.repository(components[tree])
                for name in ['keyring', *(f'{tree}_{release.revision}' for release in releases
                                          if channel in release.channels)]:
                    aptly('repo', 'copy', name, components[tree], ALL)
                (public / f'apt/millrace-{tree}-{suite}.sources').write_text(
                    SOURCES.format(tree=tree, suite=suite, base=contents.base, keyring=KEYRING,
                                   name=NAME), encoding='utf-8')
            aptly.publish(suite, channel, components, architectures, key)
    # aptly's own notes, and they name its directory
    for path in public.rglob('by-hash/*/*'):
        if path.is_symlink():
            path.unlink()


def keep_indices(old, public):
    """Keeps the indices of the repository before, by their hashes, for who has its InRelease."""
    for release in old.glob('apt/dists/*/InRelease'):
        text = release.read_text(encoding='utf-8')
        for file in release.parent.glob('**/by-hash/*/*'):
            target = public / file.relative_to(old)
            if file.name in text and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target)
