"""make rebase: its report, what it leaves, and going on after a conflict."""
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from millrace.rebase.report import markers
from support.checkout import TREE
from support.patchmaker import PatchMaker, replace
from support.upstream import Upstream

OLD, NEW = '10.11.90', '10.11.91'


def source(name):
    """A file of C++ with ten functions."""
    def body(number):
        return ''.join(f'  a+= {number}{line};\n' for line in range(9))
    return ''.join(f'/** {name}: function {n} */\nvoid {name}_{n}(int a)\n{{\n{body(n)}}}\n\n'
                   for n in range(10))


def path(name):
    """Where that file is."""
    return f'storage/innobase/buf/{name}.cc'


NAMES = ('same', 'moved', 'merged', 'touched', 'renamed', 'conflict', 'second', 'removed',
         'taken')
CONFLICT = re.compile(r'<<<<<<<.*?>>>>>>> \w+\n', re.DOTALL)


class Release:
    """The series on a small release, and the release that comes after it."""

    def __init__(self, checkout, tmp_path):
        self.checkout = checkout
        self.upstream = Upstream(checkout, tmp_path, TREE)
        self.vanilla = tmp_path / 'vanilla'
        self.files = {path(name): source(name) for name in NAMES} | {'README.md': 'a server\n'}
        removed = self.files[path('removed')]
        self.files[path('removed')] = removed.replace('+=', '-=').replace('a-= 44', 'a+= 44')
        for name, text in self.files.items():
            (self.vanilla / name).parent.mkdir(parents=True, exist_ok=True)
            (self.vanilla / name).write_text(text)
        self.upstream.pin(OLD, self.files)
        self.maker = None

    def series(self, *names):
        """The series: each patch changes a line of function 4 in a file of its own."""
        self.maker = PatchMaker(self.checkout, TREE, self.vanilla)
        for name in names:
            self.maker.add(name, {path(name): replace('a+= 44;', 'a+= 44 + ours;')})

    def next(self, **options):
        """Upstream's next release, in which it has changed something in most of the files."""
        edits = {
            'moved': replace('/** moved: function 0 */\n',
                             '/** new */\nvoid moved_new()\n{\n}\n\n/** moved: function 0 */\n'),
            'merged': replace('a+= 42;', 'a+= 420;'),
            'touched': replace('void touched_4(int a)\n{', 'void touched_4(int a)\n{\n'
                               '  a*= 2;\n  a*= 3;\n  a*= 4;\n  a*= 5;'),
            'renamed': lambda text: text,
            'conflict': replace('a+= 44;', 'a+= 44 + theirs;'),
            'second': replace('a+= 44;', 'a+= 44 - theirs;'),
            'taken': replace('a+= 44;', 'a+= 44 + ours;'),
        }
        files = dict(self.files)
        for name, edit in edits.items():
            files[path(name)] = edit(files[path(name)])
        files['storage/innobase/buf/elsewhere.cc'] = files.pop(path('renamed'))
        del files[path('removed')]
        return self.upstream.release(NEW, files, **options)

    def rebase(self, version=NEW, **variables):
        """Runs make rebase."""
        return self.checkout.run('make', 'rebase', f'TREE={TREE}', VERSION=version, **variables)

    def refresh(self):
        """Runs make refresh in the patched source of the new release."""
        return self.checkout.run('make', 'refresh', f'TREE={TREE}', f'VERSION={NEW}')

    def patch(self, name):
        """The text of a patch as it is in the checkout."""
        return (self.checkout.path / f'patches/{TREE}/{name}.patch').read_text()

    def state(self):
        """All files of the series and the trees."""
        return {file: file.read_bytes() for top in ('patches', 'trees', 'series')
                for file in [self.checkout.path / top, *(self.checkout.path / top).rglob('*')]
                if file.is_file()}

    @property
    def tree(self):
        """The patched source of the new release, while there are conflicts."""
        return self.checkout.path / f'work/{TREE}/rebase-{NEW}/all/mariadb-{NEW}'

    def resolve(self, name):
        """Edits a conflict away, to what both sides want."""
        file = self.tree / path(name)
        file.write_text(CONFLICT.sub('  a+= 44 + ours + theirs;\n', file.read_text()))


