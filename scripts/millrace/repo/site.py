"""The site of the repository, by mkdocs: site/ has its configuration."""
import dataclasses
import datetime
import hashlib
import shutil

from millrace import TOP
from millrace.command import environment
from millrace.repo import place
from millrace.repo.tools import copy, link, tool
from millrace.upstream import pins

CONFIG = TOP / 'site/mkdocs.yml'
BESIDE, MADE = place.NEW / 'beside', place.NEW / 'site'
SETS, REPORT = 'test-results/sets', TOP / 'dist/report'


def _pages_beside(contents, plan):
    """Collects what is not in the checkout: releases.json, the releases' own pages, and the
    measurements as bench/report draws them."""
    BESIDE.mkdir(parents=True)
    contents.write(BESIDE)
    for release in contents.releases:
        for name in release.files:
            if name.endswith('.md'):
                plan.bring(release, name, BESIDE / release.places(name)[0], again=True)
    tool(TOP / 'bench/report')
    for result in sorted((TOP / SETS).glob('*/result.json')):
        drawn = REPORT / result.parent.name
        for file in drawn.iterdir():
            if file.is_file() and not file.name.startswith('.'):
                copy(file, BESIDE / SETS / drawn.name / file.name)


def build(contents, plan):
    """Makes the site, and returns the Contents with its hash: the same bytes from the same
    checkout and Contents.  Raises Failure where a link leads nowhere."""
    if not CONFIG.exists():
        return dataclasses.replace(contents, site='')
    _pages_beside(contents, plan)
    newest = max(pins.read(tree)['DATE'] for tree in pins.trees())
    date = datetime.datetime.fromisoformat(f'{newest}T00:00+00:00')
    tool('mkdocs', 'build', '--config-file', CONFIG, '--site-dir', MADE,
         env=environment(LC_ALL='C.UTF-8', PYTHONPATH=TOP / 'scripts', PYTHONDONTWRITEBYTECODE=1,
                         MILLRACE_BASE=f'{contents.base}/', MILLRACE_BESIDE=BESIDE,
                         SOURCE_DATE_EPOCH=int(date.timestamp())))
    made = hashlib.sha256()
    for file in sorted(MADE.rglob('*')):
        if file.is_file():
            made.update(f'{file.relative_to(MADE)}\0'.encode()
                        + hashlib.sha256(file.read_bytes()).digest())
    return dataclasses.replace(contents, site=made.hexdigest())


def put(public):
    """Puts the site that was made beside the packages."""
    for file in MADE.rglob('*'):
        if file.is_file():
            link(file, public / file.relative_to(MADE))
    shutil.rmtree(BESIDE, ignore_errors=True)
