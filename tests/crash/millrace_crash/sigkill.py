"""Kills a server in the middle of writes, again and again, and checks that nothing is lost.

Clients write to tables of every format.  When something is committed and a random number of
pages is written, or a few seconds have passed, the server is killed; every third time, the
server that recovers is killed, too.  After each kill:

- every confirmed transaction is there, and each one wholly or not at all;
- each row has the content of its last version, and the secondary indexes agree;
- CHECK TABLE ... EXTENDED finds nothing;
- after a clean shutdown, innochecksum finds nothing in any tablespace.

The data are removed at the end.  They are kept where a check fails: the error begins with WRONG.
Exit status: 0; 1 where a check fails or the tool cannot run.
"""
import random
import time

from millrace.command import number, run_command
from millrace.errors import Failure
from millrace_crash.datadir import SCHEMA, DataDir, check_tables, formats, kill_in_recovery
from millrace_crash.ledger import Ledger
from millrace_crash.tool import add_build, failure_at, parse, place_of, tool_parser

# a small pool and redo log: pages have to be written soon, and to be read again
OPTIONS = {'innodb_buffer_pool_size': '24M', 'innodb_max_dirty_pages_pct': '20',
           'innodb_io_capacity': '4000', 'innodb_io_capacity_max': '8000'}
MOST_PAGES, LONGEST = 2500, 4     # until a kill: pages written, seconds
FIRST_COMMIT = 120                # seconds: a machine may be slow, a server must not stand still
FAULTS = ('', 'short', 'page', 'half', 'eagain', 'eio')     # of faults.c
RESIZED = (16, 24, 32, 48)        # sizes of the pool, MiB
PAGES_WRITTEN = "SHOW GLOBAL STATUS LIKE 'Innodb_pages_written'"


def arguments(argv):
    """The parsed arguments, and the options of the server."""
    parser = tool_parser('sigkill', __doc__)
    add_build(parser, 'build', 'directory with an unpacked server')
    parser.add_argument('--kills', type=number(int, 1), default=10, metavar='N',
                        help='how often to kill it (default: %(default)s)')
    parser.add_argument('--page-size', type=int, default=16384, metavar='BYTES',
                        help='innodb_page_size (default: %(default)s)')
    parser.add_argument('--faults', action='store_true',
                        help='let requests for several pages fail meanwhile (faults.c)')
    parser.add_argument('--resize', action='store_true',
                        help='change the size of the buffer pool meanwhile')
    return parse(parser, argv, OPTIONS)


def wait_to_kill(datadir, connection, asked, pages, ledger):
    """Waits until so many pages are written and something is committed; injects faults.

    Raises Failure where nothing is committed in FIRST_COMMIT seconds."""
    began, count, before = time.monotonic(), 0, ledger.confirmed()

    def seconds():
        return time.monotonic() - began
    while (ledger.confirmed() == before
           or seconds() < LONGEST and int(connection.query(PAGES_WRITTEN)[0][1]) < pages):
        if ledger.confirmed() == before and seconds() > FIRST_COMMIT:
            raise Failure(f'nothing was committed in {FIRST_COMMIT} s')
        time.sleep(.02)
        count += 1
        if asked.faults and count % 8 == 1:
            datadir.fault(random.choice(FAULTS))
        if asked.resize and count % 8 == 1:
            connection.query('SET GLOBAL innodb_buffer_pool_size='
                             f'{random.choice(RESIZED)}*1048576')


def pages_moved(status):
    """Pages read and written, and how many in requests of several, if the server counts it."""
    texts = []
    for done, kind in (('written', 'write'), ('read', 'read')):
        merged = status.get(f'innodb_io_{kind}_merged_pages')
        texts.append(f'{status[f"innodb_pages_{done}"]} pages {done}'
                     + ('' if merged is None else f' ({merged} merged)'))
    return ', '.join(texts)


def work_and_kill(datadir, ledger, asked):
    """Lets clients write to a server and kills it; returns what it had done, as text."""
    with datadir.server() as server:
        server.start()
        join = ledger.start(lambda: server.connect(SCHEMA))
        began = time.monotonic()
        with server.connect() as connection:
            wait_to_kill(datadir, connection, asked, random.randrange(MOST_PAGES), ledger)
        seconds = time.monotonic() - began
        moved = pages_moved(server.status())
        server.check()    # it must be this kill that ends it
        server.kill()
        join()
    failed = f', {datadir.injected()} requests failed' if asked.faults else ''
    return f'after {seconds:.1f} s, {moved}{failed}'


def recover(datadir, ledger):
    """Recovers by a server, checks it, shuts it down, and checks its files; returns a text.

    Raises Failure where something is lost."""
    with datadir.server() as server:
        server.start()
        datadir.fault('')
        status = server.status()
        with server.connect(SCHEMA) as connection:
            ledger.check(connection)
            orphans = check_tables(connection, ledger.tables)
        server.stop()
    files = datadir.check_files()
    return (f'recovered in {server.started_in:.1f} s, {pages_moved(status)}; {files} files clean'
            + (f', {orphans} orphans in secondary indexes (MDEV-29823)' if orphans else ''))


def main(argv):
    """Kills the server as often as asked."""
    asked, options = arguments(argv)
    datadir = DataDir(asked.build, place_of(asked), asked.page_size, options, asked.faults)
    tables = formats(asked.page_size)
    ledger = Ledger(tables)
    with datadir.server() as server:
        server.start()
        with server.connect(SCHEMA) as connection:
            ledger.create(connection, tables)
        server.stop()
    kills, cycle = 0, 0
    try:
        while kills < asked.kills:
            before = ledger.confirmed()
            text = work_and_kill(datadir, ledger, asked)
            kills, cycle = kills + 1, cycle + 1
            if asked.faults:
                datadir.fault(random.choice(FAULTS))
            if cycle % 3 == 0 and kills < asked.kills:
                with datadir.server() as server:
                    kill_in_recovery(server, random.uniform(.05, .6))
                kills += 1
                text += '; killed again in recovery'
            text += f'; {recover(datadir, ledger)}'
            print(f'kill {kills}: {text}; {ledger.confirmed() - before} transactions', flush=True)
    except Failure as error:
        raise failure_at(f'WRONG after kill {kills}', error, datadir.data) from None
    print(f'{kills} kills, {ledger.confirmed()} transactions confirmed, nothing lost or torn',
          flush=True)
    datadir.remove()


if __name__ == '__main__':
    run_command('sigkill', main)
