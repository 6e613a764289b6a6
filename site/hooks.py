"""Hooks of mkdocs: the site is the checkout's Markdown, each page at its place in the checkout.

The site begins with the pages of the navigation.  Each file that a page links comes with it:
Markdown as a page, anything else as it is, a directory without a README.md as a list of its
files.  Into the pages comes what only the repository knows: its URL for $BASE, and its releases
for the lines <!-- trees --> and <!-- revisions -->.

MILLRACE_BASE is the URL.  MILLRACE_BESIDE is a directory with the repository's releases.json, and
with files that stand at their places on the site (millrace/repo/site.py).
"""
import functools
import html
import os
import re
import subprocess
import urllib.parse
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from millrace import TOP
from millrace.command import output
from millrace.patches import series
from millrace.repo import releases
from millrace.upstream import pins, security

BESIDE = Path(os.environ['MILLRACE_BESIDE'])
CONTENTS = releases.load(BESIDE / releases.NAME)
LINK = re.compile(r'(?<=\]\()[^)\s#:]+(?=[)#])')
PAGE = 'releases.md'
TEXT = '''# Releases

A revision comes into *testing* first, and from there, the same bytes, into *stable*.
[Install](docs/install.md) has the lines, [Another revision](docs/operate.md#another-revision)
the way to an earlier one.

## State of each tree

<!-- trees -->

## Revisions

<!-- revisions -->

<a href="releases.json">releases.json</a> is this page for programs. <a
href="SHA256SUMS">SHA256SUMS</a> names every file of the repository; <a
href="SHA256SUMS.asc">SHA256SUMS.asc</a> is its signature by the key <a
href="millrace-archive-keyring.asc">millrace-archive-keyring.asc</a>.
'''


def root(path):
    """The directory that a file of the site is below."""
    return BESIDE if (BESIDE / path).exists() else TOP


@functools.cache
def known_to_git():
    """The files that git knows, and their directories; None where the checkout is not git's."""
    if not (TOP / '.git').exists():
        return None
    try:
        names = output('git', 'ls-files', '-z', cwd=TOP, stderr=subprocess.PIPE).split('\0')
    except subprocess.CalledProcessError as error:
        raise PluginError(f'git ls-files failed: {error.stderr.strip()}') from None
    files = [TOP / name for name in names if name]
    return {*files, *(parent for file in files for parent in file.parents)}


def published(file):
    """Whether a file may be on the site: what is not committed may be meant for nobody."""
    return known_to_git() is None or file in known_to_git() or file.is_relative_to(BESIDE)


def listing(directory):
    """The page of a directory without a README.md: its files, the newest first."""
    lines = [f'# {directory.name}', '']
    for file in sorted(filter(published, directory.iterdir()), reverse=True):
        title = file.name
        if file.suffix == '.md':
            title += ': ' + file.read_text(encoding='utf-8').partition('\n')[0].lstrip('# ')
        lines.append(f'- [{title}]({file.name})')
    return '\n'.join(lines) + '\n'


def source(path):
    """The Markdown of a page."""
    file = root(path) / path
    if path == PAGE:
        return TEXT
    if file.name == 'README.md' and file.parent.is_dir() and not file.exists():
        return listing(file.parent)
    return file.read_text(encoding='utf-8')


def goal(page, link):
    """The file of the site that a link of a page leads to."""
    path = os.path.normpath(os.path.join(os.path.dirname(page), link))
    if (BESIDE / path / 'index.html').exists():
        return f'{path}/index.html'
    return os.path.normpath(f'{path}/README.md') if (TOP / path).is_dir() else path


def is_page(path):
    """Whether the site has such a file: one that is there, or the list of a directory."""
    file = root(path) / path
    if file.exists():
        return file.is_file() and published(file)
    return file.name == 'README.md' and file.parent.is_dir() and published(file.parent)


def linked(pages):
    """Some pages, and all files of the checkout that are linked from there on."""
    known, rest = set(), [*pages]
    while rest:
        path = rest.pop()
        if path in known:
            continue
        known.add(path)
        if path.endswith('.md'):
            goals = [goal(path, link) for link in LINK.findall(source(path))]
            rest += [each for each in goals if is_page(each)]
    return known


def names(nav):
    """The pages that a navigation names."""
    for item in nav:
        for value in item.values() if isinstance(item, dict) else [item]:
            yield from [value] if isinstance(value, str) else names(value)


