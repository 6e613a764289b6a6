"""scripts/prove --quick: every subset, as quilt applies it, and nothing done twice."""
import itertools
import json
import os
import resource
import shutil
import subprocess
from types import SimpleNamespace

import pytest
from conftest import path_without, unpack
from millrace.command import environment
from millrace.patches import patchfile, series
from millrace.patches.diff import parts, read
from millrace.prove import apply, proof
from millrace.prove.facts import Facts
from millrace.upstream import pins
from support.checkout import TREE
from support.patchmaker import PatchMaker, hunks, put, replace

# the file that all want, and one of its own for each of seven patches
SHARED = 'storage/innobase/trx/trx0trx.cc'
OWN = {
    'one': 'storage/innobase/buf/buf0flu.cc',
    'two': 'storage/innobase/buf/buf0lru.cc',
    'three': 'storage/innobase/buf/buf0rea.cc',
    'four': 'storage/innobase/log/log0log.cc',
    'five': 'storage/innobase/log/log0recv.cc',
    'six': 'storage/innobase/os/os0file.cc',
    'seven': 'storage/innobase/trx/trx0rseg.cc',
}


def run(checkout, *arguments, **variables):
    """Proves the tree quickly: status, output, result, and the seconds of processor time that
    it took; those of a clock measure what else the machine does."""
    def used():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime
    before = used()
    status, text = checkout.run('scripts/prove', '--quick', TREE, *arguments, **variables)
    took = used() - before
    file = checkout.path / 'work' / TREE / 'prove/result.json'
    return status, text, json.loads(file.read_text()) if file.exists() else None, took


def facts(checkout):
    """Names of the facts until now."""
    return {path.name for path in (checkout.path / 'work' / TREE / 'prove/facts').iterdir()}


@pytest.fixture
def checkout(small_checkout):
    """A checkout for a release of few files."""
    return small_checkout


@pytest.fixture
def maker(checkout, touched):
    """Makes the patches of a checkout."""
    return PatchMaker(checkout, TREE, touched)


def test_our_own_series(checkout, tarball):
    status, text, result, _ = run(checkout)
    assert status == 0, text
    assert {verdict for proofs in result['verdicts'].values()
            for verdict in proofs.values()} == {'yes'}
    assert set(result['verdicts']) == set(series.names(TREE))


def test_a_variable_that_is_a_prefix_of_one_of_upstreams(checkout, tarball):
    kept = series.closure(['read-ahead'], series.depends(TREE))
    for file in (checkout.path / f'patches/{TREE}').iterdir():
        if file.stem not in kept:
            file.unlink()
    checkout.write('series', ''.join(f'{name}\n' for name in kept))
    name = f'patches/{TREE}/read-ahead.patch'
    text = (checkout.path / name).read_text(errors='surrogateescape')
    assert 'MYSQL_SYSVAR(readahead)' in text
    checkout.write(name, text.replace('MYSQL_SYSVAR(readahead)', 'MYSQL_SYSVAR(read_ahead)'))
    status, text, _, _ = run(checkout)
    assert status == 1
    assert 'innodb_read_ahead is a prefix of innodb_read_ahead_threshold' in text, text


@pytest.fixture
def fifteen(checkout, maker):
    """A checkout with eight mends, each of a file of its own, and seven patches that all change
    one file and that of one of the mends, which three of them need."""
    for name, own in OWN.items():
        maker.add(f'fix-{name}', {own: put(2, f'/* fix-{name} */')})
    maker.add('fix-shared', {SHARED: put(8, '/* fix-shared */')})
    for number, (name, own) in enumerate(OWN.items(), 1):
        maker.add(name, {SHARED: put(number, f'/* {name} */'), own: put(4, '/* own */')},
                  depends=f'fix-{name}' if number > 4 else 'none')
    return checkout


def choices(result, path):
    """The choices among the patches of a file that were proven, sorted."""
    return sorted(tuple(choice['patches']) for choice in result['applied'][path])


def every(names):
    """All subsets of some names but the empty one, sorted."""
    return sorted(subset for size in range(1, len(names) + 1)
                  for subset in itertools.combinations(names, size))


