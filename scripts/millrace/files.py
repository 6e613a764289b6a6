"""Files that are read as JSON, or written whole or not at all."""
import errno
import json

from millrace.errors import Failure


def read_json(path):
    """The content of a JSON file.  Raises Failure that names the file and the line."""
    try:
        return json.loads(path.read_text(encoding='utf-8'))
    except json.JSONDecodeError as error:
        raise Failure(f'{path}: line {error.lineno}: not JSON: {error.msg}',
                      f'if it is a file of the checkout: git diff {path}') from None


def write_whole(path, content):
    """Writes a file, text (in UTF-8) or bytes, or leaves it unchanged.  Raises Failure."""
    if isinstance(content, str):
        content = content.encode('utf-8', 'surrogateescape')
    part = path.with_name(f'.{path.name}.part')
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            part.unlink(missing_ok=True)
            raise Failure(f'{path} cannot be written: {error.strerror}',
                          f'make room: df -h {path.parent}') from error
        raise Failure(f'{path} cannot be written: {error.strerror}', str(part)) from error
