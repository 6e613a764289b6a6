"""All proofs of a tree, in their order: lint, application, refresh, compilation, tests."""
import datetime
import fcntl
import itertools
import json
import re
import time
from pathlib import Path

from millrace import apply, lint, record, refresh, road, series, tested
from millrace.buildtree import BuildTree, added
from millrace.kept import Kept
from millrace.patchfile import is_test, read
from millrace.progress import Progress

# what takes longest stands last
STEPS = {'quick': ('apply', 'refresh'),
         'compile': ('apply', 'refresh', 'compile_alone', 'compile_together'),
         'tests': ('apply', 'refresh', 'compile_alone', 'test', 'compile_together')}
STEPS['missing'] = STEPS['tests']


def to_compile(needs, patches):
    """The subsets that are compiled: each alone, without each, all, and pairs on the same file."""
    names = list(needs)
    chosen = {series.closure([name], needs) for name in names}
    chosen |= {tuple(other for other in names if name not in series.closure([other], needs)) for name in names}
    chosen |= {series.closure(pair, needs) for pair in itertools.combinations(names, 2)
               if any(not is_test(path) for path in set(patches[pair[0]].paths) & set(patches[pair[1]].paths))}
    chosen.add(tuple(names))
    return sorted(chosen - {()}, key=lambda subset: [names.index(name) for name in subset])


def faulty(outcome):
    """Whether a compilation failed or warns of something new."""
    return bool(outcome.get('failed') or outcome.get('added'))


