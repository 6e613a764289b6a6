"""The exchange of Debian's servers for ours and back: the check that apt runs, and the maintainer
scripts, with small packages in clean roots."""
import os
import re
import subprocess

import pytest
from millrace import TOP
from millrace.repo.apt import HOOK_TEXT
from support.debroot import make_packages, run_in_root


@pytest.fixture
def root(shared, tmp_path):
    """A function that runs a script in a clean root; see support.debroot.PRELUDE."""
    packages = shared('debs', make_packages)
    return lambda script: run_in_root(script, packages, tmp_path)


def test_there_and_back(root):
    root('''
        theirs
        echo max_connections=77 >>$conf/50-server.cnf
        ours
        whole
        installed millrace-server && ! installed mariadb-server || fail "not exchanged"
        in_force max_connections=77
        ! grep -q 'of mariadb' $conf/50-client.cnf || fail "an unedited file is not ours"
        [ -L /etc/systemd/system/multi-user.target.wants/mariadb.service ]
        [ -e /var/lib/mysql/millrace-10.11.flag ] && [ ! -e /var/lib/mysql/mysql/new ]
        back
        whole
        installed mariadb-server && ! installed millrace-server || fail "not back"
        in_force max_connections=77
        [ -e /var/lib/mysql/debian-10.11.flag ]
        ours
        whole
        in_force max_connections=77
    ''')


def test_the_way_back_does_not_end_at_a_question(root):
    root('''
        theirs
        ours
        echo max_connections=77 >>$conf/50-server.cnf
        rm $conf/60-galera.cnf
        refused 'millrace-client would stay' apt install mariadb-server
        refused 'dpkg would ask about these files' apt install mariadb-server
        unset DEBIAN_FRONTEND
        refused 'dpkg would ask about these files' setsid -w apt-get -y install mariadb-server
        export DEBIAN_FRONTEND=noninteractive
        says "  $conf/50-server.cnf"
        says "  $conf/60-galera.cnf"
        eval "$(grep -A1 'does it all the same' /tmp/said | tail -n 1)"
        whole
        installed mariadb-server || fail "not back"
        in_force max_connections=77
    ''')


def test_a_new_server_has_a_database(root):
    root('''
        apt install millrace-server >/tmp/said 2>&1
        whole
        [ -e /var/lib/mysql/mysql/new ]
        says 'automatic security updates do not cover this server'
    ''')


@pytest.mark.parametrize('directory', ['/etc/mysql', '/etc/mysql/mariadb.conf.d'])
def test_a_linked_directory_keeps_its_edits_in_force(root, directory):
    root(f'''
        theirs
        mkdir /srv/data
        mv /var/lib/mysql/* /srv/data
        printf '%s\\n' datadir=/srv/data max_connections=77 >>$conf/50-server.cnf
        echo quick >>$conf/50-client.cnf
        mv {directory} /srv/conf
        ln -s /srv/conf {directory}
        ours
        whole
        in_force datadir=/srv/data
        in_force max_connections=77
        in_force quick
        [ ! -e /srv/data/mysql/new ] && [ ! -e /var/lib/mysql/mysql ] || fail "a new database"
        back
        whole
        in_force max_connections=77
    ''')


def test_a_deleted_file_stays_deleted(root):
    root('''
        theirs
        rm $conf/50-server.cnf $conf/60-galera.cnf
        ours
        whole
        [ ! -e $conf/50-server.cnf ] && [ ! -e $conf/60-galera.cnf ]
        apt install --reinstall millrace-server millrace-client
        whole
        [ ! -e $conf/50-server.cnf ] && [ ! -e $conf/60-galera.cnf ]
        rm -r $conf
        apt remove millrace-server millrace-client
        apt install millrace-server
        whole
        [ -z "$(ls $conf)" ]
    ''')


def test_a_file_that_is_a_link_stays_one(root):
    root('''
        theirs
        echo max_connections=77 >>$conf/50-server.cnf
        mv $conf/50-server.cnf /srv/server.cnf
        ln -s /srv/server.cnf $conf/50-server.cnf
        ln -sf /dev/null $conf/60-galera.cnf
        ln -sf nowhere $conf/50-client.cnf
        ours
        whole
        in_force max_connections=77
        [ "$(readlink $conf/50-server.cnf)" = /srv/server.cnf ]
        [ "$(readlink $conf/60-galera.cnf)" = /dev/null ]
        [ "$(readlink $conf/50-client.cnf)" = nowhere ]
    ''')


