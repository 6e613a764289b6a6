"""The servers that are compared: made by the project's own road, fetched from the distribution, or at hand.

    vanilla            the tree's release without a patch and without our profile
    millrace           with the whole series
    only:a+b           with these patches alone
    without:a          with the whole series but these
    plain:millrace     millrace, only: or without:, compiled without the profile
    debian             the distribution's own mariadb-server, unpacked from its package
    /a/path            a server unpacked there
"""
import getpass
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import BenchError

TOP = Path(__file__).resolve().parent.parent.parent
SHIPPED = TOP / 'bench/builds'    # in the archive of `make bench-bundle`


def sha256(path):
    """The hash of a file."""
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


class Build:
    """An unpacked server; `name` is what it was asked for as."""

    def __init__(self, name, root):
        self.name, self.root = name, Path(root).resolve()
        self.binary = self._find('the server program', (
            'libexec/mariadbd', 'usr/sbin/mariadbd', 'sbin/mariadbd', 'bin/mariadbd'))
        self.share = self._find('english/errmsg.sys', (
            f'{place}/english/errmsg.sys' for place in
            ('share', 'share/mysql', 'share/mariadb', 'usr/share/mysql', 'usr/share/mariadb'))).parent.parent
        self.sha256 = sha256(self.binary)
        # in the bundle a server is started with the libraries that it came with
        loader = SHIPPED.parent / 'lib/ld-linux-x86-64.so.2'
        self.command = [str(self.binary)]
        if SHIPPED in self.root.parents and loader.exists():
            self.command = [str(loader), '--library-path', str(loader.parent), str(self.binary)]
        self._described = None

    def _find(self, what, candidates):
        for candidate in candidates:
            if (self.root / candidate).is_file():
                return self.root / candidate
        raise BenchError(f'{self.name}: {what} is not in {self.root}',
                         'a build is a directory into which a server was unpacked, with bin/ or libexec/ and share/')

    def places(self):
        """The options that tell it where its own files are."""
        return [f'--basedir={self.root}', f'--lc-messages-dir={self.share}', f'--character-sets-dir={self.share}/charsets']

    def script(self, name):
        """One of the SQL scripts that make its system tables."""
        for prefix in ('mariadb_', 'mysql_'):
            if (self.share / f'{prefix}{name}.sql').exists():
                return self.share / f'{prefix}{name}.sql'
        raise BenchError(f'{self.name}: {name}.sql is not in {self.share}', 'the build is not whole: unpack it again')

    def describe(self, connection=None):
        """What result.json says of it; what only a running server knows is asked over `connection`, once."""
        if connection and not self._described:
            version, comment = connection.query('SELECT @@version, @@version_comment')[0]
            try:
                patches = [row[0] for row in connection.query('SHOW PATCHES')]
            except BenchError:
                patches = []    # a server without them does not know the statement
            self._described = {'version': version, 'comment': comment, 'patches': patches}
        return {'name': self.name, **(self._described or {'version': '', 'comment': '', 'patches': []}),
                'sha256': self.sha256}


@dataclass(frozen=True)
class Road:
    """A subset of the series as build/lib.sh resolves it, and the environment in which it does: the tree's release, or one
    that it is being carried over to (VERSION=, make rebase)."""
    dist: Path
    work: Path
    release: str
    names: list
    patches: Path     # the directory of the patches
    pins: list        # the files that pin the release
    profiles: list
    environment: dict


