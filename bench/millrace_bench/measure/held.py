"""How long a server holds its mutexes: measured inside it, by a library that held.c is."""
import subprocess
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from millrace.errors import Failure

SOURCE = Path(__file__).with_name('held.c')
SHIPPED = SOURCE.with_suffix('.so')     # in the archive of bench/bundle
# of a slot in held.c: address of the mutex, acquisitions, nanoseconds, the longest, the beginning
# of the present one; how many took 1 ns or more, 2, 4, 8 ...
SLOT = Struct('5Q40Q')


def make_library(path):
    """Compiles the library.  Raises Failure where there is no compiler."""
    try:
        subprocess.run(['cc', '-O2', '-Wall', '-shared', '-fPIC', '-o', path, SOURCE, '-ldl'],
                       check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise Failure('there is no compiler (cc), which this suite needs',
                      'build/setup') from None


def environment(directory):
    """The environment for a server whose mutexes are to be measured, into a file in `directory`:
    the variables, and the path of the file."""
    library, file = SHIPPED, directory / 'held'
    if not library.exists():
        library = directory / SHIPPED.name
        make_library(library)
    return {'LD_PRELOAD': str(library), 'MILLRACE_HELD': str(file)}, file


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
        """Nanoseconds: no more than this share of all acquisitions was held as long; a power
        of 2."""
        seen = 0
        for power, count in enumerate(self.histogram):
            seen += count
            if seen and seen >= share * sum(self.histogram):
                return 2 ** (power + 1)
        return 0


NEVER = Held(0, 0, (0,) * 40)


def read(file):
    """{address of a mutex: its Held} from the file of a running server."""
    found = {}
    for address, count, ns, _, _, *histogram in SLOT.iter_unpack(file.read_bytes()):
        if address:
            found[address] = Held(count, ns, tuple(histogram))
    return found
