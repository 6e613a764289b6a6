"""Cuts a write of pages short, ends the server there, and checks that recovery repairs the pages.

The first write of several pages to a table is cut after K * 512 bytes, and the process ends
(faults.c).  Then K grows by --step until it is past the end of the request.  After each cut the
tables have the rows that they had, and CHECK TABLE ... EXTENDED and innochecksum find nothing.

Requests of simulated AIO and of libaio can be cut, those of io_uring cannot.  The pages of a
page_compressed table are written one by one, so that table is not among the choices.

The data are removed at the end.  They are kept where a check fails: the error begins with WRONG.
Exit status: 0; 1 where a check fails or the tool cannot run.
"""
import re
import subprocess
import time

from millrace.command import number, run_command
from millrace.errors import Failure
from millrace_crash.datadir import SCHEMA, DataDir, check_tables, formats
from millrace_crash.tool import add_build, failure_at, parse, place_of, tool_parser

OPTIONS = {'innodb_buffer_pool_size': '64M', 'innodb_log_file_size': '64M',
           'innodb_linux_aio': 'aio'}
TABLES = ('plain', 'zip', 'encrypted')
CUT_SHORT = 99          # exit status of a process that faults.c ended
CUT_SECONDS = 60        # until the write must have come
SECTOR, PAGE_SIZE = 512, 16384
# rows to change: pages that are written one by one, pages that are written together
SINGLE, ADJACENT = 'a % 50 = 0', 'a BETWEEN 1000 AND 1400'


def arguments(argv):
    """The parsed arguments, and the options of the server."""
    parser = tool_parser('torn-write', __doc__)
    add_build(parser, 'build', 'directory with an unpacked server')
    parser.add_argument('--step', type=number(int, 1), default=16, metavar='N',
                        help='how much larger K is for each cut (default: %(default)s)')
    parser.add_argument('--from', type=number(int, 0), default=1, dest='first', metavar='K',
                        help='the first K (default: %(default)s)')
    parser.add_argument('--table', choices=TABLES, default='plain',
                        help='table to write to: plain (default), zip (ROW_FORMAT=COMPRESSED), '
                             'or encrypted')
    parser.add_argument('--single', action='store_true', help='cut the write of one page instead')
    return parse(parser, argv, OPTIONS)


def fill(server):
    """Creates tables whose pages are adjacent."""
    with server.connect(SCHEMA) as connection:
        for name, options in formats(PAGE_SIZE).items():
            if name in TABLES:
                connection.query(f'CREATE TABLE {name}(a INT PRIMARY KEY, b VARCHAR(4000) '
                                 f'CHARACTER SET latin1) ENGINE=InnoDB {options}')
                connection.query(f'INSERT INTO {name} SELECT seq, REPEAT(MD5(seq),100) '
                                 'FROM seq_1_to_2500')
        connection.query('SET GLOBAL innodb_fast_shutdown=0')


def checksums(connection):
    """How many rows each table has, and a checksum of them."""
    return [connection.query(f'SELECT COUNT(*), SUM(CRC32(CONCAT(a,b))) FROM {name}')[0]
            for name in TABLES]


def cut(datadir, asked, place):
    """Cuts a write after `place` sectors, which ends the server.

    Returns the checksums that were committed, the length of the request, and what faults.c
    printed.  Raises Failure where no write came that could be cut."""
    with datadir.server() as server:
        server.start()
        with server.connect(SCHEMA) as connection:
            connection.query(f'UPDATE {asked.table} SET b=REVERSE(b) '
                             f'WHERE {SINGLE if asked.single else ADJACENT}')
            committed = checksums(connection)
            datadir.fault(f'{"single" if asked.single else "torn"} {place}')
            try:
                connection.query('SET GLOBAL innodb_max_dirty_pages_pct_lwm=0')
                connection.query('SET GLOBAL innodb_max_dirty_pages_pct=0')
            except Failure:
                pass    # the server may be gone before it answers
        try:
            status = server.process.wait(CUT_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        torn = re.search(r'^TORN .* of (\d+): .*$', server.log_text(), re.MULTILINE)
        if status != CUT_SHORT or not torn:
            ended = 'it still runs' if status is None else f'it ended with status {status}'
            raise Failure(f'the server did not write {asked.table} in {CUT_SECONDS} s as '
                          f'requests that can be cut: {ended}', server.log_end(5))
        datadir.fault('')
    return committed, int(torn[1]), torn[0]


def recover(datadir, committed):
    """Recovers by a server, checks it, shuts it down, and checks its files.

    Returns how many pages it repaired.  Raises Failure where something is lost."""
    with datadir.server(faulty=False) as server:
        server.start()
        with server.connect(SCHEMA) as connection:
            there = checksums(connection)
            if there != committed:
                raise Failure(f'rows and checksums are {there}; committed were {committed}')
            check_tables(connection, TABLES)
        server.stop()
        repaired = server.log_text().count('Recovered page')
    datadir.check_files()
    return repaired


def main(argv):
    """Cuts at each place."""
    asked, options = arguments(argv)
    datadir = DataDir(asked.build, place_of(asked), PAGE_SIZE, options, faults=True)
    with datadir.server(faulty=False) as server:
        server.start()
        fill(server)
        server.stop()
    place, length, cuts, began = asked.first, None, 0, time.monotonic()
    try:
        while length is None or place * SECTOR < length:
            committed, length, torn = cut(datadir, asked, place)
            repaired = recover(datadir, committed)
            print(f'cut {place}: {torn}; {repaired} pages repaired; ok', flush=True)
            place, cuts = place + asked.step, cuts + 1
    except Failure as error:
        raise failure_at(f'WRONG: cut {place}', error, datadir.data) from None
    print(f'{cuts} cuts in {time.monotonic() - began:.0f} s, nothing lost', flush=True)
    datadir.remove()


if __name__ == '__main__':
    run_command('torn-write', main)
