"""The proofs of a tree, in their order: lint, application, refresh, compilation, tests.

Each step is a function of what the steps before it have left: Prepared, Applied, Compiled.
It puts verdicts and faults into a Report.
"""
import contextlib
import datetime
import fcntl
import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, field

from millrace import TOP
from millrace.command import environment
from millrace.context import Context, resolve
from millrace.errors import Failure
from millrace.files import write_whole
from millrace.patches import diff, mutations, patchfile, series
from millrace.progress import Progress
from millrace.prove import apply, lint, mutate, options, record, refresh, tests
from millrace.prove.compile import BuildTree, added
from millrace.prove.facts import Facts, digest
from millrace.upstream import pins, tarballs


def to_compile(needs):
    """The subsets that are compiled: each patch alone, all that go without each, and all."""
    names = list(needs)
    chosen = {series.closure([name], needs) for name in names}
    chosen |= {tuple(other for other in names if name not in series.closure([other], needs))
               for name in names}
    chosen.add(tuple(names))
    return sorted(chosen - {()}, key=lambda subset: [names.index(name) for name in subset])


def faulty(outcome):
    """Whether a compilation failed or has a new warning."""
    return bool(outcome.get('failed') or outcome.get('added'))


@dataclass
class Report:
    """The outcome of the proofs of a tree: verdicts, {patch: {proof: yes or no}} (see
    record.PROOFS); faults, texts that end with the command that mends; the whole result."""
    tree: str
    verdicts: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)
    result: dict = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def say(self, text):
        """Prints a line about the tree."""
        print(f'{self.tree}: {text}', flush=True)

    def fault(self, text, details, mend):
        """Takes a fault, the first lines that show it, and the command that mends it."""
        shown = '\n    '.join([f'{self.tree}: {text}', *details[:8]])
        self.faults.append(f'{shown}\n  mend: {mend}')

    def verdict(self, proof, wrong, names):
        """The verdict of these patches: no for those that are wrong."""
        for name in names:
            self.verdicts.setdefault(name, {})[proof] = 'no' if name in wrong else 'yes'


@dataclass(frozen=True)
class Prepared:
    """The material that the proofs of a tree begin with.

    `recorded`, as record.verdicts() has it, is what need not be proven again."""
    context: Context
    facts: Facts
    needs: dict         # {patch: the patches that it needs}
    patches: dict       # {patch: Patch}
    vanilla: dict       # the state of the files that the patches are about
    source: BuildTree
    about: dict         # record.keys() of all this
    pinned: bool        # whether the release is the one that the record is about
    recorded: dict

    def missing(self, proof):
        """The patches of which the record does not have this proof."""
        return [name for name in self.needs
                if self.recorded.get(name, {}).get(proof) != 'yes']

    def label(self, subset):
        """A subset as PATCHES= has it."""
        return 'all' if subset == tuple(self.needs) else ' '.join(subset) or 'none'

    def alone(self, name):
        """The subset of a patch and what it needs."""
        return series.closure([name], self.needs)

    def debug_source(self):
        """The source and build directory of a debug server."""
        return mutate.DebugTree(self.context, self.facts, self.source.vanilla, self.source.paths)

    def short(self, subset):
        """A subset in few words: what it has or, where that is less, has not."""
        rest = [name for name in self.needs if name not in subset]
        if 0 < len(rest) < len(subset):
            return f'all without {" ".join(rest)}'
        return self.label(subset)

    def log(self, subset):
        """The log of a subset's compilation."""
        name = self.short(subset).replace(' ', '+')
        if len(name) > 200:             # a file system takes 255 bytes
            name = f'{name[:200]}+{digest(name)[:8]}'
        return self.context.work / 'logs' / f'{name}.log'

    def command(self, target, subset):
        """The command that makes this target of a subset."""
        return f'make {target} TREE={self.context.tree} PATCHES="{self.label(subset)}"'


@dataclass(frozen=True)
class Compiled:
    """How patches compile on what they need: {subset: outcome}, and vanilla's warnings."""
    outcomes: dict
    warned: dict


def check(report):
    """The series, the headers and the texts: nothing is applied unless they are right."""
    faults = lint.check_tree(report.tree)
    report.faults += [f'{report.tree}: {fault}' for fault in faults]
    if not faults:
        report.say('the series and the headers are right')
    return not faults


@contextlib.contextmanager
def locked(context):
    """Keeps a second proof of the same tree out."""
    (context.work / 'logs').mkdir(parents=True, exist_ok=True)
    with (context.work / '.lock').open('w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f'{context.tree}: another make prove is at work in {context.work}',
                          'wait until it is done') from None
        yield


