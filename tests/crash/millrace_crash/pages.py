"""Compares the data files of two servers that were shut down, page by page.

A difference that is allowed is explained, and counted by its kind:

doublewrite    the doublewrite buffer holds copies of other pages
unused         what follows the compressed bytes of a page_compressed page
changed since  both servers changed the page after they had recovered, as its LSN tells:
               rollback, purge, shutdown
by one         only one of them did
free           the space map of one of them says that the page is not in use

The last three are allowed only for servers that ran after recovery.  `recovered` is then the LSN
where recovery ended.
"""
import collections

SYSTEM = 'ibdata1'
TRX_SYS_PAGE, DOUBLEWRITE_END, DOUBLEWRITE_MAGIC = 5, 200 - 10, 536853855
LSN, TYPE, SPACE_ID, FLAGS = slice(16, 24), slice(24, 26), slice(34, 38), slice(54, 58)
PAGE_COMPRESSED = 0x8000
FULL_CRC32, FIRST_EXTENT, BITMAP = 0x10, 150, 24
SHORTEST = 64           # bytes of a file that has a header
LONGEST_SHOWN = 8       # differences


def integer(field):
    """The number that is stored in a field of a page."""
    return int.from_bytes(field, 'big')


def data_files(top):
    """{name: path} of all data files below a directory but that of temporary tables."""
    return {str(path.relative_to(top)): path for path in top.rglob('*')
            if path.suffix == '.ibd' or path.name == SYSTEM or path.name.startswith('undo')}


def space_id(path):
    """The number of the tablespace, from the first page of its file."""
    with path.open('rb') as file:
        return integer(file.read(SPACE_ID.stop)[SPACE_ID])


class File:
    """A data file in memory."""

    def __init__(self, path, page_size):
        self.bytes = path.read_bytes()
        flags = integer(self.bytes[FLAGS])
        # in a file without full_crc32: the size of the pages of ROW_FORMAT=COMPRESSED
        zipped = flags >> 1 & 15
        self.page_size = 512 << zipped if zipped and not flags & FULL_CRC32 else page_size
        self.extent = max(64, (1 << 20) // page_size)
        self.pages = len(self.bytes) // self.page_size

    def page(self, number):
        """A page; empty beyond the end."""
        return self.bytes[number * self.page_size:(number + 1) * self.page_size]

    def content(self, number):
        """A page; of a page_compressed one, only the bytes in use."""
        page = self.page(number)
        kind = integer(page[TYPE])
        return page[:(kind & ~PAGE_COMPRESSED) << 8] if kind & PAGE_COMPRESSED else page

    def doublewrite(self):
        """Numbers of the pages of the doublewrite buffer, in the system tablespace."""
        page = self.page(TRX_SYS_PAGE)
        place = len(page) - DOUBLEWRITE_END
        if integer(page[place:place + 4]) != DOUBLEWRITE_MAGIC:
            return set()
        starts = (integer(page[at:at + 4]) for at in (place + 4, place + 8))
        return {number for start in starts for number in range(start, start + self.extent)}

    def free(self, number):
        """Whether the space map says that a page is not in use, or never was."""
        first = number - number % self.page_size        # the page with the map of this one
        extent = (number - first) // self.extent
        descriptor = self.page(first)[FIRST_EXTENT + extent * (BITMAP + self.extent // 4):]
        bit = number % self.extent * 2
        state = descriptor[BITMAP - 4:BITMAP]
        return (not descriptor or integer(state) in (0, 1)
                or bool(descriptor[BITMAP + bit // 8] >> bit % 8 & 1))


class Comparison:
    """How many `pages` were compared, {kind: count} `explained`, and the rest, `different`."""

    def __init__(self):
        self.pages, self.explained, self.different = 0, collections.Counter(), []

    def __str__(self):
        explained = ', '.join(f'{count} {kind}' for kind, count in sorted(self.explained.items()))
        return f'{self.pages} pages' + (f' ({explained})' if explained else '')

    def shown(self):
        """The first differences, and how many more there are."""
        more = len(self.different) - LONGEST_SHOWN
        return self.different[:LONGEST_SHOWN] + ([f'and {more} more'] if more > 0 else [])


def compare(one, other, page_size, recovered=None):
    """A Comparison of the data files below two directories.

    `recovered` is the LSN where recovery ended, if servers ran after it."""
    result = Comparison()
    left, right = data_files(one), data_files(other)
    for name in sorted(left.keys() ^ right.keys()):
        where = 'first' if name in left else 'second'
        result.different.append(f'{name}: only in the {where} directory')
    for name in sorted(left.keys() & right.keys()):
        sizes = [path.stat().st_size for path in (left[name], right[name])]
        if min(sizes) >= SHORTEST:
            _compare_file(result, name, File(left[name], page_size), File(right[name], page_size),
                          recovered)
        elif left[name].read_bytes() != right[name].read_bytes():
            result.different.append(f'{name}: {sizes[0]} and {sizes[1]} bytes')
        # else neither recovery touched what the crash left
    return result


def _compare_file(result, name, a, b, recovered):
    """Adds to a Comparison the pages of one file in two directories."""
    result.pages += max(a.pages, b.pages)
    if a.bytes == b.bytes:
        return
    if a.page_size != b.page_size or (len(a.bytes) != len(b.bytes) and not recovered):
        result.different.append(f'{name}: {len(a.bytes)} and {len(b.bytes)} bytes, '
                                f'pages of {a.page_size} and {b.page_size}')
    doublewrite = a.doublewrite() if name == SYSTEM else ()
    for number in range(max(a.pages, b.pages)):
        if a.page(number) != b.page(number):
            kind = ('doublewrite' if number in doublewrite
                    else explanation(a, b, number, recovered))
            if kind:
                result.explained[kind] += 1
            else:
                result.different.append(f'{name} page {number}: {difference(a, b, number)}')


def explanation(a, b, number, recovered):
    """Why a page may differ; None where it may not."""
    contents = a.content(number), b.content(number)
    if contents[0] == contents[1]:
        return 'unused'
    if not recovered:
        return None
    since = [integer(content[LSN]) > recovered for content in contents]
    if all(since):
        return 'changed since'
    if a.free(number) or b.free(number):
        return 'free'
    return 'by one' if any(since) else None


def difference(a, b, number):
    """Types, LSNs, and how many bytes of a page differ, from which on."""
    u, v = a.content(number), b.content(number)
    shorter = min(len(u), len(v))
    where = [i for i in range(shorter) if u[i] != v[i]] or [shorter]
    return (f'type {u[TYPE].hex()}/{v[TYPE].hex()}, LSN {integer(u[LSN])}/{integer(v[LSN])}, '
            f'{len(where)} bytes from {where[0]}')
