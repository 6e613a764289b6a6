"""Patches for tests: made of real edits of vanilla files, written as quilt writes ours."""
import subprocess
import tempfile
from pathlib import Path

HEADER = '''Description: a patch that a test has made
Author: A Person <a@example.org>
Origin: vendor
Forwarded: no
Last-Update: 2026-11-21
License: GPL-2.0-only
Depends: {depends}
Test: innodb.{test}
Bench: none, it is an example
Drop-When: the test is over
---
'''


def hunks(path, old, new):
    """The diff of one file; a text is None where the file is not there."""
    with tempfile.TemporaryDirectory() as directory:
        labels = []
        for side, name, text in (('a', 'old', old), ('b', 'new', new)):
            Path(directory, name).write_text(text or '', encoding='utf-8')
            labels += ['--label', '/dev/null' if text is None else f'{side}/{path}']
        return subprocess.run(['diff', '-up', *labels, 'old', 'new'], cwd=directory, text=True,
                              stdout=subprocess.PIPE, check=False).stdout


class PatchMaker:
    """Writes patches of a tree of a checkout, each made on what the ones before it leave."""

    def __init__(self, checkout, tree, vanilla):
        self.checkout, self.tree, self.vanilla, self.files = checkout, tree, vanilla, {}
        for file in (checkout.path / 'patches' / tree).iterdir():
            file.unlink()
        checkout.write('series', '')

    def text(self, path):
        """A file as it is after the patches so far."""
        if path not in self.files:
            file = self.vanilla / path
            self.files[path] = file.read_text(encoding='utf-8') if file.exists() else None
        return self.files[path]

    def add(self, name, edits, depends='none', test='SELECT 1'):
        """Adds a patch to the series.

        `edits` is {path: function that edits its text}, `test` the text of the patch's test."""
        changes = {f'mysql-test/suite/innodb/t/{name}.test': (None, f'{test}\n')}
        for path, edit in edits.items():
            changes[path] = (self.text(path), edit(self.text(path)))
            self.files[path] = changes[path][1]
        self.checkout.write(
            f'patches/{self.tree}/{name}.patch', HEADER.format(depends=depends, test=name)
            + ''.join(hunks(path, *change) for path, change in sorted(changes.items())))
        with (self.checkout.path / 'series').open('a', encoding='utf-8') as series:
            series.write(f'{name}\n')


def put(part, line):
    """An edit that puts a line at so many ninths of a file."""
    def edit(text):
        lines = text.splitlines(keepends=True)
        at = len(lines) * part // 9
        return ''.join([*lines[:at], f'{line}\n', *lines[at:]])
    return edit


def replace(old, new):
    """An edit that replaces a text, once."""
    def edit(text):
        assert old in text
        return text.replace(old, new, 1)
    return edit
