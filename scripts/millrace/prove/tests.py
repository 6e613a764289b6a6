"""Proof that a patch's own tests are about it: they fail without it and pass with it alone."""
import re
import subprocess

from millrace.buildtree import toolchain
from millrace.header import read_header
from millrace.kept import digest
from millrace.patchfile import is_test
from millrace.series import TOP


def verdicts(text):
    """What mysql-test-run says of the tests it ran: {'pass':, 'fail':, 'skipped': names}."""
    found = {'pass': set(), 'fail': set(), 'skipped': set()}
    line = r"^(\w+\.[\w-]+)(?: '[^']*')?(?: +w\d+)? +\[ (pass|fail|skipped) \]"
    for name, verdict in re.findall(line, text, re.MULTILINE):
        found[verdict].add(name)
    return found


def for_release(file):
    """The tests in the Test: of a patch that a release build runs: all but those that need a debug build."""
    text = file.read_text(encoding='utf-8', errors='surrogateescape')
    debug = set(re.findall(r'^\+\+\+ b/\S+/([\w-]+)\.test\n(?:(?!--- ).*\n)*?\+--source include/have_debug\.inc$', text,
                           re.MULTILINE))
    return [test for test in read_header(file).fields['Test'].split() if test.split('.')[1] not in debug]


def _run(tree, state, tests, options, log, tell):
    """Builds a state and runs tests in it: (verdicts, or None; what failed)."""
    failed = tree.make(state, log, tell, link=True)
    if failed:
        return None, failed
    done = subprocess.run([TOP / 'scripts/mysql-test', *tests, *options, f'--vardir={tree.work / "mysql-test"}'],
                          env={**tree.environ, 'BUILDDIR': str(tree.builddir)}, text=True, errors='replace',
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    with log.open('a', encoding='utf-8') as file:
        file.write(done.stdout)
    return verdicts(done.stdout), [f'mysql-test-run says nothing of it, see {log}']


def tested(tree, patch, without, alone, logs, tell=lambda done, of: None):
    """Runs the tests of a patch without and with it: a list of faults, empty where it is proven.

    `tree` is a BuildTree, of a release build; `alone` the state with the patch and what
    it needs, `without` the same but for the patch; `logs` the path of the logs of both, but for its end.
    """
    tests = for_release(patch.file)
    if not tests:
        return ['all of its tests need a debug build: a release build must have one that shows what it is for']
    key = digest('tests', tree.environ['SHA256'], toolchain(), tests, *map(tree.different, (without, alone)))
    if tree.kept.fact(key) is not None:
        return []
    laid = {**without, **{path: alone[path] for path in patch.paths if is_test(path)}}
    faults = []
    # Without the patch a server may not know an option of its test.  mysql-test-run of 11.8 ends there and then, and with
    # status 0, if one of several workers is done meanwhile; so there is one.
    for state, wanted, words, which, options in ((laid, 'fail', 'does not fail without the patch', 'without', ['--parallel=1']),
                                                 (alone, 'pass', 'does not pass with it', 'with', [])):
        log = logs.with_name(f'{logs.name}.{which}.log')
        found, failed = _run(tree, state, tests, options, log, tell)
        if found is None:
            return [*faults, 'the server does not build', *failed]
        for test in tests:
            if test not in found[wanted] or wanted == 'pass' and test in found['fail']:
                verdict = next((verdict for verdict in ('skipped', 'pass', 'fail') if test in found[verdict]), None)
                faults.append(f'{test} {words}: ' + (f'its verdict is {verdict}, see {log}' if verdict else failed[0]))
    if not faults:
        tree.kept.learn(key, tests)
    return faults