def test_fifteen_patches(fifteen, touched, tmp_path):
    status, text, result, took = run(fifteen)
    assert status == 0, text
    print(f'cold: {took:.2f} s')
    assert took < 60
    # of the shared file 255, of each own one 3, or 2 where one patch needs the other, and a
    # test of each patch: instead of the 2^15 * (3/4)^3 = 13824 subsets of the series
    assert f'{TREE}: every subset applies with fuzz 0: 288 of 288 choices' in text
    assert 'refresh changes nothing' in text
    assert choices(result, SHARED) == every(['fix-shared', *OWN])
    assert choices(result, OWN['one']) == every(['fix-one', 'one'])
    assert choices(result, OWN['five']) == [('fix-five',), ('fix-five', 'five')]
    assert any(choice.get('moved') for choice in result['applied'][SHARED]), 'these have offsets'
    known = facts(fifteen)

    idle = path_without(tmp_path / 'idle', 'patch', 'quilt', 'tar')
    status, text, again, took = run(fifteen, PATH=idle)
    print(f'again: {took:.2f} s')
    assert status == 0 and took < 2, f'{took} s; {text}'
    assert facts(fifteen) == known, 'nothing was done twice'
    assert again | {'seconds': 0} == result | {'seconds': 0}
    check_some_by_hand(fifteen, result, touched, tmp_path)

    patch = fifteen.path / 'patches' / TREE / 'three.patch'
    patch.write_text(patch.read_text().replace('/* own */', '/* its own */'))
    status, text, _, _ = run(fifteen)
    assert status == 0, text
    # in its own file with the mend and without, and the refresh
    assert len(facts(fifteen) - known) == 3


def check_some_by_hand(checkout, result, touched, tmp_path):
    """Some of the subsets of the series, applied by hand, have the files of the facts."""
    facts = Facts(checkout.path / 'work' / TREE / 'prove')
    needs = {name: patch['needs'] for name, patch in result['patches'].items()}
    patches = {name: patchfile.read(checkout.path / 'patches' / TREE / f'{name}.patch')
               for name in needs}
    paths = sorted({path for patch in patches.values() for path in patch.paths})
    applied = apply.apply_series(facts, needs, patches,
                                 apply.vanilla(facts, None, result['tarball'], paths))
    for number, subset in enumerate(series.closed_subsets(needs)[::1471]):
        tree = tmp_path / str(number)
        for path in paths:
            if (touched / path).exists():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(touched / path, tree / path)
        for name in subset:
            subprocess.run(['patch', '-p1', '-s', '--no-backup-if-mismatch', '-i',
                            patches[name].file], cwd=tree, check=True)
        check_files(facts, applied.state(subset), tree)


@pytest.mark.parametrize('needs, changed, expected', [
    ({'a': [], 'b': [], 'c': []}, 'ac', ['', 'a', 'c', 'ac']),
    ({'a': [], 'b': ['a'], 'c': ['b']}, 'ac', ['', 'a', 'ac']),
    ({'a': [], 'b': ['a'], 'c': ['a']}, 'bc', ['', 'b', 'c', 'bc']),
    ({'a': [], 'b': ['a'], 'c': []}, 'b', ['', 'b']),
], ids=['none needed', 'needed by way of another', 'both need another', 'one'])
def test_the_choices_are_what_the_closed_subsets_leave_of_a_file(needs, changed, expected):
    made = [''.join(choice) for choice in apply.choices(needs, tuple(changed))]
    assert made == expected
    left = {''.join(name for name in subset if name in changed)
            for subset in series.closed_subsets(needs)}
    assert sorted(made) == sorted(left)


def check_files(facts, state, tree):
    """A directory has the files of a state."""
    for path, content in state.items():
        there = tree / path
        assert (facts.content(content) if content else None) \
            == (there.read_bytes() if there.exists() else None)


def conflict(maker):
    """Three patches, of which the first and the last want the same lines."""
    maker.add('left', {SHARED: put(1, '/* left */')})
    maker.add('middle', {SHARED: put(7, '/* middle */')})
    maker.files.clear()
    maker.add('right', {SHARED: put(1, '/* right */')})


