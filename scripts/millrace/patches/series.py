"""The series: which patches there are, their order, and which of them go together."""
from millrace import TOP
from millrace.errors import Failure
from millrace.files import write_whole
from millrace.patches.header import read_header
from millrace.upstream.pins import trees

# characters: what a package adds leaves it below the 255 of a file's name
LONGEST_LABEL = 150


def name_in(line):
    """The name in a line of a series file, or ''."""
    return line.partition('#')[0].strip()


def listed(text):
    """The names that the text of a series file lists, in its order."""
    return [name for line in text.splitlines() if (name := name_in(line))]


def twice(listing):
    """The first name that stands twice in a list, or None."""
    return next((name for name in listing if listing.count(name) > 1), None)


def names(tree=None):
    """Names of the patches in series order: all, or those that a tree has."""
    return [name for name in listed((TOP / 'series').read_text(encoding='utf-8'))
            if tree is None or patch_file(tree, name).exists()]


def patch_file(tree, name):
    """Path of a patch of a tree."""
    return TOP / 'patches' / tree / f'{name}.patch'


def trees_with(name):
    """The trees that have a patch."""
    return [tree for tree in trees() if patch_file(tree, name).exists()]


def depends(tree):
    """{patch: the patches in Depends of its header}, for each patch of a tree."""
    return {name: read_header(patch_file(tree, name)).depends for name in names(tree)}


def closure(chosen, needs):
    """The chosen patches and all that they need, in the order of `needs` (see depends())."""
    wanted = set(chosen)
    for name in reversed(needs):        # what a patch needs stands before it
        if name in wanted:
            wanted.update(needs[name])
    return tuple(name for name in needs if name in wanted)


def check_closed(chosen, needs, mend):
    """Raises Failure where a chosen patch needs one that is not chosen.

    `needs` as depends() has it; `mend` is called with the closure, for the error's last line."""
    closed = closure(chosen, needs)
    missing = [f"'{name}' needs '{needed}'" for name in closed for needed in needs[name]
               if needed not in chosen]
    if missing:
        raise Failure(f'a patch that is needed is left out: {", and ".join(missing)}',
                      'take it too, or leave both out: ' + mend(' '.join(closed)))


def closed_subsets(needs):
    """Every subset that is closed under Depends, the empty one too.

    Each stands after the subset without its last patch, which is closed as well:
    nothing that stands before a patch may need it.
    """
    subsets = [()]
    for name in needs:
        subsets += [(*subset, name) for subset in subsets if set(needs[name]) <= set(subset)]
    return subsets


def label(names):
    """The name of files and directories of these patches: the names joined by +, or their
    number and a hash where that is too long for a file system."""
    joined = '+'.join(names)
    if len(joined) <= LONGEST_LABEL:
        return joined
    import hashlib      # build/ asks for the context every time, and seldom for this
    return f'{len(names)}-patches-{hashlib.sha256(joined.encode()).hexdigest()[:8]}'


def add(name):
    """Puts a patch at the end of the series, once."""
    if name not in names():
        file = TOP / 'series'
        text = file.read_text(encoding='utf-8')
        end = '' if text.endswith('\n') or not text else '\n'
        write_whole(file, f'{text}{end}{name}\n')


def forget(name):
    """Takes a patch that no tree has any more out of the series."""
    if not trees_with(name):
        lines = (TOP / 'series').read_text(encoding='utf-8').splitlines(keepends=True)
        kept = [line for line in lines if name_in(line) != name]
        write_whole(TOP / 'series', ''.join(kept))
