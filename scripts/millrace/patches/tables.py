"""Writes the tables in README.md, SECURITY.md and docs/, and the pages of test-results/.

They are made from the series, the patches' headers, trees/*/security.toml, the proofs
(test-results/proofs) and the measurements (test-results/sets, test-results/suites), and stand
between lines such as <!-- patches --> and <!-- /patches -->; docs/headline.svg and the README.md
of test-results/, test-results/sets/ and test-results/suites/ are made whole.  The releases that
have a tag are added to trees/*/released.json, for the packages' changelogs.
"""
import functools
import re
import textwrap
from pathlib import Path

from millrace import TOP, publisher, released
from millrace.command import parser, run_command
from millrace.errors import Failure, Fault
from millrace.files import write_whole
from millrace.patches import series
from millrace.patches.header import read_header
from millrace.prove import lint, record
from millrace.release import history
from millrace.upstream import pins, security

MEND = 'make tables'


def table(columns, rows):
    """A table of Markdown; a column whose name ends in ':' is aligned to the right."""
    rule = ['---:' if name.endswith(':') else '---' for name in columns]
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in
                     [[name.rstrip(':') for name in columns], rule, *rows])


def read(name):
    """The trees that have a patch, and the Header of the first.  Raises Failure."""
    trees = series.trees_with(name)
    if not trees:
        raise Failure(f'series: names {name}, which no tree has',
                      'mend: take its line out of the file series')
    return trees, read_header(series.patch_file(trees[0], name))


def patches():
    """The table of all patches, for the page beside theirs."""
    rows = []
    for name in series.names():
        trees, header = read(name)
        rows.append([f'[{name}]({name}.md)', header.synopsis, ', '.join(trees),
                     header.upstream_status])
    return table(['patch', 'what it does', 'trees', 'upstream'], rows)


def features():
    """The table of the patches that are no fixes, for the README, and how many are."""
    names = series.names()
    rows = [[f'[{name}](docs/patches/{name}.md)', read(name)[1].synopsis]
            for name in names if not name.startswith('fix-')]
    return (f'{table(["patch", "what it does"], rows)}\n\n{len(names) - len(rows)} more patches, '
            '`fix-...`, [each mend one fault of upstream\'s](docs/patches/README.md).')


@functools.cache
def result_sets():
    """The complete result sets that are kept, where the checkout has them."""
    if not has_measurements():
        return []
    from millrace_bench.report.sets import KEPT, sets_in
    return [result for result in sets_in(KEPT) if result.data['complete']]


def benchmark(tree, header):
    """Links to the result sets of the suites that a header names, with the patch in a build."""
    links = [f'[{result.name.removeprefix(f"{tree}-")}](../../test-results/sets/{result.name}/)'
             for suite in header.suites for result in result_sets()
             if (result.data['tree'], result.data['suite']) == (tree, suite)
             and any(header.name in build['patches'] for build in result.data['builds'])]
    return ', '.join(links) or ('not measured' if header.suites else 'none')


def proofs():
    """The table of the proofs of each patch in each tree."""
    rows = []
    for tree in pins.trees():
        names = series.names(tree)
        for name, verdicts in record.verdicts(tree).items():
            header = read_header(series.patch_file(tree, name))
            right = 'no' if lint.check_patch(tree, name, names) else 'yes'
            rows.append([name, tree, right, *verdicts.values(), header.upstream_status,
                         benchmark(tree, header)])
    return table(['patch', 'tree', 'header', *record.PROOFS, 'upstream', 'benchmark'], rows)


def measured(name):
    """The table of the measurements of a patch."""
    from millrace_bench.report import evidence
    return evidence.measured(*read(name))


def profile():
    """The tables of the measurements of the profile."""
    from millrace_bench.report import evidence
    return evidence.profile()


def headline():
    """The lines about the picture of what the series gains."""
    from millrace_bench.report import headline as picture
    return picture.block()


def state():
    """A sentence about each tree: the security fixes that its release lacks."""
    versions = {tree: pins.read(tree)['VERSION'] for tree in pins.trees()}
    return textwrap.fill(' '.join(f'{version} {security.standing(tree, version)}.'
                                  for tree, version in versions.items()), 99)


