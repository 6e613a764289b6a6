"""The series: which patches there are, and their order."""
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent


def trees():
    """Names of the release trees, the configured ones, sorted."""
    return sorted(path.stem for path in (TOP / 'trees').glob('*.conf'))


def names():
    """Names of the patches in series order."""
    lines = (TOP / 'series').read_text(encoding='utf-8').splitlines()
    return [name for line in lines if (name := line.partition('#')[0].strip())]


def patch_file(tree, name):
    """Path of a patch of a tree."""
    return TOP / 'patches' / tree / f'{name}.patch'
