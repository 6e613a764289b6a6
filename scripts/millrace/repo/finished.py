"""The finished packages of a tree: what build/ has left in dist/<tree>/."""
import email.utils
import functools
import re
import subprocess
import tarfile

from millrace import TOP, publisher
from millrace.command import environment
from millrace.errors import Failure
from millrace.repo.releases import Release, kind_of
from millrace.repo.tools import rpm_query, tool
from millrace.upstream import pins

# a library that only one release of Debian has under this name: what is linked with it was built
# there, and is installed nowhere else
LINKED_ON = {'libaio1': 'bookworm', 'libaio1t64': 'trixie'}


def directory(tree):
    """Where the packages of a tree are."""
    return TOP / 'dist' / tree


def debian_release(tree, given=''):
    """The release of Debian that the packages of a tree are for: given, or the tree's."""
    release = given or pins.read(tree).get('DEBIAN_RELEASE', '')
    if not re.fullmatch('[a-z]+', release):
        if given:
            raise Failure(f'DIST={given} is no release of Debian', 'as in DIST=bookworm')
        raise Failure(f'trees/{tree}/pin.conf names no DEBIAN_RELEASE, for which the .deb are',
                      'add it, as in DEBIAN_RELEASE=bookworm')
    return release


def _listed(dist):
    """The names in SHA256SUMS, whose files are all there.  Raises Failure."""
    sums = dist / 'SHA256SUMS'
    label, mend = dist.relative_to(TOP), f'make TREE={dist.name}'
    if not sums.exists():
        raise Failure(f'there are no finished packages in {label}', mend)
    done = subprocess.run(['sha256sum', '--quiet', '--strict', '-c', sums.name], cwd=dist,
                          text=True, capture_output=True, check=False,
                          env=environment(LC_ALL='C'))
    if done.returncode:
        raise Failure(f'{label} is not what its SHA256SUMS says',
                      *(done.stdout or done.stderr).splitlines()[:5], mend)
    return [line.split(maxsplit=1)[1].lstrip('*') for line in sums.read_text().splitlines()]


@functools.cache
def _fields(file):
    """{field: value} of a .deb or .dsc."""
    text = file.read_text(encoding='utf-8') if file.suffix == '.dsc' \
        else tool('dpkg-deb', '--field', file, 'Version', 'Depends', 'Maintainer')
    return dict(re.findall(r'^(Version|Depends|Maintainer): (.*)', text, re.MULTILINE))


def _revision(file):
    """The revision that a file says it is of; None where it says none."""
    if file.suffix in ('.deb', '.dsc'):
        return _fields(file)['Version'].partition(':')[2]
    if file.suffix == '.rpm':
        return rpm_query('--qf', '%{VERSION}-%{RELEASE}', file)
    tarball = re.match(r'millrace(?:-test)?-(\d.*)-linux-', file.name)
    return tarball and tarball[1]


def _date(files):
    """The day that the packages say they are of, from the changelog of the source package; ''
    where there is none."""
    for name, file in files.items():
        if '.debian.tar.' in name:
            with tarfile.open(file) as archive:
                text = archive.extractfile('debian/changelog').read().decode()
            when = re.search('^ -- .*?>  (.*)', text, re.MULTILINE)[1]
            return email.utils.parsedate_to_datetime(when).date().isoformat()
    return ''


def _check_linked(file, debian):
    """Raises Failure where a .deb was built on another release of Debian."""
    needs = re.findall(r'[\w.+-]+', re.sub(r'\(.*?\)', '', _fields(file).get('Depends', '')))
    for library, built_on in LINKED_ON.items():
        if library in needs and built_on != debian:
            raise Failure(f'{file.name} was built on {built_on}, and is to be for {debian}',
                          f'it depends on {library}, which {debian} does not have',
                          f'build it on {debian}, or publish it for {built_on}: DIST={built_on}')


def _check_maintainer(file, tree):
    """Raises Failure where a .deb names nobody who can be reached."""
    maintainer = _fields(file)['Maintainer']
    if publisher.is_placeholder(maintainer):
        raise Failure(f'{file.name} was built with the placeholder Maintainer: {maintainer}',
                      f'debian/control has yours now: make TREE={tree}')


def read(tree, debian):
    """The packages of a tree, as a Release in testing, and {name: file}.  Raises Failure."""
    dist = directory(tree)
    files = {name: dist / name for name in _listed(dist)}
    revisions = {}
    for file in files.values():
        if revision := _revision(file):
            revisions.setdefault(revision, file.name)
        if file.suffix == '.deb':
            _check_linked(file, debian)
            _check_maintainer(file, tree)
    if len(revisions) != 1:
        raise Failure(f'{dist.relative_to(TOP)} has packages of {len(revisions)} revisions',
                      *(f'{revision}: {name}' for revision, name in revisions.items()),
                      f'make TREE={tree}')
    if not any(kind_of(name) == 'apt' for name in files):
        debian = ''
    return Release(tree, next(iter(revisions)), debian, 'testing', tuple(sorted(files)),
                   _date(files)), files
