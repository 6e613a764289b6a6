"""The commands themselves: usage texts, make help, progress, setup; and the project's files."""
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import path_without
from millrace import TOP
from millrace import command as millrace_command
from millrace.upstream import pins, suites


def tracked():
    """Files of the project, as git has them or would have them."""
    done = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=TOP, text=True,
                          capture_output=True, check=True)
    return [TOP / name for name in done.stdout.splitlines() if (TOP / name).is_file()]


COMMANDS = [path for path in tracked()
            if path.parent.name in ('bench', 'build', 'lib', 'cmake', 'compiler', 'scripts',
                                    'crash')
            and path.stat().st_mode & 0o100]


@pytest.mark.parametrize('path', COMMANDS, ids=lambda path: f'{path.parent.name}/{path.name}')
def test_every_command_tells_its_usage(path):
    """In its first lines, or where it is a stub over a module, for --help."""
    text = path.read_text()
    if 'Usage: ' in text[:400]:
        return
    assert re.search(r'^exec .*python" -m [a-z_.]+ "\$@"$', text, re.MULTILINE), text
    done = subprocess.run([path, '--help'], text=True, capture_output=True, check=False)
    assert 'usage: ' in (done.stdout + done.stderr).lower()


def makefile():
    """{target: the line that explains it} of the Makefile, but for those of Debian's packages."""
    text = (TOP / 'Makefile').read_text()
    targets = dict(re.findall(r'^([a-z-]+):(?:.*## (.*))?$', text, re.MULTILINE))
    return {name: line for name, line in targets.items() if not name.startswith('setup')}


def test_help_names_every_target(checkout):
    status, text = checkout.run('make', 'help')
    assert status == 0
    for target, line in makefile().items():
        printed = re.search(rf'^  make {target} +(.*)$', text, re.MULTILINE)
        assert line and printed and printed[1] == line, target
    groups = re.findall(r'^\w+$', text, re.MULTILINE)
    assert groups == ['Packages', 'Patches', 'Proofs', 'Measuring', 'House', 'Variables']
    for variable in re.findall(r'\$\(([A-Z0-9]+)\)', (TOP / 'Makefile').read_text()):
        if variable not in ('LOCKED', 'PYTEST', 'PROVEN', 'PINS', 'NAME', 'FILE', 'CHECK'):
            assert f'{variable}=' in text, variable


def test_every_target_is_phony(checkout):
    """A file of its name does not keep make from its work."""
    for target in makefile():
        checkout.write(target, '') if not (checkout.path / target).exists() else None
    status, text = checkout.run('make', '-n', *sorted(makefile()))
    assert status == 0 and 'up to date' not in text, text


def test_the_default_tree_has_one_home(checkout):
    checkout.write('trees/default', '11.8\n')
    status, text = checkout.run('make', '-n', 'bench', TREE=None)
    assert status == 0 and '--tree 11.8' in text
    status, text = checkout.run('make', '-n', 'prove', TREE=None)
    assert status == 0 and text.rstrip().endswith('scripts/prove')      # all trees
    status, text = checkout.run('make', '-n', 'prove', 'TREE=10.11', 'TESTS=missing')
    assert status == 0 and text.rstrip().endswith('scripts/prove --missing 10.11')
    status, text = checkout.run('make', '-n', 'prove', 'TREE=10.11', 'TESTS=mutations')
    assert status == 0 and text.rstrip().endswith('scripts/prove --mutations 10.11')
    status, text = checkout.run('make', '-n', 'prove', 'TESTS=1', TREE=None)
    assert status == 0 and text.rstrip().endswith('scripts/prove --tests')


