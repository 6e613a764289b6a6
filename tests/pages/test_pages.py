"""The pages in a real browser: on a phone and a desk, light and dark, nothing is missing, cut or illegible.

Most are made from invented result sets (sample.py); those in test-results/ are looked at as they are.
"""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from browser import Browser
from conftest import TOP
import sample
from millrace_report import draw, headline

SIZES = [(390, 'light'), (390, 'dark'), (1280, 'light'), (1280, 'dark')]

HEAD = '<!DOCTYPE html><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'

# Run in the page.  What it returns is what is wrong with it.
LOOK = r'''
(() => {
  const faults = [], wide = WIDTH;
  document.querySelectorAll('details').forEach(one => one.open = true);
  if (document.documentElement.scrollWidth > wide) faults.push('the page is wider than the screen');
  for (const one of document.querySelectorAll('body *')) {
    const box = one.getBoundingClientRect();
    if (box.right > wide + 0.5 && !one.closest('.wide') && !one.closest('svg'))
      faults.push(`${one.tagName} reaches beyond the screen: ${one.textContent.slice(0, 40)}`);
  }
  for (const one of document.querySelectorAll('th,td,dt,dd'))
    if (one.clientWidth < 44 && one.textContent.trim().length > 8) faults.push(`squeezed: ${one.textContent}`);
  for (const one of document.images)
    if (!one.complete || !one.naturalWidth) faults.push(`image not shown: ${one.src}`);
  for (const one of document.querySelectorAll('figure')) {
    const svg = one.querySelector('svg');
    if (!svg) { faults.push('a figure without a picture'); continue; }
    const box = svg.getBoundingClientRect(), name = svg.getAttribute('aria-label');
    if (box.width < 250 || box.height < 60) faults.push(`picture too small: ${name}`);
    if (svg.querySelectorAll('path,use').length < 3) faults.push(`nothing drawn: ${name}`);
    for (const text of svg.querySelectorAll('text')) {
      const place = text.getBoundingClientRect();
      if (place.left < box.left - 1 || place.right > box.right + 1 || place.bottom > box.bottom + 1)
        faults.push(`text is cut: ${text.textContent} in ${name}`);
      if (place.height < 8) faults.push(`text too small: ${text.textContent} in ${name}`);
    }
  }
  const light = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!/rgba\(.*, 0\)/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  for (const one of document.querySelectorAll('h1,h2,h3,p,a,li,b,span,small,i,th,td,dt,dd,summary,svg text')) {
    const style = getComputedStyle(one), colour = one.closest('svg') ? style.fill : style.color;
    if (one.textContent.trim() && contrast(colour, ground(one)) < 4.5)
      faults.push(`${one.textContent.slice(0, 40)}: ${colour} on ${ground(one)} is hard to read`);
  }
  // but for the rims of paper that set lines off
  for (const one of document.querySelectorAll('figure svg [stroke-width]:not([stroke="#ffffff"])')) {
    const colour = getComputedStyle(one).stroke;
    if (/^rgb\(/.test(colour) && parseFloat(one.getAttribute('stroke-width')) >= 1.3 && contrast(colour, ground(one)) < 2.9)
      faults.push(`a line in ${colour} on ${ground(one)} is hard to see`);
  }
  return faults;
})()'''


def look(browser, page, width, scheme):
    """What is wrong with a page, in texts."""
    return browser.open(page, width, scheme) + browser.evaluate(LOOK.replace('WIDTH', str(width)))


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    """The browser, started once, and not kept for the tests that follow."""
    with Browser(tmp_path_factory.mktemp('profile')) as started:
        yield started


@pytest.fixture(scope='session')
def top(tmp_path_factory):
    """A directory of invented result sets, drawn."""
    path = tmp_path_factory.mktemp('test-results')
    sample.write_all(path)
    hand = path / '2026-11-18-by-hand'
    hand.mkdir()
    (hand / 'README.md').write_text('# Scans & more, by hand\n')
    draw.draw(path, [])
    return path


SETS = ['2026-11-21-10.11-oltp', '2026-11-21-10.11-scan', '2026-11-20-11.8-contention', '2026-11-19-10.11-checkpoint']


@pytest.mark.parametrize('width, scheme', SIZES)
@pytest.mark.parametrize('name', ['.', *SETS])
def test_a_page_is_whole_and_legible(browser, top, name, width, scheme):
    assert look(browser, top / name / 'index.html', width, scheme) == []


@pytest.mark.parametrize('width, scheme', SIZES)
@pytest.mark.parametrize('page', sorted(str(page.relative_to(TOP)) for page in (TOP / 'test-results').glob('**/index.html')))
def test_the_pages_of_what_was_measured(browser, page, width, scheme):
    assert look(browser, TOP / page, width, scheme) == []


