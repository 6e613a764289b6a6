"""How long a server holds its mutexes: measured inside it, by a library that held.c is."""
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from millrace.errors import Failure
from millrace_bench.builds.unpacked import SHIPPED as SHIPPED_BUILDS

SOURCE = Path(__file__).with_name('held.c')
SHIPPED = SOURCE.with_name('libheld.so')    # in the archive of bench/bundle
BUCKETS = 40
# of a slot in held.c: address of the mutex, acquisitions, nanoseconds, when the present one began;
# how many took 1 ns or more, 2, 4, 8 ...
SLOT = Struct(f'4Q{BUCKETS}Q')


def make_library(path):
    """Compiles the library.  Raises Failure where there is no compiler."""
    try:
        subprocess.run(['cc', '-O2', '-Wall', '-shared', '-fPIC', '-o', path, SOURCE, '-ldl'],
                       check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise Failure('there is no compiler (cc), which this suite needs',
                      'build/setup') from None


def environment(directory, root):
    """The environment for the server unpacked at `root`, whose mutexes are to be measured, into
    a file in `directory`: the variables, and the path of the file."""
    # the library of an archive wants the archive's C library, which only its builds have
    if SHIPPED.exists() and root.is_relative_to(SHIPPED_BUILDS):
        library = SHIPPED
    else:
        library = directory / SHIPPED.name
        make_library(library)
    file = directory / 'held'
    others = os.environ.get('LD_PRELOAD')
    return {'LD_PRELOAD': f'{library}:{others}' if others else str(library),
            'MILLRACE_HELD': str(file)}, file


@dataclass(frozen=True)
class Held:
    """How often a mutex was acquired, how many nanoseconds it was held in all, and by the
    logarithm of the nanoseconds to the base 2, how often."""
    count: int
    ns: int
    histogram: tuple

    def __sub__(self, before):
        return Held(self.count - before.count, self.ns - before.ns,
                    tuple(new - old for new, old in zip(self.histogram, before.histogram)))

    def percentile(self, share):
        """Nanoseconds, a power of 2: this share of all acquisitions, or more, was held for
        less."""
        seen = 0
        for power, count in enumerate(self.histogram):
            seen += count
            if seen and seen >= share * sum(self.histogram):
                return 2 ** (power + 1)
        return 0


NEVER = Held(0, 0, (0,) * BUCKETS)


def read(file):
    """{address of a mutex: its Held} from the file of a running server.  Raises Failure where
    the server was started without our library."""
    if not file.exists():
        raise Failure('the server did not load the library that measures',
                      'its directory has a blank or a colon, or is mounted noexec: TMPDIR=')
    found = {}
    for address, count, ns, _, *histogram in SLOT.iter_unpack(file.read_bytes()):
        if address:
            found[address] = Held(count, ns, tuple(histogram))
    return found
