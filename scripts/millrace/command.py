"""Shared by all commands: arguments, error reporting, interrupts and running subprocesses."""
import errno
import fnmatch
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from millrace import TOP
from millrace.errors import Failure

STRAY = Path(__file__).with_name('stray-variables')     # build/lib/context.sh reads it, too


def parser(program, description):
    """An argparse parser for `program`, as a user calls it; its docstring is its help."""
    import argparse     # what build/ calls takes no options
    return argparse.ArgumentParser(prog=program, description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def number(kind, least):
    """A converter for argparse: a number of this kind (int, float) that is at least `least`."""
    import argparse

    def convert(text):
        value = kind(text)
        if value < least:
            raise argparse.ArgumentTypeError(f'{text} is less than {least}')
        return value
    convert.__name__ = kind.__name__
    return convert


def heed_signals():
    """Lets SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, so that a command clears up.

    An ignored SIGHUP (nohup) or SIGINT (a script's &) stays ignored; SIGTERM never is."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name == signal.SIGTERM or signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, signal.default_int_handler)


def _open_outputs():
    """Gives a closed stdout or stderr to /dev/null: no file may be opened in its place."""
    for number_of, stream in ((1, 'stdout'), (2, 'stderr')):
        if getattr(sys, stream) is None:
            null = os.open(os.devnull, os.O_WRONLY)
            if null != number_of:
                os.dup2(null, number_of)
                os.close(null)
            setattr(sys, stream, os.fdopen(number_of, 'w', encoding='utf-8'))


def _failure_of(error):
    """The Failure that tells of an exception: the thing, the cause, and what may mend it."""
    if isinstance(error, ModuleNotFoundError):
        return Failure(f'there is no Python module {error.name}', 'build/setup tests')
    if isinstance(error, UnicodeDecodeError):
        where = error.object[:error.start].count(b'\n') + 1
        text = error.object.splitlines()[where - 1:where] or [b'']
        return Failure(f'a file is not UTF-8: its line {where} is {text[0][:60]!r}',
                       'git status names the files that have changed')
    if isinstance(error, subprocess.CalledProcessError):
        text = error.stderr or ''
        text = text.decode(errors='replace') if isinstance(text, bytes) else text
        return Failure(str(error), *text.splitlines()[-8:])
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return Failure(f'{error.filename or "a file"}: no space is left on the disk',
                       f'make room: df -h {TOP} {os.environ.get("TMPDIR", "/tmp")}')
    if isinstance(error, Failure) or not error.filename:
        return error
    file = Path(os.fsdecode(error.filename))        # missing, read-only, ...
    mend = ''
    if file.is_relative_to(TOP) and isinstance(error, (FileNotFoundError, IsADirectoryError)):
        mend = f'if it is a file of the checkout: git checkout {file.relative_to(TOP)}'
    elif isinstance(error, PermissionError):
        mend = f'whose it is: ls -ld {file}'
    return Failure(f'{file}: {error.strerror}', mend)


def run_command(name, main, argv=None):
    """Runs main(argv), by default with sys.argv's arguments, and ends the process.

    Exit status: 0; what main returns; 1 with the Failure on stderr, in the form of build/'s
    scripts, or with what a program that it needs has failed with; 130 where it was interrupted;
    141 where nobody reads stdout any more.  SIGPIPE stays ignored, as Python has it: a word to a
    server that has died must not end the command."""
    heed_signals()
    forget_stray_variables()
    _open_outputs()
    for stream in (sys.stdout, sys.stderr):             # a patch may have lines in any encoding
        stream.reconfigure(errors='backslashreplace')
    try:
        status = main(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:                             # as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    except (Failure, OSError, UnicodeDecodeError, ModuleNotFoundError,
            subprocess.CalledProcessError) as error:
        sys.stdout.flush()
        print(f'{name}: error: {_failure_of(error)}', file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print(f'{name}: interrupted', file=sys.stderr)
        status = 130
    sys.exit(status or 0)


def say(name, text):
    """Prints a line of progress of the command `name`."""
    print(f'{name}: {text}', flush=True)


def forget_stray_variables():
    """Takes out of the environment what STRAY has, and a TMPDIR that quilt cannot use."""
    patterns = STRAY.read_text(encoding='utf-8').splitlines()
    for name in list(os.environ):
        fits = (pattern for pattern in patterns         # comments fit no name
                if fnmatch.fnmatchcase(name, pattern.removeprefix('!')))
        if not next(fits, '!').startswith('!'):
            del os.environ[name]
    place = os.environ.get('TMPDIR', '/')
    if not re.fullmatch(r'/\S*', place) or not os.access(place, os.W_OK):
        os.environ.pop('TMPDIR', None)


def environment(**variables):
    """The environment with these variables; GNUPGHOME is absolute, for a command that runs
    elsewhere."""
    kept = dict(os.environ)
    if kept.get('GNUPGHOME'):
        kept['GNUPGHOME'] = os.path.abspath(kept['GNUPGHOME'])
    return {**kept, **{name: str(value) for name, value in variables.items()}}


def output(*command, **options):
    """The output of a command; raises CalledProcessError where it fails."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          **{'env': environment(), **options}).stdout


def step(name, *arguments, **variables):
    """Runs a step of build/ with these environment variables.

    A step reports its own faults, so its failure ends this command with its status."""
    done = subprocess.run([TOP / 'build' / name, *arguments], check=False,
                          stdin=subprocess.DEVNULL, env=environment(**variables))
    if done.returncode:
        sys.exit(done.returncode)
