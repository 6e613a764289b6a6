"""Packages as build/ leaves them in dist/<tree>/, of the real names and with little in them."""
import os
import shutil
import subprocess

PROGRAM = '/usr/bin/true'     # stands for the server: it is linked with libc
NAMES = ('server', 'client', 'common', 'backup', 'test')
CONTROL = '''Package: millrace-{name}
Source: millrace
Version: 1:{version}-{revision}
Architecture: {architecture}
Maintainer: {maintainer}
Depends: {depends}
Description: stands for the real one
 {content}
 .
 Built on Debian GNU/Linux 12 (bookworm), and for that release.
'''
SOURCE = '''Source: millrace
Section: database
Priority: optional
Maintainer: A Person <a@example.org>
Standards-Version: 4.6.2

Package: millrace-server
Architecture: any
Description: stands for the real one
 It does.
'''
CHANGELOG = '''millrace (1:{version}-{revision}) unstable; urgency=medium

  * Anew.

 -- A Person <a@example.org>  Sat, 21 Nov 2026 00:00:00 +0000
'''
SPEC = '''Name: millrace
Version: {version}
Release: {revision}
Summary: Stands for the real one
License: GPL-2.0-only
%description
{content}
{packages}
%install
install -d %{{buildroot}}/usr/share/millrace
echo '{content}' > %{{buildroot}}/usr/share/millrace/content
%files server
/usr/share/millrace/content
'''
PACKAGE = '''%package {name}
Summary: Stands for the real one
{requires}
%description {name}
{content}
%files {name}
'''
DEPENDS = {'server': 'millrace-client (= 1:{version}-{revision}), '
                     'millrace-common (= 1:{version}-{revision})'}


def run(*command, cwd, **variables):
    """Runs a command that says nothing where all is well."""
    subprocess.run(command, cwd=cwd, check=True, capture_output=True,
                   env={**os.environ, 'SOURCE_DATE_EPOCH': '1795219200', **variables})


def _deb(dist, work, facts):
    for name in NAMES:
        root = work / f'deb-{name}'
        (root / 'DEBIAN').mkdir(parents=True)
        architecture = 'all' if name == 'common' else 'amd64'
        depends = facts['depends'] if name == 'server' and facts['depends'] else ''
        depends = ', '.join(filter(None, [DEPENDS.get(name, '').format(**facts), depends]))
        text = CONTROL.format(**{**facts, 'name': name, 'architecture': architecture,
                                 'depends': depends}).replace('Depends: \n', '')
        (root / 'DEBIAN/control').write_text(text)
        if name == 'server':
            (root / 'usr/sbin').mkdir(parents=True)
            shutil.copy(PROGRAM, root / 'usr/sbin/mariadbd')
        file = f'millrace-{name}_{facts["version"]}-{facts["revision"]}_{architecture}.deb'
        run('dpkg-deb', '--root-owner-group', '-Znone', '--build', root, dist / file, cwd=work)


def _dsc(dist, work, facts):
    top = f'millrace-{facts["version"]}'
    source = work / top
    (source / 'debian/source').mkdir(parents=True)
    (source / 'CREDITS').write_text('upstream\n')
    orig = f'millrace_{facts["version"]}.orig.tar.gz'
    run('sh', '-c', f'tar --sort=name --mtime=@1 --owner=0 --group=0 --exclude=debian -c {top} '
        f'| gzip -n > {orig}', cwd=work)
    (work / f'{orig}.asc').write_text('upstream signed it\n')
    (source / 'debian/control').write_text(SOURCE)
    (source / 'debian/changelog').write_text(CHANGELOG.format(**facts))
    (source / 'debian/source/format').write_text('3.0 (quilt)\n')
    run('dpkg-source', '-b', top, cwd=work)
    for file in work.glob('millrace_*'):
        file.rename(dist / file.name)


def _rpm(dist, work, facts):
    requires = {'server': 'Requires: millrace-client = {version}-{revision}'.format(**facts),
                'backup': 'Requires: libc.so.6()(64bit)'}
    packages = ''.join(PACKAGE.format(name=name, content=facts['content'],
                                      requires=requires.get(name, ''))
                       for name in NAMES).replace('%files server\n', '')
    (work / 'millrace.spec').write_text(SPEC.format(**facts, packages=packages))
    run('rpmbuild', '-ba', '--quiet', '-D', f'_topdir {work}/rpm', '-D',
        'use_source_date_epoch_as_buildtime 1', '-D', '_buildhost build', 'millrace.spec',
        cwd=work)
    for file in work.glob('rpm/*RPMS/**/*.rpm'):
        file.rename(dist / file.name)


def _tarballs(dist, work, facts):
    top = f'millrace-{facts["version"]}-{facts["revision"]}-linux-x86_64'
    (work / top).mkdir()
    (work / top / 'README').write_text(f'{facts["content"]}\n')
    shutil.copy(PROGRAM, work / top)
    for name in (top, top.replace('millrace', 'millrace-test')):
        run('tar', '--sort=name', '--mtime=@1', '--owner=0', '--group=0', '--zstd', '-cf',
            dist / f'{name}.tar.zst', top, cwd=work)


def finish(dist, work, version, revision=1, content='content', depends='', rpm=True,
           maintainer='A Person <a@example.org>'):
    """Makes the packages of a revision in dist/, in the place of those that are there; with
    other `content` other bytes; `depends`: a package that the server's needs, too."""
    facts = {'version': version, 'revision': revision, 'content': content, 'depends': depends,
             'maintainer': maintainer}
    work.mkdir()
    dist.mkdir(parents=True, exist_ok=True)
    for file in dist.iterdir():
        file.unlink()
    _deb(dist, work, facts)
    _dsc(dist, work, facts)
    if rpm:
        _rpm(dist, work, facts)
    _tarballs(dist, work, facts)
    sum_up(dist)


def sum_up(dist):
    """Writes SHA256SUMS, as build/checksums does."""
    run('sh', '-c', 'sha256sum millrace* > .new && mv .new SHA256SUMS', cwd=dist)
