"""Writes patches for a build of one's own, in the form of `git format-patch`.

Called by make export-patch NAME="fast-recovery" [TREE=10.11].

One name: dist/export/<tree>/<name>.patch.  Several: the directory
dist/export/<tree>/<names joined by +>/ with the patches and their series, which is
quilt's patches/ and a Debian source package's debian/patches.  Either has the whole
header in it and applies to the release that trees/<tree>/pin.conf pins, with `git am`,
`patch -p1`, `quilt import`, dpkg-source and rpmbuild.
"""
import os
import shutil

from millrace import TOP
from millrace.command import parser, run_command, say
from millrace.errors import Failure
from millrace.patches import diff, mail, series
from millrace.upstream import pins


def main(argv):
    """Writes the patches."""
    options = parser('scripts/export-patch', __doc__)
    options.add_argument('name', nargs='+', help='a patch of the series')
    names = options.parse_args(argv).name
    tree = os.environ.get('TREE') or pins.default_tree()
    release = pins.read(tree)['VERSION']
    known = series.names(tree)
    for name in names:
        if name not in known:
            raise Failure(f"no patch '{name}' in the series of tree {tree}",
                          f'known patches: {" ".join(known)}')
    needs = series.depends(tree)
    series.check_closed(names, needs, lambda closed:
                        f'make export-patch TREE={tree} NAME="{closed}"')
    texts = {f'{name}.patch': mail.write(name, diff.read(series.patch_file(tree, name)))
             for name in series.closure(names, needs)}
    out = TOP / 'dist/export' / tree
    out.mkdir(parents=True, exist_ok=True)
    if len(texts) == 1:
        (file, text), = texts.items()
        target = out / file
        target.write_bytes(diff.encode(text))
    else:
        target = out / series.label([file.removesuffix('.patch') for file in texts])
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        order = {'series': ''.join(f'{file}\n' for file in texts)}
        for file, text in {**texts, **order}.items():
            (target / file).write_bytes(diff.encode(text))
    say('export-patch', f'{target.relative_to(TOP)}, for mariadb-{release}')


if __name__ == '__main__':
    run_command('export-patch', main)
