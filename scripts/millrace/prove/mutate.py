"""Proof that the tests of a patch can fail: a part of it is broken on purpose, and they do.

A mutation is one edit of the source with the whole series.  It is compiled into a debug server,
which runs every test, in a build directory that only the proofs use; ninja compiles just what the
edit changes.  The test that the mutation names must fail there, as it must pass without it.
"""
from millrace import TOP
from millrace.errors import Fault
from millrace.patches import mutations
from millrace.prove import tests
from millrace.prove.compile import BuildTree, toolchain
from millrace.prove.facts import digest

# a mutation may make a server wait for ever
OPTIONS = ('--parallel=1', '--testcase-timeout=5')


class DebugTree(BuildTree):
    """The source of a tree and a build directory for a debug server, as `build/server debug`
    configures it."""
    configuration = ('server.cmake', 'layout-tarball.cmake', 'debug.cmake')

    def __init__(self, context, facts, vanilla, paths):
        context = context.at('prove-debug')
        (context.work / 'logs').mkdir(parents=True, exist_ok=True)
        super().__init__(context, facts, vanilla, paths)
        self.builddir = self.source / 'builddir-debug'

    def configure(self, log):
        """Runs cmake where a file that it reads has changed: whether it succeeded."""
        if self.to_configure.exists():
            (self.builddir / 'configured').unlink(missing_ok=True)
        initial = [word for name in self.configuration
                   for word in ('-C', str(TOP / 'build/cmake' / name))]
        launchers = [f'-DCMAKE_{language}_COMPILER_LAUNCHER={self.environ["MILLRACE_LAUNCHER"]}'
                     for language in ('C', 'CXX')]
        done = self._run('env', '-C', str(self.source), str(TOP / 'build/cmake/configure'),
                         self.builddir.name, *initial, *launchers, log=log)
        if done:
            self.to_configure.unlink(missing_ok=True)
        return done


def mutate(facts, state, mutation):
    """A state with a mutation, or a Fault where the mutation does not fit."""
    content = state.get(mutation.file)
    text = facts.content(content) if content else b''
    old, new = mutation.old.encode(), mutation.new.encode()
    count = text.count(old) if old else 0
    if count == 1:
        return {**state, mutation.file: facts.add(text.replace(old, new))}
    return Fault(f'[{mutation.name}]: {mutation.file} with the series has its old text '
                 f'{count} times', 'take the text from the patched source as it is now',
                 file=str(mutation.place))


def stale(facts, state, tree, patches):
    """{patch: the Faults of mutations that do not fit the source with the series}."""
    made = {name: [mutate(facts, state, mutation) for mutation in mutations.load(tree, name)]
            for name in patches}
    return {name: faults for name, of in made.items()
            if (faults := [each for each in of if isinstance(each, Fault)])}


def _verdict(build, state, names, options, log, tell):
    """Runs tests in a state: {test: 'pass', 'fail', 'skipped' or None}; or lines that show why
    there is no server."""
    key = digest('mutation', build.context.sha256, toolchain(build.configuration), names,
                 build.different(state))
    fact = build.facts.get(key)
    if fact is None:
        found, failed = tests.run(build, state, names, options, log, tell)
        if found is None:
            return failed
        fact = {name: next((verdict for verdict in ('fail', 'pass', 'skipped')
                            if name in found[verdict]), None) for name in names}
        if all(fact.values()):
            build.facts.learn(key, fact)
    return fact


def check_mutations(build, patch, state, chosen, logs, tell=lambda done, of: None):
    """Runs the tests of mutations: [(Mutation, None, or what is wrong)].

    `build` is a DebugTree, `patch` theirs, `state` the one with the series, which all of them
    fit, `logs` a directory."""
    unbroken = {}
    for name in dict.fromkeys(mutation.test for mutation in chosen):
        log = logs / f'{patch.name}.unbroken.{name}.log'
        found = _verdict(build, state, [name], OPTIONS, log, tell)
        if isinstance(found, list):
            unbroken[name] = f'the server does not build: {found[0]}'
        elif found[name] != 'pass':
            unbroken[name] = f'{name} does not pass without it: its verdict is {found[name]}, ' \
                             f'see {log}'
    outcomes = []
    for mutation in chosen:
        wrong = unbroken.get(mutation.test)
        if not wrong:
            log = logs / f'{patch.name}.{mutation.name}.log'
            found = _verdict(build, mutate(build.facts, state, mutation), [mutation.test], OPTIONS,
                             log, tell)
            if isinstance(found, list):
                wrong = f'it does not compile: {found[0]}'
            elif found[mutation.test] != 'fail':
                wrong = f'{mutation.test} does not see it: its verdict is ' \
                        f'{found[mutation.test]}, see {log}'
        outcomes.append((mutation, wrong))
    return outcomes
