"""A short run of each command in tests/crash/, and that they find what they are for."""
import subprocess

import pytest

from conftest import TOP

# nothing writes the log, so that what was committed is only in memory
LOSES = ('--innodb-flush-log-at-trx-commit=0', '--innodb-flush-log-at-timeout=2700', '--innodb-buffer-pool-size=256M',
         '--innodb-log-file-size=256M', '--innodb-log-buffer-size=128M', '--innodb-max-dirty-pages-pct=99')


def crash(command, *arguments):
    """A command of tests/crash/: the finished process."""
    return subprocess.run([TOP / 'tests/crash' / command, *map(str, arguments)], text=True, capture_output=True, check=False,
                          timeout=600)


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


def test_wrong_usage_is_said(server_tree, tmp_path):
    done = crash('sigkill', server_tree, 'x', '--data', tmp_path / 'data')
    assert done.returncode == 1 and 'x: not an option' in done.stderr and 'Traceback' not in done.stderr
    (tmp_path / 'data/data').mkdir(parents=True)
    done = crash('torn-write', server_tree, '--data', tmp_path / 'data')
    assert done.returncode == 1 and 'is there already' in done.stderr
