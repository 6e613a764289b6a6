"""The forms of a patch: ours, the mail that git takes as well, and those that others have.

    Description: synopsis           From: Author
     text                           Date: Last-Update
    Author: ...                     Subject: [PATCH] synopsis
    Origin: vendor
    ...                    <->      text
    ---
    --- a/file                      Origin: vendor
                                    ...
                                    ---
                                    --- a/file

Both are DEP-3.  A patch that is written as a mail is read back byte for byte.  Read are
also `git show`, any DEP-3 header (its fields in any order and case, with From for Author
and Subject for Description), words before a diff, and a plain diff.
"""
import calendar
import email.header
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from email.utils import formatdate, parsedate_tz
from pathlib import Path

from millrace.errors import Failure
from millrace.patches import diff, header

FIELDS = {rule.field for rule in (*header.RULES, *header.OPTIONAL)}
# DEP-3's and ours, without regard to case
CANONICAL = {'from': 'Author', 'subject': 'Description', **{name.lower(): name for name in FIELDS}}
DEP3 = re.compile(r'(bug-.+|reviewed-by|acked-by|applied-upstream)', re.IGNORECASE)
# fields of a mail that say nothing of its patch
OF_MAIL = re.compile(
    r'(date|to|cc|bcc|sender|reply-to|received|return-path|delivered-to|envelope-to|'
    r'message-id|in-reply-to|references|mime-version|user-agent|precedence|status|lines|'
    r'authentication-results|feedback-id|(content|x|list|arc|dkim|received|resent|delivery)-.+)',
    re.IGNORECASE)
# where git, patch and quilt take the diff to begin
DIFF = re.compile(r'^(diff -|--- |Index: |---$)', re.MULTILINE)
FIELD = re.compile(r'([A-Za-z][A-Za-z-]*):[ \t]*(.*)')
# the first line of a mail in a mailbox, or of a commit in git's log
MAILS = re.compile(r'^From \S+ .*\d\d:\d\d:\d\d.*\n(?=>?[A-Za-z-]+[: ])', re.MULTILINE)
COMMITS = re.compile(r'^commit [0-9a-f]{7,64}\b.*\n(?=[A-Z][A-Za-z]+: )', re.MULTILINE)
# what git takes at the beginning of a mail's text for a header
IN_BODY = re.compile(r'>?From\b|Subject:|Date:|\[PATCH\]')


@dataclass
class Foreign:
    """A patch that was read: {field: text}, its diff, and the lines that have no field here."""
    fields: dict
    diff: str
    notes: list


def write(name, text):
    """The mail form of a patch of ours.  Raises Failure."""
    fields = dict(header.parse(name, text).fields)
    synopsis, _, body = fields.pop('Description', '').partition('\n')
    body = body.strip('\n')
    author = fields.pop('Author', '')
    if not synopsis or not author:
        raise Failure(f'{name}: a patch is exported with its Description and Author',
                      f'add them; make prove: {name}')
    wrong = DIFF.search(body) or IN_BODY.match(body)
    if wrong:
        raise Failure(f'{name}: a line of the Description would begin the diff or a mail: '
                      f'{body[wrong.start():].splitlines()[0]!r}', 'indent it')
    try:
        updated = time.strptime(fields.get('Last-Update', '1970-01-01'), '%Y-%m-%d')
    except ValueError as error:
        raise Failure(f'{name}: Last-Update: {fields["Last-Update"]!r} is no date',
                      'mend: Last-Update: YYYY-MM-DD') from error
    address = re.fullmatch(r'(.*) (<.*>)', author)
    sender = f'{_encoded(address[1])} {address[2]}' if address else author
    head = f'From: {sender}\nDate: {formatdate(calendar.timegm(updated))}\n' \
           f'Subject: {_encoded(f"[PATCH] {synopsis}")}\n'
    words = [body, ''] if body else []
    return '\n'.join([head, *words, header.text(fields)]) + '---\n' + diff.split(text)[1]


