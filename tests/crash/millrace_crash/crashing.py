"""What the commands here share: a data directory that servers crash on, and what is checked after that.

A server is one of the benchmarks' (bench/millrace_bench/server.py): an unpacked build, started with options.
"""
import copy
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / 'bench'))
from millrace_bench.builds import Build  # noqa: E402
from millrace_bench.errors import BenchError  # noqa: E402
from millrace_bench.server import Server, arguments, make_system_tables  # noqa: E402

# what can be written in different ways
FORMATS = {
    'plain': '',
    'page_compressed': 'PAGE_COMPRESSED=1',
    'encrypted': 'ENCRYPTED=YES',
    'encrypted_compressed': 'ENCRYPTED=YES PAGE_COMPRESSED=1',
    'zip': 'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={zip}',
    'encrypted_zip': 'ENCRYPTED=YES ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={zip}',
}
SCHEMA = 'crash'    # faults.c knows it
LARGEST_ZIP_PAGE = 16384
LAYOUT = ('innodb_page_size', 'innodb_undo_tablespaces')    # options that new data are made with


class Wrong(Exception):
    """What a crash has spoiled."""


def formats(page_size):
    """The tables' formats that a page size allows, with their options."""
    return {name: options.format(zip=page_size // 2048) for name, options in FORMATS.items()
            if page_size <= LARGEST_ZIP_PAGE or 'ROW_FORMAT' not in options}


class Home:
    """A new directory with the data of one build, a key for encryption, and the library that makes requests fail."""

    def __init__(self, build, place, page_size, options, faults=False):
        self.build = Build(Path(build).name, build)
        self.place, self.data = Path(place), Path(place) / 'data'
        if self.data.exists():
            raise BenchError(f'{self.data} is there already', 'it may be what is left of a crash that went wrong: look, and remove it')
        self.place.mkdir(parents=True, exist_ok=True)
        key = self.place / 'key'
        key.write_text('1;770A8A65DA156D24EE2A093277530142\n')
        self.options = {
            'innodb_page_size': str(page_size), 'innodb_log_file_size': '32M', 'performance_schema': 'ON',
            'plugin_maturity': 'unknown', 'plugin_load_add': 'file_key_management',
            'file_key_management_filename': str(key), 'innodb_encrypt_log': 'ON', **options}
        make_system_tables(self.build, self.data, arguments({name: self.options[name] for name in LAYOUT if name in self.options}))
        (self.data / SCHEMA).mkdir()
        self._fault = self.place / 'fault'
        self.faulty = Build(self.build.name, build)
        if faults:
            library = self.place / 'faults.so'
            subprocess.run(['cc', '-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', library, HERE / 'faults.c', '-ldl'],
                           check=True)
            self.faulty.command[:0] = ['env', f'LD_PRELOAD={library}', f'FAULT={self._fault}']
        self.fault('')

    def server(self, faulty=True):
        """A server over the data, not started yet; a faulty one does what fault() says."""
        return Server(self.faulty if faulty else self.build, self.data, self.options)

    def copy(self, place, build, options=()):
        """The same for another build, or with other options, over a copy of the data of a server that does not run."""
        other = copy.copy(self)
        other.place, other.data, other.build, other.faulty = Path(place), Path(place) / 'data', build, build
        other.options = {**self.options, **dict(options)}
        shutil.rmtree(other.place, ignore_errors=True)
        other.place.mkdir(parents=True)
        subprocess.run(['cp', '-a', '--sparse=always', self.data, other.data], check=True)
        return other

    def fault(self, what):
        """From now on, faulty servers do this (faults.c)."""
        new = self._fault.with_suffix('.new')
        new.write_text(what)
        new.rename(self._fault)

    def injected(self):
        """How many requests the last faulty server has made to fail, as far as it could still say."""
        count = self._fault.with_suffix('.count')
        text = count.read_text().strip() if count.exists() else ''
        count.unlink(missing_ok=True)
        return int(text or 0)

    def check_files(self, discarded=()):
        """innochecksum over every tablespace of a server that was shut down, but for those of tables whose tablespace is discarded
        ('schema/table'): no server uses them, and an IMPORT that is interrupted leaves one with the pages of two tablespaces."""
        program = next(path for path in (self.build.root / 'bin/innochecksum', self.build.root / 'usr/bin/innochecksum')
                       if path.exists())
        files = sorted([self.data / 'ibdata1', *self.data.glob('undo[0-9]*'), *self.data.glob('*/*.ibd')])
        files = [file for file in files if str(file.relative_to(self.data).with_suffix('')) not in discarded]
        for file in files:
            # without the summary it does not find out which pages are the doublewrite buffer's: those are of other tablespaces
            done = subprocess.run([program, '--page-type-summary', file], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                raise Wrong(f'innochecksum {file.relative_to(self.data)}: {done.stdout.strip()[-300:]}')
        return len(files)

    def remove(self):
        """All of it, where nothing went wrong."""
        shutil.rmtree(self.place)


def killed_in_recovery(server, seconds):
    """Ends a server that many seconds after it was started: while it recovers, or just after."""
    server.launch()
    time.sleep(seconds)
    server.check()
    server.kill()


def check_tables(connection, names, wait=True):
    """CHECK TABLE ... EXTENDED of each, after purge where we wait for it; how many warnings of the one kind that upstream leaves were given: a rollback,
    as recovery does, may leave a delete-marked record in a secondary index without a row to it (MDEV-29823)."""
    # it also warns of a record that purge may remove and has not removed yet
    if wait:
        connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
    warnings = 0
    for table, _, kind, text in connection.query(f'CHECK TABLE {", ".join(names)} EXTENDED'):
        if kind == 'Warning' and 'Clustered index record not found' in text:
            warnings += 1
        elif (kind, text) != ('status', 'OK'):
            raise Wrong(f'CHECK TABLE {table}: {kind}: {text}')
    return warnings


def server_options(words):
    """--name=value ... of a command line as a dictionary."""
    found = {}
    for word in words:
        if not word.startswith('--') or word == '--':
            raise BenchError(f'{word}: not an option', 'options of the server are written --name=value')
        name, has_value, value = word[2:].partition('=')
        found[name.replace('-', '_')] = value if has_value else None
    return found


def run(main):
    """A command: its exit status is 1 where something is wrong, and the data are kept then."""
    try:
        main()
    except (Wrong, BenchError) as error:
        sys.exit(f'{Path(sys.argv[0]).name}: {error}')
    except KeyboardInterrupt:
        sys.exit(130)
