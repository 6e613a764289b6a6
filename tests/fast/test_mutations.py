"""scripts/prove --mutations: a part of a patch is broken on purpose, and its test must fail."""
import json

import pytest
from conftest import path_without
from support.patchmaker import replace
from support.tinytree import tiny

PLACE = 'tests/mutations/common/right.toml'
MUTATION = '''[back]
breaks = "the function returns 2"
test = "innodb.right"
file = "include/shared.h"
old = "return 2;"
new = "return 1;"
'''


@pytest.fixture
def maker(checkout, tmp_path):
    """Makes the patches of a checkout whose only tree is the tiny one, which has one, and one
    mutation of it."""
    made = tiny(checkout, tmp_path / 'cache')
    made.add('right', {'include/shared.h': replace('return 1', 'return 2')}, test='shared 2')
    checkout.write(PLACE, MUTATION)
    return made


def run(maker, *arguments, **variables):
    """Runs the mutations of the tiny tree: status, what was said, the result."""
    status, text = maker.checkout.run('scripts/prove', *(arguments or ['--mutations']),
                                      **variables)
    file = maker.checkout.path / 'work/tiny/prove/result.json'
    return status, text, json.loads(file.read_text()) if file.exists() else None


def verdict(maker, name):
    """What the table of proofs says of the mutations of a patch."""
    page = (maker.checkout.path / 'docs/patches/README.md').read_text()
    lines = [line.split(' | ') for line in page.splitlines() if ' | header | ' in line
             or line.startswith(f'| {name} | tiny |')]
    head, row = (line for line in lines if 'applies alone' in line or line[1] == 'tiny')
    return row[head.index('mutations')]


def test_a_mutation_that_a_test_sees(maker, tmp_path):
    maker.add('left', {'generated.in': replace('1', '7')}, test='generated 7')
    assert maker.checkout.run('scripts/tables', '--write')[0] == 0
    assert verdict(maker, 'right') == 'not proven'
    status, text, result = run(maker)
    assert status == 0, text
    assert 'the tests of right see 1 of 1 mutations' in text
    assert result['mutations'] == {'right': {'back': {
        'breaks': 'the function returns 2', 'test': 'innodb.right', 'wrong': None}}}
    assert (verdict(maker, 'right'), verdict(maker, 'left')) == ('yes', 'not proven')

    idle = path_without(tmp_path / 'idle', 'patch', 'quilt', 'tar', 'ninja', 'ccache', 'perl')
    status, text, result = run(maker, PATH=idle)
    assert status == 0 and result['mutations'] == {}, 'the record has it'
    status, text, result = run(maker, '--mutations', '--patch', 'right', PATH=idle)
    assert status == 0 and 'see 1 of 1' in text, 'the facts have it'

    file = maker.checkout.path / PLACE
    file.write_text(file.read_text().replace('return 1;', 'return 3;'))
    assert maker.checkout.run('scripts/tables', '--write')[0] == 0
    assert verdict(maker, 'right') == 'not proven', 'another mutation is another proof'
    patch = maker.checkout.path / 'patches/tiny/left.patch'
    assert run(maker)[0] == 0
    patch.write_text(patch.read_text().replace('7', '8'))
    assert maker.checkout.run('scripts/tables', '--write')[0] == 0
    assert verdict(maker, 'right') == 'yes', 'another patch takes nothing back'


@pytest.mark.parametrize('old, new, words', [
    ('return 1;', '{ } return 2;', ['innodb.right does not see it', 'its verdict is pass']),
    ('return 1;', 'return nothing;', ['it does not compile', "'nothing' was not declared"]),
], ids=['survives', 'does not compile'])
def test_a_mutation_that_proves_nothing(old, new, words, maker):
    maker.checkout.write(PLACE, MUTATION.replace(old, new))
    status, text, result = run(maker, LC_ALL='C')
    assert status == 1 and '\n1 fault\n' in text, text
    assert 'tiny: right, mutation back: ' in text and 'the function returns 2' in text
    assert all(word in text.replace('‘', "'").replace('’', "'") for word in words), text
    assert f'mend: make the test see it, or mend {PLACE}' in text
    assert result['verdicts']['right']['mutations'] == 'no' and verdict(maker, 'right') == 'no'