@pytest.fixture
def release(checkout, tmp_path):
    """Two releases, and a series for the older."""
    made = Release(checkout, tmp_path)
    yield made
    made.upstream.close()


def today():
    """The date, as trees/ has it."""
    return time.strftime('%Y-%m-%d', time.gmtime())


def states(text):
    """The table of the report: {patch: state}."""
    return dict(re.findall(r'^\| (\w[\w-]*) \| ([a-z ]+) \|', text, re.MULTILINE)[1:])


def test_a_series_is_carried(release):
    release.series('same', 'moved', 'merged', 'touched', 'renamed', 'taken')
    before = release.patch('same')
    sha256 = release.next()
    begun = today()
    status, text = release.rebase()
    assert status == 0, text
    assert states(text) == {'same': 'unchanged', 'moved': 'moved', 'merged': 'merged',
                            'touched': 'moved', 'renamed': 'moved', 'taken': 'already upstream'}
    assert f'moved: {path("moved")}: 1 hunk by +5 lines' in text
    assert f'merged: {path("merged")}: the hunk at line' in text
    assert f'renamed: {path("renamed")}: it is {path("elsewhere")} now' in text
    assert f'context changed: {path("touched")}: ' in text and '`void touched_4(int a)`' in text
    assert 'void merged_4(int a)' in text and 'moved_4' not in text
    assert f'already upstream: {path("taken")}: the hunk at line' in text

    pins = release.upstream.pins()
    assert (pins['VERSION'], pins['SHA256'], pins['REVISION']) == (NEW, sha256, '1')
    assert pins['DATE'] in (begun, today())
    assert release.patch('same') == before
    assert '+++ b/storage/innobase/buf/elsewhere.cc' in release.patch('renamed')
    assert (release.checkout.path / 'series').read_text().split() == [
        'same', 'moved', 'merged', 'touched', 'renamed']
    assert not list((release.checkout.path / f'patches/{TREE}').glob('taken*'))
    assert not (release.checkout.path / f'work/{TREE}/rebase-{NEW}').exists()
    assert (release.checkout.path / f'work/{TREE}/rebase-{NEW}.txt').read_text() in text

    status, text = release.checkout.run('build/apply')
    assert status == 0, text
    source_of = release.checkout.path / f'work/{TREE}/all/mariadb-{NEW}'
    assert 'a+= 44 + ours;' in (source_of / path('merged')).read_text()
    # it is in the form that refresh writes
    for name in ('renamed', 'touched', 'merged', 'moved', 'same'):
        done = release.patch(name)
        subprocess.run([release.checkout.path / 'build/lib/refresh-top'], cwd=source_of,
                       check=True, capture_output=True)
        assert release.patch(name) == done
        subprocess.run(['quilt', '--quiltrc', '-', 'pop'], cwd=source_of, check=True,
                       capture_output=True)

    status, text = release.rebase()
    assert status != 0 and f'is at {NEW} already' in text


def test_check_only_reports(release):
    release.series('same', 'conflict', 'moved', 'removed')
    release.next()
    before = release.state()
    status, text = release.rebase(CHECK='1')
    assert status == 0, text
    assert states(text) == {'same': 'unchanged', 'conflict': 'conflict', 'moved': 'moved',
                            'removed': 'conflict'}
    assert re.search(rf'^{path("conflict")}:\d+$', text, re.MULTILINE)
    assert '<<<<<<< ' + NEW in text and 'a+= 44 + theirs;' in text
    assert f'{path("removed")} deleted in {NEW} and modified in removed' in text
    assert release.state() == before
    assert not list((release.checkout.path / f'work/{TREE}').glob('rebase*'))


