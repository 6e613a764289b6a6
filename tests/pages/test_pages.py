"""The pages in a real browser: on a phone and a desk, light and dark, nothing is missing, cut or
illegible.

Most are drawn from invented result sets (sample.py); a few from test-results/sets.
"""
import gzip
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from conftest import TOP
from millrace.errors import Failure
from millrace_bench.report import headline, sets
from millrace_bench.report import pages as drawn_pages
from pages import sample
from pages.browser import Browser
from support.checkout import ONCE

# they use one browser
pytestmark = [pytest.mark.xdist_group('pages'), ONCE]
SIZES = [(390, 'light'), (390, 'dark'), (1280, 'light'), (1280, 'dark')]

HEAD = '<!DOCTYPE html><meta name="viewport" content="width=device-width, initial-scale=1">' \
    '<meta name="color-scheme" content="light dark">'

# Run in the page; returns its faults.
LOOK = r'''
(() => {
  const faults = [], wide = WIDTH;
  document.querySelectorAll('details').forEach(one => one.open = true);
  if (document.documentElement.scrollWidth > wide)
    faults.push('the page is wider than the screen');
  for (const one of document.querySelectorAll('PART *')) {
    const box = one.getBoundingClientRect();
    if (box.right > wide + 0.5 && !one.closest('.wide,.md-typeset__scrollwrap,pre,svg'))
      faults.push(`${one.tagName} reaches beyond the screen: ${one.textContent.slice(0, 40)}`);
  }
  for (const one of document.querySelectorAll('th,td,dt,dd'))
    if (one.clientWidth < 44 && one.textContent.trim().length > 8)
      faults.push(`squeezed: ${one.textContent}`);
  for (const one of document.images)
    if (!one.complete || !one.naturalWidth) faults.push(`image not shown: ${one.src}`);
  for (const one of document.querySelectorAll('figure')) {
    const svg = one.querySelector('svg');
    if (!svg) { faults.push('a figure without a picture'); continue; }
    const box = svg.getBoundingClientRect(), name = svg.getAttribute('aria-label');
    if (box.width < 250 || box.height < 60) faults.push(`picture too small: ${name}`);
    if (svg.querySelectorAll('path,use,circle').length < 3) faults.push(`nothing drawn: ${name}`);
    for (const text of svg.querySelectorAll('text')) {
      const place = text.getBoundingClientRect();
      if (place.left < box.left - 1 || place.right > box.right + 1
          || place.bottom > box.bottom + 1)
        faults.push(`text is cut: ${text.textContent} in ${name}`);
      if (place.height < 8) faults.push(`text too small: ${text.textContent} in ${name}`);
    }
  }
  const light = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(x => x / 255)
      .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!/rgba\(.*, 0(\.[0-4]\d*)?\)/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const texts = 'h1,h2,h3,p,a,li,b,span,small,i,th,td,dt,dd,summary,svg text';
  for (const one of document.querySelectorAll(texts)) {
    const style = getComputedStyle(one), colour = one.closest('svg') ? style.fill : style.color;
    if (one.textContent.trim() && contrast(colour, ground(one)) < 4.5)
      faults.push(`${one.textContent.slice(0, 40)}: ${colour} on ${ground(one)} is hard to read`);
  }
  // but for the rims of paper that set lines off
  const lines = 'figure svg [style*="stroke-width"]:not([style*="stroke: #ffffff"]), svg circle';
  for (const one of document.querySelectorAll(lines)) {
    const style = getComputedStyle(one);
    if (/^rgb\(/.test(style.stroke) && parseFloat(style.strokeWidth) >= 1.3
        && contrast(style.stroke, ground(one)) < 2.9)
      faults.push(`a line in ${style.stroke} on ${ground(one)} is hard to see`);
  }
  return faults;
})()'''


def look(browser, page, width, scheme, part='body'):
    """The faults of a page, as texts; what is in a part of it must not reach beyond the screen."""
    return browser.open(page, width, scheme) \
        + browser.evaluate(LOOK.replace('WIDTH', str(width)).replace('PART', part))


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    """The browser, started once, and not kept for the tests that follow."""
    with Browser(tmp_path_factory.mktemp('profile')) as started:
        yield started


@pytest.fixture(scope='session')
def made(tmp_path_factory):
    """A directory of invented result sets."""
    path = tmp_path_factory.mktemp('sets')
    sample.write_all(path)
    return path


