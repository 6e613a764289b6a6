"""A short run of each tool in tests/crash/, and of the faults that each must find."""
import os
import signal
import subprocess
import time

import pytest
from conftest import wrapped
from millrace import TOP
from millrace_bench.builds.unpacked import Build
from millrace_crash import pages, recovery
from millrace_crash.datadir import DataDir

PAGE_SIZE = 16384
# With these options nothing writes the log, so that what was committed is only in memory: no
# commit, no full buffer, and no page that is written because of its age or because it is dirty.
LOSES = ('--innodb-flush-log-at-trx-commit=0', '--innodb-flush-log-at-timeout=2700',
         '--innodb-buffer-pool-size=256M', '--innodb-log-file-size=1G',
         '--innodb-log-buffer-size=512M', '--innodb-max-dirty-pages-pct=99',
         '--innodb-adaptive-flushing-lwm=70')

# a server whose fast recovery loses the log after its first 128 KiB
LOSING = """#!/bin/bash
for word; do
    [[ $word = --datadir=* ]] && log=${word#*=}/ib_logfile0
    [[ $word = --innodb_fast_recovery=ON ]] && fast=yes
done
[ -z "$fast" ] ||
    dd if=/dev/zero of="$log" bs=4096 seek=32 count=8000 conv=notrunc status=none
exec %s "$@"
"""


def crash(tool, *arguments):
    """Runs a tool of tests/crash/; returns the finished process."""
    return subprocess.run([TOP / 'tests/crash' / tool, *map(str, arguments)], text=True,
                          capture_output=True, check=False, timeout=600)