@pytest.mark.parametrize('name', SETS)
def test_every_picture_is_in_the_page_and_beside_it(browser, top, name):
    browser.open(top / name / 'index.html', 1280, 'light')
    shown = browser.evaluate('[...document.querySelectorAll("figure svg")].map(svg => svg.getAttribute("aria-label"))')
    files = {ET.parse(file).getroot().get('aria-label') for file in (top / name / 'pictures').iterdir()}
    assert sorted(shown) == sorted(files)
    data = json.loads((top / name / 'result.json').read_text())
    for case in data['cases']:
        wanted = ['average of each build']
        if any(run['timeline'] for run in case['runs']):
            wanted += ['throughput over time', 'CPU and disk use over time']
        if any(run['histogram'] for run in case['runs']):
            wanted += ['histogram of response times']
        for kind in wanted:
            assert sum(label.startswith(f'{data["suite"]}, {case["title"]}: {kind}') for label in shown) == 1, f'{case["name"]}: {kind}'
    assert sum('ratio of' in label for label in shown) == 1


def test_every_link_leads_somewhere(top):
    for page in [top / 'index.html', *(top / name / 'index.html' for name in SETS)]:
        text = page.read_text()
        links = re.findall(r'href="([^"#]+)"', text)
        assert not re.search(r'src=|url\((?!#)', text), 'a page needs no other file'
        assert len(links) > 4
        for link in links:
            assert link == 'data:,' or (page.parent / link).exists(), f'{page}: {link}'
        if page.parent != top:
            raw = {file.relative_to(page.parent).as_posix() for file in (page.parent / 'raw').iterdir()}
            assert raw <= set(links)


def test_a_page_says_what_was_measured_and_whether_it_is_whole(top):
    page = (top / SETS[0] / 'index.html').read_text()
    for words in ('oltp', '10.11.18', 'Invented CPU', '3,000 IOPS', '3 rounds of 60', 'O_DIRECT', 'includes 1', 'read-ahead',
                  '0123456789abcdef'):
        assert words in page
    cut_off = (top / SETS[3] / 'index.html').read_text()
    assert 'Incomplete' in cut_off and 'interrupted in round 3' in cut_off and 'Incomplete' not in page
    assert '<b>heavy' not in cut_off and '&lt;b&gt;heavy' in cut_off
    overview = (top / 'index.html').read_text()
    assert overview.count('<i>incomplete</i>') == 1 and 'Scans &amp; more, by hand' in overview


@pytest.mark.parametrize('old, new, said', [
    (r'<figure><svg.*?</svg></figure>', '<figure></figure>', 'a figure without a picture'),
    (r'(<figure><svg.*?>).*?(</svg></figure>)', r'\1\2', 'nothing drawn'),
    (r'<figure><svg.*?</svg></figure>', '<img src="pictures/none.svg" alt="">', 'image not shown'),
    (r'</main>', '<script>console.error("it broke")</script></main>', 'it broke'),
    (r'</main>', '<script>nowhere()</script></main>', 'Uncaught'),
    (r'<h1>', '<h1 style="white-space:nowrap;width:900px">', 'wider than the screen'),
    (r'\.wide \{.*?\} \.wide th\[scope\] \{.*?\}', '.wide { overflow-x: auto; }', 'squeezed'),
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


def test_the_same_results_give_the_same_bytes(top, tmp_path):
    sample.write(tmp_path / SETS[0])
    code = f'import sys; sys.path.insert(0, "bench"); from millrace_report import draw; draw.draw({str(tmp_path)!r}, [])'
    for seed in ('1', '2'):
        subprocess.run([sys.executable, '-c', code], cwd=TOP, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, 'PYTHONHASHSEED': seed, 'TZ': f'UTC-{seed}', 'SOURCE_DATE_EPOCH': seed})
        files = [path.relative_to(tmp_path / SETS[0]) for path in (tmp_path / SETS[0]).rglob('*') if path.is_file()]
        assert len(files) > 10
        for file in files:
            assert (tmp_path / SETS[0] / file).read_bytes() == (top / SETS[0] / file).read_bytes(), file


def test_the_headline(browser, top, tmp_path):
    (tmp_path / 'docs').mkdir()
    (tmp_path / 'README.md').write_text('before\n<!-- headline -->\nold\n<!-- /headline -->\nafter\n')
    headline.write(tmp_path, [top / SETS[0], top / SETS[1]])
    readme = (tmp_path / 'README.md').read_text()
    assert re.fullmatch(r'before\n<!-- headline -->\n.*\(docs/headline.svg\).*\n<!-- /headline -->\nafter\n', readme, re.DOTALL)
    assert f'{SETS[1]}/index.html' in readme and 'old' not in readme
    page = tmp_path / 'index.html'
    picture = (tmp_path / 'docs/headline.svg').read_text()
    assert 'Invented CPU' in picture and 'cold ascending scan' in picture
    for width, scheme in SIZES:
        # as a README shows it, and opened to be looked into
        page.write_text(HEAD + '<img src="docs/headline.svg" style="max-width:100%">')
        assert look(browser, page, width, scheme) == []
        inline = picture.replace('<svg ', '<svg style="max-width:100%;height:auto" ')
        page.write_text(HEAD + f'<figure style="margin:0;background:{"#161b22" if scheme == "dark" else "#fff"}">{inline}</figure>')
        assert look(browser, page, width, scheme) == []


def test_the_headline_is_not_made_of_what_was_cut_off(top, tmp_path):
    (tmp_path / 'README.md').write_text('<!-- headline -->\n<!-- /headline -->\n')
    done = subprocess.run([TOP / 'bench/report', '--headline', top / SETS[3]], text=True, capture_output=True, check=False)
    assert done.returncode == 1 and 'incomplete: interrupted' in done.stderr