def test_a_conflict_is_named_once_with_its_mend(checkout, maker, touched):
    conflict(maker)
    status, text, result, _ = run(checkout)
    assert status == 1
    # of 7 choices in the shared file, and 3 tests
    assert 'not every subset applies' in text and '8 of 10 choices' in text, text
    assert '\n1 fault\n' in text
    assert 'right does not apply' in text and 'after left' in text
    assert f'patching file {SHARED}' in text and 'Hunk #1 FAILED' in text
    assert f'mend: make patched TREE={TREE} PATCHES="left right"' in text
    assert result['verdicts']['right'] == {'applies alone': 'yes', 'in every subset': 'no'}
    assert result['verdicts']['left']['in every subset'] == 'yes'
    failed = [choice for choice in result['applied'][SHARED] if not choice['applies']]
    assert [choice['patches'] for choice in failed] == [['left', 'right'],
                                                        ['left', 'middle', 'right']]

    unpack(touched, checkout.path / 'work' / TREE / 'left+right' / touched.name)
    status, text = checkout.run('make', 'patched', PATCHES='left right')
    assert status and "'right'" in text and 'quilt push -f' in text, 'the mend leads on'


def test_depends_leaves_out_what_does_not_go_without(checkout, maker):
    maker.add('base', {SHARED: put(1, '/* base */')})
    maker.add('other', {SHARED: put(7, '/* patch */')})
    maker.add('more', {SHARED: replace('/* base */\n', '/* base */\n/* more */\n')})
    status, text, _, _ = run(checkout)
    assert status == 1 and 'more does not apply' in text
    patch = checkout.path / 'patches' / TREE / 'more.patch'
    patch.write_text(patch.read_text().replace('Depends: none', 'Depends: base'))
    status, text, result, _ = run(checkout)
    assert status == 0, text
    assert choices(result, SHARED) == [('base',), ('base', 'more'), ('base', 'other'),
                                       ('base', 'other', 'more'), ('other',)]


def test_a_conflict_names_what_its_patches_need(checkout, maker):
    """The fault is in one file, but the command that shows it needs a patch that is not in it."""
    maker.add('base', {OWN['one']: put(1, '/* base */')})
    maker.add('left', {SHARED: put(1, '/* left */'), OWN['two']: put(1, '/* left */')},
              depends='base')
    maker.files.clear()
    maker.add('right', {SHARED: put(1, '/* right */'), OWN['two']: put(1, '/* right */')})
    status, text, result, _ = run(checkout)
    assert status == 1 and '\n1 fault\n' in text, text
    assert 'right does not apply' in text and 'after base left' in text
    assert f'patching file {SHARED}' in text and f'patching file {OWN["two"]}' in text
    assert f'mend: make patched TREE={TREE} PATCHES="all"' in text
    assert result['verdicts']['right'] == {'applies alone': 'yes', 'in every subset': 'no'}


def test_fuzz_is_refused(checkout, maker):
    maker.add('one', {SHARED: put(1, '/* one */')})
    patch = checkout.path / 'patches' / TREE / 'one.patch'
    lines = patch.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith('+/* one */'))
    lines[at + 3] = ' something else\n'
    patch.write_text(''.join(lines))
    status, text, _, _ = run(checkout)
    assert status == 1 and 'one does not apply' in text


def test_refresh_must_change_nothing(checkout, maker, touched):
    maker.add('one', {SHARED: put(1, '/* patch */')})
    maker.add('two', {SHARED: put(2, '/* patch */')})
    patch = checkout.path / 'patches' / TREE / 'two.patch'
    text = patch.read_text()
    head, number, rest = text.partition('+++ b/' + SHARED + '\n@@ -')
    old = rest.split(',')[0]
    patch.write_text(head + number + rest.replace(old, str(int(old) + 100), 1))
    status, text, _, _ = run(checkout)
    assert status == 1, 'it applies at an offset'
    assert 'every subset applies with fuzz 0: 5 of 5 choices' in text
    mend = f'make patched TREE={TREE} PATCHES="all" && make refresh TREE={TREE} PATCHES="all"'
    assert f'{TREE}: two ' in text and f'mend: {mend}' in text
    unpack(touched, checkout.path / 'work' / TREE / 'all' / touched.name)
    status, text = checkout.run('sh', '-c', mend)
    assert status == 0, text
    assert run(checkout)[0] == 0


