"""The bill of materials of a package, in CycloneDX: the same bytes from the same package.

It names the package with its sha256, the commit and upstream's tarball that it is made from,
each patch, and what it is linked with.  The sha256 of an RPM package is that from before make
repo signs it; SHA256HEADER, which rpm -qp shows, stays under the signature.
"""
import dataclasses
import datetime
import re
import tempfile
import uuid
from email.utils import parseaddr
from pathlib import Path

from cyclonedx.model import (ExternalReference, ExternalReferenceType, HashAlgorithm, HashType,
                             Property, XsUri)
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import (Component, ComponentType, Diff, Patch,
                                       PatchClassification, Pedigree)
from cyclonedx.model.contact import OrganizationalContact
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from millrace.patches import series
from millrace.patches.header import read_header
from millrace.repo.tools import rpm_query, tool

LICENSE = 'GPL-2.0-only'
# linked statically: name, license, and the packages that have it.  The first two are parts of
# upstream's tarball, fmt is the distribution's headers (build/cmake/server.cmake).
BUNDLED = (('libmariadb', 'LGPL-2.1-or-later', ('client', 'test')),
           ('wsrep-lib', LICENSE, ('server', 'backup')),
           ('fmt', 'MIT', ('server', 'backup')))
# likewise, in RPM packages and the tarball alone: Debian's (build/cmake/portable.cmake).  No
# license: of several files, several.
PORTABLE = (('libbsd', '', ('client',)),
            ('libcrypt', 'LGPL-2.1-or-later', ('server', 'backup')),
            ('libedit', 'BSD-3-Clause', ('client',)),
            ('libmd', '', ('client',)),
            ('libncurses', 'X11-distribute-modifications-variant', ('client',)))
SYMBOLS = re.compile(r'-(dbgsym|debuginfo)')      # debug information is linked with nothing
TARBALL = re.compile(r'(millrace(?:-test)?)-(\d[^-]*-[^-]*)-linux-(.*)\.tar\.zst')


@dataclasses.dataclass(frozen=True)
class Package:
    """A package as a file says it is; `depends` are its relations, in the words of its format."""
    file: Path
    name: str
    version: str
    purl: PackageURL
    depends: str = ''
    header: str = ''    # SHA256HEADER of an RPM package

    @property
    def parts(self):
        """Its parts: server, client...; the tarball has all."""
        return ('server', 'client', 'backup') if self.name == 'millrace' \
            else (self.name.removeprefix('millrace-'),)


def read(file, debian):
    """The Package of a binary package; None for another file."""
    if file.suffix == '.deb':
        fields = dict(re.findall(r'^(\S+): (.*)', tool(
            'dpkg-deb', '--field', file, 'Package', 'Version', 'Architecture', 'Depends',
            'Pre-Depends'), re.MULTILINE))
        depends = ', '.join(filter(None, (fields.get('Pre-Depends'), fields.get('Depends'))))
        return Package(file, fields['Package'], fields['Version'], PackageURL(
            'deb', 'millrace', fields['Package'], fields['Version'],
            {'arch': fields['Architecture'], 'distro': debian}), depends)
    if file.suffix == '.rpm' and not file.name.endswith('.src.rpm'):
        name, version, arch, digest = rpm_query(
            '--qf', '%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{SHA256HEADER}', file).split()
        depends = rpm_query('--requires', file).splitlines()
        return Package(file, name, version,
                       PackageURL('rpm', 'millrace', name, version, {'arch': arch}),
                       ', '.join(depends), digest)
    if match := TARBALL.fullmatch(file.name):
        return Package(file, match[1], match[2],
                       PackageURL('generic', 'millrace', match[1], match[2], {'arch': match[3]}))
    return None


def needed(directory):
    """The names of the shared libraries that the programs below a directory are linked with."""
    programs = []
    for path in directory.rglob('*'):
        if path.is_file() and not path.is_symlink():
            with path.open('rb') as file:
                if file.read(4) == b'\x7fELF':
                    programs.append(path)
    if not programs:
        return set()
    return set(re.findall(r'\(NEEDED\).*\[(.*)\]', tool('readelf', '--dynamic', '--wide',
                                                        *sorted(programs))))


