"""The provenance of a release: an in-toto statement with a predicate of SLSA, version 1.

It names what the packages were made from, by hash: the commit, upstream's tarball, the series
and the profiles; on which release of Debian; and each file that came of it.  The builder is the
holder of the key that signs it.  It has no date of a run: the same bytes from the same release.
"""
import json
import re

from millrace import TOP
from millrace.patches import series
from millrace.release.history import tag_of
from millrace.repo.tools import rpm_query, tool

BUILD = 'urn:x-millrace:make-packages:1'    # make TREE=..., as docs/build.md has it
BUILT_ON = re.compile(r'^ Built on (.+), and for', re.MULTILINE)    # debian/control has it


def built_on(files):
    """The release of Debian that the packages were built on, as millrace-server says it; ''
    where it does not."""
    for file in files:
        if file.name.startswith('millrace-server_') and file.suffix == '.deb':
            told = BUILT_ON.search(tool('dpkg-deb', '--field', file, 'Description'))
            return told[1] if told else ''
    return ''


def _resource(name, digest, **more):
    return {'name': name, 'digest': {'sha256': digest}, **more}


def inputs(context, commit, hash_of):
    """The materials of the packages."""
    url = context.archive.replace('@VERSION@', context.version)
    files = [series.patch_file(context.tree, name) for name in context.names]
    return [{'name': 'millrace', 'digest': {'gitCommit': commit}},
            _resource(url.rpartition('/')[2], context.sha256, uri=url,
                      annotations={'signedBy': f'openpgp4fpr:{context.signed_by}'}),
            *(_resource(str(file.relative_to(TOP)), hash_of(file))
              for file in (*files, *context.profiles))]


def outputs(files, hash_of):
    """The packages: RPM packages by their bytes before they were signed, and by the hash that
    stays under the signature."""
    for file in sorted(files):
        more = {}
        if file.suffix == '.rpm':
            more = {'annotations': {'SHA256HEADER': rpm_query('--qf', '%{SHA256HEADER}', file)}}
        yield _resource(file.name, hash_of(file), **more)


def statement(context, commit, key, files, documents, hash_of):
    """The statement, as the text of a JSON document.

    `files` are the packages, `documents` the release's other documents; `hash_of` gives the
    sha256 of a file, `key` is the fingerprint of the key that signs."""
    revision, debian = f'{context.version}-{context.revision}', built_on(files)
    return json.dumps({
        '_type': 'https://in-toto.io/Statement/v1',
        'subject': list(outputs(files, hash_of)),
        'predicateType': 'https://slsa.dev/provenance/v1',
        'predicate': {
            'buildDefinition': {
                'buildType': BUILD,
                'externalParameters': {'TREE': context.tree, 'revision': revision},
                'internalParameters': {'SOURCE_DATE_EPOCH': str(context.source_date_epoch)},
                'resolvedDependencies': inputs(context, commit, hash_of)},
            'runDetails': {
                'builder': {'id': f'openpgp4fpr:{key}',
                            **({'version': {'debian': debian}} if debian else {})},
                'metadata': {'invocationId': tag_of(revision)},
                'byproducts': [_resource(file.name, hash_of(file))
                               for file in sorted(documents)]}}}, indent=1) + '\n'