def test_a_changed_patch_is_not_proven(checkout, maker):
    maker.add('one', {SHARED: put(1, '/* patch */')})
    assert run(checkout)[0] == 0
    page = checkout.path / 'docs/patches/README.md'
    assert f'| one | {TREE} | yes | yes | yes | yes | not proven |' in page.read_text()
    assert checkout.run('scripts/tables', '--check')[0] == 0

    patch = checkout.path / 'patches' / TREE / 'one.patch'
    patch.write_text(patch.read_text().replace('/* patch */', '/* changed */'))
    status, text = checkout.run('scripts/tables', '--check')
    assert status == 1 and 'make tables' in text
    assert checkout.run('make', 'tables')[0] == 0
    assert f'| one | {TREE} | yes | not proven | not proven | not proven |' in page.read_text()
    assert run(checkout)[0] == 0
    assert f'| one | {TREE} | yes | yes | yes | yes | not proven |' in page.read_text()


def test_a_patch_that_is_edited_meanwhile_is_not_proven(checkout, maker, tmp_path):
    maker.add('one', {SHARED: put(1, '/* patch */')})
    patch = checkout.path / 'patches' / TREE / 'one.patch'
    (tmp_path / 'bin').mkdir()
    program = tmp_path / 'bin/patch'
    program.write_text(f"#!/bin/sh\nsed -i 's|/. patch .|/* edited *|' {patch}\n"
                       f'exec {shutil.which("patch")} "$@"\n')
    program.chmod(0o755)
    assert run(checkout, PATH=f'{tmp_path / "bin"}:{os.environ["PATH"]}')[0] == 0
    assert '/* edited */' in patch.read_text()
    assert checkout.run('make', 'tables')[0] == 0
    page = checkout.path / 'docs/patches/README.md'
    assert f'| one | {TREE} | yes | not proven | not proven | not proven |' in page.read_text()


@pytest.mark.parametrize('old, new, words', [
    ('--- a/', '--- a/../', ['outside the tree']),
    ('\n', '\r\n', ['CR LF']),
    ('Author: ', 'Editor: ', ['Author', 'Editor']),
    ('Description: ', 'Description ', ['one.patch:1: ']),
    ('Depends: none', 'Depends: other', ['one.patch:7: ', 'other']),
])
def test_nothing_is_applied_that_the_lint_refuses(old, new, words, checkout, maker):
    maker.add('one', {SHARED: put(1, '/* patch */')})
    patch = checkout.path / 'patches' / TREE / 'one.patch'
    patch.write_bytes(patch.read_bytes().replace(old.encode(), new.encode()))
    status, text, result, _ = run(checkout)
    assert status == 1 and result is None
    assert all(word in text for word in words), text
    assert 'mend: ' in text and 'Traceback' not in text


def test_an_unknown_tree(checkout):
    status, text = checkout.run('scripts/prove', '--quick', '9.9')
    assert status == 1 and '9.9' in text and f'known trees: {" ".join(pins.trees())}' in text


def test_a_tarball_that_cannot_be_had(checkout, tmp_path):
    checkout.cache = tmp_path / 'empty'
    status, text = checkout.run_offline('scripts/prove', '--quick')
    assert status == 1 and 'cannot be had' in text and 'nothing was proven' in text
    status, text = checkout.run_offline('scripts/prove', '--quick', TREE)
    assert status == 1 and f'{TREE}: not proven' in text


@pytest.mark.parametrize('named', [(), (TREE,)])
def test_a_wrong_tarball_is_a_fault(checkout, tmp_path, named):
    (tmp_path / 'own.tar.gz').write_text('no tarball')
    status, text = checkout.run('scripts/prove', '--quick', *named,
                                MILLRACE_CACHE=str(tmp_path / 'cache'),
                                TARBALL=str(tmp_path / 'own.tar.gz'))
    assert status == 1 and 'wrong sha256' in text and f'{TREE}: not proven' in text
    assert 'cannot be had' not in text and 'nothing was proven' not in text


def test_a_broken_record_is_named(checkout):
    record = checkout.path / f'test-results/proofs/{TREE}.json'
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text('{\n<<<<<<< ours\n')
    status, text = checkout.run('scripts/tables', '--check')
    assert status == 1 and f'{record}: line 2: not JSON' in text and 'Traceback' not in text


def test_two_proofs_at_once(checkout, tmp_path):
    work = checkout.path / 'work' / TREE / 'prove'
    work.mkdir(parents=True)
    status, text = checkout.run('flock', work / '.lock', 'scripts/prove', '--quick', TREE)
    assert status == 1 and 'another make prove is at work' in text


