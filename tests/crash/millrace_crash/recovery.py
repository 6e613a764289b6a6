"""Recovers a crashed data directory: by a server, or by mariadb-backup --prepare.

mariadb-backup --prepare only applies the log.
"""
import random
import re
import subprocess
from dataclasses import dataclass, field

from millrace.errors import Failure
from millrace_bench.measure.client import SqlError
from millrace_bench.measure.server import dies_with_us
from millrace_crash import pages
from millrace_crash.datadir import SCHEMA, kill_in_recovery
from millrace_crash.mixed import SCHEMA as MIXED

FAST = 'innodb_fast_recovery'
# The recovering server does nothing else, as far as that can be switched off.  It purges all at
# shutdown; pages that it writes then are not compared.
QUIET = {'innodb_undo_log_truncate': 'OFF', 'innodb_stats_persistent': 'OFF',
         'innodb_encryption_threads': '0', 'innodb_fast_shutdown': '0'}
# complaints of CHECK TABLE that are no fault before purge is done or after a rollback (MDEV-29823)
ALLOWED = re.compile('Clustered index record not found|Unpurged clustered index record')
# After a kill upstream refuses to open two kinds of file, though nothing is lost: a new tablespace
# that is still too short (the log creates it again), and the copy of one that was being imported.
SHORT = re.compile(r"The size of tablespace file '(.*?)' is only")
COPIED = re.compile(r'Cannot open filepath: (\S+?)\.? which uses the same space ID')
DISCARDED = re.compile("discarded|Got error 194|is missing|does not exist"
                       "|doesn't exist in engine")
# CHECK TABLE may answer so for the table of an unfinished IMPORT
IMPORTED, CORRUPT = re.compile(rf'{MIXED}\.p\d+_\d+i'), [('error', 'Corrupt')]
PREPARE_SECONDS = 900


@dataclass
class Recovered:
    """How a server recovered."""
    refused: str = ''       # why it did not start, without numbers
    log: str = ''           # its error log, if it did not start
    lsn: int = 0            # the end of the log
    seconds: float = 0      # until it answered
    batches: str = ''       # of fast recovery
    tables: dict = field(default_factory=dict)      # of read_tables()


def refusal(text):
    """The first error in a log, without numbers and directories that differ in each run."""
    errors = re.findall(r'\[ERROR\] (.*)', text) or text.strip().splitlines()[-1:] or ['no error']
    return re.sub(r'\d+|(?<=[\'"]).*/(?=[^/]*/[^/]*[\'"])', '#', errors[0])


def end_of_log(text):
    """The LSN where recovery ended, from the error log; 0 where there was nothing to recover."""
    lsns = re.findall(r'End of log at LSN=(\d+)', text)
    return int(lsns[-1]) if lsns else 0


def batches(text):
    """Scans and batches of fast recovery, from the error log; empty without it."""
    match = re.search(r'log: .*?(\d+) scans(?:.|\n)*?pages: +(\d+) batches', text)
    return f'{match[1]} scans, {match[2]} batches' if match else ''


def read_tables(server):
    """{(table, what): answer} of all tables: checksum, CHECK TABLE ... EXTENDED, each index.

    An answer is rows, or the text of the error."""
    answers = {}
    with server.connect() as connection:
        connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
    for schema in (SCHEMA, MIXED):
        with server.connect(schema) as connection:
            answers.update(_read_schema(server, connection, schema))
    return answers


def _read_schema(server, connection, schema):
    answers = {}

    def ask(table, statement, *what):
        try:
            answer = connection.query(statement)
        except SqlError as error:
            server.check()
            answer = str(error).split('\n', maxsplit=1)[0]
        answers[f'{schema}.{table}', *what] = answer
        return answer

    tables = connection.query('SELECT table_name FROM information_schema.tables '
                              f"WHERE table_schema='{schema}' AND engine='InnoDB'")
    indexes = connection.query('SELECT DISTINCT table_name, index_name, index_type '
                               'FROM information_schema.statistics '
                               f"WHERE table_schema='{schema}'")
    for (table,) in tables:
        ask(table, f'CHECKSUM TABLE `{table}`')
        checked = ask(table, f'CHECK TABLE `{table}` EXTENDED', 'CHECK')
        if not isinstance(checked, str):
            answers[f'{schema}.{table}', 'CHECK'] = [tuple(row[2:]) for row in checked
                                                     if not ALLOWED.search(row[3])]
    for table, index, kind in indexes:
        if kind == 'FULLTEXT':
            ask(table, f'SELECT COUNT(*), SUM(id) FROM `{table}` '
                       "WHERE MATCH(words) AGAINST('common')", index)
        else:
            ask(table, f'SELECT COUNT(*) FROM `{table}` FORCE INDEX (`{index}`)', index)
    return answers


def bad_tables(tables):
    """Tables of read_tables() that are corrupt, though not discarded or being imported."""
    return [f'{key[0]}: {answer}' for key, answer in tables.items() if key[1:] == ('CHECK',)
            and answer != [('status', 'OK')] and not DISCARDED.search(str(answer))
            and not (IMPORTED.fullmatch(key[0]) and answer == CORRUPT)]


def recover_by_server(datadir, options, look):
    """Recovers crashed data by a server, calls look(server) for its tables, and shuts it down.

    Returns a Recovered."""
    with datadir.server() as server:
        server.options.update({**QUIET, **options})
        try:
            server.start()
        except Failure:
            return Recovered(refused=refusal(server.log_text()), log=server.log_text())
        text = server.log_text()
        tables = look(server)
        server.stop()
        return Recovered(lsn=end_of_log(text), seconds=server.started_in, batches=batches(text),
                         tables=tables)


