#!/usr/bin/env bash
# Usage: tests/packages/rpm-install.sh DIST_DIR
#
# Installs the RPM packages of DIST_DIR with `rpm --root` into a clean root, and
# works with the server there: what the packages require is there or named, what
# they conflict with keeps them out; make a database as the unit does, write, stop,
# start, read; TLS, compression, PAM, backup, a test of the suite; edited
# configuration through a second installation; removal, and what it leaves.
#
# One line PASS or FAIL for each check; exit status 1 if one failed.  Run as root,
# with rpm, mmdebstrap and a Debian mirror in this machine's apt sources: the root
# is a minimal Debian with the shared libraries that the packages ask for, as no
# RPM distribution is at hand; test_provides.py checks what those have.  It is kept in
# $MILLRACE_CACHE (default: work/).  Servers run in namespaces of their own.

. "$(dirname -- "$(readlink -f -- "$0")")/checks.sh" || exit
mapfile -t packages < <(find "$dist" -maxdepth 1 -name 'millrace-*.rpm' ! -name '*.src.rpm' \
    ! -name '*-debuginfo-*' | sort)
[ ${#packages[@]} -eq 5 ] \
    || die "$dist has ${#packages[@]} of the five packages server, client, backup, common, test" \
    "make rpm"
for_roots
for program in rpm rpmbuild openssl; do
    command -v $program > /dev/null || die "$program is missing" "build/setup tests"
done
scratch=$(mktemp -d "$run/XXXXXX")
root=$scratch/root
trap 'rm -rf --one-file-system "$scratch"' EXIT

# enter COMMAND...: in the root, alone: without network but for its own lo
enter() {
    unshare --mount --pid --fork --kill-child --net sh -euc '
        root=$1
        shift
        ip link set lo up
        mount -t proc proc "$root/proc"
        export LC_ALL=C.UTF-8 HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
        exec env -u TMPDIR chroot "$root" "$@"
    ' sh "$root" "$@"
}

in_root() {
    rpm --root "$root" --dbpath /var/lib/rpm "$@"
}

# with_server < SCRIPT: the server started as mariadb.service starts it, the script
# run beside it as root, the server stopped
with_server() {
    {
        cat << 'EOF'
            unit=/usr/lib/systemd/system/mariadb.service
            sql() { mariadb --batch --skip-column-names -e "$*"; }
            is() { # VALUE QUERY
                got=$(sql "$2")
                [ "$got" = "$1" ] || { echo "$2: $got, not $1"; exit 1; }
            }
            refused() { if "$@"; then echo "not refused: $*"; exit 1; fi; }
            prepare=$(sed -n 's/^ExecStartPre=//p' $unit | head -n 1)
            # as systemd reads it: lines go on behind a backslash, $$ is $
            start=$(sed -n '/^ExecStart=/,/[^\\]$/p' $unit \
                | sed "s/^ExecStart=//; s/\\\\$//; s/[$][$]/$/g; s/\"/'/g")
            runuser -u mysql -- "$prepare"
            runuser -u mysql -- sh -c "exec $start" &
            server=$!
            wait_for_it() {
                for second in $(seq 300); do    # until it answers, or ends
                    mariadb-admin --silent ping 2> /dev/null && return
                    kill -0 $server 2> /dev/null || break
                    sleep 1
                done
                tail -n 30 /var/log/mariadb/mariadb.log
                exit 1
            }
            wait_for_it
EOF
        cat
        echo 'mariadb-admin shutdown; wait $server'
    } > "$root/tmp/script"
    enter bash -eu /tmp/script < /dev/null
}

# The base: a minimal Debian, perl and rsync for the suite and the scripts, and the
# packages of this machine that have the libraries ours were linked to here.
make_root() {
    local include
    # by file: ldconfig lists libbz2.so.1 by Debian's name alone
    include=$(rpm -qp --requires "${packages[@]}" \
        | sed -n 's/^\(lib[^(]*\.so\.[^(]*\)(.*/\1/p' | sort -u \
        | while read -r soname; do
            dpkg-query -S "*/$(uname -m)-linux-gnu/$soname"
        done | cut -d: -f1 | sort -u | paste -sd, -)
    include=iproute2,libmariadb3,netbase,openssl,passwd,patch,perl,util-linux,libdbi-perl,$include
    if [ "$include" != "$(cat "$cache/$suite.include" 2> /dev/null)" ] \
        || [ ! -f "$cache/base-$suite.tar" ]; then
        make_base "$cache/base-$suite.tar" "$include"
        echo "$include" > "$cache/$suite.include"
    fi
    mkdir "$root"
    tar -C "$root" -xpf "$cache/base-$suite.tar"
    # as mariadb-connector-c-config has it on an RPM distribution
    printf '[client-server]\n!includedir /etc/my.cnf.d\n' > "$root/etc/my.cnf"
}

# Debian's packages are not in rpm's database: each thing required of the
# distribution must be there all the same, and nothing else may be missing.
requirements() {
    local missing name status=0
    missing=$(in_root -i --test "${packages[@]}" 2>&1) \
        && { echo "nothing was missing?"; return 1; }
    echo "$missing" | sed -n 's/^[[:space:]]*\(.*\) is needed by .*/\1/p' | sort -u \
        > "$scratch/missing"
    [ -s "$scratch/missing" ] || { echo "$missing"; return 1; }
    while read -r name _; do
        case $name in
            /*) [ -e "$root$name" ] ;;
            lib*.so.*) [ -e "$root/usr/lib/$(uname -m)-linux-gnu/${name%%(*}" ] ;;
            ld-linux*) [ -e "$root/lib64/${name%%(*}" ] ;;
            perl\(*) name=${name#perl(}; enter perl -e "require ${name%)}" ;;
            # of every glibc that RPM distributions have
            'rtld(GNU_HASH)') ;;
            # perl: of a script that says `use VERSION`
            openssl | patch | perl) enter sh -c "command -v $name" > /dev/null ;;
            *) false ;;
        esac || { echo "required, and not in the root: $name"; status=1; }
    done < "$scratch/missing"
    return "$status"
}

# The distribution's package, as far as it matters here: its name, its unit, a server
# of the version that /tmp/theirs has, and its configuration file with the settings
# that Fedora's has and other words.
make_theirs() {
    cat > "$scratch/theirs.spec" << 'EOF'
Name: mariadb-server
Epoch: 3
Version: 10.11.11
Release: 1
Summary: Stands for the distribution's
License: GPL-2.0-only
BuildArch: noarch
AutoReqProv: no
%description
%{summary}
%install
install -d %{buildroot}/etc/my.cnf.d
{
    echo '# theirs'
    grep -v '^#' "$TOP/rpm/mariadb-server.cnf"
} > %{buildroot}/etc/my.cnf.d/mariadb-server.cnf
install -d %{buildroot}/usr/libexec %{buildroot}/usr/lib/systemd/system
printf '#!/bin/sh\necho "mariadbd  Ver $(cat /tmp/theirs)-MariaDB for Linux"\n' \
    > %{buildroot}/usr/libexec/mariadbd
chmod 755 %{buildroot}/usr/libexec/mariadbd
printf '[Service]\nExecStart=/usr/libexec/mariadbd $MYSQLD_OPTS\n' \
    > %{buildroot}/usr/lib/systemd/system/mariadb.service
%files
/usr/libexec/mariadbd
/usr/lib/systemd/system/mariadb.service
%config(noreplace) /etc/my.cnf.d/mariadb-server.cnf
EOF
    TOP=$top rpmbuild -bb --quiet -D "_topdir $scratch/theirs" "$scratch/theirs.spec"
}

conflicts() {
    local said
    in_root -i "$theirs" || return 1
    said=$(in_root -i --nosignature "${packages[@]}" 2>&1) && return 1
    grep 'mariadb-server conflicts with' <<< "$said"
}

# What `dnf swap` does: ours in, theirs out, in one transaction.
swapped() {
    in_root -i --nodeps --replacefiles "${packages[@]}" && in_root -e --nodeps mariadb-server \
        && [ "$(in_root -q mariadb-server)" = 'package mariadb-server is not installed' ] \
        && grep -q max_connections "$conf" && [ -f "$conf.rpmnew" ]
}

first_start() {
    with_server << 'EOF'
        sql "SELECT @@version_comment" | grep ^Millrace
        is mysql "SELECT SUBSTRING_INDEX('$(stat -c %U:%G /var/lib/mysql/mysql)', ':', 1)"
        is 78 "SELECT @@max_connections"
        is /var/lib/mysql/mysql.sock "SELECT @@socket"
        is /usr/lib64/mariadb/plugin/ "SELECT @@plugin_dir"
        is /run/mariadb/mariadb.pid "SELECT @@pid_file"
        is 0 "SELECT COUNT(*) FROM mysql.global_priv WHERE user = ''"
        is root@localhost "SELECT USER()"
        refused runuser -u nobody -- mariadb -u root -e 'SELECT 1'
        grep -E 'Using (io_uring|liburing|Linux native AIO)' /var/log/mariadb/mariadb.log
        sql "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20));
            INSERT INTO d.t VALUES (1, 'first')"
EOF
}

second_start() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -keyout "$root/tmp/key.pem" -out "$root/tmp/cert.pem" 2> /dev/null || return
    chmod 644 "$root/tmp/key.pem"
    printf '[mysqld]\nssl_cert=/tmp/cert.pem\nssl_key=/tmp/key.pem\n' \
        > "$root/etc/my.cnf.d/test.cnf"
    with_server << 'EOF'
        is first "SELECT b FROM d.t WHERE a = 1"
        is 5 "SELECT COUNT(*) FROM information_schema.plugins
            WHERE plugin_name LIKE 'provider%' AND plugin_status = 'ACTIVE'"
        is YES "SELECT @@have_ssl"
        sql "CREATE USER tls@'%' IDENTIFIED BY 'secret' REQUIRE SSL"
        mariadb -h 127.0.0.1 -u tls -psecret --ssl -e "SHOW STATUS LIKE 'Ssl_cipher'" \
            | grep -E 'Ssl_cipher.*(TLS|AES)'
        for engine in archive blackhole federatedx sphinx; do
            sql "INSTALL SONAME 'ha_$engine'"
        done
        # PAM, through the setuid program and the plugin of the distribution's connector
        useradd --password "$(openssl passwd -6 word)" pamuser
        printf 'auth required pam_unix.so\naccount required pam_unix.so\n' > /etc/pam.d/mariadb
        sql "INSTALL SONAME 'auth_pam';
            CREATE USER pamuser@localhost IDENTIFIED VIA pam USING 'mariadb'"
        plugins=$(dirname "$(find /usr/lib -name dialog.so)")
        mariadb --plugin-dir="$plugins" -u pamuser -pword -e "SELECT USER()" \
            | grep pamuser@localhost
        refused mariadb --plugin-dir="$plugins" -u pamuser -pwrong -e "SELECT 1"
        mariadb-backup --backup --target-dir=/tmp/backup
        mariadb-backup --prepare --target-dir=/tmp/backup
        [ -s /tmp/backup/d/t.ibd ]
EOF
}

later_line() {
    enter bash -eu -c '
        info=$(ls /var/lib/mysql/*_upgrade_info)
        was=$(cat "$info")
        echo 99.1.2-MariaDB > "$info"
        if said=$(runuser -u mysql -- /usr/libexec/mariadb-prepare-db-dir 2>&1); then exit 1; fi
        grep "is of MariaDB 99.1" <<< "$said"
        printf %s "$was" > "$info"
        runuser -u mysql -- /usr/libexec/mariadb-prepare-db-dir'
}

suite_test() {
    enter runuser -u mysql -- sh -c \
        'cd /usr/share/m*-test && perl ./mtr --vardir=/tmp/mtr main.1st innodb.innodb_bug30423'
}

edited_stays() {
    in_root -U --nodeps --replacepkgs "${packages[@]}" && grep -q max_connections "$conf" \
        && tool=$root/usr/lib64/mariadb/plugin/auth_pam_tool_dir/auth_pam_tool \
        && [ "$(stat -c %a:%u "$tool")" = 4750:0 ] \
        && { in_root -V --nodeps --nomtime millrace-server > "$scratch/verified" || true; } \
        && grep ' c /etc/my.cnf.d/' "$scratch/verified" \
        && ! grep -v ' c /' "$scratch/verified"
}

removed() {
    mapfile -t installed < <(in_root -qa 'millrace-*')
    in_root -e --nodeps "${installed[@]}" && [ -z "$(in_root -qa 'millrace-*')" ] \
        && [ ! -e "$root/usr/libexec/mariadbd" ] && [ ! -e "$root/usr/bin/mariadb" ]
}

data_stays() {
    [ -f "$root/var/lib/mysql/d/t.ibd" ] && grep -q max_connections "$conf.rpmsave"
}

# back VERSION WORD: what `dnf swap` does, theirs of this version in, ours out; with
# a systemctl that notes what it is asked, only WORD for the service
back() {
    mkdir -p "$root/run/systemd/system"
    printf '#!/bin/sh\necho "$*" >> /tmp/asked\n' > "$root/usr/bin/systemctl"
    chmod 755 "$root/usr/bin/systemctl"
    in_root -i --nodeps "${packages[@]}" || return
    rm "$root/tmp/asked"
    echo "$1" > "$root/tmp/theirs"
    mapfile -t installed < <(in_root -qa 'millrace-*')
    in_root -i --nodeps --replacefiles "$theirs" && in_root -e --nodeps "${installed[@]}" \
        && [ "$(grep -o '[a-z].* mariadb.service' "$root/tmp/asked")" = "$2 mariadb.service" ] \
        && in_root -e --nodeps mariadb-server
}

make_root
(cd "$root" && find . -xdev ! -path './var/*' | sort) > "$scratch/before"
check "nothing is required but what an RPM distribution provides" requirements
make_theirs || die "rpmbuild failed"
theirs=$(find "$scratch/theirs" -name '*.noarch.rpm')
conf=$root/etc/my.cnf.d/mariadb-server.cnf
check "beside the distribution's server: refused, with the reason" conflicts
printf 'max_connections=78\n' >> "$conf"
check "in exchange for the distribution's server: its edited configuration stays" swapped
check "database made at the first start, Fedora's places, root by socket only" first_start
check "second start: data, TLS, providers, engines, PAM, backup" second_start
check "data of a later line: not started, and said so" later_line
check "the test suite runs from its package" suite_test
check "installed again: edited configuration stays, files verify" edited_stays
check "removed" removed
check "data and edited configuration stay" data_stays
left=$(cd "$root" && find . -xdev ! -path './var/*' ! -path './tmp/*' | sort \
    | comm -13 "$scratch/before" - \
    | grep -vxF -e ./etc/my.cnf.d -e ./etc/my.cnf.d/mariadb-server.cnf.rpmsave \
        -e ./etc/my.cnf.d/mariadb-server.cnf.rpmnew -e ./etc/my.cnf.d/test.cnf \
        -e ./etc/pam.d/mariadb -e ./usr/lib/sysusers.d -e ./usr/lib64/security \
        -e ./usr/share/licenses \
    | grep -vE '^\./etc/(passwd|group|shadow|gshadow|sub[ug]id)-?$') || true
check "nothing else is left" test -z "$left"
[ -z "$left" ] || printf '  | %s\n' $left
check "in exchange for a server of a later line: that is started" back 99.1.2 try-restart
check "in exchange for a server of an earlier line: that is not started" back 5.5.9 'disable --now'
finish
