"""build/fetch: what it takes and refuses, and that it leaves nothing half-made."""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import release
from support.checkout import TREE
from support.upstream import Upstream, serve

VERSION, SHA256 = release()


@pytest.fixture
def empty(checkout, tmp_path):
    """A checkout whose cache is empty."""
    checkout.cache = tmp_path / 'cache'
    return checkout


@pytest.fixture
def lesser(small_checkout, tmp_path):
    """Such a checkout that is pinned to a small tarball, and the tarball."""
    tarball = small_checkout.cache / f'mariadb-{VERSION}.tar.gz'
    small_checkout.cache = tmp_path / 'empty'
    return small_checkout, tarball


def left_in(cache):
    """The files that a failed fetch has left in the cache."""
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_own_tarball_is_verified_and_kept(empty, tarball, tmp_path):
    own = tmp_path / 'own.tar.gz'
    own.symlink_to(tarball)
    shutil.copy(f'{tarball}.asc', f'{own}.asc')
    status, text = empty.run('build/fetch', TARBALL=str(own))
    assert status == 0, text
    assert f'mariadb-{VERSION}.tar.gz' in left_in(empty.cache)
    assert (empty.cache / f'mariadb-{VERSION}.tar.gz.verified').read_text() == f'{SHA256}\n'
    assert empty.run('build/fetch', prefix=('unshare', '-rn')) == (0, ''), \
        'the cache serves without a network'


def test_two_at_once(empty, tarball, tmp_path):
    own = tmp_path / 'own.tar.gz'
    own.symlink_to(tarball)
    shutil.copy(f'{tarball}.asc', f'{own}.asc')
    with ThreadPoolExecutor() as pool:
        done = [pool.submit(empty.run, 'build/fetch', TARBALL=str(own)) for _ in range(3)]
    assert [each.result()[0] for each in done] == [0, 0, 0], done[0].result()
    assert empty.run('build/fetch', prefix=('unshare', '-rn')) == (0, '')


def test_wrong_hash(empty, tmp_path):
    own = tmp_path / 'own.tar.gz'
    own.write_bytes(b'not a tarball')
    (tmp_path / 'own.tar.gz.asc').write_text('no signature')
    status, text = empty.run('build/fetch', TARBALL=str(own))
    assert status == 1
    assert SHA256 in text and str(own) in text
    assert left_in(empty.cache) == []


def test_truncated_tarball(empty, tarball, tmp_path):
    own = tmp_path / 'own.tar.gz'
    with tarball.open('rb') as whole:
        own.write_bytes(whole.read(10_000_000))
    shutil.copy(f'{tarball}.asc', f'{own}.asc')
    status, text = empty.run('build/fetch', TARBALL=str(own))
    assert status == 1
    assert SHA256 in text and 'truncated' in text
    assert left_in(empty.cache) == []


def test_signature_of_somebody_else(lesser, tmp_path):
    empty, tarball = lesser
    home = tmp_path / 'gnupg'
    home.mkdir(mode=0o700)
    gpg = ['gpg', '--homedir', home, '--batch', '--quiet', '--pinentry-mode', 'loopback',
           '--passphrase', '']
    subprocess.run([*gpg, '--quick-generate-key', 'Mallory <mallory@example.org>', 'ed25519'],
                   check=True)
    own = tmp_path / 'own.tar.gz'
    own.symlink_to(tarball)
    subprocess.run([*gpg, '--armor', '--output', f'{own}.asc', '--detach-sign', own], check=True)
    subprocess.run(['gpgconf', '--homedir', home, '--kill', 'gpg-agent'], check=False)
    status, text = empty.run('build/fetch', TARBALL=str(own))
    assert status == 1
    assert str(own) in text and 'trees/upstream.asc' in text
    assert left_in(empty.cache) == []


def test_no_signature(lesser, tmp_path):
    empty, tarball = lesser
    own = tmp_path / 'own.tar.gz'
    own.symlink_to(tarball)
    status, text = empty.run('build/fetch', TARBALL=str(own))
    assert status == 1
    assert f'{own}.asc' in text
    assert left_in(empty.cache) == []


def test_no_such_tarball(empty):
    status, text = empty.run('build/fetch', TARBALL='/nonexistent.tar.gz')
    assert status == 1
    assert 'TARBALL=/nonexistent.tar.gz' in text


