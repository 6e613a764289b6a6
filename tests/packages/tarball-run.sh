#!/usr/bin/env bash
# Usage: tests/packages/tarball-run.sh DIST_DIR
#
# Unpacks the binary tarball of DIST_DIR into a directory with a blank in its name
# and works with the server there as its README says: make a database, write, read,
# stop; mariadbd-safe; moved to another place, the server reads the same data; the
# test suite's tarball unpacked over it runs a test.
#
# One line PASS or FAIL for each check; exit status 1 if one failed.  Runs as any
# user, root included; nothing outside a temporary directory is touched.

. "$(dirname -- "$(readlink -f -- "$0")")/checks.sh" || exit
shopt -s nullglob
tarballs=("$dist"/millrace-[0-9]*-linux-*.tar.zst)
suites=("$dist"/millrace-test-[0-9]*-linux-*.tar.zst)
[ "${#tarballs[@]} ${#suites[@]}" = "1 1" ] \
    || die "$dist has not one tarball and one of the test suite" "make tarball"
tarball=${tarballs[0]} suite=${suites[0]}
command -v zstd > /dev/null || die "zstd is missing" "apt-get install zstd"

server=
scratch=$(mktemp -d)
# a server that starts removes the temporary tables of others in a shared directory
export TMPDIR=$scratch
socket=$scratch/sock
# the server does not run as root unless it is told to
as_root=()
[ "$(id -u)" != 0 ] || as_root=(--user=root)
trap '[ -z "$server" ] || ! kill "$server" 2> /dev/null || wait "$server" || true
      rm -rf "$scratch"' EXIT

sql() {
    bin/mariadb --no-defaults --socket="$socket" --batch --skip-column-names -e "$*"
}

# start COMMAND...: the server, with no --basedir and no --datadir; until it answers
start() {
    "$@" --no-defaults --socket="$socket" --skip-networking --innodb-buffer-pool-size=64M \
        ${as_root[@]+"${as_root[@]}"} > "$scratch/server.log" 2>&1 &
    server=$!
    for _ in $(seq 300); do    # until it answers, or ends
        bin/mariadb-admin --no-defaults --socket="$socket" --silent ping 2> /dev/null && return
        kill -0 "$server" 2> /dev/null || break
        sleep 1
    done
    cat "$scratch/server.log" data/*.err 2> /dev/null
    return 1
}

stop() {
    bin/mariadb-admin --no-defaults --socket="$socket" shutdown && wait "$server" && server=
}

unpack() {
    mkdir "$scratch/a blank" && tar --zstd -xf "$tarball" -C "$scratch/a blank" \
        && set -- "$scratch/a blank"/* && [ $# -eq 1 ] && [ -f "$1/README" ]
}

write() {
    sql "SELECT @@version_comment" | grep ^Millrace \
        && sql "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b TEXT) ENGINE=InnoDB;
            INSERT INTO d.t VALUES (1, 'first')"
}

places() {
    local got
    got=$(sql "SELECT TRIM(TRAILING '/' FROM @@basedir), @@datadir, @@plugin_dir")
    [ "$got" = "$PWD	$PWD/data/	$PWD/lib/plugin/" ] || { echo "$got"; return 1; }
}

engines() {
    sql "INSTALL SONAME 'ha_archive'; INSTALL SONAME 'ha_blackhole'; SHOW ENGINES" \
        > "$scratch/engines" || return
    for engine in InnoDB Aria MyISAM MEMORY CSV PERFORMANCE_SCHEMA SEQUENCE MRG_MyISAM \
        ARCHIVE BLACKHOLE; do
        grep -E "^$engine	(YES|DEFAULT)	" "$scratch/engines" \
            || { echo "no engine $engine"; return 1; }
    done
}

providers() {
    sql "INSTALL SONAME 'provider_lz4'; SET GLOBAL innodb_compression_algorithm = lz4;
        CREATE TABLE d.z (a TEXT) PAGE_COMPRESSED=1;
            INSERT INTO d.z SELECT REPEAT('a', 1000) FROM mysql.help_topic"
}

error_messages() {
    ! sql "SELECT * FROM d.nothing" > "$scratch/said" 2>&1 \
        && grep "Table 'd.nothing' doesn't exist" "$scratch/said"
}

same_data() {
    [ "$(sql 'SELECT b FROM d.t WHERE a = 1')" = first ] \
        && [ "$(sql 'SELECT COUNT(*) > 0 FROM d.z')" = 1 ]
}

moved() {
    mkdir "$scratch/elsewhere" && mv "$PWD" "$scratch/elsewhere/moved" \
        && cd "$scratch/elsewhere/moved"
}

from_another_directory() {
    (cd / && "$scratch/elsewhere/moved/bin/mariadbd" --no-defaults --verbose --help \
        > "$scratch/help" 2> /dev/null) \
        && grep -E "^basedir +$scratch/elsewhere/moved/" "$scratch/help"
}

by_link() {
    mkdir "$scratch/bin" && ln -s "$PWD/bin/mariadbd" "$scratch/bin/" \
        && CDPATH=.:/ "$scratch/bin/mariadbd" --version
}

suite_test() {
    tar --zstd -xf "$suite" -C "$scratch" --strip-components=1 --one-top-level=elsewhere/moved \
        && cd m*-test && ./mtr --vardir="$scratch/mtr" ${as_root[@]+--mysqld=--user=root} \
            main.1st innodb.innodb_bug30423
}

check "unpacked into a directory with a blank in its name" unpack
cd "$scratch/a blank"/*
check "mariadb-install-db makes a database" \
    bin/mariadb-install-db --no-defaults ${as_root[@]+"${as_root[@]}"}
check "mariadbd starts without --basedir" start bin/mariadbd
check "basedir, datadir and plugin_dir are where it was unpacked" places
check "it is ours, and it writes" write
check "SHOW ENGINES" engines
check "a compression provider" providers
check "error messages" error_messages
check "it stops" stop
check "moved" moved
cd "$scratch/elsewhere/moved"
check "it knows the new place from any directory" from_another_directory
check "called through a symbolic link" by_link
check "mariadbd-safe starts it at the new place" start bin/mariadbd-safe
check "the same data" same_data
check "basedir, datadir and plugin_dir are at the new place" places
check "it stops" stop
check "the test suite's tarball over it, and a test" suite_test
finish
