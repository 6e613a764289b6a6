"""Proof that a patch's own tests are about it: they fail without it and pass with it alone."""
import re
import subprocess

from millrace import TOP
from millrace.patches import diff
from millrace.patches.header import read_header
from millrace.prove.compile import toolchain
from millrace.prove.facts import digest

NEEDS_DEBUG = '+--source include/have_debug.inc'


def verdicts(text):
    """The verdicts in the output of mysql-test-run: {'pass':, 'fail':, 'skipped': names}."""
    names = {'pass': set(), 'fail': set(), 'skipped': set()}
    line = r"^(\w+\.[\w-]+)(?: '[^']*')?(?: +w\d+)? +\[ (pass|fail|skipped) \]"
    for name, verdict in re.findall(line, text, re.MULTILINE):
        names[verdict].add(name)
    return names


def for_release(file):
    """The tests in the Test: of a patch that a release build runs: those that need no debug
    build."""
    debug = {diff.test_name(entry.new) for entry in diff.parse(diff.read(file))
             if any(NEEDS_DEBUG in hunk.lines for hunk in entry.hunks)}
    return [test for test in read_header(file).fields['Test'].split() if test not in debug]


def run(build, state, tests, options, log, tell):
    """Builds a state and runs tests in it: (verdicts, or None; the lines that show a failure)."""
    failed = build.make(state, log, tell)
    if failed:
        return None, failed
    done = subprocess.run([TOP / 'scripts/mysql-test', *tests, *options],
                          env={**build.environ, 'BUILDDIR': str(build.builddir),
                               'VARDIR': str(build.work / 'mysql-test')},
                          text=True, errors='replace', stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    with log.open('a', encoding='utf-8') as file:
        file.write(done.stdout)
    return verdicts(done.stdout), [f'mysql-test-run printed no verdict, see {log}']


def check_tests(build, patch, without, alone, logs, tell=lambda done, of: None):
    """Runs the tests of a patch without and with it: a list of faults, empty where proven.

    `build` is the BuildTree of a release build, or of a debug build where no test of the patch
    runs in another: only then the tests for debug builds run.  The state `alone` has the patch
    and what it needs, `without` only what it needs.  `logs` is the path of both logs without its
    ending.
    """
    tests = for_release(patch.file) or read_header(patch.file).fields['Test'].split()
    key = digest('tests', build.context.sha256, toolchain(build.configuration), tests,
                 *map(build.different, (without, alone)))
    if build.facts.get(key) is not None:
        return []
    laid = {**without, **{path: alone[path] for path in patch.paths if diff.is_test(path)}}
    faults = []
    # Without the patch a server may not know an option of its test.  mysql-test-run of 11.8
    # ends there and then, and with status 0, if one of several workers is done meanwhile.
    for state, wanted, words, which, options in (
            (laid, 'fail', 'does not fail without the patch', 'without', ['--parallel=1']),
            (alone, 'pass', 'does not pass with it', 'with', [])):
        log = logs.with_name(f'{logs.name}.{which}.log')
        names, failed = run(build, state, tests, options, log, tell)
        if names is None:
            return [*faults, 'the server does not build', *failed]
        for test in tests:
            if test not in names[wanted] or wanted == 'pass' and test in names['fail']:
                verdict = next((each for each in ('skipped', 'pass', 'fail')
                                if test in names[each]), None)
                why = f'its verdict is {verdict}, see {log}' if verdict else failed[0]
                faults.append(f'{test} {words}: {why}')
    if not faults:
        build.facts.learn(key, tests)
    return faults