def test_conflicts_are_resolved_one_after_the_other(release):
    release.series('moved', 'conflict', 'same', 'second')
    release.next()
    before = release.state()
    again = f'make refresh TREE={TREE} VERSION={NEW}'

    status, text = release.rebase()
    assert status != 0
    assert "patch 'conflict' conflicts" in text and again in text
    assert states(text)['second'] == 'conflict', 'the report is whole'
    assert release.state() == before
    assert 'a+= 44 + theirs;' in (release.tree / path('conflict')).read_text()

    status, text = release.rebase()
    assert status != 0 and "patch 'conflict' still has conflicts" in text and '<<<<<<<' in text
    release.resolve('conflict')
    status, text = release.rebase()
    assert status != 0 and 'has not been taken back' in text and again in text
    status, text = release.refresh()
    assert status == 0, text

    status, text = release.rebase()
    assert status != 0 and "patch 'second' conflicts" in text
    assert states(text) == {'moved': 'moved', 'conflict': 'resolved', 'same': 'unchanged',
                            'second': 'conflict'}
    assert release.state() == before
    release.resolve('second')
    assert release.refresh()[0] == 0
    status, text = release.rebase()
    assert status == 0, text
    assert states(text)['second'] == 'resolved'
    assert '+  a+= 44 + ours + theirs;' in release.patch('second')
    assert release.patch('second').startswith('Description: a patch that a test has made\n')
    assert release.upstream.pins()['VERSION'] == NEW
    assert release.checkout.run('build/apply')[0] == 0


def test_an_interrupted_rebase_goes_on(release):
    release.series('moved', 'conflict')
    release.next()
    assert release.rebase()[0] != 0
    state = release.tree.parent.parent
    # as if it had been ended while it made the source
    for file in (state / 'conflict', release.tree.parent / 'patched'):
        file.unlink()
    status, text = release.rebase()
    assert "patch 'conflict' conflicts" in text
    release.resolve('conflict')
    assert release.refresh()[0] == 0
    assert release.rebase()[0] == 0


def test_an_interrupted_end_is_made_up_for(release):
    release.series('taken', 'moved', 'same')
    release.next()
    in_the_way = release.checkout.path / f'patches/{TREE}/.moved.patch.part'
    in_the_way.mkdir()
    assert release.rebase()[0] != 0
    in_the_way.rmdir()
    status, text = release.rebase()
    assert status == 0, text
    assert release.upstream.pins()['VERSION'] == NEW
    assert (release.checkout.path / 'series').read_text().split() == ['moved', 'same']
    assert release.checkout.run('build/apply')[0] == 0


def test_what_a_person_leaves_of_a_patch_stays(release):
    """Also where that is nothing but its tests, which git's merge would drop."""
    release.series('conflict', 'same')
    release.next()
    assert release.rebase()[0] != 0
    file = release.tree / path('conflict')
    file.write_text(CONFLICT.sub('  a+= 44 + theirs;\n', file.read_text()))
    assert release.refresh()[0] == 0
    status, text = release.rebase()
    assert status == 0, text
    assert states(text) == {'conflict': 'resolved', 'same': 'unchanged'}
    assert 'nothing but its tests' in text
    assert (release.checkout.path / 'series').read_text().split() == ['conflict', 'same']
    patch = release.patch('conflict')
    assert path('conflict') not in patch and 'conflict.test' in patch


def test_edits_that_no_patch_holds_are_not_taken_away(release):
    """A rebase that goes on removes its source: edits of a file of no patch, and of an earlier
    patch's, stop it."""
    release.series('moved', 'conflict')
    release.next()
    assert release.rebase()[0] != 0
    release.resolve('conflict')
    other, earlier = release.tree / path('same'), release.tree / path('moved')
    for file in (other, earlier):
        vanilla = file.read_text()
        file.write_text(vanilla + '// needed, too\n')
        status, text = release.refresh()
        name = str(file.relative_to(release.tree))
        assert status != 0 and 'conflict.patch does not hold' in text and f': {name}\n' in text
        unsaved = (release.tree.parent / 'unsaved.diff').read_text()
        assert 'quilt fold' in text and '+// needed, too' in unsaved
        for command in (['build/apply'], ['scripts/rebase', NEW]):
            status, text = release.checkout.run(*command, VERSION=NEW)
            assert status != 0 and 'edits that no patch holds' in text and name in text, text
        # the mend that refresh names
        subprocess.run('patch -R -p1 < ../unsaved.diff '
                       '&& quilt --quiltrc - fold < ../unsaved.diff',
                       shell=True, cwd=release.tree, check=True, capture_output=True)
        assert release.refresh()[0] == 0
    status, text = release.rebase()
    assert status == 0, text
    assert release.patch('conflict').count('+// needed, too') == 2


