"""The list that SHOW PATCHES prints, on headers of every kind: what the C compiler
makes of the generated rows must be what the header says."""
import hashlib
import subprocess

import pytest
from conftest import unpack
from millrace.patches import series
from support.checkout import TREE

DIFF = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Description: not me\n+Author: nor me\n'
NASTY = r'''a;b [c] ]d[ "e" \f\n\\ ${g} @h@ $ENV{HOME} ??= ??/ %s 'i' `j` äöü € 漢 🐬 #k \; \" ;;'''

# name: (text of the patch, then what it says: description, author, license, status)
CASES = {
    'dep3': (
        f'Description: {NASTY}\n long text\n .\n Author: not this\nAuthor: {NASTY}\n'
        f'License: {NASTY}\n text\nForwarded: {NASTY}\n'
        f'---\n{DIFF}', NASTY, NASTY, NASTY, NASTY),
    'none': (DIFF,),
    'empty': ('',),
    'no-newline': ('Description: x', 'x'),
    'crlf': ('Description: x y\r\nAuthor: z\r\n---\r\n' + DIFF, 'x y', 'z'),
    'tabs': ('Description:\tx\ty \nAuthor:z\n---\n' + DIFF, 'x y', 'z'),
    'latin1': (b'Description: Gr\xfc\xdfe\n---\n' + DIFF.encode(), b'Gr\xfc\xdfe'),
    'long': ('Description: ' + 'x' * 20000 + 'y\n---\n' + DIFF, 'x' * 20000 + 'y'),
    'late-first-line': (
        'Description:\n the synopsis\n more\nforwarded: NO\n'
        '---\n' + DIFF, 'the synopsis', None, None, 'not forwarded'),
    'git': (
        'From 1234567890 Mon Sep 17 00:00:00 2001\nFrom: A B <a@b>\nDate: x\n'
        'Subject: [PATCH 1/2] do this\n and that\n\nAuthor is not: here\n'
        'Signed-off-by: C\n'
        '---\n x | 2 +-\n' + DIFF, 'do this and that', 'A B <a@b>'),
    'git-plain': (
        'Subject: [MDEV-1] x\nFrom: A\n\nLicense: GPL\n\n'
        'diff --git a/x b/x\n' + DIFF, '[MDEV-1] x', 'A', 'GPL'),
    'two-authors': (
        'Description: x\nAuthor: A\nAuthor: B,\n C\nFrom: D\nDescription: second\n more\n'
        'Forwarded: not-needed\n'
        '---\n' + DIFF, 'x', 'A, B, C', None, 'not needed'),
    'bug': (
        'Description: x\nBug: http://b/1;2\nBug-Debian: http://no\n'
        '---\n' + DIFF, 'x', None, None, 'http://b/1;2'),
    'yes-bug': (
        'Description: x\nForwarded: yes\nBug: http://b\n'
        '---\n' + DIFF, 'x', None, None, 'http://b'),
    'yes': ('Description: x\nForwarded: yes\n---\n' + DIFF, 'x', None, None, 'forwarded'),
    'no-bug': (
        'Description: x\nForwarded: no\nBug: http://b\n'
        '---\n' + DIFF, 'x', None, None, 'not forwarded'),
    'applied': (
        'Description: x\nForwarded: http://f\nApplied-Upstream: 11.9, http://c\n'
        '---\n' + DIFF, 'x', None, None, 'applied upstream: 11.9, http://c'),
    'index': ('Description: x\nIndex: a\n=====\nAuthor: y\n' + DIFF, 'x'),
    'free': ('just words\n  Author: indented\n\n' + DIFF,),
    'backslash': (
        'Description: ends in \\\nAuthor: \\\\\nLicense: "\nForwarded: ]\n'
        '---\n' + DIFF, 'ends in \\', '\\\\', '"', ']'),
    'semi': ('Description: ;\nAuthor: ;;a;\nLicense: [\n---\n' + DIFF, ';', ';;a;', '['),
    'false': (
        'Description: OFF\nAuthor: 0\nLicense: NOTFOUND\nForwarded: text\n'
        '---\n' + DIFF, 'OFF', '0', 'NOTFOUND', 'text'),
    'varname': (
        'Description: value\nAuthor: literal\nLicense: row\nForwarded: status\n'
        '---\n' + DIFF, 'value', 'literal', 'row', 'status'),
}

TEXT = {name: case[0] for name, case in CASES.items()}

# prints the rows: '+' and the text, or '-' for NULL, each closed by a NUL
PROGRAM = '''#include <stdio.h>
#include <stddef.h>
#define STRING_WITH_LEN(X) (X), ((size_t) (sizeof(X) - 1))
typedef struct { const char *str; size_t length; } LEX_CSTRING;
static const LEX_CSTRING patches[][6]= {
#include "patches.inc"
};
int main(void)
{
  for (size_t i= 0; i < sizeof patches / sizeof *patches; i++)
    for (int j= 0; j < 6; j++)
    {
      putchar(patches[i][j].str ? '+' : '-');
      if (patches[i][j].str)
        fwrite(patches[i][j].str, 1, patches[i][j].length, stdout);
      putchar(0);
    }
  return 0;
}
'''


