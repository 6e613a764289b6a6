"""apt and dnf as users have them, each with a root, a state and a configuration of its own."""
import os
import re
import subprocess

SIGNED_BY = 'Signed-By: /'


class Client:
    """Runs a program; .done and .text are of the last run."""

    def __init__(self, root):
        self.root = root
        self.done, self.text = None, ''

    def run(self, *command):
        """Whether a command succeeds."""
        self.done = subprocess.run(list(map(str, command)), cwd=self.root, text=True, check=False,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, timeout=120,
                                   env={**os.environ, 'LC_ALL': 'C.UTF-8'})
        self.text = self.done.stdout
        return self.done.returncode == 0


class Apt(Client):
    """apt with nothing installed, and with the key's package unpacked in its root."""

    def __init__(self, root):
        super().__init__(root)
        for name in ('etc/apt/sources.list.d', 'etc/apt/preferences.d', 'etc/apt/apt.conf.d',
                     'var/lib/apt/lists/partial', 'var/cache/apt/archives/partial',
                     'var/lib/dpkg'):
            (root / name).mkdir(parents=True)
        (root / 'var/lib/dpkg/status').touch()

    def add(self, published, *sources):
        """Takes the key and these .sources of a repository, as its README says."""
        subprocess.run(['dpkg-deb', '-x', published / 'apt/millrace-archive-keyring.deb',
                        self.root], check=True)
        for name in sources:
            text = (published / 'apt' / name).read_text()
            assert SIGNED_BY in text
            (self.root / 'etc/apt/sources.list.d' / name).write_text(
                text.replace(SIGNED_BY, f'{SIGNED_BY[:-1]}{self.root}/'))

    def __call__(self, *words):
        settings = {'Dir': self.root, 'Dir::State::status': self.root / 'var/lib/dpkg/status',
                    'APT::Architecture': 'amd64', 'APT::Architectures': 'amd64',
                    'APT::Sandbox::User': 'root', 'APT::Update::Error-Mode': 'any',
                    'Acquire::Retries': '0', 'Acquire::Languages': 'none'}
        program = 'apt-cache' if words[0] in ('policy', 'madison') else 'apt-get'
        return self.run(program, '-q', *(f'-o{name}={value}' for name, value in settings.items()),
                        *words)

    def fetch(self, *words):
        """Whether these packages can be had: their files are in .archives then."""
        return self('install', '-y', '--download-only', '--allow-downgrades',
                    '--no-install-recommends', *words)

    @property
    def archives(self):
        """{name: bytes} of the packages that were fetched."""
        return {path.name.replace('1%3a', ''): path.read_bytes()
                for path in (self.root / 'var/cache/apt/archives').glob('*.deb')}

    def candidate(self, package):
        """The version that apt would install."""
        assert self('policy', package), self.text
        return re.search('Candidate: (.*)', self.text)[1]


class Dnf(Client):
    """dnf that installs into a root of its own."""
    # rpm enters its root, which only root may
    AS_ROOT = () if os.geteuid() == 0 else ('unshare', '-r')

    def add(self, published, name):
        """Takes a .repo of a repository."""
        repos = self.root / 'repos'
        repos.mkdir(exist_ok=True)
        (repos / name).write_text((published / 'rpm' / name).read_text())

    def __call__(self, *words):
        return self.run(*self.AS_ROOT, 'dnf', '-y', '--refresh', '--releasever=9',
                        f'--installroot={self.root}/installed',
                        f'--setopt=reposdir={self.root}/repos',
                        f'--setopt=cachedir={self.root}/cache', '--setopt=retries=1', *words)

    def installed(self):
        """The packages in the root, sorted."""
        assert self.run(*self.AS_ROOT, 'rpm', f'--root={self.root}/installed', '-qa',
                        'millrace*'), self.text
        return sorted(self.text.split())
