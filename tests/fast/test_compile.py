"""scripts/prove to its end, with a tree that compiles in a second."""
import json
import shutil

import pytest
from conftest import path_without
from support.patchmaker import replace
from support.tinytree import tiny

PLUGIN = {
    'plugin/p/CMakeLists.txt': lambda _: 'ADD_LIBRARY(p STATIC p.cc)\n'
                                         'ADD_DEPENDENCIES(p generate)\n',
    'plugin/p/p.cc': lambda _: '#include "generated.h"\n#include "shared.h"\n'
                               'int p() { return GENERATED + shared(); }\n',
}
UNUSED = replace('{ return shared(); }', '{ int unused2; return shared(); }')


@pytest.fixture
def maker(checkout, tmp_path):
    """Makes the patches of a checkout whose only tree is the tiny one."""
    return tiny(checkout, tmp_path / 'cache')


def run(maker, *arguments, **variables):
    """Proves the tiny tree: status, what was said, the result."""
    status, text = maker.checkout.run('scripts/prove', *arguments, **variables)
    file = maker.checkout.path / 'work/tiny/prove/result.json'
    return status, text, json.loads(file.read_text()) if file.exists() else None


def table(maker):
    """The page with the table of proofs."""
    return (maker.checkout.path / 'docs/patches/README.md').read_text()


@pytest.fixture
def idle(tmp_path):
    """A PATH with which nothing can be applied, compiled or tested."""
    return path_without(tmp_path / 'idle', 'patch', 'quilt', 'tar', 'ninja', 'ccache', 'perl')


def changed(result):
    """{subset: how many objects it changes}."""
    return {'+'.join(outcome['patches']): outcome['changed'] for outcome in result['compiled']}


def test_what_applies_compiles(maker, idle):
    maker.add('header', {'include/shared.h': replace('return 1', 'return 2')})
    maker.add('moves', {'sql/main.cc': replace('#include <cstdio>', '// the warning below moves\n'
                                               '#include <cstdio>')})
    maker.add('plugin', PLUGIN)
    maker.add('generated', {'generated.in': replace('1', '2'),
                            'sql/none.h': replace('nobody', 'nobody at all')})
    status, text, result = run(maker)
    assert status == 0, text
    assert '9 of 9 subsets compile' in text
    alone = changed(result)
    assert (alone['header'], alone['moves'], alone['plugin']) == (2, 1, 1)
    assert alone['header+moves+plugin+generated'] == 3
    assert [outcome['compiled'] for outcome in result['compiled']
            if outcome['patches'] == ['moves']] == [1], 'the other object is vanilla\'s'
    source = maker.checkout.path / 'work/tiny/prove/mariadb-1.0.0'
    log = maker.checkout.path / 'work/tiny/prove/logs'
    assert 'p.cc' in (log / 'all+without+moves.log').read_text()

    ninja = (source / 'builddir-prove/.ninja_log').read_bytes()
    status, text, again = run(maker, PATH=idle)
    assert status == 0 and again['compiled'] == result['compiled'], text
    assert (source / 'builddir-prove/.ninja_log').read_bytes() == ninja, 'compiled once'

    patch = maker.checkout.path / 'patches/tiny/header.patch'
    patch.write_text(patch.read_text().replace('SELECT 1', 'SELECT 2'))
    maker.checkout.run('scripts/tables', '--write')
    assert '| header | tiny | yes | not proven | not proven | not proven | yes | yes ' \
           '| not proven |' in table(maker)
    status, text, _ = run(maker)
    assert status == 0, text
    assert (source / 'builddir-prove/.ninja_log').read_bytes() == ninja, 'a test is not compiled'
    assert '| moves | tiny | yes | yes | yes | yes | yes | yes | not proven |' in table(maker)


def test_a_new_warning_is_a_fault(maker):
    maker.add('warns', {'sql/other.cc': UNUSED})
    maker.add('fine', {'include/shared.h': replace('return 1', 'return 2')})
    status, text, result = run(maker)
    assert status == 1
    assert 'tiny: warns has warnings' in text and '\n1 fault\n' in text, 'all has them too'
    assert 'sql/other.cc' in text and 'unused2' in text
    assert "‘unused’" not in text, 'vanilla has that warning'
    assert 'mend: make patched TREE=tiny PATCHES="warns"' in text
    verdicts = result['verdicts']
    assert (verdicts['warns']['builds alone'], verdicts['fine']['builds alone']) == ('no', 'yes')
    assert verdicts['warns']['with the others'] == 'no'
    _, again, _ = run(maker)
    assert again.partition('\n\n')[2] == text.partition('\n\n')[2], \
        'a warning of an object that is compiled already is not forgotten'


def test_a_pair_that_does_not_compile(maker):
    maker.add('one', {'include/shared.h': replace(
        'int shared()', 'int shared2() { return 1; }\ninline int shared()')})
    before = maker.files.copy()
    maker.files.clear()
    maker.add('two', {'sql/other.cc': replace(
        'int other()', 'inline int shared2() { return 1; }\nint other()')})
    maker.files.update(before)
    status, text, result = run(maker)
    assert status == 1
    assert 'tiny: all does not compile' in text and 'redefinition' in text and 'shared2' in text
    assert 'mend: make patched TREE=tiny PATCHES="all"' in text
    assert 'work/tiny/prove/logs/all.log' in text
    assert {name: verdict['builds alone'] for name, verdict in result['verdicts'].items()} == {
        'one': 'yes', 'two': 'yes'}
    assert {verdict['with the others'] for verdict in result['verdicts'].values()} == {'no'}