def _encoded(text):
    """A header's text in ASCII."""
    return text if text.isascii() else email.header.Header(text, 'utf-8').encode()


def read(content, label='the patch'):
    """The Foreign of a patch in bytes, in whatever form.  Raises Failure where it has several
    patches, or a form from which nothing can be told."""
    content = content.removeprefix(b'\xef\xbb\xbf')
    content = re.sub(rb'\A(?:[ \t]*\r?\n)+', b'', content)
    text = diff.decode(content)
    _refuse_several(text, label)
    ours = _ours(text)
    if ours:
        return ours
    begin = DIFF.search(text)
    head = text[:begin.start()] if begin else text
    if re.match('# HG changeset patch', head):
        raise Failure(f'{label}: a patch as Mercurial writes it', "give it git's form: a commit, "
                      'and git format-patch -1')
    if COMMITS.match(text):
        return _commit(head, text[begin.start():] if begin else '')
    names = {match[1].lower() for line in head.split('\n\n')[0].splitlines()
             if (match := FIELD.match(line))}
    if MAILS.match(text) or {'from', 'subject'} <= names \
            or names & {'from', 'subject'} and any(OF_MAIL.fullmatch(name) for name in names):
        return _mail(content, head.partition('\n\n')[0], label)
    if not begin:
        return Foreign({}, text, [])
    fields, notes = _fields(_decoded(head).strip('\n'))
    return Foreign(fields, text[begin.start():].removeprefix('---\n'), notes)


def _refuse_several(text, label):
    """Raises Failure where a file has more than a patch."""
    mails, commits = len(MAILS.findall(text)), len(COMMITS.findall(text))
    if mails > 1:
        raise Failure(f'{label}: {mails} mails, each with a patch of its own',
                      'take them apart, and import them in their order:',
                      f'mkdir mails && git mailsplit -omails {label}',
                      'make import-patch FILE=mails/0001 NAME=...')
    if commits > 1:
        raise Failure(f'{label}: {commits} commits, each a patch of its own',
                      'write them as git format-patch does, and import them in their order')


def _ours(text):
    """The Foreign of a patch in our own form, or None."""
    try:
        fields = header.parse('it', text).fields
    except Failure:
        return None
    if 'Description' not in fields or not FIELDS.issuperset(fields):
        return None
    return Foreign({name: value for name, value in fields.items() if value},
                   diff.split(text)[1], [])


def _decoded(text):
    """Text written for people, which is in Latin-1 where it is not in UTF-8."""
    if re.search('[\udc80-\udcff]', text):
        return diff.encode(text).decode('latin-1')
    return text


def _entries(head):
    """(field or None, text with the lines that continue it) for the lines of a header."""
    return [(name and CANONICAL.get(name.lower(), name), text if name else text.rstrip())
            for _, name, text in header.entries(head, FIELD)]


def _fields(text):
    """The fields of a header, {name: text}, and the others as lines.

    What stands in no field of ours goes into the Description."""
    fields, words, notes = {}, [], []
    for name, value in _entries(text):
        if name in FIELDS and name not in fields:
            fields[name] = value
        elif name:
            words += [f'{name}: {value}'] if value else []
            notes += [f'{name}: {value}'.split('\n')[0]] if value and name[0].isupper() else []
        elif not re.match('Only in |Binary files ', value):
            words.append(value)
    _describe(fields, '\n'.join(words).strip('\n'))
    return {name: value for name, value in fields.items() if value}, notes


def _describe(fields, words, gap='\n\n'):
    """Adds words to the Description of fields."""
    if words:
        given = fields.get('Description')
        fields['Description'] = f'{given}{gap}{words}' if given else words


def _is_trailer(paragraph):
    """Whether a paragraph of a commit's text has fields in it."""
    matches = [FIELD.match(line) for line in paragraph.split('\n')]
    names = [match and CANONICAL.get(match[1].lower(), match[1]) for match in matches]
    return names[0] in FIELDS or all(names) and not FIELDS.isdisjoint(names)


