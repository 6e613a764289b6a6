"""What the commands bench/run and bench/train have in common: numbers, how they are interrupted, and how they end."""
import argparse
import signal
import sys

from .errors import BenchError


def number(kind, least):
    """A converter for argparse: a number that is not below `least`."""
    def convert(text):
        value = kind(text)
        if value < least:
            raise argparse.ArgumentTypeError(f'{text} is less than {least}')
        return value
    convert.__name__ = kind.__name__
    return convert


def heed_signals():
    """Has SIGINT, SIGTERM and SIGHUP interrupt us, so that what we have started and made is cleared away.

    What we were told to ignore stays so, as nohup does with SIGHUP and a script's & with SIGINT; but not SIGTERM."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name == signal.SIGTERM or signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, signal.default_int_handler)


def run(name, main):
    """Runs main(arguments) of the command `name`: 1 and the error in words where it fails, 130 where it is interrupted."""
    heed_signals()
    try:
        main(sys.argv[1:])
    except BenchError as error:
        sys.exit(f'{name}: error: {error}')
    except KeyboardInterrupt:
        print(f'{name}: interrupted', file=sys.stderr)
        sys.exit(130)
