"""The inputs of a step of the road, as one hash that changes with any of them.

Usage: scripts/python -m millrace.inputs STEP...

Prints a line for each step: its name and its hash.  build/lib/inputs says which files of the
checkout a step is made from.
"""
import functools
import hashlib
import os

from millrace import TOP, released
from millrace.command import environment, output, run_command
from millrace.context import resolve
from millrace.errors import Failure

FILE = TOP / 'build/lib/inputs'


def steps():
    """{step: the paths that build/lib/inputs lists for it, in its order}."""
    listed = {}
    for line in FILE.read_text(encoding='utf-8').splitlines():
        names, _, paths = line.partition(':')
        if paths and not line.startswith('#'):
            for name in names.split():
                listed.setdefault(name, []).extend(paths.split())
    return listed


def _files(path):
    """A file, or every file of a directory, sorted.  Raises Failure if `path` is missing."""
    if path.is_dir() and not path.is_symlink():
        found = (os.path.join(directory, name) for directory, below, names in os.walk(path)
                 for name in [*names, *(name for name in below
                                        if os.path.islink(os.path.join(directory, name)))]
                 if '__pycache__' not in directory)
        return sorted(found)
    if not os.path.lexists(path):
        raise Failure(f'{path.relative_to(TOP)} is missing, from which the packages are made',
                      f'git checkout {path.relative_to(TOP)}')
    return [path]


@functools.cache    # several steps have the same inputs
def _printed(path):
    """The output of a program of the checkout, on one line."""
    _files(path)
    return '; '.join(output(path, env=environment(LC_ALL='C')).splitlines())


@functools.cache
def _file(path):
    """The state of a file: a link and its target, or its content and whether it is executable."""
    if os.path.islink(path):
        return f'link {os.readlink(path)}'
    with open(path, 'rb') as file:
        content = hashlib.file_digest(file, 'sha256').hexdigest()
    return f'{"program" if os.stat(path).st_mode & 0o100 else "file"} {content}'


def digest(step, context):
    """The hash of all that a step makes its products from: files, patches, profiles, pins...

    The place of the checkout and the times of its files do not count.  Raises Failure where
    a file is missing."""
    facts = [f'release {context.version} {context.sha256} {context.release} {context.date} '
             f'{context.archive}']
    listed = steps()
    if step not in listed:
        raise Failure(f'no step {step} of the road', f'known steps: {" ".join(listed)}')
    for name in listed[step]:
        if name.endswith('|'):
            facts.append(f'{name} {_printed(TOP / name[:-1])}')
        else:
            facts += [f'{os.path.relpath(path, TOP)} {_file(path)}'
                      for path in _files(TOP / name)]
    facts += [f'patch {name} {_file(context.patch_dir / f"{name}.patch")}'
              for name in context.names]
    facts += [f'profile {path.name} {_file(path)}' for path in context.profiles]
    if released.file(context.tree).exists():        # for the changelogs
        facts.append(f'earlier releases {_file(released.file(context.tree))}')
    return hashlib.sha256('\n'.join(facts).encode()).hexdigest()


def main(argv):
    """Prints the hashes of the steps named, in the context of the environment's variables."""
    context = resolve()
    for step in argv:
        print(step, digest(step, context))


if __name__ == '__main__':
    run_command('inputs', main)