def test_sigkill_loses_nothing(server_tree, tmp_path):
    done = crash('sigkill', server_tree, '--kills', 4, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'in recovery; ' in done.stdout and '\n4 kills, ' in done.stdout
    assert not (tmp_path / 'data').exists()


def test_sigkill_finds_lost_transactions(server_tree, tmp_path):
    done = crash('sigkill', server_tree, '--kills', 1, '--data', tmp_path / 'data', *LOSES)
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'sigkill: error: WRONG after kill 1: ' in done.stderr
    assert ' were committed, ' in done.stderr      # a ledger's complaint
    assert (tmp_path / 'data/data/ibdata1').exists()


@pytest.mark.parametrize('kind', [('--table', 'plain'), ('--table', 'zip'), ('--single',)],
                         ids=' '.join)
def test_a_torn_write_is_repaired(kind, server_tree, tmp_path):
    done = crash('torn-write', server_tree, *kind, '--from', 3, '--step', 600,
                 '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'ok\n1 cuts ' in done.stdout and '1536' in done.stdout
    assert not (tmp_path / 'data').exists()


def test_torn_write_finds_a_page_that_is_not_repaired(server_tree, tmp_path):
    # without the doublewrite buffer, pages that are changed are not merged
    done = crash('torn-write', server_tree, '--single', '--from', 3, '--step', 600,
                 '--data', tmp_path / 'data', '--innodb-doublewrite=0')
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'torn-write: error: WRONG: cut 3: ' in done.stderr
    assert ' died (status 1)\n' in done.stderr      # in recovery, not for want of a write to cut
    assert (tmp_path / 'data/data/ibdata1').exists()


def test_recovery_is_the_same_as_vanillas(server_tree, tmp_path):
    # With this seed the pool has room for all locks, servers are killed three times with the
    # small pool and three times with the medium one, and --prepare never: a kill may tear a page
    # there, which has no doublewrite buffer.  Undo logs and ibdata1 are not encrypted, either.
    done = crash('compare-recovery', server_tree, server_tree, '--crashes', 1, '--seed', 612,
                 '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    for count in ('1 damaged logs prepared', '2 servers compared', ' pages compared'):
        assert f'{count}\n' in done.stdout
    assert '\n1 crashes, ' in done.stdout and not (tmp_path / 'data').exists()


def test_compare_recovery_finds_a_recovery_that_loses_log(server_tree, tmp_path):
    losing = wrapped(server_tree, tmp_path / 'losing', LOSING)
    done = crash('compare-recovery', losing, server_tree, '--crashes', 1, '--seed', 3,
                 '--data', tmp_path / 'data')
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'compare-recovery: error: DIFFERENT after 1 of 1 crashes: 3\n' in done.stderr
    # it refuses the data, or rows are missing: that depends on how far VANILLA came meanwhile
    assert '  DIFFERENT: small pool, killed 4 times: ' in done.stdout, done.stdout
    assert '  DIFFERENT: large pool, killed 0 times: ' in done.stdout, done.stdout
    assert (tmp_path / 'data/different-3/crashed/data/ibdata1').exists()


def test_undo_logs_survive_kills_and_other_servers(server_tree, tmp_path):
    # with this seed both are killed and shut down; "vanilla" is the same server with
    # innodb_extra_undo_segments=0
    done = crash('undo-over-restarts', server_tree, server_tree, '--rounds', 4, '--seed', 2,
                 '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    for count in ('PATCHED after kill: ', 'VANILLA after ', 'XA prepared: '):
        assert f'\n{count}' in done.stdout
    assert '\n4 rounds, ' in done.stdout and not (tmp_path / 'data').exists()


def test_undo_over_restarts_finds_lost_transactions(server_tree, tmp_path):
    # Whether it misses a prepared transaction or a row first is chance.  The truncation of an
    # undo tablespace would write the log.
    done = crash('undo-over-restarts', server_tree, server_tree, '--rounds', 8, '--seed', 2,
                 '--data', tmp_path / 'data', *LOSES, '--innodb-undo-log-truncate=OFF')
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'undo-over-restarts: error: WRONG in round ' in done.stderr
    assert (tmp_path / 'data/data/ibdata1').exists()


PRESSURE = ('--minutes', .1, '--clients', 12)
REPORTING = """#!/bin/bash
echo 'SUMMARY: ThreadSanitizer: data race /a/buf0buf.cc:12 in get(page_id_t)'
exec %s "$@"
"""


def test_a_server_stands_the_pressure(server_tree, tmp_path):
    done = crash('pressure', server_tree, *PRESSURE, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert ' transactions confirmed, ' in done.stdout and not (tmp_path / 'data').exists()


def test_pressure_finds_a_report_of_a_sanitizer_that_is_not_known(server_tree, tmp_path):
    reporting = wrapped(server_tree, tmp_path / 'reporting', REPORTING)
    short = ('--minutes', .03, '--clients', 2)      # it reports when it starts
    done = crash('pressure', reporting, *short, '--data', tmp_path / 'data')
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'pressure: error: 1 of 1 kinds of reports ' in done.stderr
    assert 'ThreadSanitizer: data race buf0buf.cc in get (3 times)' in done.stdout
    assert 'SUMMARY' in (tmp_path / 'data/error.log').read_text()
    (tmp_path / 'known').write_text(done.stdout)
    done = crash('pressure', reporting, *short, '--data', tmp_path / 'more',
                 '--known', tmp_path / 'known')
    assert done.returncode == 0, done.stdout + done.stderr


def test_pressure_finds_a_server_that_stands_still(server_tree, tmp_path):
    place = tmp_path / 'data'
    command = [TOP / 'tests/crash/pressure', server_tree, '--minutes', '9', '--clients', '12',
               '--still', '3', '--data', place]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as pressure:
        until, table = time.monotonic() + 120, place / 'data/crash/plain.ibd'
        # only what the clients write makes the table as large
        while not table.exists() or table.stat().st_size < 1 << 20:
            assert time.monotonic() < until and pressure.poll() is None
            time.sleep(.1)
        servers = subprocess.run(['pgrep', '-f', f'mariadbd.*--datadir={place}/data'], text=True,
                                 capture_output=True, check=True).stdout.split()
        for server in servers:
            os.kill(int(server), signal.SIGSTOP)
        _, errors = pressure.communicate(timeout=120)
    assert pressure.returncode == 1 and 'pressure: error: WRONG: ' in errors, errors
    assert ' 3 s\n' in errors and 'TID ' in (place / 'stacks.txt').read_text()


def two_copies(server_tree, tmp_path):
    """Two DataDirs with the same new data."""
    one = DataDir(Build('one', server_tree), tmp_path / 'one', PAGE_SIZE, {})
    return one, one.copy(tmp_path / 'other', one.build)


def test_a_page_that_differs_is_found_or_explained(server_tree, tmp_path):
    table = 'mysql/innodb_table_stats.ibd'
    one, other = two_copies(server_tree, tmp_path)
    system = pages.File(one.data / pages.SYSTEM, PAGE_SIZE)
    root, unused, beyond_all = 3, system.pages - 1, 1 << 50

    def change(name, page):
        """Inverts one bit of a page."""
        with open(other.data / name, 'r+b') as file:
            file.seek(page * PAGE_SIZE + 9000)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 1]))

    def found(recovered=None):
        """Names of what differs, and {kind: count} of what is explained."""
        compared = pages.compare(one.data, other.data, PAGE_SIZE, recovered)
        return [line.split(':')[0] for line in compared.different], dict(compared.explained)

    lsn = pages.integer((one.data / table).read_bytes()[root * PAGE_SIZE:][pages.LSN])
    assert found() == ([], {})
    change(table, root)
    assert found() == found(beyond_all) == ([f'{table} page {root}'], {})
    assert found(lsn - 1) == ([], {'changed since': 1})
    change(table, root)
    change(pages.SYSTEM, unused)
    assert found() == ([f'{pages.SYSTEM} page {unused}'], {})
    assert found(beyond_all) == ([], {'free': 1})
    change(pages.SYSTEM, unused)
    change(pages.SYSTEM, min(system.doublewrite()))
    assert found() == ([], {'doublewrite': 1})
    (other.data / table).unlink()
    assert found() == ([table], {'doublewrite': 1})


def test_a_file_gets_its_name_back_after_a_killed_truncate(server_tree, tmp_path):
    one, other = two_copies(server_tree, tmp_path)
    table, index = (other.data / f'mysql/innodb_{kind}_stats.ibd' for kind in ('table', 'index'))
    wanted = table.read_bytes()
    assert recovery.restore_names(other, one) == 0
    table.rename(table.with_name('#sql-ib43.ibd'))
    index.unlink()    # that of no other table is taken for it
    assert recovery.restore_names(other, one) == 1
    assert table.read_bytes() == wanted and not index.exists()
    assert not list(other.data.glob('*/#sql*'))


def test_wrong_usage_is_an_error(server_tree, tmp_path):
    done = crash('sigkill', server_tree, 'x', '--data', tmp_path / 'data')
    assert done.returncode == 1 and done.stderr.startswith('sigkill: error: x: ')
    assert 'Traceback' not in done.stderr
    (tmp_path / 'data/data').mkdir(parents=True)
    done = crash('torn-write', server_tree, '--data', tmp_path / 'data')
    assert done.returncode == 1
    assert done.stderr.startswith(f'torn-write: error: {tmp_path}/data/data exists ')
