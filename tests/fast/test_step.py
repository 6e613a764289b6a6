"""build/step and where a build is made: what is done again, and what two builds must not share."""
import hashlib
import os
import shutil
import subprocess

import pytest

from tinytree import tiny


@pytest.fixture
def road(checkout, tmp_path):
    """A checkout of the tree tiny, without patches, whose step tarball only notes that it ran."""
    tiny(checkout, tmp_path / 'cache')
    checkout.write('series', '')
    checkout.write('build/tarball', '#!/usr/bin/env bash\n. "$(dirname "$0")/lib.sh"\nmkdir -p "$DIST"\necho "$VERSION" >> "$DIST/made"\n'
                                    'if [ -f "$TOP/while" ]; then touch "$TOP/while"; mv "$TOP/while" "$TOP/tarball/README"; fi\n')
    (checkout.path / 'build/tarball').chmod(0o755)

    def run(**variables):
        status, text = checkout.run('bash', '-ec', 'build/apply && build/step tarball', TREE='tiny', PATCHES='none', **variables)
        assert status == 0, text
        return text
    checkout.road = run
    return checkout


def made(road, dist='dist/tiny+vanilla'):
    """What the step noted."""
    return (road.path / dist / 'made').read_text().split()


def test_a_step_is_taken_once(road):
    assert 'step: tarball took' in road.road()
    assert road.road() == '' and made(road) == ['1.0.0']


def test_what_changes_while_a_step_works_is_taken_up_by_the_next(road):
    road.write('while', 'changed meanwhile\n')
    road.road()
    assert 'step: tarball took' in road.road() and len(made(road)) == 2
    assert road.road() == ''


def test_a_step_that_fails_is_taken_again(road):
    step = (road.path / 'build/tarball').read_text()
    road.write('build/tarball', step + 'exit 1\n')
    status, _ = road.run('bash', '-ec', 'build/apply && build/step tarball', TREE='tiny', PATCHES='none')
    assert status == 1
    then = os.stat(road.path / 'build/tarball')
    road.write('build/tarball', step)
    os.utime(road.path / 'build/tarball', ns=(then.st_mtime_ns, then.st_mtime_ns))
    assert 'step: tarball took' in road.road()


def test_another_release_has_places_of_its_own(road):
    later = shutil.copytree(road.cache / 'vanilla', road.cache / 'mariadb-1.0.1')
    archive = road.cache / 'mariadb-1.0.1.tar.gz'
    subprocess.run(['tar', '-czf', archive, '-C', road.cache, later.name], check=True)
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    road.road()
    road.road(VERSION='1.0.1', SHA256=sha256)
    assert made(road, 'dist/tiny-1.0.1+vanilla') == ['1.0.1']
    assert (road.path / 'work/tiny/1.0.1/vanilla/mariadb-1.0.1').is_dir()
    # and the pinned one's are as they were
    assert road.road() == '' and made(road) == ['1.0.0']


def test_a_checkout_behind_a_symbolic_link_is_where_it_is(road, tmp_path):
    (tmp_path / 'link').symlink_to(road.path)
    status, text = road.run('bash', '-ec', 'cd "$1" && . build/lib.sh && echo "$TOP"', 'sh', tmp_path / 'link', TREE='tiny')
    assert (status, text) == (0, f'{road.path.resolve()}\n')


def test_a_blank_in_the_path_is_refused(road, tmp_path):
    other = road.path.rename(tmp_path / 'a place')
    road.path = other
    status, text = road.run('build/apply', TREE='tiny', PATCHES='none')
    assert status == 1 and f'the path of the checkout has a blank in it: {other}' in text
    assert not (other / 'work').exists()
