"""The data files of two servers that were shut down, compared page by page.

What differs and need not be the same is explained, and counted by its kind:

doublewrite    the doublewrite buffer holds copies of other pages
unused         what follows the compressed bytes of a page_compressed page in its place
changed since  both servers changed the page after they had recovered it, as its LSN tells: rollback, purge, shutdown
by one         only one of them did
free           the space map of one of them says that the page is not in use

The last three are let pass only of servers that ran after recovery: `recovered` is the LSN where that ended.
"""
import collections

SYSTEM = 'ibdata1'
TRX_SYS_PAGE, DOUBLEWRITE_END, DOUBLEWRITE_MAGIC = 5, 200 - 10, 536853855
LSN, TYPE, SPACE_ID, FLAGS = slice(16, 24), slice(24, 26), slice(34, 38), slice(54, 58)
PAGE_COMPRESSED = 0x8000
FULL_CRC32, FIRST_EXTENT, BITMAP = 0x10, 150, 24
SHORTEST, LONGEST_SHOWN = 64, 8


def number(field):
    """What is stored in a field."""
    return int.from_bytes(field, 'big')


def files(top):
    """All data files but that of temporary tables."""
    return {str(path.relative_to(top)): path for path in top.rglob('*')
            if path.suffix == '.ibd' or path.name == SYSTEM or path.name.startswith('undo')}


def space_id(path):
    """The tablespace's number that a data file has in its first page."""
    with path.open('rb') as file:
        return number(file.read(SPACE_ID.stop)[SPACE_ID])


class File:
    """A data file in memory."""

    def __init__(self, path, page_size):
        self.bytes = path.read_bytes()
        flags = number(self.bytes[FLAGS])
        zipped = flags >> 1 & 15    # in a file of the older kind: how large the pages of ROW_FORMAT=COMPRESSED are
        self.page_size = 512 << zipped if zipped and not flags & FULL_CRC32 else page_size
        self.extent = max(64, (1 << 20) // page_size)
        self.pages = len(self.bytes) // self.page_size

    def page(self, place):
        """A page; nothing beyond the end."""
        return self.bytes[place * self.page_size:(place + 1) * self.page_size]

    def content(self, place):
        """What of a page matters."""
        page = self.page(place)
        kind = number(page[TYPE])
        return page[:(kind & ~PAGE_COMPRESSED) << 8] if kind & PAGE_COMPRESSED else page

    def doublewrite(self):
        """The pages of the doublewrite buffer, in the system tablespace."""
        page = self.page(TRX_SYS_PAGE)
        place = len(page) - DOUBLEWRITE_END
        if number(page[place:place + 4]) != DOUBLEWRITE_MAGIC:
            return set()
        starts = (number(page[at:at + 4]) for at in (place + 4, place + 8))
        return {page for start in starts for page in range(start, start + self.extent)}

    def free(self, place):
        """Whether the space map says that a page is not in use, or was never."""
        described = place - place % self.page_size
        descriptor = self.page(described)[FIRST_EXTENT + (place - described) // self.extent * (BITMAP + self.extent // 4):]
        bit = place % self.extent * 2
        state = descriptor[BITMAP - 4:BITMAP]
        return not descriptor or number(state) in (0, 1) or bool(descriptor[BITMAP + bit // 8] >> bit % 8 & 1)


class Comparison:
    """How many pages were compared, what was explained, and what was not."""

    def __init__(self):
        self.pages, self.explained, self.different = 0, collections.Counter(), []

    def __str__(self):
        explained = ', '.join(f'{count} {kind}' for kind, count in sorted(self.explained.items()))
        return f'{self.pages} pages' + (f' ({explained})' if explained else '')

    def shown(self):
        """The first of what is different."""
        more = len(self.different) - LONGEST_SHOWN
        return [*self.different[:LONGEST_SHOWN], *([f'and {more} more'] if more > 0 else [])]


def compare(one, other, page_size, recovered=None):
    """The data files below two directories; `recovered` is the LSN up to which both recovered, if they went on then."""
    result = Comparison()
    left, right = files(one), files(other)
    for name in sorted(left.keys() ^ right.keys()):
        result.different.append(f'{name}: only in {"the first" if name in left else "the second"}')
    for name in sorted(left.keys() & right.keys()):
        if left[name].stat().st_size < SHORTEST or right[name].stat().st_size < SHORTEST:
            if left[name].read_bytes() == right[name].read_bytes():
                continue    # as the crash has left it: both had no use for it
            result.different.append(f'{name}: {left[name].stat().st_size} and {right[name].stat().st_size} bytes')
            continue
        x, y = File(left[name], page_size), File(right[name], page_size)
        result.pages += max(x.pages, y.pages)
        if x.bytes == y.bytes:
            continue
        if x.page_size != y.page_size or (len(x.bytes) != len(y.bytes) and not recovered):
            result.different.append(f'{name}: {len(x.bytes)} and {len(y.bytes)} bytes, pages of {x.page_size} and {y.page_size}')
        ignored = x.doublewrite() if name == SYSTEM else ()
        for place in range(max(x.pages, y.pages)):
            if x.page(place) != y.page(place):
                kind = 'doublewrite' if place in ignored else explanation(x, y, place, recovered)
                if kind:
                    result.explained[kind] += 1
                else:
                    result.different.append(f'{name} page {place}: {described(x, y, place)}')
    return result


def explanation(x, y, place, recovered):
    """Why a page may differ; nothing where it may not."""
    u, v = x.content(place), y.content(place)
    if u == v:
        return 'unused'
    if not recovered:
        return None
    since = [number(page[LSN]) > recovered for page in (u, v)]
    if all(since):
        return 'changed since'
    if x.free(place) or y.free(place):
        return 'free'
    return 'by one' if any(since) else None


def described(x, y, place):
    """Both of a page that differs."""
    u, v = x.content(place), y.content(place)
    where = [i for i in range(min(len(u), len(v))) if u[i] != v[i]] or [min(len(u), len(v))]
    return f'type {u[TYPE].hex()}/{v[TYPE].hex()}, LSN {number(u[LSN])}/{number(v[LSN])}, {len(where)} bytes from {where[0]}'