def test_a_test_that_fails_anyway(maker):
    patch = maker.checkout.path / 'patches/tiny/right.patch'
    patch.write_text(patch.read_text().replace('+shared 2', '+shared 5'))
    status, text, _ = run(maker)
    assert status == 1 and 'innodb.right does not pass without it: its verdict is fail' in text


def test_a_mutation_that_does_not_fit_is_told_in_seconds(maker, tmp_path):
    maker.checkout.write(PLACE, MUTATION.replace('return 2;', 'return 9;'))
    idle = path_without(tmp_path / 'idle', 'ninja', 'ccache', 'perl')
    for how in ('--quick', '--mutations'):
        status, text, _ = run(maker, how, PATH=idle)
        assert status == 1 and '\n1 fault\n' in text, text
        assert f'tiny: {PLACE}:1: [back]: include/shared.h' in text and ' 0 times' in text
        assert verdict(maker, 'right') == 'no'


def test_what_only_a_debug_server_sees(maker):
    maker.add('checked', {'sql/main.cc': replace(
        '  printf(', '#ifndef NDEBUG\n  if (shared() < 1) return 1;\n#endif\n  printf(')},
              test='shared 2')
    maker.checkout.write('tests/mutations/common/checked.toml', '''[reversed]
breaks = "there are two"
test = "innodb.checked"
file = "sql/main.cc"
old = "shared() < 1"
new = "shared() > 1"
''')
    status, text, _ = run(maker, '--mutations', '--patch', 'checked')
    assert status == 0 and verdict(maker, 'checked') == 'yes', text
    assert not (maker.checkout.path / 'work/tiny/prove/mariadb-1.0.0').exists()


def test_a_tree_has_its_own(maker):
    maker.checkout.write(PLACE, MUTATION.replace('return 2;', 'return 9;'))
    maker.checkout.write('tests/mutations/tiny/right.toml', MUTATION)
    status, text, _ = run(maker)
    assert status == 0 and 'see 1 of 1' in text, text


@pytest.mark.parametrize('place, content, words', [
    (PLACE, MUTATION.replace('innodb.right', 'innodb.left'), ['innodb.left', 'innodb.right']),
    (PLACE, MUTATION.replace('include/shared.h', 'sql/main.cc'), ['[back]', 'does not change']),
    (PLACE, MUTATION.replace('breaks', 'broken'), ['[back]', 'breaks, test']),
    (PLACE, MUTATION.replace('[back]', '[back'), ['is not TOML']),
    (PLACE, 'back = 1\n', ['[back]']),
    ('tests/mutations/common/wrong.toml', MUTATION, ['is not named as a patch']),
    ('tests/mutations/tiny/right.diff', MUTATION, ['is not named as a patch']),
])
def test_the_lint_of_mutations(place, content, words, maker):
    maker.checkout.write(place, content)
    status, text, result = run(maker, '--quick')
    assert status == 1 and result is None
    assert f'tiny: {place}:1: ' in text and 'mend: ' in text and 'Traceback' not in text
    assert all(word in text for word in words), text


@pytest.mark.parametrize('arguments, words', [
    (['--mutations', '--patch', 'no-such'], ["no patch 'no-such'", 'known patches: right left']),
    (['--mutations', '--patch', 'left'], ['no mutations of left', 'common/left.toml']),
    (['--quick', '--patch', 'right'], ['--patch goes with --mutations']),
])
def test_a_patch_that_cannot_be_chosen(arguments, words, maker):
    maker.add('left', {'generated.in': replace('1', '7')}, test='generated 7')
    status, text, _ = run(maker, *arguments)
    assert status and 'Traceback' not in text
    assert all(word in text for word in words), text
