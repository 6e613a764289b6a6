"""The header of a patch: DEP-3 fields, and ours.

A header is the text before the line '---': `Field: value` lines, continued by
lines that begin with a blank; ' .' alone is an empty line.  RULES says which
fields there are and what may stand in them; check() applies it.  A patch whose name begins
with fix- mends one fault of upstream's, which its test shows, and needs no benchmark.
"""
import re
from pathlib import Path
from typing import NamedTuple

from millrace.errors import Fault, FaultyFile


class Rule(NamedTuple):
    """One field: what must match, and how to mend it where it does not."""
    field: str
    pattern: str
    mend: str


RULES = (
    Rule('Description', r'\S.{9,}', 'one line that says what the patch does'),
    Rule('Author', r'[^<>]+ <[^<>@ ]+@[^<>@ ]+>', 'Name <address>'),
    Rule('Origin', r'vendor|upstream, .+|backport, .+|other, .+',
         'vendor; or upstream|backport|other and where it is from'),
    Rule('Forwarded', r'no|not-needed|https?://\S+',
         'no, not-needed, or the URL where upstream has it'),
    Rule('Last-Update', r'\d{4}-\d{2}-\d{2}', 'YYYY-MM-DD'),
    Rule('License', r'GPL-2\.0-only|GPL-2\.0-or-later', 'GPL-2.0-only, as the server is'),
    Rule('Depends', r'none|[a-z0-9-]+( [a-z0-9-]+)*', 'none, or names of patches in the series'),
    Rule('Test', r'[\w.-]+( [\w.-]+)*', 'the mysql-test files in the patch, as suite.name'),
    Rule('Bench', r'none, \S.*|[a-z]+(, [a-z]+)*: \S.*',
         'none, and why; or <suites of bench/>: what in them shows what the patch is for'),
    Rule('Drop-When', r'\S.*', 'what upstream must have for this patch to go'),
)
OPTIONAL = (
    Rule('Bug', r'.*', 'where it is reported'),
    Rule('Train', r'[a-z]+(-[a-z]+)*(, [a-z]+(-[a-z]+)*)*',
         'the workloads of bench/train that run its hot code, as in: scan-cold, io-bound'),
)


FIELD = re.compile(r'([A-Z][A-Za-z-]*):\s*(.*)')


class Header(NamedTuple):
    """The fields of a patch, {name: text with its newlines}, and the line where each begins."""
    name: str
    fields: dict
    lines: dict

    @property
    def synopsis(self):
        """First line of the Description."""
        return self.fields.get('Description', '').split('\n')[0]

    @property
    def upstream_status(self):
        """Where the patch stands with upstream, for a table."""
        forwarded = self.fields.get('Forwarded', '')
        return {'no': 'not forwarded', 'not-needed': 'not needed'}.get(forwarded, forwarded)

    @property
    def suites(self):
        """The suites of bench/ that show what the patch is for."""
        named, colon, _ = self.fields.get('Bench', '').partition(':')
        return named.split(', ') if colon else []

    @property
    def depends(self):
        """Names of the patches that this one needs."""
        value = self.fields.get('Depends', 'none')
        return [] if value == 'none' else value.split()


def entries(head, field=FIELD):
    """The entries of a header, in its order: (line, field, text with the lines that continue
    it), or (line, None, text) for a line that belongs to no field.  `field` is the pattern of
    the line that begins one."""
    taken = []
    for number, line in enumerate(head.split('\n'), 1):
        match = field.fullmatch(line)
        if match:
            taken.append([number, match[1], match[2].rstrip()])
        elif line.startswith((' ', '\t')) and taken and taken[-1][1]:
            rest = line[1:].rstrip()
            taken[-1][2] += '\n' + ('' if rest == '.' else rest)
        else:
            taken.append([number, None, line])
    return taken


def parse(name, text):
    """Header of the patch `name`, from its whole text.  Raises FaultyFile."""
    head, separator, _ = text.partition('\n---\n')
    if not separator:
        raise FaultyFile(name, Fault('no header that ends with a line ---, before the first hunk',
                                     'begin the patch with "Description: ..."'))
    if match := re.search('[\udc80-\udcff]', head):
        raise FaultyFile(name, Fault('the header is not in UTF-8',
                                     'iconv -f ISO-8859-1 -t UTF-8, of the header only',
                                     head.count('\n', 0, match.start()) + 1))
    fields, lines = {}, {}
    for number, key, value in entries(head):
        if key is None:
            raise FaultyFile(name, Fault(f'not a header line: {value!r}', 'continue a field with '
                                         'a blank, an empty line is " ."', number))
        if key in fields:
            raise FaultyFile(name, Fault(f'the field {key} stands twice', 'keep one', number))
        fields[key], lines[key] = value, number
    return Header(name, fields, lines)


def read_header(path):
    """Header of the patch file at `path`."""
    path = Path(path)
    return parse(path.stem, path.read_text(encoding='utf-8', errors='surrogateescape'))


def is_fix(name):
    """Whether a patch mends a fault of upstream's: it needs no Bench."""
    return name.startswith('fix-')


def check(header, series):
    """The Faults of a header, by RULES and by the order of the series."""
    faults = []
    for rule in (*RULES, *OPTIONAL):
        value = header.fields.get(rule.field)
        mend = f'{rule.field}: {rule.mend}'
        if value is None:
            optional = rule in OPTIONAL or is_fix(header.name) and rule.field == 'Bench'
            faults += [] if optional else [Fault(f'no field {rule.field}', mend)]
        elif not re.fullmatch(rule.pattern, first := value.split('\n')[0]):
            faults.append(Fault(f'{rule.field}: {first!r} is not right', mend,
                                header.lines[rule.field]))
    known = {rule.field for rule in (*RULES, *OPTIONAL)}
    faults += [Fault(f'unknown field {name}', f'one of {", ".join(sorted(known))}',
                     header.lines[name])
               for name in header.fields if name not in known]
    return faults + [Fault(f'Depends on {name}, which is not in the series before it',
                           f'add {name} to the series, or take it out of Depends',
                           header.lines['Depends'])
                     for name in header.depends
                     if name not in series[:series.index(header.name)]]


def text(fields):
    """The lines of a header with these fields, {name: text}; parse() reads them back."""
    lines = []
    for name, value in fields.items():
        first, *rest = value.split('\n')
        lines += [f'{name}: {first}', *(f' {line}' if line else ' .' for line in rest)]
    return ''.join(f'{line}\n' for line in lines)
