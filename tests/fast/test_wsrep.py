"""The unit of the packages and galera_new_cluster: upstream's files as build/ edits them."""
import re
import shlex
import subprocess

import pytest
from millrace import TOP

EDIT = TOP / 'build/lib/wsrep-environment'
# what CMake fills in
FILLED = {'bindir': '/usr/bin', 'sbindir': '/usr/sbin', 'INSTALL_RUNDATADIR': '/run/mysqld'}


@pytest.fixture
def root(touched, tmp_path):
    """The files, installed."""
    root = tmp_path / 'root'
    for source, target in (
            ('support-files/mariadb.service.in', 'lib/systemd/system/mariadb.service'),
            ('scripts/galera_new_cluster.sh', 'usr/bin/galera_new_cluster')):
        text = re.sub('@(.*?)@', lambda match: FILLED.get(match[1], ''),
                      (touched / source).read_text())
        (root / target).parent.mkdir(parents=True)
        (root / target).write_text(text)
        (root / target).chmod(0o755)
    return root


def edit(root):
    """Edits the files: the unit, its settings by name, and the script."""
    subprocess.run(['sh', EDIT, root], check=True)
    text = (root / 'lib/systemd/system/mariadb.service').read_text()
    settings = {}
    for name, value in re.findall(r'^(\w+)=(.*)$', text.replace('\\\n', ''), re.MULTILINE):
        settings.setdefault(name, []).append(value)
    return text, settings, (root / 'usr/bin/galera_new_cluster').read_text()


def test_no_variable_from_where_mysql_writes(root):
    root = root.rename(root.with_name('a root'))
    text, settings, script = edit(root)
    assert settings['EnvironmentFile'] == ['-/run/mariadb-wsrep-new-cluster']
    assert len(settings['ExecStart']) == 1 and settings['SyslogIdentifier'] == ['mariadbd']
    assert 'ExecStartPre' not in settings and 'ExecStartPost' not in settings
    assert '/run/mysqld' not in text + script
    assert settings['User'] == ['mysql'] and settings['LimitNOFILE'] == ['32768']
    # what upstream has mended, it leaves as it is
    assert edit(root) == (text, settings, script)


@pytest.mark.parametrize('recovery, options', [
    ('echo --wsrep_start_position=a:1', ['--wsrep-new-cluster', '--wsrep_start_position=a:1']),
    ('', ['--wsrep-new-cluster']), (None, ['--wsrep-new-cluster']), ('exit 3', None)])
def test_the_server_gets_its_options(root, recovery, options):
    [command] = edit(root)[1]['ExecStart']
    (root / 'mariadbd').write_text('#!/bin/sh\necho $$ "$@"\n')
    if recovery is not None:
        (root / 'galera_recovery').write_text(f'#!/bin/sh\n{recovery}\n')
    for program in ('mariadbd', 'galera_recovery'):
        command = re.sub(rf'/usr/s?bin/{program}\b', str(root / program), command)
        if (root / program).exists():
            (root / program).chmod(0o755)
    # as systemd reads it
    words = shlex.split(command.replace('$$', '$'))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=root,
                          env={'MYSQLD_OPTS': '--a=* --b',
                               '_WSREP_NEW_CLUSTER': '--wsrep-new-cluster',
                               '_WSREP_START_POSITION': '--no'}) as process:
        said = process.communicate()[0].split()
    assert (process.returncode == 0) == (options is not None)
    # in the process that systemd waits for
    assert said == ([] if options is None else [str(process.pid), '--a=*', '--b', *options])


# in a /run of its own
NEW_CLUSTER = '''mount -t tmpfs none /run
PATH=$PWD:$PATH
{} usr/bin/galera_new_cluster
echo "status $?"
ls -A /run
'''


@pytest.mark.parametrize('systemctl, status', [
    ('exit 0', 0), ('exit 4', 4), ('kill -TERM $PPID', 1)])
def test_the_file_of_a_new_cluster_is_there_for_the_restart_only(root, systemctl, status):
    edit(root)
    (root / 'systemctl').write_text(
        f'#!/bin/sh\necho "$@"\ncat /run/mariadb-wsrep-new-cluster\n{systemctl}\n')
    (root / 'systemctl').chmod(0o755)
    done = subprocess.run(['unshare', '-rm', 'sh', '-c', NEW_CLUSTER.format('sh')], cwd=root,
                          check=True, text=True, capture_output=True)
    assert done.stdout.splitlines() == ['restart mariadb.service',
                                        '_WSREP_NEW_CLUSTER=--wsrep-new-cluster',
                                        f'status {status}']


def test_other_files_are_not_guessed_at(root):
    unit = root / 'lib/systemd/system/mariadb.service'
    unit.write_text(unit.read_text().replace('ExecStart=', 'ExecStart=nice '))
    done = subprocess.run(['sh', EDIT, root], check=False, text=True, capture_output=True)
    assert done.returncode == 1 and 'has upstream changed the files?' in done.stderr


@pytest.mark.parametrize('path', ['lib/systemd/system/mariadb.service',
                                  'usr/bin/galera_new_cluster'])
def test_a_missing_file_is_an_error(root, path):
    (root / path).unlink()
    done = subprocess.run(['sh', EDIT, root], check=False, text=True, capture_output=True)
    assert done.returncode == 1 and 'there is no mariadb.service or no galera_' in done.stderr