@pytest.fixture(scope='module')
def source(touched, tmp_path_factory):
    """The source with show-patches alone, as far as the series touches it."""
    tree = tmp_path_factory.mktemp('show-patches') / 'source'
    unpack(touched, tree)
    subprocess.run(['patch', '-p1', '--quiet', '-i', series.patch_file(TREE, 'show-patches')],
                   cwd=tree, check=True)
    return tree


@pytest.fixture
def generate(source, tmp_path):
    """Runs the generator over files of a directory; its rows, or what it says when it fails."""
    here = tmp_path / 'a b;'
    here.mkdir()

    def run(files, series_file='series'):
        for name, text in files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run(
            ['cmake', f'-DSOURCE_DIR={here}', f'-DOUTPUT={here}/patches.inc',
             f'-DPATCH_SERIES={here / series_file if series_file else ""}',
             '-P', source / 'plugin/show_patches/list_patches.cmake'],
            text=True, capture_output=True, check=False)
        if done.returncode:
            return ' '.join(done.stderr.split())
        generated = (here / 'patches.inc').read_bytes()
        assert str(here).encode() not in generated, 'a path of the machine'
        (here / 'list.c').write_text(PROGRAM)
        subprocess.run(['cc', '-std=c99', '-trigraphs', '-Wall', '-Wextra', '-Werror', 'list.c',
                        '-o', 'list'], cwd=here, check=True)
        printed = subprocess.run([here / 'list'], capture_output=True, check=True).stdout
        fields = [field[1:] if field[:1] == b'+' else None for field in printed.split(b'\0')[:-1]]
        return [tuple(fields[i:i + 6]) for i in range(0, len(fields), 6)]
    return run


@pytest.fixture
def own_row(source):
    """The row of show-patches where no series brings it."""
    facts = dict(line.split(': ', 1) for line in
                 (source / 'plugin/show_patches/show-patches.dep3').read_text().splitlines())
    said = (facts[field].encode() for field in ('Description', 'Author', 'License'))
    return (b'show-patches', *said, b'not forwarded', None)


def row(name, text, *facts):
    """The row of a patch: its name, what its header says, its hash."""
    text = text if isinstance(text, bytes) else text.encode()
    facts = [fact.encode() if isinstance(fact, str) else fact for fact in facts]
    return (name.encode(), *facts, *[None] * (4 - len(facts)),
            hashlib.sha256(text).hexdigest().encode())


@pytest.mark.parametrize('name', CASES)
def test_header(name, generate, own_row):
    text, *facts = CASES[name]
    rows = generate({'series': f'{name}\n', f'{name}.patch': text})
    assert rows == [own_row, row(name, text, *facts)]


def test_series_file(generate):
    own = 'Description: s\n---\n--- /dev/null\n+++ b/plugin/show_patches/show-patches.dep3\n' \
          '@@ -0,0 +1 @@\n+x\n'
    rows = generate({'series': '# c;omment [\n\n  bug   -p1 # x\ngit.patch -p0\nsub/x.diff\r\n'
                               '  # y\n01-show-patches.patch\nyes',
                     'bug.patch': TEXT['bug'], 'git.patch': TEXT['git'], 'sub/x.diff': DIFF,
                     '01-show-patches.patch': own, 'yes': TEXT['yes']})
    assert rows == [row('bug', *CASES['bug']), row('git', *CASES['git']), row('sub/x', DIFF),
                    row('01-show-patches', own, 's'), row('yes', *CASES['yes'])]


def test_no_series_at_all(generate, own_row):
    assert generate({}, series_file=None) == [own_row]


@pytest.mark.parametrize('directory, noted', [('debian/patches', 'debian/patches\n'),
                                              ('patches', None)])
def test_state_of_quilt(directory, noted, generate, own_row):
    files = {'.pc/applied-patches': 'bug.patch\nyes.patch\n',
             f'{directory}/bug.patch': TEXT['bug'],
             f'{directory}/yes.patch': TEXT['yes'], f'{directory}/no-bug.patch': 'x'}
    if noted:
        files['.pc/.quilt_patches'] = noted
    rows = generate(files, series_file=None)
    assert rows == [own_row, row('bug', *CASES['bug']), row('yes', *CASES['yes'])]


def test_patches_elsewhere(generate, own_row, tmp_path):
    (tmp_path / 'bug.patch').write_text(TEXT['bug'])
    files = {'.pc/applied-patches': 'bug.patch\n', '.pc/.quilt_patches': f'{tmp_path}\n'}
    assert generate(files, series_file=None) == [own_row, row('bug', *CASES['bug'])]


@pytest.mark.parametrize('files, series_file, words', [
    ({'series': 'nix\n'}, 'series', ['/nix: no such patch', 'take its line out']),
    ({}, 'nope', ['nope is not a file', '-DPATCH_SERIES=']),
    ({}, '.', ['is not a file']),
    ({'.pc/applied-patches': 'bug.patch\n'}, None, ['quilt refresh']),
], ids=['missing patch', 'missing series', 'a directory', 'lost under quilt'])
def test_error(files, series_file, words, generate):
    said = generate(files, series_file)
    assert isinstance(said, str) and all(word in said for word in words), said


def test_what_the_patch_says_of_itself_is_its_header(source):
    text = series.patch_file(TREE, 'show-patches').read_text()
    header = text.partition('\n---\n')[0].splitlines()
    own = (source / 'plugin/show_patches/show-patches.dep3').read_text().splitlines()
    assert [line for line in own if line not in header] == []
