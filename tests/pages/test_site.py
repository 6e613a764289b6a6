"""The site that `make repo` puts beside the packages, served as a web server would: in a real
browser, on a phone and a desk, light and dark."""
import html.parser
import json
import re
import shutil
import textwrap
import urllib.parse

import pytest
from millrace import TOP
from millrace.patches import series
from millrace.upstream import security
from millrace_bench.report import pages as drawn_pages
from millrace_bench.report import sets
from pages.browser import FRAME, Browser
from pages.test_pages import SIZES, look
from support.checkout import ONCE, PYPI, Checkout
from support.shop import Shop

# one browser, and one repository
pytestmark = [pytest.mark.xdist_group('site'), ONCE, PYPI]
NOTES = 'releases/10.11/10.11.18-1/millrace-10.11.18-1.notes'
SHOWN = ('docs/install', 'docs/operate', 'docs/patches/index', 'docs/patches/google-io',
         'docs/design/road', 'test-results/index', 'test-results/notes/index', 'releases', NOTES,
         '404')
DRAWN = '10.11-undo+start'          # the one that is drawn for the tests


class Published(Shop):
    """A repository with its site, of a whole checkout: 11.8 in stable, 10.11 in testing, by make
    release."""

    def __init__(self, market, place):
        (place / 'millrace').mkdir()
        super().__init__(Checkout(place / 'millrace'), market)
        self.top = self.checkout.path
        self.finish('11.8', '11.8.6', rpm=False)
        self.publish()
        self.promote(tree='11.8')
        for file in TOP.glob('[A-Z]*'):
            shutil.copy(file, self.top)
        # with the publisher's address; before there are measurements, which it would draw
        assert self.checkout.run('scripts/tables', '--write') == (0, '')
        for part in ('site', 'bench', 'test-results', 'tests'):
            shutil.copytree(TOP / part, self.top / part,
                            ignore=shutil.ignore_patterns('__pycache__'))
        self._drawn()
        self.pin()
        self.commit()
        self.make()
        status, text = self.release()
        assert status == 0, text

    def _drawn(self):
        """Leaves pages in dist/report/ that count as drawn, as drawing all takes half a minute."""
        for result in sets.kept():
            place = self.top / 'dist/report' / result.name
            if result.name == DRAWN:
                continue
            place.mkdir(parents=True)
            for name in drawn_pages.FILES:
                shutil.copy(result.path / name, place)
            (place / 'index.html').write_text('<!DOCTYPE html><title>drawn</title>\n')
            (place / drawn_pages.STAMP).write_text(drawn_pages.stamp(result))

    def site(self):
        """{path: bytes} of the site."""
        return {str(path.relative_to(self.repo)): path.read_bytes()
                for path in self.repo.rglob('*') if path.is_file()
                and path.relative_to(self.repo).parts[0] not in ('apt', 'rpm', 'tarballs')
                and not path.name.startswith(('SHA256SUMS', 'millrace-archive', 'releases.json'))}


@pytest.fixture(scope='module')
def published(market, tmp_path_factory):
    """The repository of the file."""
    made = Published(market, tmp_path_factory.mktemp('site'))
    yield made
    shutil.rmtree(made.top)


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    """The browser of the file."""
    with Browser(tmp_path_factory.mktemp('profile')) as started:
        yield started


