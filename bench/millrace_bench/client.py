"""A connection to a server, over the client library that the load engine uses too."""
import ctypes

from .errors import BenchError

_LIBRARY = None
# no connection (a socket that nobody listens to), gone away, lost, and lost with the system's reason
NOBODY_THERE = (2002, 2003, 2006, 2013, 2055)


class SqlError(BenchError):
    """What the server, or the library, answered instead of a result."""

    def __init__(self, number, text, statement):
        super().__init__(f'error {number}: {text}', statement[:300])
        self.number = number
        self.lost = number in NOBODY_THERE


def _library():
    global _LIBRARY
    if _LIBRARY is None:
        try:
            library = ctypes.CDLL('libmariadb.so.3')
        except OSError as error:
            raise BenchError('libmariadb.so.3 is missing', str(error), 'build/setup bench') from error
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        for name, result, arguments in (
                ('mysql_init', pointer, [pointer]),
                ('mysql_real_connect', pointer, [pointer, text, text, text, text, ctypes.c_uint, text, ctypes.c_ulong]),
                ('mysql_real_query', ctypes.c_int, [pointer, text, ctypes.c_ulong]),
                ('mysql_store_result', pointer, [pointer]),
                ('mysql_num_fields', ctypes.c_uint, [pointer]),
                ('mysql_fetch_row', ctypes.POINTER(text), [pointer]),
                ('mysql_free_result', None, [pointer]),
                ('mysql_errno', ctypes.c_uint, [pointer]),
                ('mysql_error', text, [pointer]),
                ('mysql_close', None, [pointer])):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _LIBRARY = library
    return _LIBRARY


class Connection:
    """One connection, as root over a socket; `with` closes it."""

    def __init__(self, socket, database=''):
        self._library = _library()
        self._handle = self._library.mysql_init(None)
        if not self._library.mysql_real_connect(self._handle, b'localhost', b'root', b'', database.encode(), 0,
                                                str(socket).encode(), 0):
            try:
                self._fail('connect')
            finally:
                self.close()

    def _fail(self, statement):
        raise SqlError(self._library.mysql_errno(self._handle),
                       self._library.mysql_error(self._handle).decode(errors='replace'), statement)

    def query(self, statement):
        """The rows of a statement, as tuples of text or None; none where it has no result."""
        raw = statement.encode()
        if self._library.mysql_real_query(self._handle, raw, len(raw)):
            self._fail(statement)
        result = self._library.mysql_store_result(self._handle)
        if not result:
            if self._library.mysql_errno(self._handle):
                self._fail(statement)
            return []
        fields = self._library.mysql_num_fields(result)
        rows = []
        while row := self._library.mysql_fetch_row(result):
            rows.append(tuple(None if row[i] is None else row[i].decode(errors='replace') for i in range(fields)))
        self._library.mysql_free_result(result)
        return rows

    def close(self):
        """Ends the connection."""
        if self._handle:
            self._library.mysql_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
