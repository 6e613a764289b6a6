"""The scripts themselves: shellcheck, usage texts, setup, generated tables, what must not be in the tree."""
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from conftest import TOP


def tracked():
    """Files of the project, as git has them or would have them."""
    done = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=TOP, text=True,
                          capture_output=True, check=True)
    return [TOP / name for name in done.stdout.splitlines() if (TOP / name).is_file()]


def shell_scripts():
    """Those that a shell runs, but for the records of measurements, which stay as they were run."""
    return [path for path in tracked()
            if TOP / 'test-results' not in path.parents and path.suffix in ('', '.sh') and re.match(rb'#!.*\b(ba)?sh\b', path.read_bytes()[:40])]


def test_shellcheck():
    """Without what does not hold here: lib.sh sets variables and errexit (SC2154, SC2164), words are meant to split."""
    done = subprocess.run(['shellcheck', '-x', '--severity=warning', '-e', 'SC1091,SC2046,SC2154,SC2164', *shell_scripts()],
                          cwd=TOP, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize('path', [path for path in tracked()
                                  if path.parent.name in ('bench', 'build', 'scripts', 'crash') and path.stat().st_mode & 0o100],
                         ids=lambda path: f'{path.parent.name}/{path.name}')
def test_every_command_says_how_it_is_used(path):
    assert 'Usage: ' in path.read_text()[:400]


def test_help_names_every_target(checkout):
    status, text = checkout.run('make', 'help')
    assert status == 0
    targets = re.findall(r'^([a-z-]+):', (TOP / 'Makefile').read_text(), re.MULTILINE)
    assert not {target for target in targets if f'make {target} ' not in text and not target.startswith('setup')}
    for variable in ('TREE', 'PATCHES', 'VERSION', 'TARBALL'):
        assert variable in text


def test_progress_is_told_while_the_build_runs():
    """In the first line after the interval, while the build still writes: no tool on the way waits for a whole block."""
    with subprocess.Popen([TOP / 'build/progress', 'deb', '1'], text=True, bufsize=1, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as progress:
        begun = time.monotonic()
        progress.stdin.write('-- Configuring done\n[1/41] Building CXX object a\n')
        # again and again: on a busy machine the interval may begin late
        waited = begun
        while not select.select([progress.stdout], [], [], 0.5)[0]:
            waited = time.monotonic()
            assert waited < begun + 60, 'nothing is told'
            progress.stdin.write('[21/41] Building CXX object b\n')
        told = re.fullmatch(r'deb: 21 of 41, about (\d+) s left\n', progress.stdout.readline())
        # as long for the second half as for the first, which a busy machine makes longer
        assert 1 <= int(told[1]) <= 2 * (time.monotonic() - begun)
        progress.stdin.write('[22/41] Building CXX object c\nlibtool: done\n')
        progress.stdin.close()
        # nothing more, unless the machine has stood still for another interval
        assert progress.stdout.read() == '' or time.monotonic() - waited >= 1
        assert progress.wait() == 0


def test_the_tables_are_made_from_the_headers():
    done = subprocess.run([TOP / 'scripts/patches-table', '--check'], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_setup_without_root_names_what_is_missing(checkout, tmp_path):
    control = checkout.path / 'debian/control'
    control.write_text(control.read_text().replace('Build-Depends:', 'Build-Depends: no-such-package,'))
    commands = tmp_path / 'bin'
    commands.mkdir()
    for name in {path.name for bin in ('/usr/bin', '/bin') for path in Path(bin).iterdir()} - {'sudo'}:
        (commands / name).symlink_to(shutil.which(name, path='/usr/bin:/bin') or '/bin/false')
    status, text = checkout.run('build/setup', prefix=('unshare', '--map-user=65534'), PATH=str(commands))
    assert status == 1
    assert 'no-such-package' in text
    assert 'this is not root and there is no sudo' in text and 'apt-get build-dep' in text


def test_no_path_of_a_machine_and_no_large_file():
    for path in tracked():
        assert path.stat().st_size < 5_000_000, f'{path}: is it data that the design keeps?'
        if path.suffix != '.gz' and path != TOP / 'tests/fast/test_scripts.py':
            text = path.read_bytes()
            assert str(TOP).encode() + b'/' not in text, f'{path} names the path of this checkout'
