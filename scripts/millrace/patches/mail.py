"""The two forms of a patch: ours, and the mail that git takes as well.

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

Both are DEP-3.  What is written as a mail is read back byte for byte.
"""
import calendar
import email
import email.header
import email.policy
import re
import time
from email.utils import formatdate, parsedate_tz

from millrace import diff, header
from millrace.command import Failure

FIELDS = {rule.field for rule in (*header.RULES, *header.OPTIONAL)}
# where git, patch and quilt take the diff to begin
DIFF = re.compile(r'^(diff -|--- |Index: |---$)', re.MULTILINE)


def _encoded(text):
    """A header's text in ASCII."""
    return text if text.isascii() else email.header.Header(text, 'utf-8').encode()


def write(name, text):
    """The mail form of a patch of ours."""
    fields = dict(header.parse(name, text).fields)
    synopsis, _, body = fields.pop('Description', '').partition('\n')
    author = fields.pop('Author', '')
    if not synopsis or not author:
        raise Failure(f'{name}: a patch is exported with its Description and Author', f'add them; make prove: {name}')
    wrong = DIFF.search(body)
    if wrong:
        raise Failure(f'{name}: a line of the Description would begin the diff: {body[wrong.start():].splitlines()[0]!r}',
                      'indent it')
    try:
        updated = time.strptime(fields.get('Last-Update', '1970-01-01'), '%Y-%m-%d')
    except ValueError as error:
        raise Failure(f'{name}: Last-Update: {fields["Last-Update"]!r} is no date', 'mend: Last-Update: YYYY-MM-DD') from error
    address = re.fullmatch(r'(.*) (<.*>)', author)
    sender = f'{_encoded(address[1])} {address[2]}' if address else author
    head = f'From: {sender}\nDate: {formatdate(calendar.timegm(updated))}\nSubject: {_encoded(f"[PATCH] {synopsis}")}\n'
    return '\n'.join([head, *([body, ''] if body else []), header.text(fields)]) + '---\n' + diff.split(text)[1]


def _words(text):
    """What was written for people, which is in Latin-1 where it is not in UTF-8."""
    return text if text.isascii() else diff.encode(text).decode('latin-1') if re.search('[\udc80-\udcff]', text) else text


def _fields(text):
    """The fields of a header in any form, {name: text}: ours or DEP-3, which knows repeated fields and free text,
    or words alone.  What is not in a field of its own goes into the Description."""
    try:
        return dict(header.parse('it', f'{text}\n---\n').fields)
    except header.HeaderError:
        pass
    fields, others = {}, []
    for _, field, value in header.entries(text):
        if field in FIELDS and field not in fields:
            fields[field] = value
        elif field or not re.match('Only in |Binary files ', value):
            others.append(f'{field}: {value}' if field else value.rstrip())
    words = '\n'.join(others).strip('\n')
    if words:
        fields['Description'] = f'{fields["Description"]}\n\n{words}' if fields.get('Description') else words
    return fields


def read(content):
    """Fields, as {name: text}, and diff of a patch in bytes: ours, a mail, any DEP-3 header, or a plain diff."""
    text = content.decode('utf-8', 'surrogateescape')
    if re.match(r'From |(From|Date|Subject|Message-I[dD]|Received|Return-Path): ', text):
        return _mail(content)
    begin = DIFF.search(text)
    if not begin:
        return {}, text
    return _known(_fields(_words(text[:begin.start()].strip('\n')))), text[begin.start():].removeprefix('---\n')


def _known(fields):
    """The fields that we have, where something is in them; what others say goes into the Description."""
    fields = {name: value for name, value in fields.items() if value}
    others = [f'{name}: {fields.pop(name)}' for name in list(fields) if name not in FIELDS]
    if others:
        fields['Description'] = '\n'.join([fields.get('Description', ''), *([''] if 'Description' in fields else []),
                                           *others]).lstrip('\n')
    return fields


def _mail(content):
    """Fields and diff of a mail as `git format-patch` writes it."""
    message = email.message_from_bytes(content, policy=email.policy.default)
    if message.is_multipart():
        raise Failure('a mail of several parts', 'save the patch as `git format-patch` writes it: one text')
    text = message.get_payload(decode=True).decode('utf-8', 'surrogateescape')
    begin = DIFF.search(text)
    body, rest = (text[:begin.start()], text[begin.start():].removeprefix('---\n')) if begin else (text, '')
    paragraphs = _words(body).strip('\n').split('\n\n')
    trailers = {}
    if re.match(rf'({"|".join(FIELDS)}): ', paragraphs[-1]):
        trailers = _fields(paragraphs.pop())
        paragraphs += [trailers.pop('Description')] if 'Description' in trailers else []
    synopsis = re.sub(r'^(\[[^]]*\] *)+', '', str(message['Subject'] or ''))
    fields = {'Description': '\n'.join([synopsis, *'\n\n'.join(paragraphs).split('\n')] if paragraphs else [synopsis]),
              'Author': str(message['From'] or ''), **trailers}
    fields['Description'] = fields['Description'].rstrip('\n')
    date = parsedate_tz(str(message['Date'] or ''))
    if 'Last-Update' not in fields and date:
        fields['Last-Update'] = '{:04}-{:02}-{:02}'.format(*date)
    return _known(fields), rest
