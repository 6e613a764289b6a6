"""apt in a root of its own, with packages of little content: ours with the relations and the
maintainer scripts of debian/, and others with the relations of the distribution's.

The root is this machine's, seen through an overlay in memory, without its packages and its
configuration of apt.  Nothing is downloaded, and a test takes seconds.  Only root can make one.
"""
import shutil
import subprocess

from millrace import TOP

VERSION, OLDER, NEWER = '10.11.18', '10.11.17', '10.11.19'
# name: relations of a package of the distribution's
THEIRS = {
    'mariadb-server': '''Pre-Depends: mariadb-common
Depends: mariadb-client (>= {0}), mariadb-server-core (>= {0})
Recommends: mariadb-plugin-provider-lz4
Conflicts: virtual-mysql-server
Replaces: virtual-mysql-server
Provides: virtual-mysql-server
''',
    'mariadb-server-core': '''Depends: mariadb-common
Conflicts: virtual-mysql-server-core
Replaces: virtual-mysql-server-core
Provides: virtual-mysql-server-core
''',
    'mariadb-client': '''Depends: mariadb-client-core (>= {0})
Conflicts: virtual-mysql-client
Replaces: virtual-mysql-client
Provides: virtual-mysql-client
''',
    'mariadb-client-core': '''Depends: mariadb-common
Breaks: mariadb-server-core (<< {0})
Conflicts: virtual-mysql-client-core
Replaces: virtual-mysql-client-core
Provides: virtual-mysql-client-core
''',
    'mariadb-backup': 'Depends: mariadb-client-core (= {0})\n',
    'mariadb-plugin-connect': 'Depends: mariadb-server (= {0})\n',
    'mariadb-plugin-gssapi-server': 'Depends: mariadb-server\n',
    'mariadb-plugin-gssapi-client': 'Depends: libmariadb3\n',
    'mariadb-plugin-provider-lz4': 'Depends: mariadb-server\n',
    # stands for what both servers ask of a machine
    'mariadb-common': 'Provides: adduser, libmariadb3, perl, init-system-helpers (= 9)\n',
}
CONF = 'etc/mysql/mariadb.conf.d'
SERVER_CONF = ('50-server.cnf', '50-mysqld_safe.cnf')
CLIENT_CONF = ('50-client.cnf', '60-galera.cnf')
CONFFILES = {'mariadb-server': SERVER_CONF, 'mariadb-client': CLIENT_CONF,
             **{name: (f'{name}.cnf',) for name in THEIRS if name.startswith('mariadb-plugin')}}
# prints the options of all groups, as that program prints those of one
PRINT_DEFAULTS = '''#!/bin/sh
cat /etc/mysql/my.cnf /etc/mysql/mariadb.conf.d/*.cnf 2>/dev/null |
    sed -n 's/ *= */=/; s/^[a-z]/--&/p'
'''
INSTALL_DB = '''#!/bin/sh
data=$(my_print_defaults --mysqld | sed -n 's/^--datadir=//p')
mkdir -p "${data:=/var/lib/mysql}/mysql" && echo new >"$data/mysql/new"
'''
THEIR_PRERM = '#!/bin/sh\n[ "$1" != remove ] || echo stopped >>/log\n'
CONTROL = '''Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: A Person <a@example.org>
{relations}Description: stands for the real one
 It does.
'''
CHANGELOG = '''millrace (1:{}-1) unstable; urgency=medium

  * Anew.

 -- A Person <a@example.org>  Sat, 21 Nov 2026 00:00:00 +0000
'''
# makes the root of $1 with the packages of $2, and runs its /srv/script
BEGIN = r'''
top=$1 packages=$2 script=$3
mount -t tmpfs none "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay none -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root"
cd "$top/root"
mount -t proc proc proc
rm -rf etc/mysql var/lib/mysql
for place in run tmp srv var/lib/dpkg var/lib/apt var/cache/apt etc/apt; do
    mkdir -p "$place"
    mount -t tmpfs none "$place"
done
mkdir -p var/lib/dpkg/info var/lib/dpkg/updates etc/apt/preferences.d etc/apt/apt.conf.d \
    etc/mysql/mariadb.conf.d srv/packages
mount --bind "$packages" srv/packages
: >var/lib/dpkg/status
: >log
sed -i '/^mysql:/d' etc/passwd etc/group
echo 'mysql:x:0:0::/nonexistent:/bin/false' >>etc/passwd
echo 'mysql:x:0:' >>etc/group
printf '#!/bin/sh\nexit 101\n' >usr/sbin/policy-rc.d
chmod +x usr/sbin/policy-rc.d
printf 'deb [trusted=yes] file:/srv/packages/%s ./\n' theirs ours >etc/apt/sources.list
cp "$script" srv/script
export LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive
exec env -u TMPDIR chroot . bash -euo pipefail /srv/script </dev/null
'''
# what the script of a test can call
PRELUDE = r'''
conf=/etc/mysql/mariadb.conf.d
apt() { apt-get -qy -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root "$@"; }
fail() { echo "FAILED: $*"; exit 1; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
theirs() {
    apt install "${@:-mariadb-server}"
    mkdir -p /var/lib/mysql/mysql
    touch /var/lib/mysql/debian-10.11.flag /etc/mysql/debian.cnf
}
# ours [NAME...]: what the README says
ours() { apt install millrace-common && apt install millrace-server "$@"; }
back() { apt -o Dpkg::Options::=--force-confold install mariadb-{server,client} "$@"; }
in_force() { my_print_defaults --mysqld | grep -Fx -e "--$1" || fail "not in force: $1"; }
says() { grep -F -e "$1" /tmp/said || fail "not said: $1"; }
# refused TEXT COMMAND...: the command fails and says so, and nothing was touched
refused() {
    : >/log
    before=$(dpkg-query -W | grep -v ^millrace-common)
    if "${@:2}" >/tmp/said 2>&1; then cat /tmp/said; fail "not refused: ${*:2}"; fi
    cat /tmp/said
    says "$1"
    [ "$(dpkg-query -W | grep -v ^millrace-common)" = "$before" ] || fail "something was removed"
    [ ! -s /log ] || fail "theirs was stopped"
}
# whole: nothing is half done
whole() {
    ! dpkg --audit | grep . || fail "not all is configured"
    left=$(find -L /etc/mysql -name '*-by-*' -o -name '*.dpkg-new')
    [ -z "$left" ] || fail "left: $left"
}
apt update >/dev/null
'''