VANILLA = ''.join(f'{number}\n' for number in range(40))


@pytest.mark.parametrize('diff', [
    hunks('f', VANILLA, VANILLA.replace('20\n', 'x\n')),
    hunks('f', VANILLA[4:], VANILLA[4:].replace('20\n', 'x\n')),
    hunks('f', VANILLA.replace('17\n', 'y\n'),
          VANILLA.replace('17\n', 'y\n').replace('20\n', 'x\n')),
    hunks('f', VANILLA.replace('22\n', 'y\n'),
          VANILLA.replace('22\n', 'y\n').replace('20\n', 'x\n')),
    hunks('f', VANILLA.replace('20\n', 'x\n'), VANILLA),
    hunks('f', VANILLA, None),
    hunks('f', VANILLA + 'z\n', None),
    hunks('f', None, 'new\n'),
    hunks('d/g', None, 'new\n'),
    hunks('g', VANILLA, VANILLA + 'z\n'),
    hunks('f', VANILLA, VANILLA.replace('3\n', 'x\n', 1)) + hunks('g', None, 'new\n'),
    hunks('f', VANILLA, VANILLA.replace('3\n', 'x\n', 1)) + hunks('g', 'old\n', 'new\n'),
], ids=['exact', 'offset', 'fuzz before', 'fuzz after', 'reversed', 'removed',
        'removed but different', 'new but there', 'new', 'missing', 'two files',
        'two files, one missing'])
def test_it_agrees_with_quilt(diff, tmp_path):
    (tmp_path / 'patches').mkdir()
    file = tmp_path / 'patches/it.patch'
    file.write_text('Description: x\n---\n' + diff)
    (tmp_path / 'patches/series').write_text('it.patch\n')
    (tmp_path / 'tree').mkdir()
    (tmp_path / 'tree/f').write_text(VANILLA)
    facts = Facts(tmp_path)
    patch = patchfile.read(file)
    state = {path: facts.add(VANILLA.encode()) if path == 'f' else None
             for path in {'f', *patch.paths}}
    mine = {path: apply.apply_part(facts, part, path, state[path])
            for path, part in parts(read(file)).items()}
    applies = not any('failed' in outcome for outcome in mine.values())
    quilt = subprocess.run(['quilt', '--quiltrc', '-', 'push', '--fuzz=0'], cwd=tmp_path / 'tree',
                           env=environment(QUILT_PATCHES=tmp_path / 'patches'), check=False,
                           capture_output=True, text=True)
    assert applies == (quilt.returncode == 0), (mine, quilt.stdout)
    if applies:
        after = {path: outcome['file'] for path, outcome in mine.items()}
        check_files(facts, {**state, **after}, tmp_path / 'tree')


@pytest.mark.parametrize('needs, expected', [
    ({'a': []}, ['a']),
    ({'a': [], 'b': [], 'c': []}, ['a', 'b', 'c', 'ab', 'ac', 'bc', 'abc']),
    ({'a': [], 'b': [], 'c': [], 'd': []},
     ['a', 'b', 'c', 'd', 'abc', 'abd', 'acd', 'bcd', 'abcd']),
    ({'a': [], 'b': ['a'], 'c': []}, ['a', 'c', 'ab', 'ac', 'abc']),
], ids=['one', 'three', 'four', 'a dependency'])
def test_what_is_compiled(needs, expected):
    assert sorted(map(''.join, proof.to_compile(needs))) == sorted(expected)


def test_each_subset_of_many_patches_has_a_log(tmp_path):
    needs = {f'fix-what-has-a-long-name-{number}': [] for number in range(30)}
    half = list(needs)[:15]
    needs |= {'needs-half': half, 'needs-half-too': half}
    fields = dict.fromkeys(proof.Prepared.__dataclass_fields__)
    prepared = proof.Prepared(**fields | {'needs': needs,
                                          'context': SimpleNamespace(work=tmp_path)})
    (tmp_path / 'logs').mkdir()
    subsets = proof.to_compile(needs)
    for subset in subsets:
        prepared.log(subset).touch()
    assert len(list((tmp_path / 'logs').iterdir())) == len(subsets)