@pytest.fixture(scope='session')
def top(made, tmp_path_factory):
    """The invented result sets, drawn."""
    path = tmp_path_factory.mktemp('report')
    drawn_pages.draw(sorted(made.iterdir()), path, say=lambda text: None)
    return path


SETS = ['2026-11-21-10.11-oltp', '2026-11-21-10.11-scan', '2026-11-20-11.8-contention',
        '2026-11-19-10.11-checkpoint']
# of the kept sets: many cases, seconds, many builds with long names, one case
KEPT = [name for name in ('10.11-unseen', '11.8-recovery-iops3000',
                          '10.11-undospace+plain-millrace',
                          '10.11-tpcc+plain-only-split-buffer-mutex')
        if (sets.KEPT / name).is_dir()]


@pytest.fixture(scope='session')
def kept(tmp_path_factory):
    """Some of the kept sets, drawn."""
    path = tmp_path_factory.mktemp('kept')
    drawn_pages.draw([sets.KEPT / name for name in KEPT], path, say=lambda text: None)
    return path


@pytest.mark.parametrize('width, scheme', SIZES)
@pytest.mark.parametrize('name', ['.', *SETS])
def test_a_page_is_whole_and_legible(browser, top, name, width, scheme):
    assert look(browser, top / name / 'index.html', width, scheme) == []


@pytest.mark.parametrize('width, scheme', [SIZES[1], SIZES[2]])
@pytest.mark.parametrize('name', ['.', *KEPT])
def test_the_pages_of_kept_sets(browser, kept, name, width, scheme):
    assert look(browser, kept / name / 'index.html', width, scheme) == []


@pytest.mark.parametrize('name', SETS)
def test_every_picture_is_in_the_page_and_beside_it(browser, top, name):
    browser.open(top / name / 'index.html', 1280, 'light')
    shown = browser.evaluate('[...document.querySelectorAll("figure svg")]'
                             '.map(svg => svg.getAttribute("aria-label"))')
    files = {ET.parse(file).getroot().get('aria-label')
             for file in (top / name / 'pictures').iterdir()}
    assert sorted(shown) == sorted(files)
    result = sets.ResultSet(top / name)
    for case in result.data['cases']:
        wanted = ['average of each build']
        if result.rows(case, ('second',)):
            wanted += ['throughput over time', 'CPU and disk use over time']
        if result.rows(case, ('ms',)):
            wanted += ['histogram of response times']
        for kind in wanted:
            label = f'{result.data["suite"]}, {case["title"]}: {kind}'
            assert sum(each.startswith(label) for each in shown) == 1, label
    assert sum('ratio of' in label for label in shown) == 1


def test_every_link_leads_somewhere(top):
    for page in [top / 'index.html', *(top / name / 'index.html' for name in SETS)]:
        text = page.read_text()
        links = re.findall(r'(?:href|src)="([^"#]+)"', text)
        assert not re.search(r'url\((?!#)', text)
        assert len(links) > 4
        for link in links:
            assert link == 'data:,' or (page.parent / link).exists(), f'{page}: {link}'
        if page.parent != top:
            assert 'src=' not in text, 'a page of a set needs no other file'
            assert set(drawn_pages.FILES) <= set(links)


def test_a_page_says_what_was_measured_and_whether_it_is_whole(top):
    page = (top / SETS[0] / 'index.html').read_text()
    for words in ('oltp', '10.11.18', 'Invented CPU', '3,000 IOPS', '3 rounds of 60', 'O_DIRECT',
                  'includes 1', 'read-ahead', '0123456789abcdef', 'buffered writes'):
        assert words in page
    cut_off = (top / SETS[3] / 'index.html').read_text()
    assert 'class="warning"' in cut_off and 'interrupted in round 3' in cut_off
    assert 'class="warning"' not in page
    assert '<b>heavy' not in cut_off and '&lt;b&gt;heavy' in cut_off
    assert (top / 'index.html').read_text().count('<i>incomplete</i>') == 1