def contact():
    """Where to report a hole of these packages."""
    who = publisher.field('Maintainer')
    if publisher.is_placeholder(who):
        return 'These packages have no publisher yet, so no address either.'
    return f'Write to {who}.'


def holes():
    """The table of the security fixes of upstream's releases, newest first."""
    rows = []
    for tree in pins.trees():
        version, known = pins.read(tree)['VERSION'], security.read(tree)
        for release in reversed(known.releases):
            have = security.order(release) <= security.order(version)
            rows.append([tree, f'{release}, ours' if release == version else release,
                         'closed' if have else '**open**',
                         ', '.join(known.cves[release]) or 'none',
                         known.source[release]])
    return table(['tree', 'release', 'in ours', 'security holes that it closes', 'source'], rows)


def releases():
    """{file: its text} for the trees with releases that released.read() does not have yet."""
    new = {tree: history.unrecorded(tree) for tree in pins.trees()}
    return {released.file(tree): released.text({**released.read(tree), **found})
            for tree, found in new.items() if found}


def has_measurements():
    """Whether the checkout has the measurements; a copy of it may lack them."""
    return (TOP / 'bench').is_dir() and (TOP / 'test-results/sets').is_dir()


def blocks():
    """{file: {block: function that makes it}} for the files that are there."""
    files = {'README.md': {'state': state, 'patches': features},
             'SECURITY.md': {'contact': contact, 'state': state, 'holes': holes},
             'docs/patches/README.md': {'patches': patches, 'proofs': proofs}}
    if has_measurements():
        files['README.md']['headline'] = headline
        files |= {f'docs/patches/{name}.md': {'measured': functools.partial(measured, name)}
                  for name in series.names() if read(name)[1].suites}
        files['docs/design/profile.md'] = {'profile': profile}
    return {TOP / file: content for file, content in files.items() if (TOP / file).is_file()}


def fill(text, name, content):
    """Replaces the content of a block in a text; None where the text has no such block."""
    made, count = re.subn(rf'(<!-- {name} -->\n).*?(<!-- /{name} -->)',
                          lambda match: f'{match[1]}{content().strip()}\n{match[2]}', text,
                          flags=re.DOTALL)
    return made if count else None


def made():
    """({file: its text as it has to be}, Faults of files that lack a block)."""
    texts, faults = {}, []
    result_sets.cache_clear()
    if has_measurements():
        from millrace_bench.report import headline as picture, overview, sets
        sets.kept.cache_clear()
    for file, contents in blocks().items():
        text = file.read_text(encoding='utf-8')
        for name, content in contents.items():
            filled = fill(text, name, content)
            if filled is None:
                faults.append(Fault(f'has no block {name}', f'add the lines <!-- {name} --> and '
                                    f'<!-- /{name} -->, then {MEND}',
                                    file=str(file.relative_to(TOP))))
            else:
                text = filled
        texts[file] = text
    if has_measurements():
        texts |= overview.pages()
        texts[TOP / 'docs/headline.svg'] = picture.picture(picture.usual_sets())
    if (TOP / '.git').exists():
        texts |= releases()
    return texts, faults


def content_of(file):
    """The text of a file; empty where there is none."""
    return file.read_text(encoding='utf-8') if file.exists() else ''


def write():
    """Brings all tables up to date.  Raises Failure where a header cannot be read."""
    for file, text in made()[0].items():
        if text != content_of(file):
            write_whole(Path(file), text)


def check():
    """The Faults of tables that are not up to date."""
    texts, faults = made()
    return faults + [Fault('the tables are not what the headers, the proofs, the measurements '
                           'and the tags say', MEND, file=str(file.relative_to(TOP)))
                     for file, text in texts.items() if text != content_of(file)]


def main(argv):
    """Writes or checks the tables."""
    options = parser('scripts/tables', __doc__)
    how = options.add_mutually_exclusive_group(required=True)
    how.add_argument('--write', action='store_true', help='bring the tables up to date')
    how.add_argument('--check', action='store_true', help='exit 1 and name what is not')
    if options.parse_args(argv).write:
        write()
    elif faults := check():
        raise Failure('the tables are not up to date', *faults)


if __name__ == '__main__':
    run_command('tables', main)
