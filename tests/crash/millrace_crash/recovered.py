"""What a crashed data directory becomes: by servers, or by mariadb-backup --prepare, which only applies the log."""
import random
import re
import subprocess
from dataclasses import dataclass, field

import pages
from crashing import SCHEMA, Wrong, killed_in_recovery
from mixed import SCHEMA as MIXED
from millrace_bench.client import SqlError
from millrace_bench.errors import BenchError
from millrace_bench.server import dies_with_us

FAST = 'innodb_fast_recovery'
# the recovering server does as little else as it can, and all purge at the end: what it writes then is not compared
QUIET = {'innodb_undo_log_truncate': 'OFF', 'innodb_stats_persistent': 'OFF', 'innodb_encryption_threads': '0', 'innodb_fast_shutdown': '0'}
LEFT = re.compile('Clustered index record not found|Unpurged clustered index record')    # to purge; MDEV-29823
# what upstream refuses after a kill, though nothing is lost: a file that the log was to make, and that is too short yet to be a
# tablespace; the copy of a file that was being imported
SHORT = re.compile(r"The size of tablespace file '(.*?)' is only")
COPIED = re.compile(r'Cannot open filepath: (\S+?)\.? which uses the same space ID')
AWAY = re.compile(r'discarded|Got error 194|is missing|does not exist|doesn\'t exist in engine')
# a table into which a file was being imported, which upstream may leave so
IMPORTED, CORRUPT = re.compile(rf'{MIXED}\.p\d+_\d+i'), [('error', 'Corrupt')]
PREPARE_SECONDS = 900


@dataclass
class Recovered:
    """`refused` is why it does not start, without numbers, and `log` all it said then; `lsn` the end of the log; `tables` what can
    be read from them."""
    refused: str = ''
    log: str = ''
    lsn: int = 0
    seconds: float = 0
    batches: str = ''
    tables: dict = field(default_factory=dict)


def refusal(text):
    """The first error in a log, without what is different from run to run."""
    errors = re.findall(r'\[ERROR\] (.*)', text) or text.strip().splitlines()[-1:] or ['no word']
    return re.sub(r'\d+|(?<=[\'"]).*/(?=[^/]*/[^/]*[\'"])', '#', errors[0])


def end_of_log(text):
    """The LSN where recovery ended; 0 where there was nothing to recover."""
    found = re.findall(r'End of log at LSN=(\d+)', text)
    return int(found[-1]) if found else 0


def statistics(text):
    """The scans and batches of the patched server."""
    found = re.search(r'log: .*?(\d+) scans(?:.|\n)*?pages: +(\d+) batches', text)
    return f'{found[1]} scans, {found[2]} batches' if found else ''


def read_tables(server):
    """What can be read from all tables: the rows, each index, the full-text index, and CHECK TABLE ... EXTENDED."""
    found = {}
    with server.connect() as connection:
        connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
    for schema in (SCHEMA, MIXED):
        with server.connect(schema) as connection:
            def ask(*what, connection=connection, schema=schema):
                try:
                    found[f'{schema}.{what[0]}', *what[2:]] = connection.query(what[1])
                except SqlError as error:
                    server.check()
                    found[f'{schema}.{what[0]}', *what[2:]] = str(error).split('\n', maxsplit=1)[0]
            tables = connection.query(f"SELECT table_name FROM information_schema.tables WHERE table_schema='{schema}' AND engine='InnoDB'")
            indexes = connection.query('SELECT DISTINCT table_name, index_name, index_type FROM information_schema.statistics '
                                       f"WHERE table_schema='{schema}'")
            for (table,) in tables:
                ask(table, f'CHECKSUM TABLE `{table}`')
                ask(table, f'CHECK TABLE `{table}` EXTENDED', 'CHECK')
                checked = found[f'{schema}.{table}', 'CHECK']
                found[f'{schema}.{table}', 'CHECK'] = [row[2:] for row in checked if not LEFT.search(row[3])] \
                    if isinstance(checked, list) else checked
            for table, index, kind in indexes:
                if kind == 'FULLTEXT':
                    ask(table, f"SELECT COUNT(*), SUM(id) FROM `{table}` WHERE MATCH(words) AGAINST('common')", index)
                else:
                    ask(table, f'SELECT COUNT(*) FROM `{table}` FORCE INDEX (`{index}`)', index)
    return found


def spoiled(tables):
    """What CHECK TABLE says of tables that are not as they should be, but for those whose files were discarded or imported."""
    return [f'{key[0]}: {answer}' for key, answer in tables.items() if key[1:] == ('CHECK',)
            and answer != [('status', 'OK')] and not AWAY.search(str(answer))
            and not (IMPORTED.fullmatch(key[0]) and answer == CORRUPT)]