class Reader(html.parser.HTMLParser):
    """What a page has: `links` to other places, `names` that a link can lead to, and the text of
    the blocks of code."""

    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.blocks, self.inside = [], {''}, [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """A tag."""
        for name, value in attrs:
            if name in ('id', 'name'):
                self.names.add(value)
            elif name in ('href', 'src') and tag != 'base':
                self.links.append(value)
        if tag == 'pre':
            self.inside = True
            self.blocks.append('')

    def handle_endtag(self, tag):
        """The end of one."""
        if tag == 'pre':
            self.inside = False

    def handle_data(self, data):
        """Text."""
        if self.inside:
            self.blocks[-1] += data


# all have one frame
@pytest.mark.parametrize('page, width, scheme', [
    *(('index', *size) for size in SIZES),
    *((page, *size) for page in SHOWN for size in SIZES[1:3])])
def test_a_page_is_whole_and_legible(browser, published, page, width, scheme):
    # the theme keeps its drawer beside the screen
    assert look(browser, f'{published.base}/{page}.html', width, scheme, 'article') == []
    assert browser.evaluate('document.body.dataset.mdColorScheme') \
        == {'light': 'default', 'dark': 'slate'}[scheme]
    hosts = {urllib.parse.urlsplit(url).netloc for url in browser.asked_for()
             if not url.startswith('data:')}
    assert hosts == {urllib.parse.urlsplit(published.base).netloc}


def test_a_page_follows_the_machine_into_the_dark(browser, published):
    browser.open(f'{published.base}/index.html', 1280, 'light')
    browser.ask('Emulation.setEmulatedMedia',
                features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    # the page hears of it some frames later
    scheme = 'document.body.dataset.mdColorScheme'
    for _ in range(100):
        if browser.evaluate(f'{FRAME}.then(() => {scheme})') == 'slate':
            return
    pytest.fail(f'still {browser.evaluate(scheme)}')


def test_every_link_leads_somewhere(published):
    pages = {path: Reader(path.read_text(encoding='utf-8'))
             for path in published.repo.rglob('*.html')}
    assert len(pages) > 100
    seen = 0
    for path, page in pages.items():
        for link in page.links:
            here = f'{published.base}/{path.relative_to(published.repo)}'
            url = urllib.parse.urlsplit(urllib.parse.urljoin(here, link))
            if url.scheme in ('data', 'mailto'):
                continue
            if f'{url.scheme}://{url.netloc}' != published.base:
                assert url.scheme == 'https', f'{path}: {link}'
                continue
            goal = published.repo / urllib.parse.unquote(url.path).lstrip('/')
            goal = goal / 'index.html' if url.path.endswith('/') else goal
            assert goal.is_file(), f'{path}: {link}'
            if goal in pages and 'test-results/sets/' not in url.path:
                assert url.fragment in pages[goal].names, f'{path}: {link}'
            seen += 1
    assert seen > 3000


def test_the_copy_button_copies_the_lines(browser, published):
    browser.ask('Browser.grantPermissions', origin=published.base,
                permissions=['clipboardReadWrite', 'clipboardSanitizedWrite'])
    page = TOP / 'docs/install.md'
    lines = [textwrap.dedent(block).replace('$BASE', published.base) for block in re.findall(
        r'(?<=\n\n)((?:    .*\n)+)', page.read_text(encoding='utf-8'))]
    assert len(lines) > 6
    for width in (390, 1280):
        assert browser.open(f'{published.base}/docs/install.html', width, 'light') == []
        for number, block in enumerate(lines):
            pre = f'document.querySelectorAll("pre")[{number}]'
            browser.evaluate(f'''(async () => {{
                {pre}.scrollIntoView({{block: 'center'}})
                while (!{pre}.querySelector('button')) await new Promise(requestAnimationFrame)
            }})()''')
            browser.click(f'{pre}.querySelector("button")')
            copied = browser.evaluate('navigator.clipboard.readText()')
            assert copied.strip() == block.strip()


def test_what_the_site_has(published):
    site = published.site()
    for name in series.names():
        assert f'docs/patches/{name}.html' in site
    for name in ('install', 'operate', 'build', 'maintain', 'release', 'measure', 'prove'):
        assert f'docs/{name}.html' in site
    links = Reader(site['SECURITY.html'].decode()).links
    assert [link for link in links if ':a' in link and '@' in link] == ['mailto:a@example.org']
    drawn = site[f'test-results/sets/{DRAWN}/index.html'].decode()
    assert '<figure><svg' in drawn and 'undo segments' in drawn
    text = site['releases.html'].decode()
    rows = [re.findall('<td>(.*?)</td>', row) for row in re.findall('<tr>.*?</tr>', text, re.S)]
    for row in (['10.11', '10.11.18', 'bookworm', 'none', '10.11.18-1'],
                ['11.8', '11.8.6', 'trixie', '11.8.6-1', '11.8.6-1']):
        standing = re.sub(r'\*\*(.*)\*\*', r'<strong>\1</strong>', security.standing(*row[:2]))
        assert [*row[:2], standing, *row[2:]] in rows
    assert '2026-11-21, tree 10.11, for Debian bookworm, in testing' in text
    assert '2026-11-21, tree 11.8, for Debian trixie, in stable' in text
    for tree, version in (('10.11', '10.11.18'), ('11.8', '11.8.6')):
        if lacking := security.lacking(tree, version):
            assert re.search(rf'tree {tree}, .*, lacks {lacking}<', text)
    contents = json.loads((published.repo / 'releases.json').read_text())
    for release in contents['releases']:
        for name in release['files']:
            assert f'>{name}</a>' in text, name
    assert f'href="{NOTES}.html">{NOTES.rpartition("/")[2]}.md' in text
    assert 'built twice' in site[f'{NOTES}.html'].decode()
    for path, data in site.items():
        assert str(published.top).encode() not in data, path
        assert b'$BASE' not in data or not path.endswith('.html'), path


def test_the_same_checkout_gives_the_same_bytes(published):
    """By the hash of the site, which is made again."""
    before = published.site()
    assert json.loads((published.repo / 'releases.json').read_text())['site']
    for file in published.top.rglob('*.md'):
        file.touch()
    text = published.publish(TZ='Pacific/Auckland', PYTHONHASHSEED='7', SOURCE_DATE_EPOCH='8')
    assert 'dist/repo is up to date' in text and published.site() == before


def test_a_changed_page_is_taken_in(published):
    page = published.top / 'docs/operate.md'
    with page.open('a', encoding='utf-8') as file:
        file.write('\nOne line more.\n')
    assert 'up to date' not in published.publish()
    assert b'One line more.' in published.site()['docs/operate.html']


def test_what_is_not_committed_stays_here(published):
    (published.top / 'docs/patches/of-nobody.md').write_text('# Of nobody\n')
    (published.top / 'test-results/notes/of-nobody.md').write_text('# Of nobody\n')
    try:
        published.run()
    finally:
        for file in published.top.rglob('of-nobody.md'):
            file.unlink()
    assert not [path for path, data in published.site().items()
                if 'of-nobody' in path or b'of-nobody' in data]


@pytest.mark.parametrize('link', ['nowhere.md', '../nothing/'])
def test_a_link_that_leads_nowhere_is_named(published, link):
    before = published.site()
    page = published.top / 'docs/operate.md'
    whole = page.read_text(encoding='utf-8')
    page.write_text(f'{whole}\n[a link]({link})\n')
    try:
        status, text = published.run()
    finally:
        page.write_text(whole)
    assert status == 1 and 'error: mkdocs failed' in text and 'docs/operate.md' in text
    assert link.rstrip('/') in text and 'leads nowhere' in text and 'Traceback' not in text
    assert published.site() == before and '\x1b' not in text