def test_a_plugin_that_cmake_refuses(maker):
    maker.add('plugin', {**PLUGIN, 'plugin/p/CMakeLists.txt': lambda _: (
        PLUGIN['plugin/p/CMakeLists.txt'](_).replace('ADD_DEPENDENCIES', 'NO_SUCH_COMMAND'))})
    status, text, _ = run(maker)
    assert status == 1 and 'cmake fails' in text and 'plugin/p/CMakeLists.txt' in text
    patch = maker.checkout.path / 'patches/tiny/plugin.patch'
    patch.write_text(patch.read_text().replace('NO_SUCH_COMMAND', 'ADD_DEPENDENCIES'))
    status, text, result = run(maker)
    assert status == 0 and changed(result) == {'plugin': 1}, text


def test_verdicts_before_a_step_that_cannot_be_done_are_recorded(maker):
    maker.add('header', {'include/shared.h': replace('return 1', 'return 2')})
    status, text, result = run(maker, CC='no-such-compiler')
    assert status == 1 and 'tiny: vanilla 1.0.0 does not compile here' in text, text
    assert result['verdicts'] == {'header': {'applies alone': 'yes', 'in every subset': 'yes',
                                             'refresh': 'yes'}}
    assert '| header | tiny | yes | yes | yes | yes | not proven | not proven | not proven |' \
        in table(maker)


def test_the_tests_of_a_patch(maker, idle):
    maker.add('right', {'include/shared.h': replace('return 1', 'return 2')}, test='shared 2')
    maker.add('left', {'generated.in': replace('1', '7')}, test='generated 7')
    status, text, result = run(maker, '--tests')
    assert status == 0, text
    assert 'the tests of right fail without it and pass with it' in text
    assert {verdict['tests'] for verdict in result['verdicts'].values()} == {'yes'}
    assert '| left | tiny | yes | yes | yes | yes | yes | yes | yes |' in table(maker)
    status, text, _ = run(maker, '--tests', PATH=idle)
    assert status == 0, text


@pytest.mark.parametrize('test, words', [
    ('shared', ['innodb.right does not fail without', 'verdict is pass']),
    ('skip', ['does not fail without', 'does not pass with', 'verdict is skipped']),
    ('shared 3', ['innodb.right does not pass with', 'verdict is fail']),
    ('shared 3\n--source include/have_debug.inc', ['innodb.right does not pass with']),
])
def test_tests_that_prove_nothing(test, words, maker):
    maker.add('right', {'include/shared.h': replace('return 1', 'return 2')}, test=test)
    status, text, result = run(maker, '--tests')
    assert status == 1
    assert 'tiny: right: ' in text and all(word in text for word in words), text
    assert 'mend: make patched TREE=tiny PATCHES="all"' in text
    assert result['verdicts']['right']['tests'] == 'no'


def test_a_patch_whose_tests_need_a_debug_build(maker):
    maker.add('right', {'include/shared.h': replace(
        'return 1;', '\n#ifdef NDEBUG\nreturn 1;\n#else\nreturn 2;\n#endif\n')},
              test='shared 2\n--source include/have_debug.inc')
    status, text, result = run(maker, '--tests')
    assert status == 0, text
    assert result['verdicts']['right']['tests'] == 'yes'


def test_tests_of_a_patch_that_needs_another(maker):
    maker.add('base', {'include/shared.h': replace('return 1', 'return 2')}, test='shared 2')
    maker.add('more', {'generated.in': replace('1', '7')}, depends='base',
              test='shared 2 generated 7')
    status, text, result = run(maker, '--tests')
    assert status == 0, text
    assert [subset['patches'] for subset in result['compiled']] == [['base'], ['base', 'more']]


def test_what_the_record_has_is_not_proven_again(maker, idle):
    maker.add('right', {'include/shared.h': replace('return 1', 'return 2')}, test='shared 2')
    maker.add('left', {'generated.in': replace('1', '7')}, test='generated 7')
    status, text, _ = run(maker, '--missing')
    assert status == 0 and '3 of 3 subsets' in text and 'the tests of right fail' in text, text

    shutil.rmtree(maker.checkout.path / 'work')
    status, text, result = run(maker, '--missing')
    assert status == 0 and 'compiled' not in result and result['tests'] == {}, text

    patch = maker.checkout.path / 'patches/tiny/left.patch'
    patch.write_text(patch.read_text().replace('7', '8'))
    status, text, result = run(maker, '--missing')
    assert status == 0 and '2 of 2 subsets' in text, text
    assert changed(result).keys() == {'left', 'right+left'} and result['tests'] == {'left': []}
    assert table(maker).count('| yes | yes | yes | yes | yes | yes |') == 2, table(maker)
