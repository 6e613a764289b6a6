"""The objects of a build that a subset of patches can change: the proofs compile those,
and no object that is vanilla's with the subset, too.

A file is reached that a patch touches, and one whose #include may mean a reached file: that beside
it, or else any that has the name with the directories that the line gives.
"""
import os
import posixpath
import re
from dataclasses import dataclass

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.M)
SOURCES = {'.c', '.cc', '.cpp', '.cxx', '.h', '.hh', '.hpp', '.hxx', '.i', '.ic', '.inc', '.inl',
           '.ipp', '.tpp'}
SKIPPED = {'mysql-test', 'man', 'support-files'}
BUILD = 'builddir'


def is_source(path):
    """Whether a path names a file of C or C++."""
    return posixpath.splitext(path)[1] in SOURCES


def sources(directory):
    """The files of C and C++ below a directory, relative to it, without those of builds."""
    for at, below, files in os.walk(directory):
        below[:] = [name for name in below if name not in SKIPPED and not name.startswith(BUILD)]
        for name in filter(is_source, files):
            yield os.path.relpath(os.path.join(at, name), directory)


@dataclass(frozen=True)
class Reach:
    """The reach of some paths of a source: these files, and all below these directories."""
    files: frozenset
    below: tuple

    def __contains__(self, file):
        """Whether an object may change that is made from this file, a path relative to the
        source; one that is generated, in a build directory, always may."""
        return file in self.files or file.startswith((BUILD, '../', *self.below))


class Includes:
    """The #include lines of a source in its vanilla state.

    `directory` has the source in any state, `vanilla` the {path: content, None for none} of each
    path that may not be vanilla there."""

    def __init__(self, directory, vanilla):
        self.by_name = {}       # what is included, without directories: [(file, said, beside)]
        files = {*sources(directory), *filter(is_source, vanilla)}
        for file in files:
            if file in vanilla:
                text = vanilla[file] or b''
            else:
                with open(os.path.join(directory, file), 'rb') as opened:
                    text = opened.read()
            for quote, said in set(INCLUDE.findall(text)):
                said = os.fsdecode(said)
                beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), said))
                self.by_name.setdefault(posixpath.basename(said), []).append(
                    (file, said.rpartition('../')[2],
                     beside if quote == b'"' and beside in files else None))

    def reach(self, paths):
        """The Reach of paths.

        CMakeLists.txt reaches all that is below it.  Another file that is not of C or C++ does
        so where its directory has a CMakeLists.txt among the paths, and else reaches the whole
        build."""
        ruled = {posixpath.dirname(path) for path in paths
                 if posixpath.basename(path) == 'CMakeLists.txt'}
        other = {posixpath.dirname(path) for path in paths if not is_source(path)}
        below = {f'{directory}/' if directory and directory in ruled else ''
                 for directory in other}
        reached = set(filter(is_source, paths))
        todo = list(reached)
        while todo:
            name = todo.pop()
            for file, said, beside in self.by_name.get(posixpath.basename(name), ()):
                if file not in reached and (beside == name if beside
                                            else f'/{name}'.endswith(f'/{said}')):
                    reached.add(file)
                    todo.append(file)
        return Reach(frozenset(reached), tuple(below))
