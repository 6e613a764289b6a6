"""The header of a patch: DEP-3 fields, and ours.

A header is the text before the line '---': `Field: value` lines, continued by
lines that begin with a blank; ' .' alone is an empty line.  RULES says which
fields there are and what may stand in them; check() applies it.
"""
import re
from dataclasses import dataclass
from pathlib import Path

from millrace.errors import Failure


@dataclass(frozen=True)
class Rule:
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


@dataclass(frozen=True)
class Header:
    """The fields of one patch: name, {field: text}, the text with its newlines."""
    name: str
    fields: dict

    @property
    def synopsis(self):
        """First line of the Description."""
        return self.fields.get('Description', '').split('\n')[0]

    @property
    def upstream_status(self):
        """Where the patch stands with upstream, in words."""
        forwarded = self.fields.get('Forwarded', '')
        return {'no': 'not forwarded', 'not-needed': 'not needed'}.get(forwarded, forwarded)

    @property
    def suites(self):
        """The suites of bench/ that show what the patch is for."""
        named, colon, _ = self.fields.get('Bench', '').partition(':')
        return named.split(', ') if colon else []

    @property
    def trained_by(self):
        """The workloads that run its hot code when a profile is trained."""
        return self.fields['Train'].split(', ') if 'Train' in self.fields else []

    @property
    def depends(self):
        """Names of the patches that this one needs."""
        value = self.fields.get('Depends', 'none')
        return [] if value == 'none' else value.split()


def entries(head):
    """What stands in a header, in its order: (line, field, text) with the lines that continue it, (line, None, text) for a
    line that is of no field."""
    found = []
    for number, line in enumerate(head.split('\n'), 1):
        match = re.fullmatch(r'([A-Z][A-Za-z-]*):\s*(.*)', line)
        if match:
            found.append([number, match[1], match[2].rstrip()])
        elif line.startswith((' ', '\t')) and found and found[-1][1]:
            rest = line[1:].rstrip()
            found[-1][2] += '\n' + ('' if rest == '.' else rest)
        else:
            found.append([number, None, line])
    return found


def parse(name, text):
    """Header of the patch `name`, from its whole text.  Raises Failure."""
    head, separator, _ = text.partition('\n---\n')
    if not separator:
        raise Failure(f'{name}: no header\n  it ends with a line ---, before the first hunk\n'
                          '  mend: begin the patch with "Description: ..."')
    if re.search('[\udc80-\udcff]', head):
        raise Failure(f'{name}: the header is not in UTF-8\n  mend: iconv -f ISO-8859-1 -t UTF-8, of the header only')
    fields = {}
    for number, field, value in entries(head):
        if field is None:
            raise Failure(f'{name}: line {number}: not a header line: {value!r}\n'
                              '  mend: continue a field with a blank, an empty line is " ."')
        if field in fields:
            raise Failure(f'{name}: line {number}: the field {field} stands twice\n'
                              '  mend: keep one')
        fields[field] = value
    return Header(name, fields)


def read_header(path):
    """Header of the patch file at `path`."""
    path = Path(path)
    return parse(path.stem, path.read_text(encoding='utf-8', errors='surrogateescape'))


def check(header, series):
    """Faults of a header as a list of texts that name patch, field and mend."""
    faults = []
    for rule in (*RULES, *OPTIONAL):
        value = header.fields.get(rule.field)
        if value is None and rule in OPTIONAL:
            continue
        if value is None:
            faults.append(f'{header.name}: no field {rule.field}\n  mend: {rule.field}: {rule.mend}')
        elif not re.fullmatch(rule.pattern, value.split('\n')[0]):
            faults.append(f'{header.name}: {rule.field}: {value.split(chr(10))[0]!r} is not right\n'
                          f'  mend: {rule.field}: {rule.mend}')
    known = {rule.field for rule in (*RULES, *OPTIONAL)}
    faults += [f'{header.name}: unknown field {field}\n  mend: one of {", ".join(sorted(known))}'
               for field in header.fields if field not in known]
    faults += [f'{header.name}: Depends on {name}, which is not in the series before it\n'
               f'  mend: add {name} to the series, or take it out of Depends'
               for name in header.depends if name not in series[:series.index(header.name)]]
    return faults


def text(fields):
    """The lines of a header with these fields, {name: text}; parse() reads them back."""
    return ''.join(f'{name}: ' + '\n'.join([first, *(f' {line}' if line else ' .' for line in rest)]) + '\n'
                   for name, value in fields.items() for first, *rest in [value.split('\n')])