def _message(subject, author, date, body, rest):
    """The Foreign of a commit: its subject, author, date, text and diff."""
    paragraphs = _decoded(body).strip('\n').split('\n\n')
    trailers, words = {}, ''
    if _is_trailer(paragraphs[-1]):
        trailers, _ = _fields(paragraphs.pop())
        words = trailers.pop('Description', '')
    text = '\n\n'.join(paragraphs).strip('\n')
    fields = {'Description': f'{subject}\n{text}'.strip('\n'), 'Author': author, **trailers}
    _describe(fields, words, '\n\n' if text else '\n')
    day = re.match(r'\d{4}-\d\d-\d\d', date)
    moment = parsedate_tz(date)
    if day or moment:
        fields.setdefault('Last-Update', day[0] if day else
                          '{:04}-{:02}-{:02}'.format(*moment))
    patch, notes = rest.removeprefix('---\n'), []
    if patch != rest:           # DEP-3 may also stand between the line --- and the diff
        begin = re.search('^(diff -|--- |Index: )', patch, re.MULTILINE)
        for line in patch[:begin.start() if begin else None].split('\n'):
            (name, value), = _entries(line)
            if name in FIELDS:
                fields.setdefault(name, value)
            elif name and DEP3.fullmatch(name):
                notes.append(line)
    _describe(fields, '\n'.join(notes))
    return Foreign({name: value for name, value in fields.items() if value}, patch, notes)


def _mail(content, head, label):
    """The Foreign of a mail as git takes it, with the fields of DEP-3 in its header."""
    if re.search(r'^content-type:\s*multipart/', head, re.MULTILINE | re.IGNORECASE):
        raise Failure(f'{label}: a mail of several parts',
                      'save the patch as `git format-patch` writes it: one text')
    # lines that were encoded end in CR LF because mail does; other lines, because the patch does
    cr = 'strip' if re.search('^content-transfer-encoding:.*(base64|quoted-printable)', head,
                              re.MULTILINE | re.IGNORECASE) else 'nowarn'
    with tempfile.TemporaryDirectory(prefix='millrace-') as place:
        text, patch = Path(place, 'text'), Path(place, 'patch')
        done = subprocess.run(['git', 'mailinfo', '--no-scissors', '--encoding=UTF-8',
                               f'--quoted-cr={cr}', text, patch], input=content, check=False,
                              capture_output=True, cwd=place)
        if done.returncode:
            raise Failure(f'{label}: a mail that git cannot read', done.stderr.decode())
        info = dict(line.split(': ', 1) for line in _decoded(diff.decode(done.stdout)).split('\n')
                    if ': ' in line)
        entries = [[name, value.replace('\n', ' ')] for name, value in _entries(head) if name]
        given = dict(reversed(entries))
        author = f'{info.get("Author", "")} <{info["Email"]}>' if info.get('Email') \
            else given.get('Author', '')
        foreign = _message(info.get('Subject', ''), author.strip(), info.get('Date', ''),
                           diff.read(text), diff.read(patch))
    words = []
    for name, value in entries:
        if name in ('Author', 'Description') or not value or OF_MAIL.fullmatch(name):
            continue
        if name in FIELDS:
            foreign.fields.setdefault(name, value)
            if name == 'Last-Update':       # which says more than the mail's date
                foreign.fields[name] = value
        else:
            words.append(f'{name}: {value}')
    _describe(foreign.fields, '\n'.join(words))
    foreign.notes = words + foreign.notes
    return foreign


def _commit(head, rest):
    """The Foreign of a commit as `git show` prints it."""
    block, _, text = _decoded(head).partition('\n\n')
    given = {name: value.strip() for name, value in _entries(block) if name}
    message = '\n'.join(line.removeprefix('    ') for line in text.split('\n')).strip('\n')
    subject, _, body = message.partition('\n\n')
    return _message(' '.join(subject.split('\n')), given.get('Author', ''),
                    given.get('AuthorDate') or given.get('Date') or '', body, rest)