def linked(package):
    """The names of the shared libraries that a package is linked with, sorted."""
    if SYMBOLS.search(package.name):
        return []
    if package.file.suffix == '.rpm':
        names = re.findall(r'(?:^|, )([\w.+-]+\.so[\w.+-]*)\(', package.depends)
    else:
        with tempfile.TemporaryDirectory(prefix='millrace-') as place:
            if package.file.suffix == '.deb':
                tool('dpkg-deb', '--extract', package.file, place)
            else:
                tool('tar', '--extract', '--zstd', '--file', package.file, '-C', place)
            names = needed(Path(place))
    return sorted(set(names))


def _hashes(digest):
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest)]


def _licenses(name):
    return [DisjunctiveLicense(id=name) if name
            else DisjunctiveLicense(name='several: LICENSES of the package')]


def _properties(**values):
    return [Property(name=f'millrace:{name.replace("_", "-")}', value=value)
            for name, value in values.items() if value]


def upstream(context, role=''):
    """Upstream's release, as a Component; another `role` makes it another one."""
    url = context.archive.replace('@VERSION@', context.version)
    file = url.rpartition('/')[2]
    name = file.partition(f'-{context.version}')[0]
    return Component(
        type=ComponentType.APPLICATION, name=name, version=context.version,
        bom_ref=f'{file}{role}',
        purl=PackageURL('generic', None, name, context.version,
                        {'download_url': url, 'checksum': f'sha256:{context.sha256}'}),
        cpe=f'cpe:2.3:a:{name}:{name}:{context.version}:*:*:*:*:*:*:*',
        licenses=_licenses(LICENSE), hashes=_hashes(context.sha256),
        external_references=[ExternalReference(type=ExternalReferenceType.DISTRIBUTION,
                                               url=XsUri(url), hashes=_hashes(context.sha256))],
        properties=_properties(signed_by=context.signed_by))


def patch(context, name, hash_of):
    """A patch of the series, as a Component."""
    file = series.patch_file(context.tree, name)
    header = read_header(file)
    fields, path = header.fields, f'patches/{context.tree}/{name}.patch'
    author, address = parseaddr(fields['Author'])
    urls = [(ExternalReferenceType.ISSUE_TRACKER, fields.get('Bug', '')),
            (ExternalReferenceType.VCS, fields['Forwarded'])]
    return Component(
        type=ComponentType.FILE, name=path, bom_ref=path, description=header.synopsis,
        authors=[OrganizationalContact(name=author, email=address)],
        licenses=_licenses(fields['License']), hashes=_hashes(hash_of(file)),
        external_references=[ExternalReference(type=kind, url=XsUri(url)) for kind, url in urls
                             if re.fullmatch(r'https?://\S+', url)],
        properties=_properties(upstream_status=header.upstream_status, origin=fields['Origin'],
                               last_update=fields['Last-Update']))


def _libraries(package, context):
    """What a package is linked with, as Components."""
    for name in linked(package):
        yield Component(type=ComponentType.LIBRARY, name=name, bom_ref=name,
                        properties=_properties(linked='shared'))
    for name, license_, parts in BUNDLED + (PORTABLE if package.file.suffix != '.deb' else ()):
        if set(parts) & set(package.parts):
            yield Component(type=ComponentType.LIBRARY, name=name, bom_ref=name,
                            licenses=_licenses(license_), properties=_properties(linked='static'))


def bill(package, context, commit, hash_of):
    """The bill of materials of a Package, as the text of a CycloneDX document; `hash_of` gives
    the sha256 of a file."""
    digest, release = hash_of(package.file), upstream(context)
    patches = [patch(context, name, hash_of) for name in context.names]
    libraries = list(_libraries(package, context))
    component = Component(
        type=ComponentType.APPLICATION, name=package.name, version=package.version,
        bom_ref=package.file.name, purl=package.purl, licenses=_licenses(LICENSE),
        hashes=_hashes(digest),
        pedigree=Pedigree(ancestors=[upstream(context, '#ancestor')], patches=[
            Patch(type=PatchClassification.UNOFFICIAL, diff=Diff(url=XsUri(each.name)))
            for each in patches]),
        properties=_properties(commit=commit, tree=context.tree, depends=package.depends,
                               rpm_sha256_header=package.header))
    date = datetime.datetime.fromtimestamp(context.source_date_epoch, datetime.timezone.utc)
    made = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_OID, f'{commit} {digest}'),
               metadata=BomMetaData(timestamp=date, component=component),
               components=[release, *patches, *libraries])
    made.register_dependency(component, [release, *patches, *libraries])
    return JsonV1Dot6(made).output_as_string(indent=1) + '\n'
