"""The smallest pools, the smallest and largest pages, and tablespaces that may not grow."""
import contextlib

from millrace.errors import Failure
from millrace_bench.measure.client import SqlError
from millrace_crash.datadir import SCHEMA
from millrace_hostile.trial import START_SECONDS, STOP_SECONDS, scenario

# by page size: the smallest pool that a server accepts
POOLS = {4096: '5M', 16384: '6M', 65536: '24M'}
FIXED = 12      # MiB of a tablespace without autoextend
ROWS, BATCH = 20000, 200
CLIENTS = 24
# the table is full, too many active concurrent transactions; cannot change the size of a file
FULL = (1114, 1637, 14)
AGAIN = 12      # how often a tablespace is filled and emptied
ROOM = {f'{figure} at least': lambda batches: .9 * batches
        for figure in ('first room', 'last room', 'room together')}


def _register(page_size, pool):
    @scenario(f'pool-{pool}-pages-{page_size >> 10}k',
              f'a pool of {pool}, pages of {page_size >> 10} KiB; clients write, a kill')
    def lives(trial):
        trial.lives(trial.new(page_size), innodb_buffer_pool_size=pool, seconds=4)
    return lives


for _page_size, _pool in POOLS.items():
    _register(_page_size, _pool)


@contextlib.contextmanager
def _connections(server, number):
    """So many connections, closed at the end."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(server.connect(SCHEMA)) for _ in range(number)]


def _fits(connection, statement):
    """Whether a statement has room; raises SqlError where something else is wrong with it."""
    try:
        connection.query(statement)
        return True
    except SqlError as error:
        if error.number not in FULL:
            raise
        return False


def _fill(connection, statement, batches):
    """Runs statement(batch) for one batch after another in a transaction until the tablespace is
    full; returns how many succeeded."""
    connection.query('BEGIN')
    for batch in range(batches):
        if not _fits(connection, statement(batch)):
            return batch
    return batches


def _update(batch):
    first = batch * BATCH + 1
    # the last row of a batch is left out: the row behind a range is locked as well
    return (f"UPDATE large SET b=CONCAT('{batch}', REVERSE(b)) "
            f'WHERE a BETWEEN {first} AND {first + BATCH - 2}')


def _room(server, times):
    """How many batches a transaction may update, after others that were rolled back."""
    batches = []
    for _ in range(times):
        with server.connect(SCHEMA) as connection:
            batches.append(_fill(connection, _update, ROWS // BATCH))
            connection.query('ROLLBACK')
            connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
    return batches


def _together(server):
    """How many batches many transactions may update that are open at the same time."""
    count, full = 0, set()
    with _connections(server, CLIENTS) as connections:
        for each in connections:
            each.query('BEGIN')
        for batch in range(ROWS // BATCH):
            client = batch % CLIENTS
            if client in full:
                continue
            if _fits(connections[client], _update(batch)):
                count += 1
            else:
                full.add(client)
        for each in connections:
            each.query('ROLLBACK')
    return count


@scenario('fixed-ibdata1', f'ibdata1:{FIXED}M without autoextend has the undo log: filled and '
          'emptied, by one transaction and by many',
          bounds=ROOM)
def system(trial):
    """Undo log that is reserved or cached must not take the place of what is written."""
    datadir = trial.new(innodb_data_file_path=f'ibdata1:{FIXED}M', innodb_undo_tablespaces='0')
    figures = trial.outcome.figures
    with trial.server(datadir) as server:
        with trial.step('start'):
            server.start(START_SECONDS)
        with trial.step('create'), server.connect(SCHEMA) as connection:
            connection.query('CREATE TABLE large(a INT PRIMARY KEY, b VARCHAR(1000) '
                             'CHARACTER SET latin1) ENGINE=InnoDB')
            connection.query('INSERT INTO large SELECT seq, REPEAT(MD5(seq), 8) '
                             f'FROM seq_1_to_{ROWS}')
            rows = connection.query('CHECKSUM TABLE large')
        with trial.step('one transaction'):
            room = _room(server, AGAIN)
            figures['first room'], figures['last room'] = room[0], room[-1]
        with trial.step('many transactions'):
            figures['room together'] = min(_together(server) for _ in range(3))
        with trial.step('small transactions'), server.connect(SCHEMA) as connection:
            for batch in range(20):
                connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
                connection.query(_update(batch))
                connection.query(_update(batch))
        with trial.step('rows'), server.connect(SCHEMA) as connection:
            trial.outcome.facts['rows'] = connection.query('CHECKSUM TABLE large')
            if trial.outcome.facts['rows'] == rows:
                raise Failure('the updates are lost')
        with trial.step('shutdown'):
            server.stop(STOP_SECONDS)
    with trial.server(datadir) as server:
        with trial.step('start again'):
            server.start(START_SECONDS)
        with trial.step('rows again'), server.connect(SCHEMA) as connection:
            if trial.outcome.facts['rows'] != connection.query('CHECKSUM TABLE large'):
                raise Failure('other rows after a restart')
        with trial.step('shutdown again'):
            server.stop(STOP_SECONDS)


@scenario('fixed-ibtmp1', f'ibtmp1:{FIXED}M without autoextend: temporary tables fill it and are '
          'dropped', bounds=ROOM)
def temporary(trial):
    """The rows of temporary tables and their undo log are in the same file."""
    datadir = trial.new()
    with trial.server(datadir, (), {'innodb_temp_data_file_path': f'ibtmp1:{FIXED}M'}) as server:
        with trial.step('start'):
            server.start(START_SECONDS)
        with trial.step('one table'):
            room = [_temporary_room(server, 1) for _ in range(AGAIN)]
            figures = trial.outcome.figures
            figures['first room'], figures['last room'] = room[0], room[-1]
        with trial.step('many tables'):
            figures['room together'] = min(_temporary_room(server, CLIENTS) for _ in range(3))
        with trial.step('one small table'), server.connect(SCHEMA) as connection:
            connection.query('CREATE TEMPORARY TABLE t(a INT PRIMARY KEY) ENGINE=InnoDB')
            connection.query('INSERT INTO t SELECT seq FROM seq_1_to_1000')
            connection.query('UPDATE t SET a=-a')
        with trial.step('shutdown'):
            server.stop(STOP_SECONDS)


def _temporary_room(server, clients):
    """How many batches the temporary tables of so many clients hold, inserted and updated."""
    count = 0
    with _connections(server, clients) as connections:
        open_ones = dict(enumerate(connections))
        for each in connections:
            each.query('CREATE TEMPORARY TABLE t(a INT AUTO_INCREMENT PRIMARY KEY, '
                       'b VARCHAR(500)) ENGINE=InnoDB')
        for _ in range(500):
            for number, each in list(open_ones.items()):
                if (_fits(each, "INSERT INTO t(b) SELECT REPEAT('x', 300) FROM seq_1_to_20")
                        and _fits(each, 'UPDATE t SET b=REVERSE(b), a=-a WHERE a > 0 LIMIT 10')):
                    count += 1
                else:
                    del open_ones[number]
        for each in connections:
            each.query('DROP TEMPORARY TABLE t')
    return count