@pytest.mark.parametrize('edit', ['', 'echo edited=1 >>$conf/50-server.cnf.distrib'])
def test_a_diverted_file_is_the_administrators(root, edit):
    root(f'''
        theirs
        dpkg-divert --local --rename --add $conf/50-server.cnf
        echo max_connections=77 >$conf/50-server.cnf
        {edit or ':'}
        ours
        whole
        in_force max_connections=77
        [ "$(cat $conf/50-server.cnf)" = max_connections=77 ]
        {f"tail -n 1 $conf/50-server.cnf.distrib | grep edited" if edit else
         "grep bind-address $conf/50-server.cnf.distrib"}
    ''')


def test_a_failed_installation_gives_the_files_back(root):
    root('''
        theirs
        echo max_connections=77 >>$conf/50-server.cnf
        rm $conf/50-mysqld_safe.cnf
        apt remove mariadb-server
        touch /var/lib/mysql/debian-11.8.flag
        apt install millrace-client millrace-common
        # the last part of preinst fails
        mkdir $conf/zz
        cp -r /srv/packages/ours /tmp/ours
        cd /tmp
        dpkg-deb -R ours/millrace-server_*.deb changed
        sed -i "s/^#DEBHELPER#//; \\$ a exit 1" changed/DEBIAN/preinst
        rm /var/lib/mysql/debian-11.8.flag
        dpkg-deb -Znone -b changed
        ! dpkg -i changed.deb || fail "not failed"
        in_force max_connections=77
        [ ! -e $conf/50-mysqld_safe.cnf ]
        ! ls $conf | grep by- || fail "files are left"
    ''')


@pytest.mark.parametrize('made, said', [
    ('touch /var/lib/mysql/debian-11.8.flag', '/var/lib/mysql is of MariaDB 11.8'),
    ('printf 11.8.6-MariaDB >/var/lib/mysql/mariadb_upgrade_info', 'is of MariaDB 11.8'),
    ('mv /var/lib/mysql /srv/data; echo datadir=/srv/data >$conf/90.cnf; '
     'printf 11.4.2-MariaDB >/srv/data/mysql_upgrade_info', '/srv/data is of MariaDB 11.4'),
    ('rm /var/lib/mysql/*.flag; touch /var/lib/mysql/undo_001', 'is of MySQL 8'),
    ('mkdir /srv/db; rm -r /var/lib/mysql; ln -s /srv/db /var/lib/mysql',
     'there is no database in /var/lib/mysql'),
    ('mkdir /srv/db; echo datadir=/srv/db >$conf/90.cnf', 'there is no database in /srv/db'),
])
def test_what_ours_cannot_open_is_refused_before_theirs_is_removed(root, made, said):
    root(f'''
        theirs
        {made}
        apt install millrace-common
        refused '{said}' ours
    ''')


def test_data_of_a_later_line_are_refused_by_dpkg_too(root):
    root('''
        mkdir /var/lib/mysql
        touch /var/lib/mysql/millrace-11.8.flag
        ! apt install millrace-server >/tmp/said 2>&1 || fail "not refused"
        says 'millrace-server: /var/lib/mysql is of MariaDB 11.8, this is MariaDB 10.11.'
        [ ! -e /var/lib/mysql/mysql ]
        refused '/var/lib/mysql is of MariaDB 11.8' apt install millrace-server
    ''')


def test_a_database_that_is_gone_is_not_made_anew(root):
    root('''
        apt install millrace-server
        rm -r /var/lib/mysql/*
        dpkg-reconfigure millrace-server 2>&1 | tee /tmp/said
        says 'there is no database any more in /var/lib/mysql'
        [ -z "$(ls /var/lib/mysql)" ]
        # a directory that is gone is not an empty mount point
        rm -r /var/lib/mysql
        dpkg-reconfigure millrace-server
        [ -e /var/lib/mysql/mysql/new ]
    ''')