def test_progress_is_printed_while_the_build_runs():
    """After the interval, while the build still writes: no tool on the way waits for a block."""
    with subprocess.Popen([TOP / 'build/lib/progress', 'deb', '1'], text=True, bufsize=1,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as progress:
        begun = time.monotonic()
        progress.stdin.write('-- Configuring done\n[1/41] Building CXX object a\n')
        # again and again: on a busy machine the interval may begin late
        waited = begun
        while not select.select([progress.stdout], [], [], 0.5)[0]:
            waited = time.monotonic()
            assert waited < begun + 60, 'nothing is printed'
            progress.stdin.write('[21/41] Building CXX object b\n')
        told = re.fullmatch(r'deb: 21 of 41\D*(\d+) s\b.*\n', progress.stdout.readline())
        assert told
        # as long for the second half as for the first, which a busy machine makes longer
        assert 1 <= int(told[1]) <= 2 * (time.monotonic() - begun)
        progress.stdin.write('[22/41] Building CXX object c\nlibtool: done\n')
        progress.stdin.close()
        # nothing more, unless the machine has stood still for another interval
        assert progress.stdout.read() == '' or time.monotonic() - waited >= 1
        assert progress.wait() == 0


def test_setup_without_root_names_what_is_missing(checkout, tmp_path):
    control = checkout.path / 'debian/control'
    control.write_text(control.read_text().replace('Build-Depends:',
                                                   'Build-Depends: no-such-package,'))
    commands = tmp_path / 'bin'
    commands.mkdir()
    programs = {path.name for place in ('/usr/bin', '/bin') for path in Path(place).iterdir()}
    for name in programs - {'sudo'}:
        (commands / name).symlink_to(shutil.which(name, path='/usr/bin:/bin') or '/bin/false')
    for _ in range(2):      # the second time, too
        status, text = checkout.run('build/setup', prefix=('unshare', '--map-user=65534'),
                                    PATH=str(commands))
        assert status == 1
        assert 'no-such-package' in text and f'apt-get build-dep {checkout.path}' in text


def test_setup_needs_no_python(checkout, tmp_path):
    """It installs it."""
    path = path_without(tmp_path / 'bin', 'python3')
    (checkout.path / 'scripts/python').write_text('#!/bin/sh\nexit 125\n')
    assert checkout.run('build/setup', PATH=path) == (0, '')
    # and asks nobody where nothing has changed since
    path = path_without(tmp_path / 'others', 'dpkg-checkbuilddeps', 'dpkg-query', 'apt-get')
    assert checkout.run('build/setup', PATH=path) == (0, '')
    control = checkout.path / 'debian/control'
    control.write_text(control.read_text() + '\n')
    status, text = checkout.run('build/setup', PATH=path)
    assert 'dpkg' in text


def test_no_path_of_a_machine_and_no_large_file():
    for path in tracked():
        assert path.stat().st_size < 5_000_000, f'{path} is too large for the project'
        if path.suffix != '.gz' and path != Path(__file__):
            text = path.read_bytes()
            assert str(TOP).encode() + b'/' not in text, f'{path} names the path of this checkout'


def test_upstreams_suites_run_in_the_debug_server(tmp_path, monkeypatch):
    """In the build directory that build/server names, by the line with which it does so."""
    line = re.search(r"(printf .*) > \"\$paths\"$", (TOP / 'build/server').read_text(),
                     re.MULTILINE)[1]
    (tmp_path / 'build').mkdir()
    program = tmp_path / 'build/server'
    program.write_text('#!/bin/sh\nSOURCE=/the/source builddir=builddir-$1 server=\n'
                       f'{line} > "$3"\n')
    program.chmod(0o755)
    monkeypatch.setattr(millrace_command, 'TOP', tmp_path)
    assert suites.debug_server('10.11') == '/the/source/builddir-debug'


def point_at_nothing(file):
    file.unlink()
    file.symlink_to('/nonexistent')


def no_date(file):
    file.write_text(re.sub('^DATE=.*', 'DATE=soon', file.read_text(), flags=re.MULTILINE))


FAULTS = {
    'series': (lambda top: (top / 'series').unlink(), 'series: No such file'),
    'default': (lambda top: (top / 'trees/default').unlink(), 'trees/default: No such file'),
    'encoding': (lambda top: (top / 'series').write_bytes(b'a\n\xff\n'), 'not UTF-8: its line 2'),
    'link': (lambda top: point_at_nothing(top / f'patches/{pins.default_tree()}/read-ahead.patch'),
             'or a link to nothing'),
    'date': (lambda top: no_date(top / f'trees/{pins.default_tree()}/pin.conf'),
             'DATE=soon is not a date'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_file_that_cannot_be_read_is_named(checkout, fault):
    """In one error, and not with a traceback."""
    spoil, expected = FAULTS[fault]
    spoil(checkout.path)
    commands = ('build/lib/unsaved', 'build/lib/step --due deb')
    for command in commands:
        status, text = checkout.run(*command.split(), TREE=None)
        assert status == 1 and expected in text and 'Traceback' not in text, text


def test_a_release_is_no_path(checkout):
    for command in ('build/lib/unsaved', 'build/fetch'):
        status, text = checkout.run(command, VERSION='../..', SHA256='1')
        assert status == 1 and 'VERSION=../.. is not a release' in text, text
    status, text = checkout.run('build/fetch', '--bogus')
    assert status == 1 and "'--bogus' is not a release" in text, text


def test_run_names_the_tarball_that_is_missing(checkout):
    status, text = checkout.run('build/run')
    assert status == 1 and 'no binary tarball in dist/' in text, text


def test_a_closed_stdout_does_not_end_a_command():
    done = subprocess.run(f'{TOP}/scripts/export-patch nothing >&-', shell=True, text=True,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and 'known patches' in done.stderr, done.stderr


@pytest.mark.parametrize(
    'command', ['build/lib/step', 'build/lib/unsaved --dorp', 'build/apply x'])
def test_a_step_names_arguments_that_it_does_not_know(command):
    done = subprocess.run(f'{TOP}/{command}', shell=True, text=True, capture_output=True,
                          check=False)
    assert done.returncode == 1 and 'error: ' in done.stderr and '\n  build/' in done.stderr
