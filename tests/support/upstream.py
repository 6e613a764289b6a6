"""A release archive of our own: small signed tarballs, served as upstream serves its releases."""
import functools
import hashlib
import http.server
import io
import re
import shutil
import subprocess
import tarfile
import threading

from millrace.patches import series


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a directory and says nothing."""

    def log_message(self, *_):
        """No log."""


def serve(directory):
    """Serves a directory on a port of this machine, until its shutdown(): the server."""
    server = http.server.ThreadingHTTPServer(
        ('127.0.0.1', 0), functools.partial(Quiet, directory=directory))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Upstream:
    """The archive, its key, and the checkout that believes it, which has no other tree."""

    def __init__(self, checkout, path, tree):
        self.checkout, self.tree, self.archive = checkout, tree, path / 'archive'
        self.archive.mkdir()
        for other in (checkout.path / 'trees').iterdir():
            if other.is_dir() and other.name != tree:
                shutil.rmtree(other)
                shutil.rmtree(checkout.path / 'patches' / other.name)
        names = [name for name in series.listed((checkout.path / 'series').read_text())
                 if (checkout.path / 'patches' / tree / f'{name}.patch').exists()]
        checkout.write('series', ''.join(f'{name}\n' for name in names))
        checkout.write('trees/default', f'{tree}\n')
        self.gpg = ['gpg', '--homedir', path / 'gnupg', '--batch', '--quiet',
                    '--pinentry-mode', 'loopback', '--passphrase', '']
        self.home = path / 'gnupg'
        self.home.mkdir(mode=0o700)
        self.run_gpg('--quick-generate-key', 'Upstream <upstream@example.org>', 'ed25519')
        listing = self.run_gpg('--with-colons', '--list-keys')
        key = self.run_gpg('--armor', '--export')
        checkout.write('trees/upstream.asc', key)
        self.server = serve(self.archive)
        self.set('SIGNED_BY', re.search(r'^fpr:+([0-9A-F]+):', listing, re.MULTILINE)[1])
        self.set('ARCHIVE', f'http://127.0.0.1:{self.server.server_port}/mariadb-@VERSION@/source/'
                 'mariadb-@VERSION@.tar.gz')
        self.set('DEBIAN_SUITES', '""')
        checkout.cache = path / 'cache'
        # the machine's Debian mirrors are not asked, which takes longer than all else in a fetch
        (path / 'apt.conf').write_text(f'Dir::State::Lists "{path}/no-lists";\n')
        checkout.variables = {'APT_CONFIG': str(path / 'apt.conf')}

    def run_gpg(self, *words):
        """The output of gpg, with the archive's key."""
        return subprocess.run([*self.gpg, *words], check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def set(self, name, value):
        """Sets a variable of the tree."""
        conf = self.checkout.path / 'trees' / self.tree / 'pin.conf'
        conf.write_text(re.sub(rf'^{name}=.*$', f'{name}={value}', conf.read_text(),
                               flags=re.MULTILINE))

    def pins(self):
        """The pins of the tree, {name: value}."""
        text = (self.checkout.path / 'trees' / self.tree / 'pin.conf').read_text()
        return dict(re.findall(r'^([A-Z0-9_]+)=(.*)$', text, re.MULTILINE))

    def release(self, version, files, inside=None, sign=True):
        """Publishes a release of these files, {path: text}, and returns its sha256.

        `inside` is the release that the name of its directory has, where it is another."""
        place = self.archive / f'mariadb-{version}/source'
        place.mkdir(parents=True)
        tarball = place / f'mariadb-{version}.tar.gz'
        with tarfile.open(tarball, 'w:gz') as archive:
            for path, text in sorted(files.items()):
                member = tarfile.TarInfo(f'mariadb-{inside or version}/{path}')
                content = text.encode(errors='surrogateescape')
                member.size, member.mode = len(content), 0o644
                archive.addfile(member, io.BytesIO(content))
        if sign:
            self.run_gpg('--armor', '--output', f'{tarball}.asc', '--detach-sign', tarball)
        return hashlib.sha256(tarball.read_bytes()).hexdigest()

    def pin(self, version, files):
        """Publishes a release and pins it: the one that the series is for."""
        self.set('SHA256', self.release(version, files))
        self.set('VERSION', version)

    def close(self):
        """Ends the server and the key's agent."""
        self.server.shutdown()
        self.server.server_close()
        subprocess.run(['gpgconf', '--homedir', self.home, '--kill', 'gpg-agent'], check=False)