def prepare(context, pinned, recorded):
    """The Prepared of a context whose tarball is in the cache."""
    facts = Facts(context.work)
    about = record.keys(context.tree, context.sha256)
    needs = series.depends(context.tree)
    patches = {name: patchfile.read(series.patch_file(context.tree, name)) for name in needs}

    def vanilla(paths):
        return apply.vanilla(facts, context.tarball_file, context.sha256, paths)

    paths = {path for patch in patches.values() for path in patch.paths}
    return Prepared(context=context, facts=facts, needs=needs, patches=patches,
                    vanilla=vanilla(paths | set(options.LISTS)),
                    source=BuildTree(context, facts, vanilla, paths),
                    about=about, pinned=pinned, recorded=recorded)


def check_options(prepared, report):
    """No variable that a patch adds is a prefix of another one, or the other way round."""
    upstream = options.listed(prepared.facts.content(content).decode(errors='replace')
                              for path in options.LISTS if (content := prepared.vanilla[path]))
    patches = {str(patch.file.relative_to(TOP)): diff.read(patch.file)
               for patch in prepared.patches.values()}
    report.faults += [f'{report.tree}: {fault}' for fault in options.check(patches, upstream)]


def describe(prepared, report):
    """Puts into the result what it is about."""
    context = prepared.context
    report.result |= {
        'tree': context.tree, 'release': context.version, 'tarball': context.sha256,
        'patches': {name: {'sha256': patch.sha256, 'needs': prepared.needs[name],
                           'files': patch.paths} for name, patch in prepared.patches.items()}}


def apply_series(prepared, report):
    """Every subset applies.  Returns Applied."""
    needs = prepared.needs
    bar = Progress(f'{report.tree}: applies')
    applied = apply.apply_series(prepared.facts, needs, prepared.patches, prepared.vanilla, bar)
    bar.clear()
    failed = applied.failed()
    for at, lines in failed.items():
        after = f' after {prepared.label(at[:-1])}' if at[:-1] else ''
        report.fault(f'{at[-1]} does not apply to {prepared.context.version}{after} with fuzz 0',
                     lines, prepared.command('patched', at) + ' stops there, and names the way on')
    report.verdict('applies alone', {name for name in needs
                                     if applied.state(prepared.alone(name)) is None}, needs)
    report.verdict('in every subset', {at[-1] for at in failed}, needs)
    outcomes = [outcome for of in applied.outcomes.values()
                for choice, outcome in of.items() if choice]
    right = sum('failed' not in outcome for outcome in outcomes)
    report.say(f'{"not " if failed else ""}every subset applies with fuzz 0: {right} of '
               f'{len(outcomes)} choices among the patches of a file, in {len(applied.outcomes)}')
    report.result['applied'] = {
        path: [{'patches': choice, 'applies': 'failed' not in outcome,
                **{key: outcome[key] for key in ('failed', 'at', 'moved') if outcome.get(key)}}
               for choice, outcome in of.items() if choice]
        for path, of in applied.outcomes.items()}
    return applied


def check_refresh(prepared, applied, report):
    """Refreshing the whole series changes nothing."""
    names = list(prepared.needs)
    if applied.state(tuple(names)) is None:
        return
    differing = refresh.refreshed(prepared.facts, prepared.patches, applied)
    wrong = [name for name in names if differing[name]]
    for name in wrong:
        prefix = tuple(names[:names.index(name) + 1])
        report.fault(f'{name} is not as make refresh writes it', differing[name],
                     f'{prepared.command("patched", prefix)} && '
                     f'{prepared.command("refresh", prefix)}')
    report.verdict('refresh', wrong, names)
    if not wrong:
        report.say('refresh changes nothing')
    report.result['refresh'] = differing


def compile_subset(prepared, applied, report, subset, warned=None):
    """Compiles a subset; where vanilla's warnings are given, says which it adds to them."""
    prepared.source.prepare(report.say)
    name = prepared.short(subset) if subset else 'vanilla'
    bar = Progress(f'{report.tree}: compiles {name}')
    outcome = prepared.source.warnings(applied.state(subset), prepared.log(subset), bar)
    bar.clear()
    if warned is None or 'failed' in outcome:
        return outcome
    return {'compiled': outcome['compiled'], 'changed': outcome['changed'],
            'added': [f'{name}: {warning}'
                      for name, warning in added(outcome['warnings'], warned)]}