@pytest.mark.parametrize('old, new, said', [
    (r'<figure><svg.*?</svg>\s*</figure>', '<figure></figure>', 'a figure without a picture'),
    (r'(<figure><svg.*?>).*?(</svg>\s*</figure>)', r'\1\2', 'nothing drawn'),
    (r'<figure><svg.*?</svg>\s*</figure>', '<img src="pictures/none.svg" alt="">',
     'image not shown'),
    (r'</main>', '<script>console.error("it broke")</script></main>', 'it broke'),
    (r'</main>', '<script>nowhere()</script></main>', 'Uncaught'),
    (r'<h1>', '<h1 style="white-space:nowrap;width:900px">', 'wider than the screen'),
    (r'\.wide \{.*?\}\s*\.wide th\[scope\] \{.*?\}', '.wide { overflow-x: auto; }', 'squeezed'),
    (r'@media \(prefers-color-scheme:dark\)', '@media print', 'hard to read'),
    (r'(<text [^>]*x=")\d+', r'\g<1>370', 'text is cut'),
])
def test_a_broken_page_is_noticed(browser, top, tmp_path, old, new, said):
    text = (top / SETS[2] / 'index.html').read_text()
    broken, count = re.subn(old, new, text, count=1, flags=re.DOTALL)
    assert count == 1
    page = tmp_path / 'index.html'
    page.write_text(broken)
    assert said in ' '.join(look(browser, page, 390, 'dark'))


def test_the_same_results_give_the_same_bytes(made, top, tmp_path):
    code = 'import sys, pathlib; from millrace_bench.report import pages; ' \
        'pages.draw([pathlib.Path(sys.argv[1])], pathlib.Path(sys.argv[2]))'
    for seed in ('1', '2'):
        subprocess.run([TOP / 'scripts/python', '-c', code, made / SETS[0], tmp_path / seed],
                       check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, 'PYTHONHASHSEED': seed, 'TZ': f'UTC-{seed}',
                            'SOURCE_DATE_EPOCH': seed})
        drawn = tmp_path / seed / SETS[0]
        files = [path.relative_to(drawn) for path in drawn.rglob('*') if path.is_file()]
        assert len(files) > 10
        for file in files:
            assert (drawn / file).read_bytes() == (top / SETS[0] / file).read_bytes(), file


def test_a_page_is_drawn_again_where_its_set_has_changed(made, tmp_path):
    path = tmp_path / SETS[1]
    shutil.copytree(made / SETS[1], path)
    page = tmp_path / 'report' / SETS[1] / 'index.html'

    def draw():
        drawn_pages.draw([path], tmp_path / 'report', say=lambda text: None)
        return page.stat().st_mtime_ns
    first = draw()
    assert draw() == first
    sample.change(path, lambda data: data.update(commit='1' * 40))
    second = draw()
    assert second != first and '1' * 40 in page.read_text()
    (path / 'runs.csv.gz').write_bytes(gzip.compress(b'case,second\nascending,fast\n'))
    with pytest.raises(Failure) as failure:     # from the process that draws
        draw()
    assert 'runs.csv.gz: ' in failure.value.lines[0] and len(failure.value.lines) > 1
    assert not failure.value.lines[1].startswith(' ')
    assert page.stat().st_mtime_ns == second


def headline_of(*paths):
    """The text of the headline's picture of result sets."""
    return headline.picture([sets.ResultSet(path) for path in paths])


def test_the_headline(browser, made, tmp_path):
    picture = headline_of(made / SETS[0], made / SETS[1])
    (tmp_path / 'headline.svg').write_text(picture)
    assert 'Invented CPU' in picture and 'scan, 3,000 IOPS' in picture
    assert picture.count('class="gain" cx') == 1 + 5
    page = tmp_path / 'index.html'
    for width, scheme in SIZES:
        # as a README shows it, and opened to be looked into
        page.write_text(HEAD + '<img src="headline.svg" style="max-width:100%">')
        assert look(browser, page, width, scheme) == []
        inline = picture.replace('<svg ', '<svg style="max-width:100%;height:auto" ')
        ground = '#161b22' if scheme == 'dark' else '#fff'
        page.write_text(HEAD + f'<figure style="margin:0;background:{ground}">{inline}</figure>')
        assert look(browser, page, width, scheme) == []


def test_a_loss_is_named_in_the_headline(made, tmp_path):
    def slow(data):
        data['cases'][1]['comparisons'][0].update(ratio=0.861, low=0.75, high=0.99,
                                                  includes_one=False)
    path = tmp_path / SETS[0]
    sample.write(path)
    sample.change(path, slow)
    picture = headline_of(path)
    assert picture.count('class="loss" cx') == 1 + 1
    assert 'read-only-16 0.861 (0.750 – 0.990): slower' in picture


def test_the_headline_is_not_made_of_what_was_cut_off(made):
    with pytest.raises(Failure, match='incomplete: interrupted'):
        headline_of(made / SETS[3])
