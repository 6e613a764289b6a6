"""gcc's counts: merges the files that a counting server leaves (.gcda) into one profile.

gcov-tool of gcc 12 cannot do it: it fails over values whose number varies (an internal error in
__gcov_topn_counter_op).  Try gcc 14's, of Debian 13, when a tree is built with that.  The format
is that of gcc 12 and later, little-endian: words of four bytes; magic, version, stamp of the
object, a checksum; then records of tag, length in bytes, content.  Counters have eight bytes.  A
negative length stands for as many bytes of zero.
"""
import io
import lzma
import struct
import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from millrace.errors import Failure

MAGIC = b'adcg'
OLDEST = b'B2'    # gcc 12.2 writes *22B
FUNCTION, SUMMARY = 0x01000000, 0xa1000000
# of each kind of counter, how two of them are put together
ARCS, INTERVAL, POW2, TOPN, INDIRECT, AVERAGE, IOR, FIRST = (
    0x01a10000 + 0x20000 * kind for kind in range(8))
ADDED, VALUES = (ARCS, INTERVAL, POW2, AVERAGE), (TOPN, INDIRECT)
MOST_VALUES = 32    # of one place, as libgcov keeps at most


@dataclass
class Function:
    """A function's record: `known`, by which gcc identifies it, and {tag: tuple of counters}.

    `known` is an ident and two checksums; empty where it was counted with another object."""
    known: bytes
    counters: dict = field(default_factory=dict)


@dataclass
class Counts:
    """One object's counts."""
    version: bytes
    stamp: bytes
    runs: int = 0
    functions: list = field(default_factory=list)

    def largest(self):
        """The largest of the counters of arcs."""
        return max((max(function.counters.get(ARCS, ()), default=0)
                    for function in self.functions), default=0)

    def ran(self):
        """Number of functions that ran."""
        return sum(any(function.counters.get(ARCS, ())) for function in self.functions)


def read(path):
    """The Counts of a file.  Raises Failure."""
    content = Path(path).read_bytes()
    if content[:4] != MAGIC or len(content) < 16 or content[7:5:-1] < OLDEST:
        raise Failure(f'{path}: not the counts of a gcc from 12 on', 'gcc --version')
    counts, place = Counts(content[4:8], content[8:12]), 16
    try:
        while place < len(content):
            tag, = struct.unpack_from('<I', content, place)
            if not tag:
                break
            length, = struct.unpack_from('<i', content, place + 4)
            body = content[place + 8:place + 8 + max(0, length)]
            if len(body) < length:
                raise struct.error('cut off')
            place += 8 + len(body)
            if tag == SUMMARY:
                counts.runs, = struct.unpack_from('<I', body)
            elif tag == FUNCTION:
                counts.functions.append(Function(body))
            else:
                size = abs(length)
                counts.functions[-1].counters[tag] = struct.unpack(f'<{size // 8}q',
                                                                   body or bytes(size))
    except (struct.error, IndexError) as error:
        raise Failure(f'{path}: its counts are not whole ({error})', 'train again') from None
    return counts


def write(counts, largest):
    """The content of a file; `largest` is the largest counter of the whole profile, by which gcc
    tells what is hot."""
    out = io.BytesIO()
    out.write(MAGIC + counts.version + counts.stamp + bytes(4))
    out.write(struct.pack('<IiII', SUMMARY, 8, max(1, counts.runs), min(largest, 0xffffffff)))
    for function in counts.functions:
        out.write(struct.pack('<Ii', FUNCTION, len(function.known)) + function.known)
        for tag, counters in function.counters.items():
            length = 8 * len(counters)
            if any(counters) or tag in VALUES:
                out.write(struct.pack(f'<Ii{len(counters)}q', tag, length, *counters))
            else:
                out.write(struct.pack('<Ii', tag, -length))
    out.write(bytes(4))
    return out.getvalue()


def _values(counters):
    """The places of a counter of values: for each its total, and how often each value came."""
    places, at = [], 0
    while at < len(counters):
        total, number = counters[at:at + 2]
        pairs = counters[at + 2:at + 2 + 2 * number]
        places.append((total, Counter(dict(zip(pairs[::2], pairs[1::2])))))
        at += 2 + 2 * number
    return places


