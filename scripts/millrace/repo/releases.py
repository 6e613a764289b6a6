"""What the repository has: its releases, the channel of each, and where their files are."""
import dataclasses
import filecmp
import json
import subprocess

from millrace.command import environment
from millrace.errors import Failure
from millrace.repo.tools import rpm_query

NAME = 'releases.json'
CHANNELS = ('testing', 'stable')
NOTES, SBOM, PROVENANCE = DOCUMENTS = ('.notes.md', '.cdx.json', '.provenance.json')
FORMAT = 1          # of the repository: another number makes everything but the packages anew


@dataclasses.dataclass(frozen=True)
class Release:
    """A revision of the packages of a tree."""
    tree: str
    revision: str       # 10.11.18-1
    debian: str         # the release of Debian that its .deb are for
    channel: str        # testing, or stable: then it is in both
    files: tuple        # names, sorted
    date: str = ''      # 2026-11-21

    def __str__(self):
        return f'{self.revision} of tree {self.tree}'

    @property
    def version(self):
        """The release of upstream."""
        return self.revision.partition('-')[0]

    @property
    def channels(self):
        """The channels that it is in."""
        return CHANNELS[:CHANNELS.index(self.channel) + 1]

    @property
    def documented(self):
        """Whether make release made it, with its documents; make repo takes packages alone."""
        return any(name.endswith(PROVENANCE) for name in self.files)

    def of_kind(self, kind):
        """Its files of a kind."""
        return [name for name in self.files if kind_of(name) == kind]

    def places(self, name):
        """Where a file of it is, below the repository; the first is in every channel."""
        kind = kind_of(name)
        if kind == 'apt':
            return [f'apt/pool/{self.tree}/m/millrace/{name}']
        if kind == 'releases':
            return [f'releases/{self.tree}/{self.revision}/{name}']
        return [f'{kind}/{self.tree}/{channel}/{name}' for channel in self.channels]


def kind_of(name):
    """What a file is for: apt, rpm, the tarballs that stand beside, or the release that it is a
    document of."""
    if name.endswith(DOCUMENTS):
        return 'releases'
    if name.endswith('.rpm'):
        return 'rpm'
    if name.endswith(('.deb', '.dsc')) or '.orig.tar.' in name or '.debian.tar.' in name:
        return 'apt'
    return 'tarballs'


def same(one, other):
    """Whether two files are the same; of RPM packages, but for their signatures."""
    if one.suffix == '.rpm':
        digests = rpm_query('--qf', '%{SHA256HEADER}\n', one, other)
        return len(set(digests.splitlines())) == 1
    return filecmp.cmp(one, other, shallow=False)


@dataclasses.dataclass(frozen=True)
class Contents:
    """All that makes a repository what it is; in releases.json of it."""
    key: str            # fingerprint
    keyring: str        # version of the package with the key
    base: str           # URL of the repository
    releases: tuple
    site: str = ''      # the hash of it
    format: int = FORMAT

    def write(self, place):
        """Writes it into a repository."""
        (place / NAME).write_text(
            json.dumps(dataclasses.asdict(self), indent=1) + '\n', encoding='utf-8')


def load(file):
    """The Contents that a releases.json tells of."""
    contents = json.loads(file.read_text(encoding='utf-8'))
    releases = tuple(Release(**{**each, 'files': tuple(each['files'])})
                     for each in contents.pop('releases'))
    return Contents(releases=releases, **contents)


def read(place, sums):
    """The Contents of a repository, or None where there is none.

    Raises Failure where a file of it is not what was signed."""
    if not place.exists():
        return None
    mend = f'bring {place.name}/ back whole from where it is published, or remove it'
    done = subprocess.run(['gpg', '--batch', '--verify', 'SHA256SUMS.asc', 'SHA256SUMS'],
                          cwd=place, env=environment(LC_ALL='C'), text=True, check=False,
                          capture_output=True)
    if done.returncode:
        raise Failure('the repository is not signed by a key of yours',
                      *done.stderr.splitlines()[-3:], mend)
    sums.check(place, mend)
    return load(place / NAME)
