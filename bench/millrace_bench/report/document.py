"""What every page is: a whole HTML document that needs no other file to be read."""
from html import escape
from pathlib import Path

from . import style

STYLE = Path(__file__).with_name('page.css')


def document(title, body):
    """A whole HTML document."""
    rules = ' '.join(STYLE.read_text(encoding='utf-8').split()) + style.dark_rules()
    return '\n'.join(['<!DOCTYPE html>', '<html lang="en">', '<meta charset="utf-8">', f'<title>{escape(title)}</title>',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      '<meta name="color-scheme" content="light dark">', '<link rel="icon" href="data:,">',
                      f'<style>{rules}</style>', '<main>', *filter(None, body), '</main>', '</html>', ''])


def lines(*texts):
    """Texts below one another, without those that say nothing."""
    return '<br>'.join(escape(text) for text in texts if text)
