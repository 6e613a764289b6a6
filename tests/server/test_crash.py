"""A short run of each command in tests/crash/, and that they find what they are for."""
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import TOP

sys.path.insert(0, str(TOP / 'tests/crash'))
# nothing writes the log, so that what was committed is only in memory: no commit, no full buffer, and no page that
# is written because of its age or because it is dirty
LOSES = ('--innodb-flush-log-at-trx-commit=0', '--innodb-flush-log-at-timeout=2700', '--innodb-buffer-pool-size=256M',
         '--innodb-log-file-size=1G', '--innodb-log-buffer-size=512M', '--innodb-max-dirty-pages-pct=99',
         '--innodb-adaptive-flushing-lwm=70')

# a server whose fast recovery loses the end of the log
LOSING = """#!/bin/bash
for word; do
    [[ $word = --datadir=* ]] && log=${word#*=}/ib_logfile0
    [[ $word = --innodb_fast_recovery=ON ]] && fast=yes
done
# what follows the first 128 KiB of it
[ -z "$fast" ] || dd if=/dev/zero of="$log" bs=4096 seek=32 count=8000 conv=notrunc status=none
exec %s "$@"
"""


def crash(command, *arguments):
    """A command of tests/crash/: the finished process."""
    return subprocess.run([TOP / 'tests/crash' / command, *map(str, arguments)], text=True, capture_output=True, check=False,
                          timeout=600)


def instead_of(server_tree, place, script):
    """A build with a script for the server, whose %s is the server."""
    shutil.copytree(server_tree, place, copy_function=lambda source, target: Path(target).symlink_to(source),
                    ignore=shutil.ignore_patterns('mysql-test', 'mariadb-test'))
    program = place / 'libexec/mariadbd'
    program.unlink()
    program.write_text(script % (server_tree / 'libexec/mariadbd'))
    program.chmod(0o755)
    return place


