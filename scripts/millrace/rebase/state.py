"""An unfinished rebase: which series is carried, which patches are done, which conflicts."""
import shutil
import subprocess
import time
from pathlib import Path

from millrace import TOP
from millrace.command import environment, step
from millrace.errors import Failure
from millrace.files import write_whole
from millrace.patches import diff, quilt, series
from millrace.rebase.report import markers
from millrace.upstream import pins, tarballs


def repinned(conf, version):
    """The text of a pin.conf, with this release in it and the date of today."""
    return pins.pinned(conf, version, tarballs.sha256(version),
                       time.strftime('%Y-%m-%d', time.gmtime()))


class State:
    """The directory work/<tree>/rebase-<version> and what is kept in it."""

    def __init__(self, tree, version):
        self.tree, self.version = tree, version
        self.path = TOP / 'work' / tree / f'rebase-{version}'
        self.patches = self.path / 'patches'            # what is carried
        self.origin = self.path / 'from'                # the series as it was at the beginning
        self.conf = self.path / 'tree.conf'             # written when the rebase has begun
        self.source = self.path / 'all' / f'mariadb-{version}'
        self.conflict_file = self.path / 'conflict'
        self.by_hand_file = self.path / 'by-hand'
        self.dropped_file = self.path / 'dropped'       # written when all is carried

    @property
    def begun(self):
        """Whether a rebase to this release is under way."""
        return self.conf.exists()

    @property
    def refresh(self):
        """The command that takes edits of the source into its top patch."""
        return f'make refresh TREE={self.tree} VERSION={self.version}'

    @property
    def anew(self):
        """The command that gives the rebase up."""
        return f'begin it anew: rm -r {self.path.relative_to(TOP)}'

    def begin(self, old):
        """Begins with the series that is carried, {name: text}."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.origin.mkdir(parents=True)
        self.patches.mkdir()
        for name, text in old.items():
            (self.origin / f'{name}.patch').write_bytes(diff.encode(text))
        self.write_series([])
        # the last, as it says that the rebase has begun
        write_whole(self.conf, repinned(pins.pin_file(self.tree).read_text(encoding='utf-8'),
                                        self.version))

    def check_unchanged(self, old):
        """Raises Failure if the series, {name: text}, has changed since the rebase began."""
        began = {path.stem: diff.read(path) for path in self.origin.glob('*.patch')}
        changed = [name for name in {**began, **old} if old.get(name) != began.get(name)]
        if changed:
            raise Failure(f'patches/{self.tree} has changed since this rebase began: '
                          + ' '.join(changed), self.anew)

    def carried(self):
        """The carried patches, {name: text}: not the one in conflict, nor an empty one that an
        interrupted run left."""
        texts = {path.stem: diff.read(path) for path in self.patches.glob('*.patch')}
        return {name: text for name, text in texts.items()
                if name != self.conflict() and diff.parse(text)}

    def by_hand(self):
        """The patches that a person has resolved."""
        file = self.by_hand_file
        return file.read_text(encoding='utf-8').split() if file.exists() else []

    def conflict(self):
        """The patch that a person has to resolve, or None."""
        return self.conflict_file.read_text().strip() if self.conflict_file.exists() else None

    def write_series(self, names):
        """Writes the series of the patched source: the carried patches and the one in conflict."""
        (self.path / 'series').write_text(''.join(f'{name}\n' for name in names), encoding='utf-8')

    def refuse_edits(self):
        """Raises Failure where the source, which is about to be removed, has edits that no
        patch holds."""
        done = subprocess.run([TOP / 'build/lib/unsaved'], check=False, text=True,
                              stdout=subprocess.PIPE,
                              env=environment(TREE=self.tree, VERSION=self.version, PATCHES='all'))
        if done.returncode or done.stdout:
            raise Failure(f'{self.source} has edits that no patch holds' if done.stdout
                          else f'{self.source} cannot be compared with its patches', done.stdout,
                          f'see them: {self.source.parent}/unsaved.diff' if done.stdout else '',
                          f'keep them: {self.refresh}' if done.stdout else self.anew)

    def take_resolved(self):
        """Takes the patch that was in conflict as done, once the refreshed patch shows it."""
        name = self.conflict()
        if not name:
            self.refuse_edits()
            shutil.rmtree(self.path / 'all', ignore_errors=True)    # of an interrupted run
            return
        patch = self.patches / f'{name}.patch'
        try:
            top = Path(quilt.quilt(self.source, 'top').strip()).stem
            edits = quilt.quilt(self.source, 'diff', '-z') if top == name else ''
        except (Failure, OSError) as error:
            raise Failure(f'{self.source} is not in the state that a rebase left', str(error),
                          self.anew) from error
        text = diff.read(patch)
        before = diff.read(self.origin / f'{name}.patch')
        left = markers(diff.split(text)[1], before) or markers(edits, before)
        if left:
            raise Failure(f"patch '{name}' still has conflicts in {self.source}", *left[:6],
                          f'resolve them, then: {self.refresh}')
        if edits or not diff.parse(text):
            raise Failure(f"the resolved patch '{name}' has not been taken back from "
                          f'{self.source}', self.refresh)
        self.refuse_edits()
        self.by_hand_file.write_text('\n'.join([*self.by_hand(), name]), encoding='utf-8')
        self.conflict_file.unlink()

    def leave_conflict(self, repository, results, result):
        """Makes the patched source in which a conflict is resolved."""
        names = [other.name for other in results[:results.index(result)] if not other.upstream]
        self.write_series(names)
        build = {'TREE': self.tree, 'VERSION': self.version, 'PATCHES': 'all'}
        step('apply', **build)
        # until the source is there whole, nobody has edited it
        (self.source.parent / 'patched').unlink()
        paths = sorted({*repository.changed(result.before, result.merged), *result.conflicts})
        patch = self.patches / f'{result.name}.patch'
        header = diff.split(diff.read(self.origin / f'{result.name}.patch'))[0]
        quilt.begin(self.source, patch, header, repository, result.merged, paths)
        self.write_series([*names, result.name])
        for path in result.deletes:     # of which git keeps upstream's
            (self.source / path).unlink(missing_ok=True)
        self.conflict_file.write_text(f'{result.name}\n', encoding='utf-8')
        step('lib/unsaved', '--record', **build)

    def install(self):
        """Writes the carried series and the pin of its release, and forgets the rebase; an
        interrupted install is begun again."""
        dropped = self.dropped_file.read_text(encoding='utf-8').split()
        for name in dropped:
            series.patch_file(self.tree, name).unlink(missing_ok=True)
            series.forget(name)
        for name, text in self.carried().items():
            if name not in dropped:
                write_whole(series.patch_file(self.tree, name), text)
        # the rest of it may have changed since the rebase began
        pin = pins.pin_file(self.tree)
        write_whole(pin, repinned(pin.read_text(encoding='utf-8'), self.version))
        shutil.rmtree(self.path)
