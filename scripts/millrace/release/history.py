"""The releases of a tree in git's history, and what came, went and changed between two of them.

A release is a signed tag, release/<revision>, on the commit that it was made from.
"""
import dataclasses
import subprocess

from millrace import TOP, released
from millrace.command import environment, output
from millrace.errors import Failure
from millrace.patches import diff, header, series
from millrace.upstream import pins

# besides the patches, what the packages are made from
PACKAGING = ('build/cmake', 'build/compiler', 'debian', 'rpm')
UNSHOWN = ('Last-Update', 'Train')      # fields of a header that are not news to a user


def git(*words):
    """The output of git in the checkout; raises Failure."""
    try:
        return output('git', '-c', 'gpg.format=openpgp', *words, cwd=TOP, stderr=subprocess.PIPE)
    except subprocess.CalledProcessError as error:
        raise Failure(f'git {words[0]} failed', *error.stderr.splitlines()[-5:]) from None


def file_at(commit, path):
    """The bytes of a file at a commit; None where it has none of this name."""
    done = subprocess.run(['git', 'cat-file', 'blob', f'{commit}:{path}'], cwd=TOP, check=False,
                          capture_output=True, env=environment())
    return None if done.returncode else done.stdout


def tag_of(revision):
    """The name of the tag of a release."""
    return f'release/{revision}'


def has_tag(revision):
    """Whether the checkout has the tag of a release."""
    return bool(git('tag', '--list', tag_of(revision)))


@dataclasses.dataclass(frozen=True)
class Point:
    """A commit at which a tree is looked at: a release's tag, or HEAD."""
    commit: str
    tree: str

    def text(self, path):
        """The text of a file; '' where there is none."""
        return (file_at(self.commit, path) or b'').decode('utf-8', 'surrogateescape')

    @property
    def pin(self):
        """{name: value} of the tree's pin.conf; none where there is no such tree."""
        return pins.parse(self.text(f'trees/{self.tree}/pin.conf'))

    @property
    def revision(self):
        """The revision that the tree is at: 10.11.18-1."""
        return f'{self.pin.get("VERSION")}-{self.pin.get("REVISION")}'

    def patch_file(self, name):
        """The path of a patch."""
        return f'patches/{self.tree}/{name}.patch'

    @property
    def patches(self):
        """{name: text} of the tree's patches, in series order."""
        return {name: text for name in series.listed(self.text('series'))
                if (text := self.text(self.patch_file(name)))}


def releases(tree, known=()):
    """The Points of the tree's releases before HEAD, but for the revisions that are known, the
    newest first."""
    if not git('tag', '--list', tag_of('*')):
        return      # there may be no HEAD, either
    for tag in git('tag', '--list', tag_of('*'), '--merged', 'HEAD',
                   '--sort=-version:refname').split():
        point = Point(tag, tree)
        if tag not in map(tag_of, known) and tag == tag_of(point.revision):
            yield point


def last_release(tree):
    """The Point of the tree's newest release before HEAD, or None."""
    return next(releases(tree), None)


def unrecorded(tree):
    """{revision: release}, as released.read() has them: the releases of the tree before the
    pinned revision that it does not have."""
    pin = pins.read(tree)
    known = [f'{pin["VERSION"]}-{pin["REVISION"]}', *released.read(tree)]
    return {point.revision: {'date': point.pin['DATE'],
                             'patches': released.described(point.patches)}
            for point in releases(tree, known)}


@dataclasses.dataclass(frozen=True)
class Change:
    """The change of a patch: `what` is new, changed or gone; `how`, of one that changed, and
    the subjects of the commits that did it."""
    name: str
    what: str
    header: header.Header
    how: tuple = ()
    why: tuple = ()


def _how(before, after):
    """How the patch changed, as texts: fields of its header, files of its diff."""
    old, new = (header.parse('', text).fields for text in (before, after))
    fields = [field for field in dict.fromkeys([*old, *new])
              if field not in UNSHOWN and old.get(field) != new.get(field)]
    old, new = ({entry.path: entry for entry in diff.parse(text)} for text in (before, after))
    moved, other = [], []
    for path in sorted({*old, *new}):
        pair = [[hunk.changes for hunk in each[path].hunks] if path in each else None
                for each in (old, new)]
        if pair[0] != pair[1]:
            other.append(path)
        elif old[path] != new[path]:
            moved.append(path)
    if fields:
        yield 'header: ' + ', '.join(fields)
    if other:
        yield 'other changes in ' + ', '.join(path.rpartition('/')[2] for path in other)
    elif moved:
        yield 'the same changes, carried to other lines'


def commits(before, after, *paths):
    """The subjects of the commits between two Points that touch these paths, the first first."""
    return tuple(git('log', '--reverse', '--no-merges', '--format=%s',
                     f'{before.commit}..{after.commit}', '--', *paths).splitlines())


def changes(before, after):
    """The Changes between two Points, in series order, those that are gone last; before the
    first release there was no patch."""
    old, new = before.patches if before else {}, after.patches
    made = []
    for name, text in new.items():
        if name not in old:
            made.append(Change(name, 'new', header.parse(name, text)))
        elif how := tuple(_how(old[name], text)):
            made.append(Change(name, 'changed', header.parse(name, text), how,
                               commits(before, after, after.patch_file(name))))
    return made + [Change(name, 'gone', header.parse(name, text),
                          why=commits(before, after, before.patch_file(name)))
                   for name, text in old.items() if name not in new]