class Proof:
    """The proofs of one tree; `faults` are texts that end with the command that mends.

    `recorded`, which prepare() must precede, is what need not be proven again, as
    record.verdicts() has it.
    """

    def __init__(self, tree):
        if tree not in series.trees():
            raise road.RoadError(f'no release tree {tree}: there is no trees/{tree}.conf\n'
                                 f'  known trees: {" ".join(series.trees())}')
        self.tree, self.faults, self.begin = tree, [], time.monotonic()
        self.result = {'tree': tree}
        self.found = {}         # {patch: {proof: verdict}}, see record.PROOFS
        self.recorded = {}

    def say(self, text):
        """One line about the tree."""
        print(f'{self.tree}: {text}', flush=True)

    def fault(self, text, details, mend):
        """Keeps a fault, the first lines that show it, and what mends it."""
        self.faults.append('\n    '.join([f'{self.tree}: {text}', *details[:8]]) + f'\n  mend: {mend}')

    def missing(self, proof):
        """The patches of which the record does not have it."""
        return [name for name in self.needs if self.recorded.get(name, {}).get(proof) != 'yes']

    def verdict(self, proof, faulty, names=None):
        """A verdict of every patch, or of some: no for those that are faulty."""
        for name in self.needs if names is None else names:
            self.found.setdefault(name, {})[proof] = 'no' if name in faulty else 'yes'

    def label(self, subset):
        """A subset as PATCHES= has it."""
        return 'all' if subset == tuple(self.needs) else ' '.join(subset) or 'none'

    def edit(self, subset):
        """The command that opens a subset for editing."""
        return f'make patched TREE={self.tree} PATCHES="{self.label(subset)}"'

    def lint(self):
        """The series, the headers and the texts: nothing is applied unless they are right."""
        faults = lint.check_tree(self.tree)
        self.faults += [f'{self.tree}: {fault}' for fault in faults]
        if not faults:
            self.say('the series and the headers are right')
        return not faults

    def prepare(self):
        """What the other proofs begin with: the environment, the tarball, the patches, vanilla."""
        self.environ = road.environment(self.tree)
        road.fetch(self.environ)
        self.pinned = self.environ['SHA256'] == series.release(self.tree)['SHA256']    # the record is about that release
        self.work = Path(self.environ['WORK'])
        self.kept = Kept(self.work)
        (self.work / 'logs').mkdir(exist_ok=True)
        self.lock = (self.work / '.lock').open('w')
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise road.RoadError(f'{self.tree}: another make prove is at work in {self.work}\n'
                                 '  wait until it is done') from None
        self.needs = series.depends(self.tree)
        self.patches = {name: read(series.patch_file(self.tree, name)) for name in self.needs}
        self.vanilla = self.vanilla_of({path for patch in self.patches.values() for path in patch.paths})
        self.source = BuildTree(self.environ, self.kept, self.vanilla_of)
        self.result |= {'release': self.environ['VERSION'], 'tarball': self.environ['SHA256'],
                        'patches': {name: {'sha256': patch.sha256, 'needs': self.needs[name], 'files': patch.paths}
                                    for name, patch in self.patches.items()}}

    def vanilla_of(self, paths):
        """Vanilla state of some paths."""
        return apply.vanilla(self.kept, self.environ['TARBALL_FILE'], self.environ['SHA256'], paths)

    def apply(self):
        """Every subset applies."""
        subsets = series.closed_subsets(self.needs)
        bar = Progress(f'{self.tree}: applies')
        self.applied = apply.apply_subsets(self.kept, self.patches, subsets, self.vanilla, bar)
        bar.clear()
        failed = {outcome['at']: outcome['failed'] for outcome in self.applied.values() if 'failed' in outcome}
        for at, said in failed.items():
            if any(set(other) < set(at) and other[-1] == at[-1] for other in failed):
                continue        # a smaller subset says it already
            name, after = at[-1], at[:-1]
            after = f' after {self.label(after)}' if after else ''
            self.fault(f'{name} does not apply to {self.environ["VERSION"]}{after} with fuzz 0', said,
                       self.edit(at) + ' stops there, and says how to go on')
        self.verdict('applies alone', {name for name in self.needs
                                       if 'failed' in self.applied[series.closure([name], self.needs)]})
        self.verdict('in every subset', {at[-1] for at in failed})
        right = sum('state' in outcome for outcome in self.applied.values())
        self.say(f'{right} of {len(subsets)} subsets apply with fuzz 0')
        self.result['subsets'] = [{'patches': subset, 'applies': 'state' in outcome,
                                   **{key: outcome[key] for key in ('failed', 'at', 'moved') if outcome.get(key)}}
                                  for subset, outcome in self.applied.items()]

    def refresh(self):
        """Refreshing the whole series changes nothing."""
        if 'failed' in self.applied[tuple(self.needs)]:
            return
        found = refresh.unchanged(self.kept, self.patches, self.vanilla)
        names = list(self.needs)
        for name in (name for name in names if found[name]):
            prefix = tuple(names[:names.index(name) + 1])
            self.fault(f'{name} is not as make refresh writes it', found[name],
                       self.edit(prefix) + ' && ' + self.edit(prefix).replace('patched', 'refresh'))
        self.verdict('refresh', {name for name in names if found[name]})
        if not any(found.values()):
            self.say('refresh changes nothing')
        self.result['refresh'] = found

    def compile_alone(self):
        """Each patch compiles on what it needs, without a warning that vanilla has not."""
        self.outcomes = {}
        alone = {name: series.closure([name], self.needs) for name in self.missing('builds alone')}
        if not alone and not self.missing('with the others'):
            return
        vanilla = self.compiled((), None)
        if 'failed' in vanilla:
            raise road.RoadError('\n    '.join([f'{self.tree}: vanilla {self.environ["VERSION"]} does not compile here',
                                               *vanilla['failed']]) + f'\n  mend: build/setup; see {self.log(())}')
        self.warned = vanilla['warnings']
        self.outcomes = {subset: self.compiled(subset, self.warned)     # of these subsets and no others
                         for subset in alone.values() if 'state' in self.applied[subset]}
        self.verdict('builds alone', {name for name, subset in alone.items() if subset not in self.outcomes
                                      or faulty(self.outcomes[subset])}, alone)

    def compile_together(self):
        """So does all else that is compiled; tells what does not."""
        missing, everything = self.missing('with the others'), tuple(self.needs)
        proven = {series.closure([name], self.needs) for name in self.needs} - {everything} if self.recorded else set()
        subsets = [subset for subset in to_compile(self.needs, self.patches) if 'state' in self.applied[subset]
                   and (subset in self.outcomes or missing and subset not in proven)]
        if not subsets:
            return
        outcomes = {subset: self.outcomes.get(subset) or self.compiled(subset, self.warned) for subset in subsets}
        bad = {subset for subset, outcome in outcomes.items() if faulty(outcome)}
        told = {}
        for subset in sorted(bad, key=len):
            if 'failed' in outcomes[subset]:
                what, said = 'does not compile', outcomes[subset]['failed']
            else:
                what, said = 'has warnings that vanilla has not', outcomes[subset]['added']
            told[subset] = {re.sub(r':\d+', '', line) for line in said}
            if any(set(other) < set(subset) and told[subset] <= told[other] for other in told):
                continue        # a smaller subset says it already
            self.fault(f'{self.label(subset)} {what}', said,
                       self.edit(subset) + f', then edit and make refresh; all that was said: {self.log(subset)}')
        if missing:
            self.verdict('with the others', set(self.needs) if everything not in outcomes else
                         {name for subset in bad if subset not in self.outcomes or subset == everything for name in subset})
        self.say(f'{len(outcomes) - len(bad)} of {len(outcomes)} subsets compile without a new warning; objects changed: '
                 + ', '.join(f'{self.label(subset)} {outcome.get("changed", "-")}'
                             for subset, outcome in outcomes.items()))
        self.result['compiled'] = [{'patches': subset, **outcome} for subset, outcome in outcomes.items()]

    def log(self, subset):
        """The log of a subset's compilation."""
        return self.work / 'logs' / f'{self.label(subset).replace(" ", "+")}.log'

    def compiled(self, subset, vanilla):
        """Compiles a subset: with `vanilla`, the warnings there, also which are added."""
        self.source.prepare(self.say)
        bar = Progress(f'{self.tree}: compiles {self.label(subset) if subset else "vanilla"}')
        outcome = self.source.warnings(self.applied[subset]['state'], self.log(subset), bar)
        bar.clear()
        if vanilla is None or 'failed' in outcome:
            return outcome
        return {'compiled': outcome['compiled'], 'changed': outcome['changed'],
                'added': [f'{name}: {warning}' for name, warning in added(outcome['warnings'], vanilla)]}

    def test(self):
        """Each patch's own tests fail without it and pass with it alone."""
        self.result['tests'] = {}
        for name, patch in self.patches.items():
            alone = series.closure([name], self.needs)
            without = tuple(other for other in alone if other != name)
            if 'failed' in self.applied[alone] or 'failed' in self.applied[without] or name not in self.missing('tests'):
                continue
            self.source.prepare(self.say)
            logs = self.work / 'logs' / f'{name}.tests'
            bar = Progress(f'{self.tree}: builds for the tests of {name}')
            faults = tested.tested(self.source, patch, self.applied[without]['state'], self.applied[alone]['state'],
                                   logs, bar)
            bar.clear()
            self.found[name]['tests'] = 'no' if faults else 'yes'
            self.result['tests'][name] = faults
            if faults:
                self.fault(f'{name}: its tests do not prove it', faults,
                           f'{self.edit(alone)}, then edit them and make refresh')
            else:
                self.say(f'the tests of {name} fail without it and pass with it')
            self.keep()         # each takes minutes

    def keep(self):
        """Writes the result, and the record where it is about the pinned release."""
        self.result |= {'verdicts': self.found, 'faults': self.faults,
                        'seconds': round(time.monotonic() - self.begin, 1)}
        part = self.work / 'result.json.part'
        part.write_text(json.dumps(self.result, indent=1) + '\n', encoding='utf-8')
        part.replace(self.work / 'result.json')
        if self.pinned:
            record.update(self.tree, self.found, datetime.date.today().isoformat())


def prove(tree, how):
    """Proves a tree by the steps of `how`, a key of STEPS: its faults.

    What a step found is recorded before the next one begins, which may be interrupted.
    """
    proof = Proof(tree)
    if not proof.lint():
        return proof.faults
    proof.prepare()
    if how == 'missing' and proof.pinned:
        proof.recorded = record.verdicts(tree)
    for step in STEPS[how]:
        getattr(proof, step)()
        proof.keep()
    proof.lock.close()
    return proof.faults