def test_plugins_and_backup_go_only_by_name(root):
    root('''
        theirs mariadb-server mariadb-backup mariadb-plugin-connect mariadb-plugin-gssapi-server \
            mariadb-plugin-gssapi-client mariadb-plugin-provider-lz4
        refused 'this server has no mariadb-plugin-connect' ours
        says 'this server has no mariadb-plugin-gssapi-server'
        says 'ours is millrace-backup'
        ! grep -e provider -e gssapi-client /tmp/said | grep millrace: || fail "too much said"
        eval "$(grep -A1 'does it all the same' /tmp/said | tail -n 1)"
        whole
        installed millrace-server && installed millrace-backup || fail "not exchanged"
        installed mariadb-plugin-gssapi-client || fail "the client's plugin is gone"
        # and back
        refused 'mariadb-plugin-connect was installed before' back
        eval "$(grep -A1 'does it all the same' /tmp/said | tail -n 1)"
        installed mariadb-plugin-connect && installed mariadb-plugin-gssapi-server &&
            installed mariadb-plugin-provider-lz4 || fail "not back"
        whole
    ''')


def test_options_of_a_plugin_that_goes(root):
    root('''
        theirs mariadb-server mariadb-plugin-connect
        printf '%s\\n' connect_timeout=9 loose_connect_xtrace=1 connect-work-size=1 \
            default_storage_engine=CONNECT skip-connect >$conf/90.cnf
        refused '  --connect-work-size=1' ours mariadb-plugin-connect-
        says --default_storage_engine=CONNECT
        says --skip-connect
        ! grep -e timeout -e xtrace /tmp/said || fail "too much said"
        sed -i 's/connect-w/loose-&/; /default\\|skip/d' $conf/90.cnf
        ours mariadb-plugin-connect-
    ''')


def test_a_plugin_that_was_purged_is_not_missed(root):
    root('''
        theirs mariadb-server mariadb-plugin-connect
        apt purge mariadb-plugin-connect
        ours
        back
    ''')


def test_an_older_release_is_taken_only_by_name(root):
    root('''
        echo 'deb [trusted=yes] file:/srv/packages/newer ./' >>/etc/apt/sources.list
        apt update
        theirs mariadb-server mariadb-backup
        refused 'MariaDB 10.11.19 would be replaced by an older release, 10.11.18' ours
        ours mariadb-server- millrace-backup
        whole
        installed millrace-server || fail "not exchanged"
        refused 'theirs is mariadb-backup' back
        back mariadb-backup
        whole
    ''')


@pytest.mark.parametrize('name', [
    'mariadb-backup', 'mariadb-client-core', 'mariadb-plugin-connect'])
def test_the_server_goes_only_by_name(root, name):
    root(f'''
        apt install millrace-server
        refused 'apt would remove millrace-server' apt install {name}
        says 'apt install {"mariadb-server" if "core" in name else "mariadb-"}'
        refused 'apt would remove millrace-server' apt install {name} millrace-backup-
        back {name}
        installed mariadb-server && installed {name} || fail "not back"
    ''')


def test_the_server_can_be_removed(root):
    root('''
        apt install millrace-server millrace-backup
        apt remove millrace-client
        ! installed millrace-server || fail "not removed"
        apt install millrace-server
        apt purge 'millrace-*'
        [ ! -e /etc/apt/apt.conf.d/50millrace ]
        apt install mariadb-server
    ''')


def test_the_repository_asks_for_the_check_first(root):
    root(f'''
        cat >/etc/apt/apt.conf.d/50key <<'END'
{HOOK_TEXT}
END
        theirs
        refused 'first, for a check of this exchange' apt install millrace-server
        ours
        apt purge 'mariadb-server*' 'millrace-*'
        apt install millrace-server
    ''')


def test_apt_works_where_the_check_does_not(root):
    root('''
        apt install millrace-server
        printf '#!/bin/sh\\nexit 2\\n' >/usr/share/millrace/check-exchange
        apt install mariadb-backup
        rm /usr/share/millrace/check-exchange
        apt install mariadb-server
    ''')