def test_edits_where_nothing_is_in_conflict_any_more(release):
    release.series('moved', 'conflict')
    release.next()
    assert release.rebase()[0] != 0
    (release.tree.parent.parent / 'conflict').unlink()
    release.resolve('conflict')
    status, text = release.rebase()
    assert status != 0 and 'edits that no patch holds' in text
    assert '+ ours + theirs' in (release.tree / path('conflict')).read_text()


def test_a_tree_whose_file_changes_meanwhile(release):
    """A rebase keeps the lines of the tree's file that are not about the release."""
    release.series('conflict')
    release.next()
    assert release.rebase()[0] != 0
    conf = release.checkout.path / f'trees/{TREE}/pin.conf'
    conf.write_text('# a line that came later\n' + conf.read_text())
    release.resolve('conflict')
    assert release.refresh()[0] == 0
    assert release.rebase()[0] == 0
    assert conf.read_text().startswith('# a line that came later\n')
    assert release.upstream.pins()['VERSION'] == NEW


@pytest.mark.parametrize('others', [(), ('same',)], ids=['alone', 'with other hunks'])
def test_a_file_that_a_patch_deletes_and_upstream_has_changed(release, others):
    """Git keeps upstream's file; the patch that a person refreshes deletes it."""
    release.series()
    ours = replace('a+= 44;', 'a+= 44 + ours;')
    release.maker.add('deletes', {path('second'): lambda text: None,
                                  **{path(name): ours for name in others}})
    release.next()
    status, text = release.rebase()
    assert status != 0 and "patch 'deletes' conflicts" in text, text
    assert not (release.tree / path('second')).exists()
    status, text = release.rebase()
    assert status != 0 and 'has not been taken back' in text
    assert release.refresh()[0] == 0
    status, text = release.rebase()
    assert status == 0, text
    assert f'--- a/{path("second")}\n+++ /dev/null\n' in release.patch('deletes')


RULER = 'Title\n=======\n<<<<<<<\n||||||| \n'


@pytest.mark.parametrize('text, left', [
    (f'+{RULER.replace(chr(10), chr(10) + "+")}', []),
    ('+=======\n+>>>>>>> conflict\n', ['+>>>>>>> conflict']),
    ('+<<<<<<< 10.11.91\n+a\n', ['+<<<<<<< 10.11.91']),
    ('+||||||| 4b825dc\n', ['+||||||| 4b825dc']),
    (' <<<<<<< 10.11.91\n->>>>>>> conflict\n', []),
], ids=['lines of its own', 'end', 'beginning', 'base', 'not added'])
def test_the_markers_of_a_conflict(text, left):
    assert markers(text) == left
    assert markers(text, text) == [], 'the patch had them before'


def test_a_resolution_may_have_rulers(release):
    """In a file that is not in conflict, and new in the one that is."""
    release.series()
    release.maker.add('conflict', {path('conflict'): replace('a+= 44;', 'a+= 44 + ours;'),
                                   'mysql-test/suite/innodb/r/rules.result': lambda _: RULER})
    release.next()
    assert release.rebase()[0] != 0
    file = release.tree / path('conflict')
    file.write_text(CONFLICT.sub('/*\n=======\n*/\n', file.read_text()))
    status, text = release.refresh()
    assert status == 0, text
    status, text = release.rebase()
    assert status == 0, text
    assert release.patch('conflict').count('+=======\n') == 2


def test_a_series_that_changed_meanwhile(release):
    release.series('moved', 'conflict')
    release.next()
    assert release.rebase()[0] != 0
    patch = release.checkout.path / f'patches/{TREE}/moved.patch'
    patch.write_text(patch.read_text().replace('ours', 'new'))
    status, text = release.rebase()
    assert status != 0
    assert 'began: moved' in text and f'rm -r work/{TREE}/rebase-{NEW}' in text


