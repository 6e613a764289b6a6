"""Writes the pictures and pages of result sets."""
import shutil
from pathlib import Path

from . import gallery
from .overview import overview
from .page import page
from .results import ResultSet, found_under


def draw(top, paths):
    """Draws the result sets at `paths`, or all under `top`, and brings the overview of `top` up to date."""
    for result in [ResultSet(path) for path in paths] or found_under(top):
        draw_set(result)
        print(f'report: {result.name}/index.html', flush=True)
    write_whole(Path(top) / 'index.html', overview(found_under(top), recorded_by_hand(top)))
    print(f'report: {Path(top).name}/index.html')


def draw_set(result):
    """Draws one result set.  Nothing is written before all of it is drawn."""
    of_set = gallery.of_set(result)
    of_case = {case['name']: gallery.of_case(result, case) for case in result.data['cases']}
    text = page(result, of_set, of_case)
    folder = result.path / 'pictures'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for picture in [*of_set, *(one for several in of_case.values() for one in several)]:
        write_whole(folder / f'{picture.name}.svg', picture.text)
    write_whole(result.path / 'index.html', text)


def recorded_by_hand(top):
    """Name and title of each directory that has a README.md and no result.json, the newest first."""
    found = []
    for readme in sorted(Path(top).glob('*/README.md'), reverse=True):
        if not (readme.parent / 'result.json').exists():
            found.append((readme.parent.name, readme.read_text(encoding='utf-8').split('\n', 1)[0].strip('# ')))
    return found


def write_whole(path, text):
    """Writes a file, whole or not at all."""
    new = path.with_name(path.name + '.new')
    new.write_text(text, encoding='utf-8')
    new.replace(path)