def test_the_way_back_with_our_variables(root):
    root('''
        theirs
        ours
        printf '%s\\n' '[mysqld]' innodb_extra_undo_segments=16 '  innodb-max-merged-io = 64' \
            innodb_fast_recovery '#innodb_readahead=both' innodb_read_ahead=1 >/srv/a.cnf
        ln -s /srv/a.cnf $conf/90-local.cnf
        mkdir /srv/more
        printf '%s\\n' innodb_readahead=both skip-innodb-fast-recovery >/srv/more/b.cnf
        echo '!includedir /srv/more' >/etc/mysql/my.cnf
        chmod 640 /srv/a.cnf
        back mariadb-plugin-provider-lz4 2>&1 | tee /tmp/said
        says "$conf/90-local.cnf:2:innodb_extra_undo_segments=16"
        says '/srv/more/b.cnf:1:innodb_readahead=both'
        printf '%s\\n' '[mysqld]' loose_innodb_extra_undo_segments=16 \
            '  loose_innodb-max-merged-io = 64' \
            loose_innodb_fast_recovery '#innodb_readahead=both' innodb_read_ahead=1 |
            diff - /srv/a.cnf
        printf '%s\\n' loose_innodb_readahead=both loose_innodb-fast-recovery=0 |
            diff - /srv/more/b.cnf
        [ -L $conf/90-local.cnf ] && [ "$(stat -c %a /srv/a.cnf)" = 640 ]
        ours
        back >/tmp/said 2>&1
        ! grep loose_ /tmp/said || fail "said again"
    ''')


def test_variables_that_cannot_be_changed_keep_ours_running(root):
    root('''
        theirs
        ours
        mkdir -p /etc/systemd/system/mariadb.service.d
        printf '[Service]\\nEnvironment="MYSQLD_OPTS=--a=1 --innodb-fast-recovery=0"\\n' \
            >/etc/systemd/system/mariadb.service.d/own.conf
        refused '--innodb-fast-recovery=0' back
        # from a file that is not found
        printf '#!/bin/sh\necho --innodb_readahead=both\n' >/usr/bin/my_print_defaults
        refused 'cannot be changed here' back
        says innodb_readahead=both
        installed millrace-server || fail "ours is gone"
        whole
    ''')


@pytest.mark.parametrize('other', ['older', 'later'])
def test_another_revision_may_lack_variables(root, other):
    root(f'''
        apt install millrace-server
        echo innodb_readahead=both >$conf/90-local.cnf
        echo innodb_max_merged_io=64 >$conf/91-local.cnf
        apt install --reinstall millrace-server
        in_force innodb_readahead=both
        other() {{ dpkg --install /srv/packages/{other}/millrace-{{common,client,server}}_*.deb; }}
        # an option that cannot be changed
        mkdir -p /etc/systemd/system/mariadb.service.d
        echo 'Environment="MYSQLD_OPTS=--innodb_readahead=both"' \
            >/etc/systemd/system/mariadb.service.d/own.conf
        ! other || fail "not refused"
        dpkg-query -W millrace-server | grep 10.11.18-1
        rm -r /etc/systemd/system/mariadb.service.d
        other
        dpkg-query -W millrace-server | grep -v 10.11.18-1
        whole
        in_force loose_innodb_readahead=both
        in_force innodb_max_merged_io=64
    ''')


def test_the_way_back_from_a_later_line_is_refused(root):
    root('''
        theirs
        ours
        mv /var/lib/mysql/millrace-10.11.flag /var/lib/mysql/millrace-11.8.flag
        refused '/var/lib/mysql is of MariaDB 11.8' back
    ''')


@pytest.mark.parametrize('remove', [
    'apt -o Dpkg::Options::=--force-confold install mariadb-server mariadb-client',
    'dpkg --remove millrace-server millrace-client; apt install mariadb-server mariadb-client'])
def test_packages_that_were_only_unpacked_give_the_files_back(root, remove):
    root(f'''
        theirs
        echo max_connections=77 >>$conf/50-server.cnf
        rm $conf/60-galera.cnf
        apt install millrace-common
        apt remove mariadb-server mariadb-client mariadb-server-core mariadb-client-core
        dpkg --unpack /srv/packages/ours/millrace-{{server,client}}_*.deb
        ls $conf | grep by-
        {remove}
        rm -f /etc/mysql/*.dpkg-new     # dpkg lets it lie
        whole
        installed mariadb-server || fail "not back"
        in_force max_connections=77
        [ ! -e $conf/60-galera.cnf ]
    ''')


