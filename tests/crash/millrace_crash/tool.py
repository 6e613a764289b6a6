"""Shared by the tools of tests/crash/: command line, place of the data, and how they end."""
import tempfile
from pathlib import Path

from millrace.command import parser
from millrace.errors import Failure
from millrace_bench.builds.unpacked import Build


def tool_parser(name, description):
    """A parser for a tool; its help is the tool's docstring."""
    result = parser(f'tests/crash/{name}', description)
    result.allow_abbrev = False     # what it does not know is an option of the server
    result.epilog = 'Any other --NAME=VALUE is an option of the server.'
    result.add_argument('--data', type=Path, metavar='DIR',
                        help='directory to make the data in (default: a new one in /tmp)')
    return result


def add_build(result, name, description, label=None):
    """Adds the argument `name`, a directory with an unpacked server, which becomes a Build.

    `label` is what messages call the server; by default it is the directory's name."""
    result.add_argument(name, metavar=name.upper(), help=description,
                        type=lambda path: Build(label or Path(path).resolve().name, path))


def parse(result, argv, options=None):
    """The parsed arguments, and the options of the server: those given, over `options`."""
    asked, rest = result.parse_known_args(argv)
    return asked, {**(options or {}), **server_options(rest)}


def server_options(words):
    """{name: value} of words --name=value; the value of a word without one is None."""
    options = {}
    for word in words:
        if not word.startswith('--') or word == '--':
            raise Failure(f'{word}: not an option', 'write options of the server as --name=value')
        name, has_value, value = word[2:].partition('=')
        options[name.replace('-', '_')] = value if has_value else None
    return options


def place_of(asked):
    """The directory to make the data in: --data, or a new one."""
    if asked.data:
        return asked.data.absolute()
    return Path(tempfile.mkdtemp(prefix='millrace-crash-'))


def failure_at(where, error, data):
    """A Failure that adds to another one where it happened, and where the data are kept."""
    return Failure(f'{where}: {error.lines[0]}', *error.lines[1:], f'the data are kept in {data}')