def expanded(nav):
    """A navigation with pages in the place of each pattern, in the order of the series."""
    order, made = series.names(), []
    for item in nav:
        if isinstance(item, dict):
            made.append({title: value if isinstance(value, str) else expanded(value)
                         for title, value in item.items()})
        elif '*' in item:
            files = {file.stem: str(file.relative_to(TOP)) for file in sorted(TOP.glob(item))
                     if published(file)}
            files.pop('README', None)
            made += sorted(files.values(), key=lambda path: order.index(Path(path).stem)
                           if Path(path).stem in order else len(order))
        else:
            made.append(item)
    return made


def trees_table():
    """The state of each tree, as a table."""
    rows = ['| tree | MariaDB | security | Debian | stable | testing |',
            '| --- | --- | --- | --- | --- | --- |']
    for tree in pins.trees():
        pin = pins.read(tree)
        newest = [next((one.revision for one in reversed(CONTENTS.releases) if one.tree == tree
                        and channel in one.channels), 'none') for channel in ('stable', 'testing')]
        cells = (tree, pin['VERSION'], security.standing(tree, pin['VERSION']),
                 pin.get('DEBIAN_RELEASE', ''), *newest)
        rows.append(f'| {" | ".join(cells)} |')
    return '\n'.join(rows)


def file_link(place):
    """A link from the page of the releases to a file of the repository, or to its page."""
    name = place.rpartition('/')[2]
    if place.endswith('.md') and (BESIDE / place).exists():
        place = f'{place.removesuffix(".md")}.html'
    return f'<a href="{html.escape(place)}">{html.escape(name)}</a>'


def revisions():
    """Each revision, the newest first, with its documents and packages."""
    made = []
    for one in reversed(CONTENTS.releases):
        documents, packages = [], []
        for name in one.files:
            package = re.search(r'\.(deb|dsc|rpm|tar\.\w+(\.asc)?)$', name)
            (packages if package else documents).append(file_link(one.places(name)[0]))
        lacking = security.lacking(one.tree, one.version)
        of = (one.date, f'tree {one.tree}', f'for Debian {one.debian}' * bool(one.debian),
              f'in {one.channel}', f'lacks {lacking}' * bool(lacking))
        made.append(f'### {one.revision}\n\n{", ".join(filter(None, of))}\n\n'
                    + ''.join(f'- {link}\n' for link in documents)
                    + f'\n<details><summary>Packages ({len(packages)})</summary><ul>'
                    + ''.join(f'<li>{link}</li>' for link in packages) + '</ul></details>')
    return '\n\n'.join(made)


def on_config(config):
    """Finds the pages of the navigation."""
    config['nav'] = expanded(config['nav'])
    return config


def on_files(files, config):
    """The files of the site, and those of the theme."""
    beside = {str(file.relative_to(BESIDE)) for file in BESIDE.rglob('*') if file.is_file()}
    paths = linked({*names(config['nav']), *beside} - {releases.NAME})
    return Files([*(file for file in files
                    if not Path(file.abs_src_path).is_relative_to(config['docs_dir'])),
                  *(File(path, str(root(path)), config['site_dir'], False)
                    for path in sorted(paths))])


def on_page_read_source(page, config):
    """The Markdown of a page, which need not be a file."""
    return source(page.file.src_uri)


def on_page_markdown(markdown, page, config, files):
    """Fills in what the repository knows, and writes for Python-Markdown what forges read in
    another way: links to directories, a word behind the language of a block of code, and a table
    right behind a comment."""
    def link(match):
        path = goal(page.file.src_uri, match[0])
        return os.path.relpath(path, os.path.dirname(page.file.src_uri) or '.')
    for old, new in (('$BASE', config['site_url'].rstrip('/')), ('<!-- trees -->', trees_table()),
                     ('<!-- revisions -->', revisions())):
        markdown = markdown.replace(old, new)
    markdown = re.sub(r'^(```\w+) \w+$', r'\1', markdown, flags=re.MULTILINE)
    return LINK.sub(link, re.sub('^<!--.*-->$', '', markdown, flags=re.MULTILINE))


def on_page_content(text, page, config, files):
    """Raises PluginError where a link of a page leads to no file of the site."""
    urls = {file.url for file in files}
    for link in re.findall(r'<(?:a|img)\b[^>]* (?:href|src)="([^"]*)"', text):
        # an address of mail is all in entities
        url = html.unescape(link).partition('#')[0]
        if not url or ':' in url:
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page.url), url))
        # the packages are not here yet
        if not {path, urllib.parse.unquote(path)} & urls and page.file.src_uri != PAGE:
            raise PluginError(f'{page.file.src_uri}: the link {url} leads nowhere: '
                              'mend it, or add the file')