# changed.deb is our server, with a preinst that is killed before it has kept 50-server.cnf
KILLED = '''
        cd /tmp
        dpkg-deb -R /srv/packages/ours/millrace-server_*.deb changed
        killed=": >$conf/50-mysqld_safe.cnf; kill -9 \\$PPID \\$\\$"
        sed -i "s|^keep .*/50-server.cnf |$killed\\n&|" changed/DEBIAN/preinst
        dpkg-deb -Znone -b changed
'''


@pytest.mark.parametrize('then', ['', 'dpkg --remove --force-remove-reinstreq millrace-server'])
def test_an_installation_that_was_killed_is_taken_up(root, then):
    root(f'''
        theirs
        echo max_connections=77 >>$conf/50-server.cnf
        rm $conf/50-mysqld_safe.cnf
        apt install millrace-common
        apt remove mariadb-server mariadb-client
        apt install millrace-client
        {KILLED}
        ! dpkg --unpack changed.deb || fail "not killed"
        ls $conf | grep 50-mysqld_safe.cnf.deleted-by
        half() {{
            dpkg-query -W -f '${{db:Status-Status}}' millrace-server | grep half-installed
        }}
        half
        # a second attempt that fails, too
        sed -i 's/kill -9 .*/exit 1/' changed/DEBIAN/preinst
        dpkg-deb -Znone -b changed
        ! dpkg --unpack changed.deb || fail "not failed"
        half
        in_force max_connections=77
        {then}
        apt install millrace-server
        whole
        in_force max_connections=77
        [ ! -e $conf/50-mysqld_safe.cnf ]
    ''')


def test_a_package_that_was_only_unpacked_leaves_no_gap(root):
    root('''
        apt install millrace-client millrace-common
        dpkg --unpack /srv/packages/ours/millrace-server_*.deb
        dpkg --remove millrace-server
        apt install millrace-server
        whole
        [ -e $conf/50-server.cnf ] && [ -e /etc/mysql/debian-start ]
    ''')


def test_a_purge_leaves_no_gap(root):
    root('''
        theirs
        ours
        apt purge millrace-server
        [ ! -e $conf/50-server.cnf ]
        apt install millrace-server
        whole
        [ -e $conf/50-server.cnf ] && [ -e /etc/mysql/debian-start ]
    ''')


def test_a_file_kept_long_ago_does_not_come_back(root):
    root('''
        theirs
        echo max_connections=77 >>$conf/50-server.cnf
        echo max_connections=55 >$conf/50-server.cnf.kept-by-millrace-server
        : >$conf/50-mysqld_safe.cnf.deleted-by-millrace-server
        ours
        in_force max_connections=77
        [ -e $conf/50-mysqld_safe.cnf ]
        grep 55 $conf/50-server.cnf.kept-by-millrace-server.old
    ''')


@pytest.mark.parametrize('line, refused', [
    ('apt remove millrace-client', False), ('apt purge millrace*', False),
    ('apt install mariadb-client millrace-client-', False),
    ('apt install mariadb-client', True),
    ('apt install mariadb-client /srv/millrace-debs/x.deb', True),
    ('apt install mariadb-client millrace-backup-', True)])
def test_words_that_mean_a_removal(root, line, refused):
    root(f'''
        apt install millrace-server
        status=0
        /usr/share/millrace/check-exchange <<'END' || status=$?
VERSION 2
CommandLine::AsString={line.replace(' ', '%20')}

millrace-server 1:10.11.18-1 > - **REMOVE**
millrace-client 1:10.11.18-1 > - **REMOVE**
mariadb-client - < 1:10.11.18-0+deb12u1 /a/mariadb-client_10.11.18_all.deb
END
        [ $status = {10 * refused} ]
    ''')


