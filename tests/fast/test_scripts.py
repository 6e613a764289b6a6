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
from millrace.patches import series
from millrace.patches.header import read_header
from millrace.upstream import pins, suites
from support.checkout import TREE


def tracked():
    """Files of the project, as git has them or would have them."""
    done = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=TOP, text=True,
                          capture_output=True, check=True)
    return [TOP / name for name in done.stdout.splitlines() if (TOP / name).is_file()]


COMMANDS = [path for path in tracked()
            if path.parent.name in ('bench', 'build', 'lib', 'cmake', 'compiler', 'scripts',
                                    'crash')
            and path.stat().st_mode & 0o100] + [TOP / '.ci/run']


@pytest.mark.parametrize('path', COMMANDS, ids=lambda path: f'{path.parent.name}/{path.name}')
def test_every_command_tells_its_usage(path, tmp_path):
    """In its first lines, or where it is a stub over a module, for --help; through a symbolic
    link, too, where it looks for others beside itself."""
    text = path.read_text()
    stub = re.search(r'^exec .*python" -m [a-z_.]+ "\$@"$', text, re.MULTILINE)
    assert 'Usage: ' in text[:400] or stub, text
    if not stub and 'context.sh"' not in text:
        return
    (tmp_path / 'link').symlink_to(path)
    done = subprocess.run([tmp_path / 'link', '--help'], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, cwd=tmp_path, check=False)
    assert 'usage: ' in (done.stdout + done.stderr).lower(), done.stderr
    # argparse puts the help of an option beside it, or into the next line
    explained = re.findall(r'^  (?=[-\w])(.+)((?:\n {8,}.*)*)$',
                           re.split(r'^(?=positional arguments:|options:)', done.stdout,
                                    maxsplit=1, flags=re.MULTILINE)[-1], re.MULTILINE)
    assert not stub or [line for line, more in explained
                        if not more and not re.search(r'\S {2,}\S', line)] == []


def test_a_script_without_the_others_does_nothing(tmp_path):
    """Its paths would be those of the root directory."""
    shutil.copy(TOP / 'build/checksums', tmp_path)
    done = subprocess.run([tmp_path / 'checksums'], cwd=tmp_path, text=True, check=False,
                          capture_output=True)
    assert done.returncode and done.stderr.count('\n') == 1 and 'context.sh' in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ['checksums']


def makefile():
    """{target: the line that explains it, or ''} of the Makefile, but for Debian's packages."""
    text = (TOP / 'Makefile').read_text()
    targets = dict(re.findall(r'^([a-z-]+):(?!=)(?:.*## (.*)|.*)$', text, re.MULTILINE))
    return {name: line for name, line in targets.items() if not name.startswith('setup')}


@pytest.mark.parametrize('target, variables, said', [
    ('check', ['PATCHES=show-patches'], 'without PATCHES='),
    ('check', ['PROFILE=none'], 'without PATCHES='),
    ('prove', ['TESTS=mutation'], 'TESTS=mutation: it is 1, missing or mutations'),
])
def test_what_a_target_is_not_about(checkout, target, variables, said):
    status, text = checkout.run('make', target, *variables)
    assert status == 2 and said in text


def test_help_names_every_target(checkout):
    status, text = checkout.run('make', 'help')
    assert status == 0
    for target, line in makefile().items():
        printed = re.search(rf'^  make {target} +(.*)$', text, re.MULTILINE)
        if line:
            assert printed and printed[1] == line, target
            last = line
        else:       # the line before names it
            assert re.search(rf'\b{target}\b', last), target
    assert text.count('\n  make ') <= 20, 'a screen'
    groups = re.findall(r'^\w+$', text, re.MULTILINE)
    assert groups == ['Packages', 'Patches', 'Proofs', 'Measuring', 'House', 'Variables']
    for variable in re.findall(r'\$\(([A-Z0-9]+)\)', (TOP / 'Makefile').read_text()):
        if variable not in ('LOCKED', 'PACKAGES', 'RELEASE', 'PYTEST', 'NAMED', 'PINS', 'NAME',
                            'FILE', 'CHECK', 'MAKECMDGOALS'):
            assert f'{variable}=' in text, variable


def test_every_target_is_phony(checkout):
    """A file of its name does not keep make from its work."""
    for target in makefile():
        checkout.write(target, '') if not (checkout.path / target).exists() else None
    status, text = checkout.run('make', '-n', *sorted(makefile()))
    assert status == 0 and 'up to date' not in text, text


@pytest.fixture
def made(checkout):
    """Runs make, whose commands print their arguments and do nothing: a list of these."""
    echoes = ('bench/run', 'bench/report', 'bench/train', 'scripts/rebase', 'scripts/prove',
              'scripts/new-patch', 'scripts/import-patch', 'scripts/export-patch',
              'scripts/release', 'scripts/repo')
    scripts = {'build/setup': 'true', 'build/road': 'true', 'build/lib/locked': 'exec "$@"',
               **dict.fromkeys(echoes, 'printf "%s\\n" "$@"')}
    for name, text in scripts.items():
        checkout.write(name, f'#!/bin/sh\n{text}\n')
        (checkout.path / name).chmod(0o755)

    def make(*words, **variables):
        status, text = checkout.run('make', *words, **variables)
        assert status == 0, text
        return text.splitlines()
    return make


