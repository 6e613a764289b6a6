"""What every command of the maintainers shares: how it fails, and how it runs others."""
import os
import signal
import subprocess
import sys

from millrace.header import HeaderError
from millrace.series import TOP


class Failure(Exception):
    """What is wrong, then a line each for its cause and its mend."""

    def __init__(self, what, *more):
        super().__init__(what)
        self.lines = [what, *(line for text in more for line in text.splitlines())]


def run_command(main, *arguments):
    """Runs main(); a Failure is printed as the scripts in build/ print theirs, and is exit status 1."""
    name = os.path.basename(sys.argv[0])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)       # as in `... | head`
    for stream in (sys.stdout, sys.stderr):             # a line of a patch may be in any encoding
        stream.reconfigure(errors='backslashreplace')
    try:
        main(*arguments)
    except (Failure, HeaderError) as error:
        failure = error if isinstance(error, Failure) else Failure(*str(error).split('\n'))
        sys.stdout.flush()
        print(f'{name}: error: {failure.lines[0]}', *(f'  {line}' for line in failure.lines[1:]),
              sep='\n', file=sys.stderr)
        sys.exit(1)


def say(text):
    """A line of progress."""
    print(f'{os.path.basename(sys.argv[0])}: {text}', flush=True)


def output(*command, **options):
    """What a command prints; it is not expected to fail."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def step(name, *arguments, **variables):
    """One step of build/; it says itself what is wrong, so that its failure ends the command."""
    done = subprocess.run([TOP / 'build' / name, *arguments], check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **variables})
    if done.returncode:
        sys.exit(done.returncode)
