"""What packages ask of the system, against tests/packages/provides.txt: what RPM distributions
provide.

A name of a library is written as rpm writes it: libz.so.1()(64bit), and for each of its symbol
versions libz.so.1(ZLIB_1.2.0)(64bit)."""
import re

from millrace import TOP
from millrace.command import output

SYSTEMS = ('EL 9', 'EL 10', 'Fedora')
# those that the packages are for, as rpm/millrace.spec.in says
BUILT_FOR = ('EL 10', 'Fedora')
TABLE = TOP / 'tests/packages/provides.txt'
LIBRARY = re.compile(r'(?P<soname>[^()]+\.so\.[^()]*)\((?P<version>[^()]*)\)\(64bit\)')
PORTABLE = 'link it under a name that all have, or statically: build/cmake/portable.cmake'


def table():
    """The table: the cell of each name, by system."""
    rows = {}
    for line in TABLE.read_text().replace('\n ', ' ').splitlines():
        if line and not line.startswith('#'):
            name, *cells = (cell.strip() for cell in line.split('|'))
            assert len(cells) in (1, len(SYSTEMS)) and name not in rows, line
            rows[name] = dict(zip(SYSTEMS, cells * len(SYSTEMS) if len(cells) == 1 else cells))
    return rows


def _parts(version):
    """A symbol version as its family and its number: GLIBC_2.34 is GLIBC, (2, 34)."""
    family, _, number = version.rpartition('_')
    return family, tuple(int(part) for part in re.findall(r'\d+', number))


def faults(file, names, system):
    """The names that a file asks for and the system does not provide: a line each, with what
    mends it."""
    rows, found = table(), []
    for name in sorted(set(names)):
        library = LIBRARY.fullmatch(name)
        key = library['soname'] if library else name.lstrip('(').split(' ', maxsplit=1)[0]
        package, *highest = rows.get(key, {}).get(system, '-').split()
        why = mend = ''
        if package == '-':
            why = 'nothing there provides it'
            mend = PORTABLE if library else f'if {system} has it, a line in {TABLE.name}'
        elif library and library['version']:
            family, number = _parts(library['version'])
            last = dict(map(_parts, highest)).get(family)
            if last is None:
                why, mend = f'its {package} has no such symbol version', PORTABLE
            elif number > last:
                why = f'its {package} ends at {" ".join(highest)}'
                mend = f'build the source package on {system}'
        if why:
            found.append(f'{file} asks {system} for {name}, and {why}; mend: {mend}')
    return found


def of_rpms(files):
    """What each of these .rpm asks for, without what they provide each other."""
    own = set(output('rpm', '-qp', '--nosignature', '--provides', *files).splitlines())
    return {file.name: set(output('rpm', '-qp', '--nosignature', '--requires', file).splitlines())
            - own for file in files}


def of_directory(top):
    """What each program and library below a directory asks for, by its path there."""
    needs = {}
    for path in sorted(top.rglob('*')):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open('rb') as stream:
            if stream.read(4) != b'\x7fELF':
                continue
        needs[str(path.relative_to(top))] = names = set()
        soname = ''
        for line in output('objdump', '-p', path).splitlines():
            if needed := re.fullmatch(r' +NEEDED +(\S+)', line):
                names.add(f'{needed[1]}()(64bit)')
            elif of := re.fullmatch(r' +required from (\S+):', line):
                soname = of[1]
            elif soname and (version := re.fullmatch(r' +0x\w+ 0x\w+ \d+ (\S+)', line)):
                names.add(f'{soname}({version[1]})(64bit)')
            else:
                soname = ''
    return needs