def test_the_default_tree_has_one_home(checkout, made):
    checkout.write('trees/default', '11.8\n')
    assert made('bench', TREE=None) == ['--tree', '11.8']
    assert made('prove', TREE=None) == ['']      # all trees
    assert made('prove', 'TREE=10.11', 'TESTS=missing') == ['--missing', '10.11']
    assert made('prove', 'TREE=10.11', 'TESTS=mutations') == ['--mutations', '10.11']
    assert made('prove', 'TESTS=1', TREE=None) == ['--tests']


# target: the variables of the user's that reach its command
GIVEN = {'rebase': 'VERSION', 'new-patch': 'NAME', 'import-patch': 'FILE NAME',
         'export-patch': 'NAME', 'prove': 'TREE', 'report': 'SET', 'profile': 'TREE SECONDS SIZE',
         'release': 'KEY BASE DIST TREE', 'repo': 'KEY BASE DIST TREE',
         'promote': 'KEY BASE REVISION TREE',
         'bench': 'TREE SUITE CASES BUILDS IOPS VOLUME ROUNDS SECONDS SIZE DATA', 'help': 'TREE'}


@pytest.mark.parametrize('target', GIVEN)
def test_what_a_user_gives_is_no_command(checkout, made, target):
    text = ';>made;`>made`"\''
    for name in GIVEN[target].split():
        assert text in '\n'.join(made(target, f'{name}={text}'))
        assert text in '\n'.join(made(target, **{name: text}))
        assert not (checkout.path / 'made').exists(), name


def test_a_release_is_checked_before_it_is_built(checkout):
    status, text = checkout.run('make', '-n', 'release')
    assert status == 0, text
    assert re.search(r'scripts/release .*--check\n(.*\n)*.*build/road .* checksums\n'
                     r'scripts/release [^\n]*$', text.rstrip()), text


def test_mysql_test_runs_the_tests_that_the_chosen_patches_name(checkout, tmp_path):
    """Where it is given none; a stub of mysql-test-run prints its arguments."""
    (tmp_path / 'mysql-test').mkdir()
    (tmp_path / 'mysql-test/mysql-test-run.pl').write_text('print join(" ", @ARGV), "\\n"')
    chosen = series.names(TREE)[:2]
    for patches in (chosen, chosen[:1], []):
        status, text = checkout.run('scripts/mysql-test', PATCHES=' '.join(patches) or 'none',
                                    BUILDDIR=str(tmp_path))
        tests = [test for name in patches for test in
                 read_header(series.patch_file(TREE, name)).fields['Test'].split()]
        assert (status == 0 and text.endswith(f' {" ".join(tests)}\n') if patches
                else status == 1 and 'no patch is chosen' in text), text


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


def test_setup_takes_what_debian_lacks_whole_or_not_at_all(checkout, tmp_path):
    """Into the cache, where it is found without a network."""
    offline = {'PIP_INDEX_URL': 'file:///none', 'PIP_RETRIES': '0'}
    place = tmp_path / 'cache'
    place.mkdir()
    status, text = checkout.run('build/setup', 'release', MILLRACE_CACHE=str(place), **offline)
    assert status == 1 and 'error: pip could not install what build/lib/pypi' in text, text
    assert not list(place.iterdir())
    # make lint and make check-fast need none of it
    status, text = checkout.run('build/setup', 'tests', MILLRACE_CACHE=str(place), **offline)
    assert status == 0 and 'so the tests of make release are skipped' in text, text
    assert not list(place.iterdir())
    for _ in range(2):
        assert checkout.run('build/setup', 'release', **offline) == (0, '')


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


# in the pages, and no patches of the series
MADE_UP = (['none'], ['none', 'build'], ['warm-pool'], ['show-patches', 'warm-pool'])


def test_the_subsets_of_the_pages_have_what_they_need():
    needs = series.depends(pins.default_tree())
    text = ''.join(path.read_text() for path in tracked() if path.suffix == '.md')
    chosen = re.findall(r'(?:PATCHES|NAME)="?([a-z][a-z0-9 -]*[a-z0-9])|-p1 < \S+/(\S+)\.patch',
                        text)
    subsets = [''.join(pair).split() for pair in chosen]
    assert [names for names in subsets if 'fast-recovery' in names]
    for names in subsets:
        if names not in MADE_UP:
            series.check_closed(names, needs, str)


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
    'no tree': (lambda top: (top / 'trees/default').write_text('\n'), "trees/default names ''"),
    'no patch': (lambda top: (top / 'series').write_text('# none\n'), 'series names no patch'),
    'a patch twice': (lambda top: (top / 'series').open('a').write('read-ahead\n'),
                      "series names 'read-ahead' twice"),
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


@pytest.mark.parametrize('command', [
    'build/lib/step --due x', 'build/lib/unsaved --dorp', 'build/lib/debian-dir x',
    'build/fetch 1 x', 'build/road x', 'build/setup x', 'build/setup tests x', '.ci/run x',
    *(f'{name} x' for name in (
        'build/apply', 'build/checksums', 'build/deb', 'build/rpm', 'build/run',
        'build/source-deb', 'build/source-rpm', 'build/tarball', 'scripts/refresh',
        'scripts/reproduce', 'scripts/upstream-watch'))])
def test_a_command_names_arguments_that_it_does_not_know(command):
    program, *arguments = command.split()
    done = subprocess.run([program, *arguments], text=True, capture_output=True, cwd=TOP,
                          check=False)
    assert done.returncode == 1 and 'error: ' in done.stderr and done.stdout == '', done
    assert arguments[-1] in done.stderr.splitlines()[0]
    assert f'\n  {program}' in done.stderr or '\n  known steps: ' in done.stderr