def run(*command, cwd):
    """Runs a command; what it printed is in the error where it fails."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-4000:]


def write(path, text, mode=0o644):
    """Makes a file and its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _theirs(place, work, name, version):
    root = work / name
    write(root / 'DEBIAN/control', CONTROL.format(
        name=name, version=version, architecture='all', relations=THEIRS[name].format(version)))
    for file in CONFFILES.get(name, ()):
        write(root / CONF / file, f'# of {name}\n')
    if (root / 'etc').exists():
        write(root / 'DEBIAN/conffiles',
              ''.join(f'/{CONF}/{file}\n' for file in CONFFILES[name]))
    if name == 'mariadb-server':
        write(root / 'DEBIAN/prerm', THEIR_PRERM, 0o755)
    if name == 'mariadb-server-core':
        write(root / 'usr/sbin/mariadbd', '#!/bin/sh\n', 0o755)
        write(root / 'usr/share/mysql/english/errmsg.sys', version)
    if name == 'mariadb-client-core':
        write(root / 'usr/bin/my_print_defaults', PRINT_DEFAULTS, 0o755)
    run('dpkg-deb', '--root-owner-group', '-Znone', '--build', root, place, cwd=work)


def _ours(place, work, version, without=''):
    source = work / f'millrace-{version}'
    shutil.copytree(TOP / 'debian', source / 'debian')
    shutil.copytree(TOP / 'patches/10.11', source / 'debian/patches',
                    ignore=shutil.ignore_patterns(f'{without}.patch'))
    write(source / 'debian/changelog', CHANGELOG.format(version))
    server, client = source / 'debian/millrace-server', source / 'debian/millrace-client'
    for root, names in ((server, SERVER_CONF), (client, CLIENT_CONF)):
        (root / CONF).mkdir(parents=True)
        for name in names:
            shutil.copy(TOP / 'debian/conf' / name, root / CONF)
    shutil.copy(TOP / 'debian/conf/debian-start', server / 'etc/mysql')
    common = source / 'debian/millrace-common/usr/share/millrace'
    common.mkdir(parents=True)
    shutil.copy(TOP / 'debian/exchange/apt.conf', common)
    for name, text in (('usr/sbin/mariadbd', '#!/bin/sh\n'),
                       ('usr/lib/mysql/plugin/auth_pam_tool_dir/auth_pam_tool', ''),
                       ('usr/bin/mariadb-install-db', INSTALL_DB),
                       ('usr/share/mysql/english/errmsg.sys', version),
                       ('lib/systemd/system/mariadb.service',
                        '[Service]\nExecStart=/usr/sbin/mariadbd\n'
                        '[Install]\nWantedBy=multi-user.target\n')):
        write(server / name, text, 0o755)
    write(client / 'usr/bin/my_print_defaults', PRINT_DEFAULTS, 0o755)
    run('debian/rules', 'execute_after_dh_install', cwd=source)
    run('dh_link', cwd=source)
    for recipe in ('installinit', 'installsystemd', 'installdeb', 'gencontrol'):
        run('debian/rules', f'override_dh_{recipe}', cwd=source)
    run('dh_builddeb', f'--destdir={place}', '--', '-Znone', cwd=source)


def make_packages(place):
    """Makes the packages: theirs/ and ours/ are repositories; newer/ has theirs of a newer
    release; older/ and later/ have ours of other releases, without the patch read-ahead."""
    work = place / 'work'
    for release, repository in ((VERSION, 'theirs'), (NEWER, 'newer')):
        (place / repository).mkdir()
        for name in THEIRS:
            _theirs(place / repository, work / repository, name, f'1:{release}-0+deb12u1')
    for release, repository, without in ((VERSION, 'ours', ''), (OLDER, 'older', 'read-ahead'),
                                         (f'{VERSION}.1', 'later', 'read-ahead')):
        (place / repository).mkdir()
        _ours(place / repository, work / repository, release, without)
    for repository in ('theirs', 'newer', 'ours'):
        with (place / repository / 'Packages').open('w') as index:
            subprocess.run(['dpkg-scanpackages', '--multiversion', '.'], check=True, stdout=index,
                           stderr=subprocess.DEVNULL, cwd=place / repository)
    shutil.rmtree(work)


def run_in_root(script, packages, top):
    """Runs a script in a root of its own, in the empty directory `top`."""
    (top / 'script').write_text(PRELUDE + script)
    (top / 'root').mkdir()
    run('unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-euc', BEGIN,
        'sh', top / 'root', packages, top / 'script', cwd=top)