def test_no_network(empty):
    status, text = empty.run_offline('build/fetch')
    assert status == 4
    assert f'mariadb-{VERSION}.tar.gz' in text and 'make TARBALL=' in text
    assert left_in(empty.cache) == []


def test_damaged_cache_is_noticed(empty):
    empty.cache.mkdir()
    (empty.cache / f'mariadb-{VERSION}.tar.gz').write_bytes(b'damaged')
    (empty.cache / f'mariadb-{VERSION}.tar.gz.asc').write_text('none')
    status, text = empty.run('build/fetch')
    assert status == 1
    assert SHA256 in text and 'remove it' in text


def test_a_file_that_took_the_tarballs_place_is_noticed(empty, tarball, tmp_path):
    """Though it is older than what was verified, as after cp -p or rsync -a."""
    own = tmp_path / 'own.tar.gz'
    own.symlink_to(tarball)
    shutil.copy(f'{tarball}.asc', f'{own}.asc')
    assert empty.run('build/fetch', TARBALL=str(own))[0] == 0
    there = empty.cache / tarball.name
    there.write_bytes(b'another')
    os.utime(there, (1_000_000_000, 1_000_000_000))
    for command in (['build/fetch'], ['scripts/prove', '--quick', TREE],
                    ['scripts/new-patch', 'name']):
        status, text = empty.run(*command, prefix=('unshare', '-rn'))
        assert status == 1 and SHA256 in text, text


POOL = """
. build/lib/context.sh && context && . build/lib/upstream.sh
mkdir -p "$1/apt" && echo "$2" > "$1/apt/mirrors"
APT_DIR=$1/apt APT=(-qq -o "APT::Sandbox::User=$(id -un)")
pool_download "$3" "$1"
"""


def test_what_the_index_has_dropped_is_in_the_pool(checkout, tmp_path):
    pool = tmp_path / 'mirror/pool/main/m/mariadb'
    pool.mkdir(parents=True)
    (pool / 'mariadb_10.11.90.orig.tar.gz').write_bytes(b'a tarball')
    (pool / 'mariadb_10.11.90.orig.tar.gz.asc').write_text('its signature')
    (pool / 'mariadb_10.11.91.orig.tar.gz').write_bytes(b'without a signature')
    with serve(tmp_path / 'mirror') as server:
        def pool_download(version):
            there = tmp_path / version
            status, text = checkout.run('bash', '-c', POOL, 'bash', there,
                                        f'http://127.0.0.1:{server.server_port}/', version)
            return status, text, {path.name: path.read_text()
                                  for path in there.iterdir() if path.is_file()}

        status, text, files = pool_download('10.11.90')
        assert status == 0, text
        assert files == {'archive': 'a tarball', 'archive.asc': 'its signature'}
        for version in ('10.11.91', '10.11.92'):
            status, text, files = pool_download(version)
            assert status == 1 and 'archive.asc' not in files, text
            assert '404' in text
        server.shutdown()


