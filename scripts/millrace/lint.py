"""The lint of the checkout: checks that need no build.

Shell by shellcheck, Python by flake8, the length of lines and of pages, the patches' own lint for
all trees, whether patches/differences and the tables are up to date, and whether the security
fixes of each pinned release are known.  Prints a line for each fault, FILE:LINE: WHAT; mend: HOW,
and exits 1 where there is any.
"""
import re
import shutil
import subprocess
from pathlib import Path

from millrace import TOP
from millrace.command import output, parser, run_command, say
from millrace.errors import Failure, Fault, FaultyFile
from millrace.patches import compare, tables
from millrace.prove import lint
from millrace.upstream import pins, security

LONGEST = 99
# lines of a page, by where it is, and words of all pages together
LINES = {'docs/patches/': 120, 'docs/': 150, 'README.md': 110}
WORDS = 14_000
BLOCK = re.compile(r'<!-- ([\w-]+) -->\n.*?<!-- /\1 -->', re.DOTALL)   # generated
# records, data and texts of others, whose lines are theirs
RECORDS = ('patches/', 'test-results/')
OF_OTHERS = (*RECORDS, 'LICENSE', 'debian/copyright', 'trees/', 'tests/fast/data/',
             'rpm/mariadb-prepare-db-dir')  # installed: its bytes are the packages'
DATA = ('.svg', '.json', '.patch', '.diff', '.gz', '.xz', '.asc')
# shell: what context.sh sets (SC2154) and errexit (SC2164) are not seen, words are meant to
# split (SC2046), and a path may be made up (SC1091)
SHELLCHECK = ('shellcheck', '-x', '--severity=warning', '--exclude=SC1091,SC2046,SC2154,SC2164',
              '--format=gcc')
FLAKE8 = ('/usr/bin/python3', '-m', 'flake8', '--format=%(path)s:%(row)d: %(code)s %(text)s')
REPORTED = re.compile(r'([^:]+):(\d+):(?:\d+:)? (.*)')


def files():
    """The files of the project as git has them or would have them, without links."""
    listed = output('git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard',
                    cwd=TOP).split('\0')
    return [Path(name) for name in sorted(set(listed) - {''})
            if (TOP / name).is_file() and not (TOP / name).is_symlink()]


def interpreter(path):
    """The program that the first line of a file names: sh, bash, python3; or ''."""
    with (TOP / path).open('rb') as file:
        words = file.readline(100).split()
    named = bool(words) and words[0].startswith(b'#!')
    return words[-1].rpartition(b'/')[2].decode(errors='replace') if named else ''


def is_shell(path):
    """Whether a shell reads a file."""
    return path.suffix == '.sh' or interpreter(path) in ('sh', 'bash')


def names_shell(path):
    """Whether a file names its shell: in its first line, or in shellcheck's words."""
    return bool(interpreter(path)) or '# shellcheck shell=' in (TOP / path).read_text()[:200]


def is_python(path):
    """Whether Python reads a file."""
    return path.suffix == '.py' or interpreter(path).startswith('python')


def reported(command, paths, mend):
    """The Faults that a tool prints about files."""
    if not paths:
        return []
    done = subprocess.run([*command, *map(str, paths)], cwd=TOP, text=True, check=False,
                          capture_output=True)
    faults = [Fault(match[3], mend, int(match[2]), match[1])
              for line in done.stdout.splitlines() if (match := REPORTED.fullmatch(line))]
    if done.returncode and not faults:
        raise Failure(f'{command[0]} failed', done.stderr[-500:], 'build/setup tests')
    return faults


def check_code(paths):
    """The Faults that shellcheck and flake8 find."""
    if not shutil.which('shellcheck'):
        raise Failure('there is no shellcheck', 'build/setup tests')
    ours = [path for path in paths if not str(path).startswith(RECORDS)]
    named, sourced = [], []
    for path in filter(is_shell, ours):
        (named if names_shell(path) else sourced).append(path)
    wiki = 'see shellcheck.net/wiki'
    return reported(SHELLCHECK, named, wiki) \
        + reported((*SHELLCHECK, '--shell=sh'), sourced, wiki) \
        + reported(FLAKE8, list(filter(is_python, ours)), 'see flake8 --help')


def check_lengths(paths):
    """The Faults of lines that are too long: code and prose, without tables and addresses."""
    faults = []
    for path in paths:
        if str(path).startswith(OF_OTHERS) or path.suffix in DATA:
            continue
        for number, line in enumerate((TOP / path).read_text(encoding='utf-8', errors='replace')
                                      .splitlines(), 1):
            if len(line) > LONGEST and not re.search(r'^\||\w+://', line):
                faults.append(Fault(f'{len(line)} characters in a line',
                                    f'at most {LONGEST}', number, str(path)))
    return faults


def words(text):
    """How many words a page has, without generated blocks and tables."""
    return sum(len(line.split()) for line in BLOCK.sub('', text).splitlines()
               if not line.startswith('|'))


def check_pages(paths):
    """The Faults of pages with too many lines, and of too many words in all of them."""
    faults, total = [], 0
    for path in paths:
        most = next((LINES[place] for place in LINES if str(path).startswith(place)), None)
        if most and path.suffix == '.md':
            text = (TOP / path).read_text(encoding='utf-8', errors='replace')
            total += words(text)
            if (lines := len(text.splitlines())) > most:
                faults.append(Fault(f'{lines} lines', f'at most {most}', most + 1, str(path)))
    if total > WORDS:
        faults.append(Fault(f'{total} words in the pages', f'at most {WORDS}, README.md included, '
                            'tables and generated blocks apart', file='docs/'))
    return faults


def check_patches():
    """The Faults of the series, of all patches, and of the generated tables and differences."""
    faults = list(dict.fromkeys(fault for tree in pins.trees() for fault in lint.check_tree(tree)))
    if faults:
        return faults
    try:
        return compare.check() + tables.check()
    except FaultyFile as error:
        return [error.fault]


def check_security():
    """The Faults of what is known of the security fixes of the trees."""
    return [fault for tree in pins.trees() for fault in security.faults(tree)]


def main(argv):
    """Prints all faults."""
    parser('scripts/lint', __doc__).parse_args(argv)
    paths = files()
    faults = [*check_code(paths), *check_lengths(paths), *check_pages(paths), *check_patches(),
              *check_security()]
    for fault in faults:
        print(fault)
    if faults:
        raise Failure(f'{len(faults)} fault{"s" * (len(faults) > 1)}')
    say('lint', f'{len(paths)} files are right')


if __name__ == '__main__':
    run_command('lint', main)