def test_a_patch_that_is_not_utf_8(release):
    release.series('moved', 'conflict')
    patch = release.checkout.path / f'patches/{TREE}/moved.patch'
    patch.write_bytes(patch.read_bytes().replace(b'+ ours;', b"+ ours; /* \xe9 */"))
    release.next()
    assert release.rebase()[0] != 0
    release.resolve('conflict')
    assert release.refresh()[0] == 0
    status, text = release.rebase()
    assert status == 0, text
    assert b'+ ours; /* \xe9 */\n' in patch.read_bytes()
    assert release.checkout.run('scripts/export-patch', 'moved')[0] == 0
    assert b'\xe9' in (release.checkout.path / f'dist/export/{TREE}/moved.patch').read_bytes()


def test_what_needs_a_patch_that_upstream_has(release):
    release.series('taken')
    release.maker.add('after', {path('taken'): replace('+ ours;', '+ ours + more;')},
                      depends='taken')
    release.next()
    status, text = release.rebase()
    assert status == 0, text
    assert states(text) == {'taken': 'already upstream', 'after': 'unchanged'}
    assert 'Depends no more on taken' in text
    assert 'Depends: none\n' in release.patch('after')
    assert release.checkout.run('build/apply', PATCHES='after')[0] == 0


def test_a_patch_that_another_tree_keeps(release):
    release.series('same', 'taken')
    pin = (release.checkout.path / f'trees/{TREE}/pin.conf').read_text()
    release.checkout.write('trees/9.9/pin.conf', pin)
    release.checkout.write('patches/9.9/taken.patch', release.patch('taken'))
    release.next()
    assert release.rebase()[0] == 0
    assert (release.checkout.path / 'series').read_text().split() == ['same', 'taken']
    _, text = release.checkout.run('scripts/python', '-m', 'millrace.context')
    assert '\nNAMES=same\n' in text


@pytest.mark.parametrize('options, words', [
    ({'sign': False}, 'could not be fetched'),
    ({'inside': '10.11.89'}, f'is not release {NEW}'),
], ids=['no signature', 'another release'])
def test_nothing_is_pinned_that_is_not_verified(release, options, words):
    release.series('same')
    release.next(**options)
    before = release.state()
    status, text = release.rebase()
    assert status != 0 and words in text, text
    assert release.state() == before
    assert not list(Path(release.checkout.cache).glob(f'*{NEW}*'))


def test_a_signature_of_somebody_else(release, tmp_path):
    release.series('same')
    release.next()
    tarball = release.upstream.archive / f'mariadb-{NEW}/source/mariadb-{NEW}.tar.gz'
    tarball.write_bytes(tarball.read_bytes() + b'more')
    status, text = release.rebase()
    assert status != 0 and "signature is not upstream's" in text
    assert release.upstream.pins()['VERSION'] == OLD


def test_no_release_named(release):
    for version in ('', 'latest'):
        status, text = release.rebase(version)
        assert status != 0 and 'which release?' in text and 'make upstream-watch' in text


def test_a_release_that_is_not_there(release):
    status, text = release.rebase('10.11.99')
    assert status != 0 and 'mariadb-10.11.99.tar.gz could not be fetched' in text


def test_a_tree_without_pins(release):
    for name in ('SHA256', 'VERSION', 'SIGNED_BY'):
        pins = release.upstream.pins()
        release.upstream.set(name, '')
        for command in (['build/apply'], ['scripts/rebase', NEW],
                        ['scripts/export-patch', 'same']):
            status, text = release.checkout.run(*command)
            assert status != 0 and f'trees/{TREE}/pin.conf pins no {name}' in text, text
        release.upstream.set(name, pins[name])


def test_watch(release):
    status, text = release.checkout.run('make', 'upstream-watch')
    assert status == 0, text
    assert f'{TREE}: {OLD} is the newest' in text
    release.next()
    release.upstream.release('10.12.3', {'README.md': 'of another line\n'})
    status, text = release.checkout.run('make', 'upstream-watch')
    assert status == 0, text
    assert f'make rebase TREE={TREE} VERSION={NEW}' in text and '10.12.3' not in text