def scaled(tag, counters, factor):
    """Counters as if all had happened `factor` times."""
    if tag in ADDED:
        return tuple(count * factor for count in counters)
    if tag in VALUES:
        out = []
        for total, values in _values(counters):
            out += [total * factor, len(values)]
            for value, count in values.items():
                out += [value, count * factor]
        return tuple(out)
    return counters


def added(tag, one, other):
    """Two counters of one function as one.  Raises Failure where they do not belong together."""
    if tag in VALUES:
        ours, theirs, out = _values(one), _values(other), []
        if len(ours) != len(theirs):
            raise Failure('counts of two different servers', 'train again')
        for (total, values), (more, others) in zip(ours, theirs):
            # a negative total says that there were more values than are kept
            both = (values + others).most_common(MOST_VALUES)
            negative = total < 0 or more < 0
            out += [-(abs(total) + abs(more)) if negative else total + more, len(both)]
            for pair in both:
                out += pair
        return tuple(out)
    if len(one) != len(other):
        raise Failure('counts of two different servers', 'train again')
    if tag == FIRST:    # the number at which it ran first; 0 is never
        return tuple(min(a, b) if a and b else a or b for a, b in zip(one, other))
    if tag in ADDED:
        return tuple(a + b for a, b in zip(one, other))
    return tuple(a | b for a, b in zip(one, other))


def merge(parts):
    """One object's counts of several workloads, [(Counts, factor)], as one."""
    whole = None
    for counts, factor in parts:
        if whole is None:
            whole = Counts(counts.version, counts.stamp, 0,
                           [Function(function.known) for function in counts.functions])
        if (counts.version, counts.stamp, len(counts.functions)) != (
                whole.version, whole.stamp, len(whole.functions)):
            raise Failure('counts of two different servers', 'train again')
        whole.runs += counts.runs
        for mine, function in zip(whole.functions, counts.functions):
            if not function.known:
                continue
            if mine.known and mine.known != function.known:
                raise Failure('counts of two different servers', 'train again')
            mine.known = function.known
            for tag, counters in function.counters.items():
                more = scaled(tag, counters, factor)
                mine.counters[tag] = added(tag, mine.counters[tag], more) \
                    if tag in mine.counters else more
    return whole


def files(directory):
    """The objects that a directory has counts of, as sorted relative paths."""
    return sorted(path.relative_to(directory).as_posix()
                  for path in Path(directory).rglob('*.gcda'))


def profile(directories, say=lambda text: None):
    """The counts of several workloads, {name: directory}, as one profile, {path: content}; and
    {name: number of functions that it ran}.

    Each workload weighs as much as any other, however long it ran and however tight its loops
    are: the largest counter is made about the same in all.  The factors are whole numbers, so
    that the counts still add up."""
    listed = {name: files(directory) for name, directory in directories.items()}
    largest, ran = {}, {}
    for name, directory in directories.items():
        all_counts = [read(Path(directory, path)) for path in listed[name]]
        largest[name] = max((counts.largest() for counts in all_counts), default=0)
        ran[name] = sum(counts.ran() for counts in all_counts)
        if not largest[name]:
            raise Failure(f'{name}: the server has left no counts',
                          'it ends with a clean shutdown: see its error log')
        say(f'{name}: {ran[name]} functions')
    top = max(largest.values())
    factors = {name: max(1, round(top / most)) for name, most in largest.items()}
    merged = {}
    for path in sorted(set().union(*listed.values())):
        merged[path] = merge([(read(Path(directory, path)), factors[name])
                              for name, directory in directories.items()
                              if path in listed[name]])
    most = max(counts.largest() for counts in merged.values())
    return {path: write(counts, most) for path, counts in merged.items()}, ran


def pack(content, record, target):
    """Writes a profile as an archive, the same bytes for the same counts: `record` first, as
    text, then the files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode='w', format=tarfile.GNU_FORMAT) as archive:
        for name, data in [('record', record.encode()), *sorted(content.items())]:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    new = Path(target).with_name(Path(target).name + '.new')
    new.write_bytes(lzma.compress(raw.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    new.replace(target)


def gcc(content):
    """The release of gcc that a profile is of, such as 12."""
    version = next(iter(content.values()))[4:8][::-1].decode()
    return (ord(version[0]) - ord('A')) * 10 + int(version[1])