def compile_alone(prepared, applied, report):
    """Each patch compiles on what it needs, without a warning that vanilla has not.

    Returns Compiled, or None where the record has all that is compiled."""
    alone = {name: prepared.alone(name) for name in prepared.missing('builds alone')}
    if not alone and not prepared.missing('with the others'):
        return None
    vanilla = compile_subset(prepared, applied, report, ())
    if 'failed' in vanilla:
        raise Failure(f'{report.tree}: vanilla {prepared.context.version} does not compile here',
                      *vanilla['failed'], f'mend: build/setup; see {prepared.log(())}')
    warned = vanilla['warnings']
    outcomes = {subset: compile_subset(prepared, applied, report, subset, warned)
                for subset in alone.values() if applied.state(subset) is not None}
    wrong = {name for name, subset in alone.items()
             if subset not in outcomes or faulty(outcomes[subset])}
    report.verdict('builds alone', wrong, alone)
    return Compiled(outcomes, warned)


def compile_together(prepared, applied, compiled, report):
    """All other subsets compile, too; names those of all that do not."""
    missing, everything = prepared.missing('with the others'), tuple(prepared.needs)
    proven = {prepared.alone(name) for name in prepared.needs} - {everything} \
        if prepared.recorded else set()
    subsets = [subset for subset in to_compile(prepared.needs)
               if applied.state(subset) is not None
               and (subset in compiled.outcomes or missing and subset not in proven)]
    if not subsets:
        return
    outcomes = {subset: compiled.outcomes.get(subset)
                or compile_subset(prepared, applied, report, subset, compiled.warned)
                for subset in subsets}
    bad = {subset for subset, outcome in outcomes.items() if faulty(outcome)}
    name_faults(prepared, {subset: outcomes[subset] for subset in bad}, report)
    if missing:
        wrong = {name for subset in bad
                 if subset not in compiled.outcomes or subset == everything for name in subset}
        report.verdict('with the others', wrong if everything in outcomes else set(prepared.needs),
                       prepared.needs)
    changed = ', '.join(f'{prepared.short(subset)} {outcome.get("changed", "-")}'
                        for subset, outcome in outcomes.items())
    report.say(f'{len(outcomes) - len(bad)} of {len(outcomes)} subsets compile without a new '
               f'warning; objects changed: {changed}')
    report.result['compiled'] = [{'patches': subset, **outcome}
                                 for subset, outcome in outcomes.items()]


def name_faults(prepared, outcomes, report):
    """The faults of compilation, each in the smallest subset that shows it."""
    shown = {}
    for subset in sorted(outcomes, key=len):
        outcome = outcomes[subset]
        if 'failed' in outcome:
            what, lines = 'does not compile', outcome['failed']
        else:
            what, lines = 'has warnings that vanilla has not', outcome['added']
        shown[subset] = {re.sub(r':\d+', '', line) for line in lines}
        if not any(set(other) < set(subset) and shown[subset] <= shown[other] for other in shown):
            report.fault(f'{prepared.short(subset)} {what}', lines,
                         f'{prepared.command("patched", subset)}, then edit and make refresh; '
                         f'whole log: {prepared.log(subset)}')


def run_tests(prepared, applied, report):
    """Each patch's own tests fail without it and pass with it alone."""
    report.result['tests'] = {}
    for name in prepared.missing('tests'):
        alone = prepared.alone(name)
        without = tuple(other for other in alone if other != name)
        states = applied.state(without), applied.state(alone)
        if None in states:
            continue
        patch = prepared.patches[name]
        build = prepared.source if tests.for_release(patch.file) else prepared.debug_source()
        build.prepare(report.say)
        bar = Progress(f'{report.tree}: builds for the tests of {name}')
        faults = tests.check_tests(build, patch, *states,
                                   prepared.context.work / 'logs' / f'{name}.tests', bar)
        bar.clear()
        report.verdict('tests', {name} if faults else set(), [name])
        report.result['tests'][name] = faults
        if faults:
            report.fault(f'{name}: its tests do not prove it', faults,
                         f'{prepared.command("patched", alone)}, then edit them and make refresh')
        else:
            report.say(f'the tests of {name} fail without it and pass with it')
        keep(prepared, report)         # each takes minutes


def check_mutations(prepared, applied, report):
    """Every mutation fits the source with the series: those that do not are faults."""
    state = applied.state(tuple(prepared.needs))
    if state is not None:
        found = mutate.stale(prepared.facts, state, report.tree, prepared.needs)
        for name, faults in found.items():
            report.verdict('mutations', {name}, [name])
            report.faults += [f'{report.tree}: {fault}' for fault in faults]