def interrupt(datadir, options, seconds):
    """Kills a server over crashed data after so many seconds.

    Returns its error log where it had refused before, and otherwise nothing."""
    with datadir.server() as server:
        server.options.update({**QUIET, **options})
        try:
            kill_in_recovery(server, seconds)
        except Failure:
            return server.log_text()
    return ''


def remove_refused(datadir, pattern, log):
    """Removes the files that SHORT or COPIED matches in a log; returns how many."""
    files = [datadir.data / name for name in pattern.findall(log)]
    for path in files:
        path.unlink()
    return len(files)


def restore_names(datadir, reference):
    """Gives files back the names of their tables; returns how many.

    TRUNCATE TABLE renames a table's file to #sql-ib<number>.ibd.  Upstream's recovery rolls this
    back; where it is killed it may leave the file so, though the dictionary has the table.
    `reference` is the DataDir of a recovery that was not killed."""
    here, there = pages.data_files(datadir.data), pages.data_files(reference.data)
    missing = {pages.space_id(there[name]): name for name in there.keys() - here.keys()}
    renamed = [(path, missing[space]) for path in here.values()
               if path.name.startswith('#sql-ib') and (space := pages.space_id(path)) in missing]
    for path, name in renamed:
        path.rename(datadir.data / name)
    return len(renamed)


def make_backup(datadir):
    """Turns crashed data into a backup that mariadb-backup --prepare accepts."""
    for name in ('ib_buffer_pool', 'ibtmp1'):
        (datadir.data / name).unlink(missing_ok=True)
    (datadir.data / 'xtrabackup_checkpoints').write_text(
        'backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 1\nlast_lsn = 1\n')
    names = ('innodb_page_size', 'innodb_undo_tablespaces', 'innodb_encrypt_log',
             'file_key_management_filename')
    plugin = ['plugin_load=file_key_management'] if 'innodb_encrypt_log' in datadir.options else []
    lines = ['[mysqld]', *plugin,
             *(f'{name}={datadir.options[name]}' for name in names if name in datadir.options)]
    (datadir.data / 'backup-my.cnf').write_text('\n'.join(lines) + '\n')


def prepare(datadir, pool, fast, seconds=None):
    """Runs mariadb-backup --prepare with a pool in MiB, killed after so many seconds.

    Returns its status, None where it was killed, and its output."""
    return run_prepare(
        datadir, pool, f'--plugin-dir={datadir.build.root}/lib/plugin',
        f'--innodb-log-file-mmap={datadir.options["innodb_log_file_mmap"]}',
        '--innodb-fast-recovery=ON' if fast else '--loose-innodb-fast-recovery=OFF',
        seconds=seconds)


def run_prepare(datadir, pool, *options, seconds=None, limit=None, output=None):
    """prepare() with options of its own, a limit that the process enters(), and a file `output`
    in place of one beside the data."""
    command = [*datadir.build.program('mariadb-backup'), '--prepare',
               f'--target-dir={datadir.data}', f'--use-memory={pool}M', *options]
    with open(output or datadir.place / 'prepare.log', 'w+', encoding='utf-8',
              errors='replace') as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=dies_with_us(limit))
        try:
            status = process.wait(seconds or PREPARE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            if not seconds:
                raise Failure('mariadb-backup --prepare did not end '
                              f'in {PREPARE_SECONDS} s') from None
            # Without a log, or with an empty one, it had applied everything, and was making a
            # new log.
            log_file = datadir.data / 'ib_logfile0'
            status = None if log_file.exists() and log_file.stat().st_size else 0
        log.seek(0)
        return status, log.read()


class Damage:
    """Damage to a log between its checkpoint and its end, the same for every copy of it."""
    FIRST, BLOCKS = 12288, (4096, 8192)     # of ib_logfile0: its records, checkpoint blocks

    def __init__(self, datadir, end, seed):
        dice = random.Random(seed)
        log = datadir.data / 'ib_logfile0'
        with open(log, 'rb') as file:
            header = file.read(self.FIRST)
        first = int.from_bytes(header[8:16], 'big')
        checkpoint = max(int.from_bytes(header[at:at + 8], 'big') for at in self.BLOCKS)
        capacity = log.stat().st_size - self.FIRST
        begin = (checkpoint - first) % capacity
        length = max(1, min(end - checkpoint, capacity - begin))
        self.at = self.FIRST + begin + dice.randrange(length)
        self.rest = self.FIRST + begin + length - self.at
        self.kind = dice.choice(('byte', 'bytes', 'block', 'cut', 'cut', 'truncated'))
        count = {'byte': 1, 'bytes': 8}.get(self.kind, 0)
        self.bytes = bytes(dice.randrange(1, 256) for _ in range(count))
        self.share = (self.at - self.FIRST - begin) / length

    def __str__(self):
        return f'{self.kind} at {self.share:.0%} of the log'

    def apply(self, datadir):
        """Damages the log of a copy."""
        with open(datadir.data / 'ib_logfile0', 'r+b') as log:
            if self.kind == 'truncated':
                log.truncate(self.at)
                return
            log.seek(self.at)
            if self.bytes:
                old = log.read(len(self.bytes))
                log.seek(self.at)
                log.write(bytes(x ^ y for x, y in zip(old, self.bytes)))
            else:
                log.write(bytes(4096 if self.kind == 'block' else self.rest))