def serve(home, options, look):
    """A server over crashed data, which is shut down cleanly after `look(server)`."""
    with home.server() as server:
        server.options.update({**QUIET, **options})
        try:
            server.start()
        except BenchError:
            return Recovered(refused=refusal(server.log_text()), log=server.log_text())
        text = server.log_text()
        tables = look(server)
        server.stop()
        return Recovered(lsn=end_of_log(text), seconds=server.started_in, batches=statistics(text), tables=tables)


def interrupt(home, options, seconds):
    """A server over crashed data that is killed after that many seconds; what it said if it had refused before."""
    with home.server() as server:
        server.options.update({**QUIET, **options})
        try:
            killed_in_recovery(server, seconds)
        except BenchError:
            return server.log_text()
    return ''


def remove(home, pattern, log):
    """Removes the files that a refusal names; how many there were."""
    files = [home.data / name for name in pattern.findall(log)]
    for path in files:
        path.unlink()
    return len(files)


def give_back_names(home, reference):
    """Gives files back the names of their tables; how many there were.

    TRUNCATE TABLE renames a table's file to #sql-ib<number>.ibd.  Upstream's recovery that rolls this back and is killed
    may leave it so, though the dictionary has the table.  `reference` is what a recovery made that was not killed."""
    here, there = pages.files(home.data), pages.files(reference.data)
    missing = {pages.space_id(there[name]): name for name in there.keys() - here.keys()}
    named = [(path, missing[space]) for path in here.values()
             if path.name.startswith('#sql-ib') and (space := pages.space_id(path)) in missing]
    for path, name in named:
        path.rename(home.data / name)
    return len(named)


def backup_program(build):
    """mariadb-backup of a build."""
    for place in ('bin', 'usr/bin'):
        if (build.root / place / 'mariadb-backup').exists():
            return build.root / place / 'mariadb-backup'
    raise BenchError(f'{build.name}: bin/mariadb-backup is not in {build.root}', 'unpack the whole build')


def make_backup(home):
    """Crashed data become a backup."""
    for name in ('ib_buffer_pool', 'ibtmp1'):
        (home.data / name).unlink(missing_ok=True)
    (home.data / 'xtrabackup_checkpoints').write_text('backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 1\nlast_lsn = 1\n')
    given = ('innodb_page_size', 'innodb_undo_tablespaces', 'innodb_encrypt_log', 'file_key_management_filename')
    (home.data / 'backup-my.cnf').write_text('\n'.join(
        ['[mysqld]', 'plugin_load=file_key_management', *(f'{name}={home.options[name]}' for name in given if name in home.options)]) + '\n')


def prepare(home, pool, fast, seconds=None):
    """Its status, or nothing where it was killed, and what it said."""
    command = [backup_program(home.build), '--prepare', f'--target-dir={home.data}', f'--use-memory={pool}M',
               f'--plugin-dir={home.build.root}/lib/plugin', f'--innodb-log-file-mmap={home.options["innodb_log_file_mmap"]}',
               '--innodb-fast-recovery=ON' if fast else '--loose-innodb-fast-recovery=OFF']
    with open(home.place / 'prepare.log', 'w+', encoding='utf-8', errors='replace') as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=dies_with_us())
        try:
            status = process.wait(seconds or PREPARE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            if not seconds:
                raise Wrong(f'mariadb-backup --prepare has not ended in {PREPARE_SECONDS} s') from None
            # without a log, or with an empty one: it had applied everything, and was making a new log
            log_file = home.data / 'ib_logfile0'
            status = None if log_file.exists() and log_file.stat().st_size else 0
        log.seek(0)
        return status, log.read()


class Damage:
    """One way in which a log is cut or spoiled between its checkpoint and its end, the same for every copy."""
    FIRST, BLOCKS = 12288, (4096, 8192)

    def __init__(self, home, end, seed):
        dice = random.Random(seed)
        log = home.data / 'ib_logfile0'
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
        self.bytes = bytes(dice.randrange(1, 256) for _ in range({'byte': 1, 'bytes': 8}.get(self.kind, 0)))
        self.far = (self.at - self.FIRST - begin) / length

    def __str__(self):
        return f'{self.kind} at {self.far:.0%} of the log'

    def do(self, home):
        """Damages the log of a copy."""
        with open(home.data / 'ib_logfile0', 'r+b') as log:
            if self.kind == 'truncated':
                log.truncate(self.at)
                return
            log.seek(self.at)
            old = log.read(len(self.bytes))
            log.seek(self.at)
            log.write(bytes(x ^ y for x, y in zip(old, self.bytes)) if self.bytes else bytes(4096 if self.kind == 'block' else self.rest))
