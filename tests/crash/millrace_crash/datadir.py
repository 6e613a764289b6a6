"""A data directory that servers crash on, and the checks that every tool makes of it.

Servers are those of the benchmarks (millrace_bench): an unpacked build, started with options.
"""
import copy
import shutil
import subprocess
import time
from pathlib import Path

from millrace.errors import Failure
from millrace_bench.measure.server import Server, arguments, make_system_tables

SCHEMA = 'crash'            # faults.c knows this name
# table options, by the name of the table that has them: each is written in a way of its own
FORMATS = {
    'plain': '',
    'page_compressed': 'PAGE_COMPRESSED=1',
    'encrypted': 'ENCRYPTED=YES',
    'encrypted_compressed': 'ENCRYPTED=YES PAGE_COMPRESSED=1',
    'zip': 'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={zip}',
    'encrypted_zip': 'ENCRYPTED=YES ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={zip}',
}
LARGEST_ZIP_PAGE = 16384    # of innodb_page_size that allows ROW_FORMAT=COMPRESSED
LAYOUT = ('innodb_page_size', 'innodb_undo_tablespaces')    # options that new data are made with
KEY = '1;770A8A65DA156D24EE2A093277530142\n'
FAULTS = Path(__file__).with_name('faults.c')


def formats(page_size):
    """{table: its options} for the formats that a page size allows."""
    return {name: options.format(zip=page_size // 2048) for name, options in FORMATS.items()
            if page_size <= LARGEST_ZIP_PAGE or 'ROW_FORMAT' not in options}


class DataDir:
    """The data of servers of a Build, a key for encryption, and faults to inject.

    `place` is the directory of all of that, `data` the data directory in it.  With `faults`
    server() preloads the library faults.c; without `encrypts` there is no key, and the log is not
    encrypted.  Raises Failure where `data` exists."""

    def __init__(self, build, place, page_size, options, faults=False, encrypts=True):
        self.build = self.faulty = build
        self.place, self.data = Path(place), Path(place) / 'data'
        if self.data.exists():
            raise Failure(f'{self.data} exists already',
                          'it may be left over from a run that failed: look at it, then remove it')
        self.place.mkdir(parents=True, exist_ok=True)
        key = self.place / 'key'
        key.write_text(KEY)
        encryption = {
            'plugin_maturity': 'unknown', 'plugin_load_add': 'file_key_management',
            'file_key_management_filename': str(key), 'innodb_encrypt_log': 'ON'}
        self.options = {
            'innodb_page_size': str(page_size), 'innodb_log_file_size': '32M',
            'performance_schema': 'ON', **(encryption if encrypts else {}), **options}
        layout = {name: self.options[name] for name in LAYOUT if name in self.options}
        make_system_tables(self.build, self.data, arguments(layout))
        (self.data / SCHEMA).mkdir()
        self._fault = self.place / 'fault'
        if faults:
            self._preload_faults()
        self.fault('')

    def _preload_faults(self):
        library = self.place / 'faults.so'
        subprocess.run(['cc', '-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC',
                        '-o', library, FAULTS, '-ldl'], check=True)
        self.faulty = copy.copy(self.build)
        self.faulty.command = ['env', f'LD_PRELOAD={library}', f'FAULT={self._fault}',
                               *self.build.command]

    def server(self, faulty=True):
        """A Server over the data, not started yet; a faulty one obeys fault()."""
        return Server(self.faulty if faulty else self.build, self.data, self.options)

    def use(self, build):
        """Makes later servers those of another Build."""
        self.build = self.faulty = build

    def copy(self, place, build, options=()):
        """A DataDir of another Build with a copy of the data and, in part, other options.

        No server may run on the data.  What was at `place` is removed."""
        other = copy.copy(self)
        other.use(build)
        other.place, other.data = Path(place), Path(place) / 'data'
        other.options = {**self.options, **dict(options)}
        shutil.rmtree(other.place, ignore_errors=True)
        other.place.mkdir(parents=True)
        subprocess.run(['cp', '-a', '--sparse=always', self.data, other.data], check=True)
        return other

    def fault(self, kind):
        """Lets faulty servers inject this fault from now on; see faults.c for the kinds."""
        new = self._fault.with_suffix('.new')
        new.write_text(kind)
        new.rename(self._fault)

    def injected(self):
        """How many requests the last faulty server let fail; it may die before it counts one."""
        count = self._fault.with_suffix('.count')
        text = count.read_text().strip() if count.exists() else ''
        count.unlink(missing_ok=True)
        return int(text or 0)

    def check_files(self, discarded=()):
        """Runs innochecksum over every tablespace after a shutdown; returns how many there are.

        The files of `discarded` tables ('schema/table') are left out: no server uses them, and
        an IMPORT that is interrupted leaves a file with pages of two tablespaces.
        Raises Failure for the first tablespace with a bad page."""
        program = self.build.program('innochecksum')
        files = sorted([self.data / 'ibdata1', *self.data.glob('undo[0-9]*'),
                        *self.data.glob('*/*.ibd')])
        files = [file for file in files
                 if str(file.relative_to(self.data).with_suffix('')) not in discarded]
        for file in files:
            # Without the summary innochecksum does not learn which pages are the doublewrite
            # buffer's, and those are of other tablespaces.
            done = subprocess.run([*program, '--page-type-summary', file], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                raise Failure(f'innochecksum {file.relative_to(self.data)}: '
                              f'{done.stdout.strip()[-300:]}')
        return len(files)

    def remove(self):
        """Removes everything."""
        shutil.rmtree(self.place)


def kill_in_recovery(server, seconds):
    """Starts a server and kills it after so many seconds: while it recovers, or just after.

    Raises Failure where the server ended by itself before."""
    server.launch()
    time.sleep(seconds)
    server.check()
    server.kill()


def check_extended(connection, tables):
    """Runs CHECK TABLE ... EXTENDED; returns its first complaint, or None, and a count.

    Counted is what upstream's rollback may leave, in recovery too: a delete-marked record of a
    secondary index without its row (MDEV-29823)."""
    orphans = 0
    for table, _, kind, text in connection.query(f'CHECK TABLE {", ".join(tables)} EXTENDED'):
        if kind == 'Warning' and 'Clustered index record not found' in text:
            orphans += 1
        elif (kind, text) != ('status', 'OK'):
            return f'CHECK TABLE {table}: {kind}: {text}', orphans
    return None, orphans


def check_tables(connection, tables):
    """check_extended() after purge has come to its end; returns the count alone.

    Raises Failure for a complaint."""
    # CHECK TABLE warns of a record that purge may remove and has not removed yet, too
    connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
    complaint, orphans = check_extended(connection, tables)
    if complaint:
        raise Failure(complaint)
    return orphans
