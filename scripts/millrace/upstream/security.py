"""The security fixes of upstream's releases: trees/<tree>/security.toml.

Usage: scripts/python -m millrace.upstream.security TREE [NEWEST]

Prints the fixes that the pinned release of a tree lacks, a line for each newer release that the
file knows, and whether the file knows NEWEST, the newest release that was seen.
"""
import datetime
import re
import tomllib
from dataclasses import dataclass

from millrace import TOP
from millrace.command import run_command
from millrace.errors import Failure, Fault
from millrace.upstream import pins


WEEK = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Known:
    """What the file of a tree says; of a tree without one, nothing."""
    checked: datetime.date = None   # when it was brought up to date
    cves: dict = None               # {release: CVEs that it closes}, oldest first
    source: dict = None             # {release: where that is from}

    @property
    def releases(self):
        """The releases that the file knows, oldest first."""
        return list(self.cves or ())

    def between(self, old, new=None):
        """[(release, CVEs)] of the releases after `old` and up to `new`, or all after it."""
        return [(release, self.cves[release]) for release in self.releases
                if order(old) < order(release) and (not new or order(release) <= order(new))]


def order(release):
    """A key to sort releases by."""
    return [int(number) for number in re.findall(r'\d+', release)]


def label(tree):
    """Path of the file of a tree, in the checkout."""
    return f'trees/{tree}/security.toml'


def read(tree):
    """What is known of a tree's line.  Raises Failure where its file is not as it has to be."""
    file = TOP / label(tree)
    return parse(tree, file.read_text(encoding='utf-8')) if file.exists() else Known()


def parse(tree, text):
    """What the text of a tree's file says.  Raises Failure."""
    def refuse(what):
        raise Failure(f'{label(tree)}: {what}', 'as in: checked = 2026-11-28, and in',
                      '["10.11.18"]', 'source = "a changelog"', 'cves = ["CVE-2026-48163"]')
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse(error)
    checked = values.pop('checked', None)
    if type(checked) is not datetime.date:
        refuse('has no date `checked`')
    seen = {}
    for release, entry in values.items():
        if not re.fullmatch(r'\d+(\.\d+)+', release):
            refuse(f"'{release}' is no release")
        if not isinstance(entry, dict) or set(entry) != {'cves', 'source'} or not entry['source']:
            refuse(f'{release} has not `cves` and `source`')
        if not isinstance(entry['cves'], list) or not isinstance(entry['source'], str):
            refuse(f'{release}: `cves` is a list and `source` a text')
        for cve in entry['cves']:
            if not re.fullmatch(r'CVE-\d{4}-\d{4,}', str(cve)):
                refuse(f"{release}: '{cve}' is no CVE")
            if cve in seen:
                refuse(f'{cve} is in {seen[cve]} and in {release}')
            seen[cve] = release
    known = sorted(values, key=order)
    return Known(checked, {release: tuple(values[release]['cves']) for release in known},
                 {release: values[release]['source'] for release in known})


def faults(tree, version=None):
    """The Faults of a file that is not up to date for a release, by default the pinned one."""
    pin, known = pins.read(tree), read(tree)
    version, look = version or pin['VERSION'], 'make upstream-watch; look what newer releases fix'
    if version not in known.releases:
        return [Fault(f'does not know {version}: which CVEs does it close?',
                      f'enter it as other trees have theirs, {look}, and set `checked`',
                      file=label(tree))]
    if known.checked < datetime.date.fromisoformat(pin['DATE']):
        return [Fault(f'was checked on {known.checked}, before DATE={pin["DATE"]} of the tree',
                      f'{look}, and set `checked`', file=label(tree))]
    return []


def check(tree, version):
    """Raises Failure where the file of a tree is not up to date for a release."""
    for fault in faults(tree, version):
        raise Failure(f'{fault.file} {fault.what}', fault.mend)


def check_today(tree):
    """Raises Failure where nobody has looked for a week: for a release that is made today."""
    checked = read(tree).checked
    if abs(datetime.date.today() - checked) > WEEK:
        raise Failure(f'{label(tree)} was checked on {checked}, more than a week from today',
                      'make upstream-watch; look what newer releases fix, and set `checked`')


def closed(tree, old, new=None):
    """Lines for a person: the CVEs that each release after `old` and up to `new` closes, and
    whether `new` is not known."""
    known = read(tree)
    lines = [f'{release} closes {", ".join(cves) or "no CVE"}'
             for release, cves in known.between(old, new)]
    if new and new not in known.releases:
        lines.append(f'{label(tree)} does not know {new}: enter which CVEs it closes')
    return lines


def lacking(tree, version):
    """A few words for a release, of how many fixes it lacks; None where none is known."""
    behind = [(release, cves) for release, cves in read(tree).between(version) if cves]
    if not behind:
        return None
    count, releases = sum(len(cves) for _, cves in behind), [release for release, _ in behind]
    return f'{count} security fix{"es" * (count > 1)} of ' \
        + ' to '.join(dict.fromkeys([releases[0], releases[-1]]))


def standing(tree, version):
    """What a release lacks, or has, in a few words of Markdown."""
    known = read(tree)
    if version not in known.releases:
        return '**may lack security fixes**: not looked up'
    if words := lacking(tree, version):
        return f'**lacks {words}** (looked up on {known.checked})'
    return f'has every security fix known on {known.checked}'


def main(argv):
    """Prints what the pinned release of a tree lacks."""
    tree, newest = argv[0], (argv + [''])[1]
    pinned = pins.read(tree)['VERSION']
    lines = closed(tree, pinned)
    if newest and order(newest) > order(pinned):
        lines += closed(tree, newest, newest)
    for line in lines:
        print(f'{tree}: {line}')


if __name__ == '__main__':
    run_command('security', main)