def test_a_first_configuration_that_failed_leaves_no_mark(root):
    root('''
        apt install millrace-client millrace-common
        cp /usr/bin/false /tmp/false
        dpkg --unpack /srv/packages/ours/millrace-server_*.deb
        mv /usr/bin/mariadb-install-db /tmp/install-db
        cp /tmp/false /usr/bin/mariadb-install-db
        ! dpkg --configure millrace-server || fail "not failed"
        # an exchange that fails
        dpkg-deb -R /srv/packages/ours/millrace-server_*.deb /tmp/changed
        sed -i "s/^#DEBHELPER#//; \\$ a exit 1" /tmp/changed/DEBIAN/preinst
        dpkg-deb -Znone -b /tmp/changed
        ! dpkg --unpack /tmp/changed.deb || fail "not failed"
        [ ! -e /var/lib/mysql/mysql ] && ! ls /var/lib/mysql/*.flag || fail "marked"
        # dpkg takes it for configured since
        mv /tmp/install-db /usr/bin/mariadb-install-db
        dpkg-reconfigure millrace-server 2>&1 | tee /tmp/said
        says 'mariadb-install-db --user=mysql'
    ''')


def test_the_server_is_not_removed_for_our_client(root):
    """Which a server of a later release does not go with."""
    root('''
        echo 'deb [trusted=yes] file:/srv/packages/newer ./' >>/etc/apt/sources.list
        apt update
        theirs
        apt install millrace-common
        refused 'apt would remove mariadb-server' apt install millrace-client
        says 'apt install millrace-client millrace-server'
        apt install millrace-client mariadb-server-
        installed millrace-client || fail "not installed"
    ''')


def test_a_mark_without_a_database_is_no_new_machine(root):
    root('''
        theirs
        rm -r /var/lib/mysql/mysql
        apt remove mariadb-server
        apt install millrace-server 2>&1 | tee /tmp/said
        says 'there is no database any more in /var/lib/mysql'
        says 'There was one, says /var/lib/mysql/debian-10.11.flag'
        [ ! -e /var/lib/mysql/mysql ] && [ -e /var/lib/mysql/millrace-10.11.flag ]
    ''')


def test_the_scripts_know_the_variables_of_the_page(root):
    table = (TOP / 'docs/operate.md').read_text().split("## The patches' variables")[1]
    names = sorted(set(re.findall(r'^\| \[`(\w+)`\]', table, re.MULTILINE)))
    assert len(names) >= 5
    root(f'''
        apt install millrace-server
        sed -n "s/^.*variables='\\(.*\\)'/\\1/p" /var/lib/dpkg/info/millrace-server.prerm |
            tr '|' '\\n' | sed 's/\\[-_\\]/_/g' | sort >/tmp/names
        echo '{" ".join(names)}' | tr ' ' '\\n' | diff - /tmp/names
    ''')


def test_a_server_that_does_not_start_is_named(root):
    root('''
        mkdir -p /run/systemd/system
        printf '#!/bin/sh\\ncase "$*" in *is-failed*) ;; *) exit 1 ;; esac\\n' >/usr/bin/systemctl
        chmod +x /usr/bin/systemctl
        apt install millrace-server >/tmp/said 2>&1
        says 'journalctl --unit=mariadb'
    ''')


def test_the_description_says_what_it_is_for(root):
    root('''
        . /etc/os-release
        apt-cache show millrace-server >/tmp/said
        says "Built on $PRETTY_NAME"
        says 'Security fixes come with releases of Millrace'
    ''')


@pytest.mark.parametrize('runs', [True, False])
def test_logs_are_flushed_where_the_server_runs(tmp_path, runs):
    text = (TOP / 'debian/millrace-server.mariadb.logrotate').read_text()
    script = text.split('postrotate\n')[1].split('endscript')[0]
    admin = tmp_path / 'mariadb-admin'
    admin.write_text(f'#!/bin/sh\ncase $* in *ping) exit {0 if runs else 1} ;; '
                     f'*flush-error-log*) echo >{tmp_path}/flushed ;; esac\n')
    admin.chmod(0o755)
    subprocess.run(['sh', '-ec', script], check=True,
                   env={'PATH': f'{tmp_path}:{os.environ["PATH"]}'})
    assert (tmp_path / 'flushed').exists() == runs