def _road(tree, patches, plain=False):
    """The Road of these patches; None is the whole series."""
    script = (f'. "{TOP}/build/lib.sh"; printf "%s\\n" "$DIST" "$WORK" "$VERSION" "$NAMES" "$PATCH_DIR" '
              '"$TOP/trees/$TREE.conf ${REBASE:+$REBASE/tree.conf}" "${PROFILES[*]}"')
    environment = {**os.environ, 'TREE': tree, **({} if patches is None else {'PATCHES': patches})}
    if patches is None:
        environment.pop('PATCHES', None)
    environment['PROFILE'] = 'none' if plain else ''
    done = subprocess.run(['bash', '-c', script, 'bench'], env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        raise BenchError(done.stderr.strip().removeprefix('bench: error: '))
    dist, work, found, names, directory, pins, profiles = done.stdout.split('\n')[:7]
    return Road(Path(dist), Path(work), found, names.split(), Path(directory), pins.split(), profiles.split(), environment)


def _plain(name):
    """Whether a build is one without the profile, and its name but for that."""
    return name == 'vanilla' or name.startswith('plain:'), name.removeprefix('plain:')


def _patches(name):
    """PATCHES for the road; None is the whole series."""
    kind, _, rest = name.partition(':')
    if name == 'millrace':
        return None
    if name in ('vanilla', 'debian'):
        return 'none'
    from millrace import series    # the bundle has builds, and no series
    chosen, known = re.split(r'[+,]', rest), series.names()
    if kind == 'only':
        return ' '.join(chosen)
    unknown = set(chosen) - set(known)
    if unknown:
        raise BenchError(f'{name}: no patch {", ".join(sorted(unknown))} in the series',
                         f'known patches: {" ".join(known)}')
    return ' '.join(patch for patch in known if patch not in chosen) or 'none'


def _compilers():
    """What the compilers say that they are."""
    return [subprocess.run([os.environ.get(variable) or otherwise, '--version'], text=True, capture_output=True, check=True).stdout
            for variable, otherwise in (('CC', 'cc'), ('CXX', 'c++'))]


def _made_from(road):
    """A hash over what a build is made from."""
    steps = ('server.cmake', 'layout-tarball.cmake', 'tarball', 'lib.sh', 'cached-compiler',
             *(('with-profile', 'profiled-compiler') if road.profiles else ()))
    files = [*road.pins, *(TOP / 'build' / step for step in steps), *(road.patches / f'{name}.patch' for name in road.names), *road.profiles]
    return hashlib.sha256('\n'.join([road.release, *_compilers(), *map(sha256, files)]).encode()).hexdigest()


def _made(name, tree, unpacked, say):
    """A build by the project's road, unpacked; made when what it is made from has changed."""
    plain, base = _plain(name)
    patches = _patches(base)
    road = _road(tree, patches, plain)
    key = _made_from(road)
    stamp = unpacked / '.made-from'
    if stamp.exists() and stamp.read_text() == key:
        return
    say(f'{name}: make tarball{"" if patches is None else f" PATCHES={chr(34)}{patches}{chr(34)}"}{" PROFILE=none" if plain else ""}')
    whole = road.work.name == 'all'
    kept = road.work.exists()
    if subprocess.run(['make', '--no-print-directory', '-C', TOP, 'tarball', f'TREE={tree}'],
                      env={key: value for key, value in road.environment.items() if key not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL')},
                      stdin=subprocess.DEVNULL, check=False).returncode:
        raise BenchError(f'{name}: it could not be built; make says why, above')
    archive = next(road.dist.glob(f'millrace-{road.release}-*.tar.*'))
    new = unpacked.with_name(unpacked.name + '.new')
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    subprocess.run(['tar', '-xf', archive, '-C', new, '--strip-components=1'], check=True)
    (new / '.made-from').write_text(key)
    shutil.rmtree(unpacked, ignore_errors=True)
    new.rename(unpacked)
    if not whole and not kept:
        shutil.rmtree(road.work)    # 3 GB, of which nothing is needed any more


def _debian(tree, unpacked, say):
    """The distribution's packages, fetched by apt and unpacked: of the tree's release where it is to be had,
    else the newest of its line that apt lists."""
    release = version(tree)
    stamp = unpacked / '.made-from'
    if stamp.exists() and stamp.read_text().startswith(f'{release} '):
        return
    listed = subprocess.run(['apt-cache', 'madison', 'mariadb-server-core'], text=True, capture_output=True, check=False)
    versions = re.findall(rf'\| ((?:\d+:)?{re.escape(tree)}\.\S+) \|', listed.stdout)
    if not versions:
        raise BenchError(f'debian: apt lists no mariadb-server of {tree}', 'this distribution has another line: leave debian out of BUILDS')
    same = [found for found in versions if found.partition(':')[2].startswith(f'{release}-')]
    new = unpacked.with_name(unpacked.name + '.new')
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    errors = []
    for found in same + versions:
        done = subprocess.run(['apt-get', '-qq', '-o', f"APT::Sandbox::User={getpass.getuser()}", 'download',
                               *(f'{package}={found}' for package in ('mariadb-server', 'mariadb-server-core'))],
                              cwd=new, text=True, capture_output=True, check=False)
        if not done.returncode:
            break
        errors += done.stderr.splitlines()[-1:]
    else:
        shutil.rmtree(new)
        raise BenchError('debian: the packages mariadb-server and mariadb-server-core cannot be fetched', *errors[:3],
                         'apt-get update; or leave debian out of BUILDS')
    say(f'debian: mariadb-server {found}')
    for package in new.glob('*.deb'):
        subprocess.run(['dpkg-deb', '-x', package, new], check=True)
        package.unlink()
    (new / '.made-from').write_text(f'{release} {found}')
    shutil.rmtree(unpacked, ignore_errors=True)
    new.rename(unpacked)


def version(tree):
    """The upstream release of a tree."""
    shipped = SHIPPED / tree / 'version'
    return shipped.read_text().strip() if shipped.exists() else _road(tree, 'none').release


def release(tree):
    """The names of the series in a tree, and its upstream release."""
    road = _road(tree, None)
    return road.names, road.release


def check(name, tree):
    """Raises where there can be no such build; builds nothing."""
    if '/' in name:
        if not Path(name).is_dir():
            raise BenchError(f'{name}: no such directory', 'a path is that of an unpacked server')
    elif not (SHIPPED / tree / name).is_dir():
        if not (TOP / 'Makefile').exists():
            raise BenchError(f'{name}: not in this archive', f'it has: {" ".join(sorted(os.listdir(SHIPPED / tree)))}')
        _, base = _plain(name)
        if base not in ('vanilla', 'millrace', 'debian') and not base.startswith(('only:', 'without:')) or name == 'plain:debian':
            raise BenchError(f'{name}: no such build', 'known: vanilla, millrace, only:<patch>, without:<patch>, debian, '
                             'plain:<one of the first four>, or a path with a / in it')
        _road(tree, _patches(base))


def resolve(name, tree, work, say=print):
    """The build called `name` of a tree, made or fetched where it is not at hand."""
    check(name, tree)
    if '/' in name:
        return Build(Path(name).name, name)
    if (SHIPPED / tree / name).is_dir():
        return Build(name, SHIPPED / tree / name)
    unpacked = work / 'builds' / tree / name
    if name == 'debian':
        _debian(tree, unpacked, say)
    else:
        _made(name, tree, unpacked, say)
    return Build(name, unpacked)