def test_what_is_committed_survives_sigkill(server_tree, tmp_path):
    done = crash('sigkill', server_tree, '--kills', 4, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'killed again in recovery' in done.stdout and 'nothing lost or torn' in done.stdout
    assert not (tmp_path / 'data').exists()


def test_what_is_lost_by_sigkill_is_found(server_tree, tmp_path):
    done = crash('sigkill', server_tree, '--kills', 1, '--data', tmp_path / 'data', *LOSES)
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'WRONG after kill 1: ' in done.stderr and 'were committed' in done.stderr
    assert (tmp_path / 'data/data/ibdata1').exists()


@pytest.mark.parametrize('kind', [('--table', 'plain'), ('--table', 'zip'), ('--single',)], ids=' '.join)
def test_a_torn_write_is_repaired(kind, server_tree, tmp_path):
    done = crash('torn-write', server_tree, *kind, '--from', 3, '--step', 600, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'ok\n1 cuts' in done.stdout and '1536' in done.stdout


def test_a_torn_write_without_doublewrite_is_found(server_tree, tmp_path):
    done = crash('torn-write', server_tree, '--from', 3, '--step', 600, '--data', tmp_path / 'data', '--innodb-doublewrite=0',
                 '--innodb-flush-neighbors=2')
    assert done.returncode == 1 and 'WRONG: cut 3: ' in done.stderr, done.stdout + done.stderr


def test_recovery_is_compared_with_vanilla(server_tree, tmp_path):
    # A seed with a pool that has room for all locks, servers killed three times with the small pool and three times with
    # the medium one, and --prepare not at all: a kill may tear a page there, which has no doublewrite buffer.  Nor are
    # undo logs and ibdata1 encrypted: what was met by chance there is in test-results/2026-11-21-compare-recovery.
    done = crash('compare-recovery', server_tree, server_tree, '--crashes', 1, '--seed', 612, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'pages compared' in done.stdout and '1 damaged logs prepared' in done.stdout
    assert '1 crashes, nothing different' in done.stdout and not (tmp_path / 'data').exists()


def test_a_recovery_that_loses_something_is_found(server_tree, tmp_path):
    losing = instead_of(server_tree, tmp_path / 'losing', LOSING)
    done = crash('compare-recovery', losing, server_tree, '--crashes', 1, '--seed', 3, '--data', tmp_path / 'data')
    assert done.returncode == 1 and 'DIFFERENT after 1 of 1 crashes: 3' in done.stderr, done.stdout + done.stderr
    # refused, or rows are missing: how far the kills in between let vanilla come
    assert '  DIFFERENT: small pool, killed 4 times: ' in done.stdout, done.stdout
    assert '  DIFFERENT: large pool, killed 0 times: ' in done.stdout, done.stdout
    assert (tmp_path / 'data/different-3/crashed/data/ibdata1').exists()


def test_undo_logs_survive_kills_and_other_servers(server_tree, tmp_path):
    # a seed with kills and shutdowns of both; "vanilla" is the same server with innodb_extra_undo_segments=0
    done = crash('undo-over-restarts', server_tree, server_tree, '--rounds', 4, '--seed', 2, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'PATCHED after kill: ' in done.stdout and 'VANILLA after ' in done.stdout and 'XA prepared: ' in done.stdout
    assert '4 rounds, ' in done.stdout and 'nothing lost' in done.stdout and not (tmp_path / 'data').exists()


def test_what_undo_over_restarts_loses_is_found(server_tree, tmp_path):
    # whether a prepared transaction or a row is missed first is chance; the truncation of an undo tablespace would write the log
    done = crash('undo-over-restarts', server_tree, server_tree, '--rounds', 8, '--seed', 2, '--data', tmp_path / 'data', *LOSES,
                 '--innodb-undo-log-truncate=OFF')
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'WRONG in round ' in done.stderr and ' of seed 2: ' in done.stderr
    assert (tmp_path / 'data/data/ibdata1').exists()


PRESSURE = ('--minutes', .1, '--clients', 12)
REPORTING = """#!/bin/bash
echo 'SUMMARY: ThreadSanitizer: data race /a/buf0buf.cc:12 in get(page_id_t)'
exec %s "$@"
"""


def test_a_server_stands_the_pressure(server_tree, tmp_path):
    done = crash('pressure', server_tree, *PRESSURE, '--data', tmp_path / 'data')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'transactions confirmed, nothing lost' in done.stdout and not (tmp_path / 'data').exists()


def test_a_report_of_a_sanitizer_is_found_unless_it_is_known(server_tree, tmp_path):
    reporting = instead_of(server_tree, tmp_path / 'reporting', REPORTING)
    done = crash('pressure', reporting, *PRESSURE, '--data', tmp_path / 'data')
    assert done.returncode == 1 and '1 of 1 kinds of reports are not known' in done.stderr, done.stdout + done.stderr
    assert 'ThreadSanitizer: data race buf0buf.cc in get (3 times)' in done.stdout
    assert 'SUMMARY' in (tmp_path / 'data/error.log').read_text()
    (tmp_path / 'known').write_text(done.stdout)
    done = crash('pressure', reporting, *PRESSURE, '--data', tmp_path / 'more', '--known', tmp_path / 'known')
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_server_that_stands_still_is_found(server_tree, tmp_path):
    command = [TOP / 'tests/crash/pressure', server_tree, '--minutes', '9', '--clients', '12', '--still', '3', '--data', tmp_path / 'data']
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as pressure:
        until, table = time.monotonic() + 120, tmp_path / 'data/data/crash/plain.ibd'
        # that large only when the clients write to it
        while not table.exists() or table.stat().st_size < 1 << 20:
            assert time.monotonic() < until and pressure.poll() is None
            time.sleep(.1)
        servers = [int(found) for found in subprocess.run(['pgrep', '-f', f'datadir={tmp_path}/data/data'], text=True,
                                                          capture_output=True, check=True).stdout.split()]
        for server in servers:
            os.kill(server, signal.SIGSTOP)
        _, errors = pressure.communicate(timeout=120)
    assert pressure.returncode == 1 and 'WRONG: nothing was committed for 3 s' in errors, errors
    assert 'TID ' in (tmp_path / 'data/stacks.txt').read_text()


def test_a_page_that_differs_is_found_or_explained(server_tree, tmp_path):
    import pages
    from crashing import Home
    page_size, table = 16384, 'mysql/innodb_table_stats.ibd'
    home = Home(server_tree, tmp_path / 'one', page_size, {})
    other = home.copy(tmp_path / 'other', home.build)
    system = pages.File(home.data / pages.SYSTEM, page_size)
    root, unused, beyond_all = 3, system.pages - 1, 1 << 50

    def change(name, page):
        """Changes one bit of a page, or changes it back."""
        with open(other.data / name, 'r+b') as file:
            file.seek(page * page_size + 9000)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 1]))

    def found(recovered=None):
        compared = pages.compare(home.data, other.data, page_size, recovered)
        return [line.split(':')[0] for line in compared.different], dict(compared.explained)

    lsn = pages.number((home.data / table).read_bytes()[root * page_size:][pages.LSN])
    assert found() == ([], {})
    change(table, root)
    assert found() == found(beyond_all) == ([f'{table} page {root}'], {})
    assert found(lsn - 1) == ([], {'changed since': 1})
    change(table, root)
    change(pages.SYSTEM, unused)
    assert found() == ([f'{pages.SYSTEM} page {unused}'], {}) and found(beyond_all) == ([], {'free': 1})
    change(pages.SYSTEM, unused)
    change(pages.SYSTEM, min(system.doublewrite()))
    assert found() == ([], {'doublewrite': 1})
    (other.data / table).unlink()
    assert found() == ([table], {'doublewrite': 1})


def test_a_file_that_a_killed_recovery_left_as_truncate_names_it_is_found(server_tree, tmp_path):
    import recovered
    from crashing import Home
    home = Home(server_tree, tmp_path / 'one', 16384, {})
    other = home.copy(tmp_path / 'other', home.build)
    table, index = (other.data / f'mysql/innodb_{kind}_stats.ibd' for kind in ('table', 'index'))
    wanted = table.read_bytes()
    assert recovered.give_back_names(other, home) == 0
    table.rename(table.with_name('#sql-ib43.ibd'))
    index.unlink()    # that of no other table is taken for it
    assert recovered.give_back_names(other, home) == 1
    assert table.read_bytes() == wanted and not index.exists() and not list(other.data.glob('*/#sql*'))


def test_wrong_usage_is_said(server_tree, tmp_path):
    done = crash('sigkill', server_tree, 'x', '--data', tmp_path / 'data')
    assert done.returncode == 1 and 'x: not an option' in done.stderr and 'Traceback' not in done.stderr
    (tmp_path / 'data/data').mkdir(parents=True)
    done = crash('torn-write', server_tree, '--data', tmp_path / 'data')
    assert done.returncode == 1 and 'is there already' in done.stderr
