"""A throw-away git repository, in which a series is applied and merged without a work tree."""
import io
import re
import subprocess
from dataclasses import dataclass

from millrace.command import environment
from millrace.errors import Failure
from millrace.patches import diff

# what the three-way merge and the names of functions need to know
CONFIG = {'user.name': 'millrace', 'user.email': 'millrace@localhost.invalid',
          'core.autocrlf': 'false', 'merge.conflictStyle': 'zdiff3', 'merge.renames': 'true',
          'gc.auto': '0',
          # it is soon thrown away
          'core.compression': '0'}
ENDINGS = ('c', 'cc', 'cpp', 'h', 'hpp', 'ic', 'yy')
ATTRIBUTES = ''.join(f'*.{ending} diff=cpp\n' for ending in ENDINGS)
# git takes any line that begins with a letter for a head, those of a comment too
HEAD = re.compile(r'\(|^(class|struct|union|enum|static|const|namespace)\b')


@dataclass(frozen=True)
class Merge:
    """The outcome of a three-way merge: a git tree (with markers), the paths in conflict, and
    git's messages about them."""
    tree: str
    conflicts: tuple
    messages: tuple


class Repository:
    """Trees of files are named by git's ids; nothing is ever checked out but on demand."""

    def __init__(self, path):
        self.path = path
        self._index = None      # the git tree that the index has, where that is known
        path.mkdir(parents=True)
        self._git('init', '--quiet', '--bare', '--template=')
        (path / 'info').mkdir()
        (path / 'info/attributes').write_text(ATTRIBUTES, encoding='ascii')
        with (path / 'config').open('a', encoding='ascii') as file:
            for name, value in CONFIG.items():
                section, key = name.split('.')
                file.write(f'[{section}]\n{key} = {value}\n')

    def _git(self, *words, check=True, data=None):
        """Runs git here, whatever the caller's environment and configuration say."""
        env = environment(LC_ALL='C', HOME=self.path, GIT_CONFIG_NOSYSTEM=1, GIT_DIR=self.path,
                          GIT_AUTHOR_DATE='@0 +0000', GIT_COMMITTER_DATE='@0 +0000',
                          GIT_INDEX_FILE=self.path / 'index')
        env.pop('XDG_CONFIG_HOME', None)
        done = subprocess.run(['git', *words], env=env, check=False, capture_output=True,
                              input=data, cwd=self.path)
        if check and done.returncode:
            raise Failure(f'git {words[0]} failed', done.stderr.decode(errors='replace'))
        return done

    def _ask(self, *words, **options):
        return self._git(*words, **options).stdout.decode(errors='surrogateescape').strip()

    def tree(self, directory):
        """The git tree of all files of a directory."""
        self._git('read-tree', '--empty')
        self._git('-C', str(directory), f'--work-tree={directory}', 'add', '--all', '--force', '.')
        return self._written()

    def _written(self):
        """The git tree of the index."""
        self._index = self._ask('write-tree')
        return self._index

    def apply(self, tree, patch):
        """The git tree with a patch applied without fuzz, or None and git's message."""
        if tree != self._index:
            self._git('read-tree', tree)
        self._index = None
        done = self._git('apply', '--cached', '--whitespace=nowarn', '-', data=patch, check=False)
        if done.returncode:
            return None, done.stderr.decode(errors='replace')
        return self._written(), ''

    def merge(self, base, ours, theirs, labels):
        """Three git trees merged; `labels` name the two sides in the markers."""
        root = self._ask('commit-tree', '-m', 'base', base)
        for label, tree in zip(labels, (ours, theirs)):
            commit = self._ask('commit-tree', '-p', root, '-m', label, tree)
            self._git('update-ref', f'refs/heads/{label}', commit)
        done = self._git('merge-tree', '--write-tree', '-z', *labels, check=False)
        if done.returncode not in (0, 1):
            raise Failure('git merge-tree failed', done.stderr.decode(errors='replace'))
        first, _, rest = done.stdout.decode(errors='surrogateescape').partition('\0')
        if done.returncode == 0:
            return Merge(first, (), ())
        listed, _, told = rest.partition('\0\0')
        paths = sorted({entry.partition('\t')[2] for entry in listed.split('\0') if '\t' in entry})
        messages = re.findall(r'CONFLICT [^\0]*?: ([^\0]*?)\n?\0', told + '\0')
        return Merge(first, tuple(paths), tuple(messages))

    def changed(self, old, new):
        """The paths that differ between two git trees, sorted."""
        names = self._ask('diff-tree', '-r', '--no-renames', '--name-only', '-z', old, new)
        return sorted(set(names.split('\0')) - {''})

    def read(self, tree, paths):
        """{path: bytes} of these files of a git tree; None for a path at which it has none."""
        asked = ''.join(f'{tree}:{path}\n' for path in paths)
        told = io.BytesIO(self._git('cat-file', '--batch', data=diff.encode(asked)).stdout)
        found = {}
        for path in paths:
            # id, kind and size, or what was asked and the word missing
            *_, kind, size = told.readline().split()
            content = None if size == b'missing' else told.read(int(size) + 1)[:-1]
            found[path] = content if kind == b'blob' else None
        return found

    def write(self, tree, paths, directory):
        """Writes these files of a git tree under a directory; removes those that it has not."""
        for path, text in self.read(tree, paths).items():
            target = directory / path
            target.unlink(missing_ok=True)
            if text is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text)

    def functions(self, old, new, path):
        """The functions of a file in which two git trees differ, as git names them."""
        text = self._git('diff-tree', '-p', '-U0', '--no-renames', old, new, '--', path).stdout
        return {hunk.section for entry in diff.parse(text.decode(errors='replace'))
                for hunk in entry.hunks if HEAD.search(hunk.section)}
