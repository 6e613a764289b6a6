"""The distribution's own server: its packages, fetched by apt and unpacked, not installed."""
import getpass
import re
import shutil
import subprocess

from millrace.errors import Failure

# mariadb-dump is in mariadb-client
PACKAGES = ('mariadb-server', 'mariadb-server-core', 'mariadb-client', 'mariadb-backup')


def candidates(tree, release):
    """Versions that apt lists, those of the tree's release first.  Raises Failure."""
    listed = subprocess.run(['apt-cache', 'madison', 'mariadb-server-core'], text=True,
                            capture_output=True, check=False).stdout
    versions = re.findall(rf'\| ((?:\d+:)?{re.escape(tree)}\.\S+) \|', listed)
    if not versions:
        raise Failure(f'debian: apt lists no mariadb-server of {tree}',
                      'this distribution has another line: leave debian out of BUILDS')
    same = [each for each in versions if each.partition(':')[2].startswith(f'{release}-')]
    return same + versions


def download(versions, directory):
    """Fetches the packages of the first version that can be had: that version."""
    errors = []
    for each in versions:
        done = subprocess.run(
            ['apt-get', '-qq', '-o', f'APT::Sandbox::User={getpass.getuser()}', 'download',
             *(f'{package}={each}' for package in PACKAGES)],
            cwd=directory, text=True, capture_output=True, check=False)
        if not done.returncode:
            return each
        errors += done.stderr.splitlines()[-1:]
    raise Failure(f'debian: the packages {" and ".join(PACKAGES)} cannot be fetched',
                  *errors[:3], 'apt-get update; or leave debian out of BUILDS')


def fetch(tree, release, unpacked, say):
    """Fetches and unpacks the packages of the tree's release, or else the newest of its line,
    where they are not there yet."""
    stamp, of = unpacked / '.made-from', ' '.join([release, *PACKAGES, ''])
    if stamp.exists() and stamp.read_text().startswith(of):
        return
    versions = candidates(tree, release)
    new = unpacked.with_name(unpacked.name + '.new')
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        version = download(versions, new)
        say(f'debian: mariadb-server {version}')
        for package in new.glob('*.deb'):
            subprocess.run(['dpkg-deb', '-x', package, new], check=True)
            package.unlink()
        (new / '.made-from').write_text(of + version)
        shutil.rmtree(unpacked, ignore_errors=True)
        new.rename(unpacked)
    finally:
        shutil.rmtree(new, ignore_errors=True)