def test_a_mirror_of_the_archive(empty, tmp_path):
    """It is asked first; where it lacks the release, the archive is."""
    upstream = Upstream(empty, tmp_path, '10.11')
    mirror, other = tmp_path / 'pub/mariadb', tmp_path / 'empty'
    for place in (mirror, other):
        place.mkdir(parents=True)
    with serve(tmp_path / 'pub') as server:
        named = f'http://127.0.0.1:{server.server_port}/mariadb/'
        try:
            for version in ('10.11.90', '10.11.91'):
                upstream.release(version, {'README.md': 'a release\n'})
            (upstream.archive / 'mariadb-10.11.90').rename(mirror / 'mariadb-10.11.90')
            for url in (named, other.as_uri()):
                status, text = empty.run('build/fetch', '10.11.91', TREE='10.11', UPSTREAM=url)
                assert status == 0 and 'the signature is right' in text, text
                (empty.cache / 'mariadb-10.11.91.tar.gz').unlink()
            assert empty.run('build/fetch', '10.11.90', TREE='10.11')[0] == 4
            status, text = empty.run('build/fetch', '10.11.90', TREE='10.11', UPSTREAM=named)
            assert status == 0 and f'{named}mariadb-10.11.90/source/' in text, text
            # what it serves is verified like the archive's
            asc = mirror / 'mariadb-10.11.90/source/mariadb-10.11.90.tar.gz.asc'
            (empty.cache / 'mariadb-10.11.90.tar.gz').unlink()
            shutil.copy(next(upstream.archive.glob('mariadb-10.11.91/*/*.asc')), asc)
            status, text = empty.run('build/fetch', '10.11.90', TREE='10.11', UPSTREAM=named)
            assert status == 1 and "signature is not upstream's" in text, text
            # but where the archive has the right one, that is taken
            asc = mirror / 'mariadb-10.11.91/source/mariadb-10.11.91.tar.gz.asc'
            asc.parent.mkdir(parents=True)
            asc.write_text('no signature\n')
            (asc.parent / asc.stem).write_text('no tarball\n')
            status, text = empty.run('build/fetch', '10.11.91', TREE='10.11', UPSTREAM=named)
            assert status == 0 and 'the signature is right' in text, text
            assert f'error: {named}mariadb-10.11.91/source/mariadb-10.11.91.tar.gz: ' in text
            shutil.rmtree(mirror / 'mariadb-10.11.91')
            # and its releases are known
            status, text = empty.run('scripts/upstream-watch', TREE='10.11', UPSTREAM=named)
            assert '10.11.91 is out' in text, text
            shutil.rmtree(upstream.archive / 'mariadb-10.11.91')
            status, text = empty.run('scripts/upstream-watch', TREE='10.11', UPSTREAM=named)
            assert '10.11.90 is out' in text, text
        finally:
            upstream.close()
            server.shutdown()


REPACKED = """
. build/lib/context.sh && context && . build/lib/upstream.sh
mkdir -p "$1/lists/partial"
echo "deb-src [trusted=yes] $2 ./" > "$1/sources.list"
APT=(-qq -o "Dir::Etc::SourceList=$1/sources.list" -o Dir::Etc::SourceParts=/dev/null
     -o "Dir::State::Lists=$1/lists" -o "APT::Sandbox::User=$(id -un)")
apt-get "${APT[@]}" update && debian_download "$3" "$1"
"""
SOURCES = """Package: mariadb
Format: 3.0 (quilt)
Binary: mariadb-server
Version: {version}
Directory: .
Files:
 d41d8cd98f00b204e9800998ecf8427e 0 mariadb_{version}.dsc
Checksums-Sha256:
 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 mariadb_{version}.dsc

"""


def test_what_debian_has_repacked_is_passed_over(checkout, tmp_path):
    (tmp_path / 'mirror').mkdir()
    (tmp_path / 'mirror/Sources').write_text(SOURCES.format(version='1:11.8.9+ds-0+deb13u1'))
    for version, words in (('11.8.9', '1:11.8.9+ds-0+deb13u1 is passed over: it is repacked'),
                           ('11.8.8', 'no Debian mirror lists')):
        status, text = checkout.run('bash', '-c', REPACKED, 'bash', tmp_path / 'apt',
                                    (tmp_path / 'mirror').as_uri(), version)
        assert status == 1 and words in text, text


def on_tmpfs(options, cache, script):
    """Runs build/fetch with the cache on a file system of its own."""
    return ('unshare', '-rm', 'sh', '-c',
            f'mount -t tmpfs -o {options} none "$1" && shift && exec "$@"', 'sh', cache)


def test_full_cache(empty, tarball):
    empty.cache.mkdir()
    shutil.copy(f'{tarball}.asc', empty.path / 'own.asc')
    (empty.path / 'own').symlink_to(tarball)
    status, text = empty.run('build/fetch', TARBALL=str(empty.path / 'own'),
                             prefix=on_tmpfs('size=1m', empty.cache, 'build/fetch'))
    assert status == 1
    assert 'No space left on device' in text


def test_read_only_cache(empty):
    empty.cache.mkdir()
    status, text = empty.run('build/fetch', prefix=on_tmpfs('ro', empty.cache, 'build/fetch'))
    assert status == 1
    assert f'cannot write to {empty.cache}' in text


def test_release_without_a_pin(empty):
    status, text = empty.run('build/fetch', VERSION='10.11.99')
    assert status == 1
    assert 'make VERSION=10.11.99 SHA256=' in text


def test_unknown_tree(empty):
    status, text = empty.run('build/fetch', TREE='9.9')
    assert status == 1
    assert 'trees/9.9/pin.conf' in text and '10.11' in text