def chosen_mutations(prepared, only):
    """{patch: its mutations}: of the patches named, or all that the record does not have."""
    tree = prepared.context.tree
    for name in only:
        if name not in prepared.needs:
            raise Failure(f"no patch '{name}' in the series of tree {tree}",
                          f'known patches: {" ".join(prepared.needs)}')
        if not mutations.files(tree, name):
            raise Failure(f'there are no mutations of {name}',
                          f'add some: tests/mutations/common/{name}.toml')
    names = only or [name for name in prepared.missing('mutations')
                     if mutations.files(tree, name)]
    return {name: mutations.load(tree, name) for name in names}


def run_mutations(prepared, applied, report, only):
    """Each mutation fails the test that it names, which passes without it."""
    report.result['mutations'] = {}
    state = applied.state(tuple(prepared.needs))
    if state is None:
        return
    build = prepared.debug_source()
    for name, of in chosen_mutations(prepared, only).items():
        if report.verdicts[name].get('mutations') == 'no':
            continue                    # one of them does not fit
        build.prepare(report.say)
        bar = Progress(f'{report.tree}: builds for the mutations of {name}')
        outcomes = mutate.check_mutations(build, prepared.patches[name], state, of,
                                          build.work / 'logs', bar)
        bar.clear()
        wrong = [(mutation, text) for mutation, text in outcomes if text]
        for mutation, text in wrong:
            report.fault(f'{name}, mutation {mutation.name}: {text}', [mutation.breaks],
                         f'make the test see it, or mend {mutation.place}')
        report.verdict('mutations', {name} if wrong else set(), [name])
        report.say(f'the tests of {name} see {len(outcomes) - len(wrong)} of {len(outcomes)} '
                   'mutations')
        report.result['mutations'][name] = {
            mutation.name: {'breaks': mutation.breaks, 'test': mutation.test, 'wrong': text}
            for mutation, text in outcomes}
        keep(prepared, report)


def keep(prepared, report):
    """Writes the result, and the record where it is about the pinned release."""
    report.result |= {'verdicts': report.verdicts, 'faults': report.faults,
                      'seconds': round(time.monotonic() - report.begun, 1)}
    write_whole(prepared.context.work / 'result.json',
                json.dumps(report.result, indent=1) + '\n')
    if prepared.pinned:
        record.update(report.tree, prepared.about, report.verdicts,
                      datetime.date.today().isoformat())


NOBODY_HAS_IT = 4       # the exit status of build/fetch


class NoTarball(Failure):
    """A release that cannot be had here."""


def fetch(context):
    """Brings the tarball of a context to the cache, verified.  Raises NoTarball, or Failure where
    there is one that is not right."""
    if not os.environ.get('TARBALL') and tarballs.is_verified(context.version, context.sha256):
        return
    done = subprocess.run([TOP / 'build/fetch'], check=False, stdin=subprocess.DEVNULL,
                          env=environment(TREE=context.tree, PATCHES='none'))
    if done.returncode == NOBODY_HAS_IT:
        raise NoTarball(f'{context.tree}: not proven, for its tarball cannot be had')
    if done.returncode:
        raise Failure(f'{context.tree}: not proven, for its tarball is wrong or cannot be kept',
                      'build/fetch has said why')


def prove(tree, how, only=()):
    """Proves a tree; returns its faults, an empty list where it is right.

    `how` is quick (nothing is compiled), compile, tests, missing (as tests, but only what the
    record has not), or mutations (as quick, and those of the patches in `only`, or all that the
    record has not).  Each step's verdicts are recorded before the next one begins, which
    may be interrupted.
    """
    report = Report(tree)
    pin = pins.read(tree)
    if not check(report):
        return report.faults
    context = resolve(tree, {**os.environ, 'PATCHES': 'none'}).at('prove')
    fetch(context)
    pinned = context.sha256 == pin['SHA256']
    with locked(context):
        known = how in ('missing', 'mutations') and pinned
        recorded = record.verdicts(tree) if known else {}
        prepared = prepare(context, pinned, recorded)
        describe(prepared, report)
        check_options(prepared, report)
        applied = apply_series(prepared, report)
        keep(prepared, report)
        check_refresh(prepared, applied, report)
        check_mutations(prepared, applied, report)
        if how == 'mutations':
            run_mutations(prepared, applied, report, only)
        keep(prepared, report)
        if how in ('quick', 'mutations'):
            return report.faults
        compiled = compile_alone(prepared, applied, report)
        keep(prepared, report)
        if how != 'compile':
            run_tests(prepared, applied, report)
        if compiled:                    # this takes longest, so it comes last
            compile_together(prepared, applied, compiled, report)
        keep(prepared, report)
    return report.faults