def test_the_security_fixes_of_a_release(release):
    """The watch and the rebase tell those that are known, and what is not."""
    release.series('same')
    release.next()
    unknown = f'trees/{TREE}/security.toml does not know {NEW}: enter which CVEs it closes'
    for command in (['make', 'upstream-watch'], ['scripts/rebase', '--check', NEW]):
        status, text = release.checkout.run(*command, VERSION='')
        assert status == 0 and unknown in text, text
    file = release.checkout.path / f'trees/{TREE}/security.toml'
    file.write_text(f'{file.read_text()}\n["{NEW}"]\nsource = "a test"\n'
                    'cves = ["CVE-2026-99991", "CVE-2026-99992"]\n')
    known = f'{NEW} closes CVE-2026-99991, CVE-2026-99992'
    for command in (['make', 'upstream-watch'], ['scripts/rebase', '--check', NEW]):
        status, text = release.checkout.run(*command, VERSION='')
        assert status == 0 and known in text and 'does not know' not in text, text


def test_refresh_does_not_undo_a_patch_that_changed(release):
    """As after git pull, or in a copy of the checkout whose patches are others."""
    release.series('same')
    assert release.checkout.run('build/fetch')[0] == 0
    assert release.checkout.run('build/apply')[0] == 0
    patch = release.checkout.path / f'patches/{TREE}/same.patch'
    patch.write_text(patch.read_text().replace('+ ours', '+ pulled'))
    source = release.checkout.path / f'work/{TREE}/all/mariadb-{OLD}'
    before = patch.read_text()
    status, text = release.checkout.run('scripts/refresh')
    assert status != 0 and 'same.patch has changed' in text and 'make patched' in text
    assert patch.read_text() == before
    status, text = release.checkout.run('build/apply')
    assert status == 0, text
    assert '+ pulled' in (source / path('same')).read_text()
    assert release.checkout.run('scripts/refresh')[0] == 0
    assert patch.read_text() == before


def test_a_copied_checkout_refreshes_its_own_patches(release, tmp_path):
    release.series('same')
    assert release.checkout.run('build/fetch')[0] == 0
    assert release.checkout.run('build/apply')[0] == 0
    theirs = release.patch('same')
    copy = Path(shutil.copytree(release.checkout.path, tmp_path / 'copy', symlinks=True))
    file = copy / f'work/{TREE}/all/mariadb-{OLD}' / path('same')
    file.write_text(file.read_text().replace('+ ours', '+ copied'))
    release.checkout.path, first = copy, release.checkout.path
    status, text = release.checkout.run('scripts/refresh')
    assert status == 0, text
    assert '+ copied' in (copy / f'patches/{TREE}/same.patch').read_text()
    assert (first / f'patches/{TREE}/same.patch').read_text() == theirs


@pytest.mark.parametrize('command', ['rebase', 'export-patch', 'new-patch'])
def test_the_environment_of_a_hook_does_not_reach_a_command(release, tmp_path, command):
    """GIT_DIR and GIT_INDEX_FILE of git's hooks, and what a user has for other programs."""
    release.series('same', 'moved')
    release.next()
    theirs = tmp_path / 'theirs'
    subprocess.run(['git', 'init', '--quiet', theirs], check=True)
    before = {file: file.read_bytes() for file in theirs.rglob('*') if file.is_file()}
    argument = {'rebase': NEW, 'export-patch': 'same', 'new-patch': 'another'}[command]
    status, text = release.checkout.run(
        f'scripts/{command}', argument, GIT_DIR=str(theirs / '.git'),
        GIT_INDEX_FILE=str(theirs / '.git/index'), GIT_WORK_TREE=str(theirs),
        QUILT_PC='.elsewhere', QUILT_PATCHES='elsewhere', CDPATH=str(tmp_path),
        TAR_OPTIONS='--no-such-option', POSIXLY_CORRECT='1', TMPDIR='/nonexistent')
    assert status == 0, text
    assert {file: file.read_bytes() for file in theirs.rglob('*') if file.is_file()} == before
