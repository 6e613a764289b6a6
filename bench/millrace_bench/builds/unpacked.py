"""A server that is unpacked somewhere."""
import hashlib
from pathlib import Path

from millrace import TOP
from millrace.errors import Failure

SHIPPED = TOP / 'bench/builds'    # in the archive of bench/bundle
PROGRAMS = ('libexec/mariadbd', 'usr/sbin/mariadbd', 'sbin/mariadbd', 'bin/mariadbd')
SHARES = ('share', 'share/mysql', 'share/mariadb', 'usr/share/mysql', 'usr/share/mariadb')


def sha256(path):
    """The hash of a file."""
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


class Build:
    """An unpacked server.

    `name` is what it was asked for as, `root` its directory, `binary` the server program,
    `command` how that is called."""

    def __init__(self, name, root):
        self.name, self.root = name, Path(root).resolve()
        self.binary = self._locate('the server program', PROGRAMS)
        messages = self._locate('english/errmsg.sys',
                                (f'{place}/english/errmsg.sys' for place in SHARES))
        self.share = messages.parent.parent
        self.sha256 = sha256(self.binary)
        self.command = self._call(self.binary)
        self._described = None

    def _call(self, program):
        """The start of a command line.  In the bundle a program is started with the libraries
        that it came with."""
        loader = SHIPPED.parent / 'lib/ld-linux-x86-64.so.2'
        if SHIPPED in self.root.parents and loader.exists():
            return [str(loader), '--library-path', str(loader.parent), str(program)]
        return [str(program)]

    def beside(self, name):
        """The path of another program of the server's, or None."""
        places = (self.root / place / name for place in ('bin', 'usr/bin'))
        return next((place for place in places if place.is_file()), None)

    def program(self, name):
        """How another program of the server's is called.  Raises Failure where it is missing."""
        path = self.beside(name)
        if not path:
            raise Failure(f'{self.name}: {name} is not in {self.root}',
                          'unpack the whole build, or leave it out')
        return self._call(path)

    def _locate(self, what, candidates):
        for candidate in candidates:
            if (self.root / candidate).is_file():
                return self.root / candidate
        raise Failure(f'{self.name}: {what} is not in {self.root}',
                      'a build is a directory into which a server was unpacked, with bin/ or '
                      'libexec/ and share/')

    def places(self):
        """The options that tell it where its own files are."""
        return [f'--basedir={self.root}', f'--lc-messages-dir={self.share}',
                f'--character-sets-dir={self.share}/charsets']

    def script(self, name):
        """Path of an SQL script that makes its system tables."""
        for prefix in ('mariadb_', 'mysql_'):
            if (self.share / f'{prefix}{name}.sql').exists():
                return self.share / f'{prefix}{name}.sql'
        raise Failure(f'{self.name}: {name}.sql is not in {self.share}',
                      'the build is not whole: unpack it again')

    def describe(self, connection=None):
        """Its entry in result.json; a running server is asked over `connection`, once."""
        if connection and not self._described:
            version, comment = connection.query('SELECT @@version, @@version_comment')[0]
            try:
                patches = [row[0] for row in connection.query('SHOW PATCHES')]
            except Failure:
                patches = []    # a server without show-patches does not know the statement
            self._described = {'version': version, 'comment': comment, 'patches': patches}
        unknown = {'version': '', 'comment': '', 'patches': []}
        return {'name': self.name, **(self._described or unknown), 'sha256': self.sha256}
