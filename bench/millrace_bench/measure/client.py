"""A connection to a server of the benchmark: pymysql over the server's socket."""
import pymysql
from pymysql.err import MySQLError

from millrace.errors import Failure

# no connection, closed by us, gone away, lost, and lost with the system's reason
NOBODY_THERE = (2002, 2003, 0, 2006, 2013, 2055)


class SqlError(Failure):
    """The error that the server, or the client library, answered a statement with.

    `number` is the error's; `lost` tells whether the connection is gone."""

    def __init__(self, number, text, statement):
        super().__init__(f'error {number}: {text}', statement[:300])
        self.number = number
        self.lost = number in NOBODY_THERE


def _sql_error(error, statement):
    number = error.args[0] if error.args and isinstance(error.args[0], int) else -1
    return SqlError(number, error.args[1] if len(error.args) > 1 else str(error), statement)


class Connection:
    """One connection, as root over a socket; `with` closes it."""

    def __init__(self, socket, database=''):
        try:
            self._connection = pymysql.connect(
                unix_socket=str(socket), user='root', password='', database=database or None,
                charset='utf8mb4', conv={},      # values stay text
                autocommit=None)                 # the server's own default; sends no statement
        except (MySQLError, OSError) as error:
            raise _sql_error(error, 'connect') from None

    def query(self, statement):
        """Rows of a statement, as tuples of text (bytes of a binary column) or None; none where
        it has no result.  Raises SqlError."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        except (MySQLError, OSError) as error:
            raise _sql_error(error, statement) from None

    def close(self):
        """Ends the connection, also one that the server has lost."""
        if self._connection.open:
            try:
                self._connection.close()
            except (MySQLError, OSError):
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
