#!/bin/bash
# Usage: paced.sh BUILD RATE...    BUILD: an unpacked server of the series; RATE: transactions/s; undo.lua of bench/lua beside it
# Updates of 100 rows of persistent tables by 64 clients at a rate: undo segments created for each transaction.
set -e
B=$1; shift
D=$(mktemp -d)
"$B"/bin/mariadb-install-db --no-defaults --basedir="$B" --datadir="$D/data" --user=root > "$D/install.log" 2>&1
"$B"/libexec/mariadbd --no-defaults --basedir="$B" --datadir="$D/data" --socket="$D/socket" --skip-networking --user=root \
    --max-connections=200 --innodb-buffer-pool-size=512M --innodb-flush-log-at-trx-commit=0 > "$D/error.log" 2>&1 &
pid=$!
sql() { "$B"/bin/mariadb --no-defaults -uroot -S "$D/socket" -N -B -e "$1"; }
until sql 'SELECT 1' > /dev/null 2>&1; do sleep .2; done
sql 'SELECT VERSION(), @@version_comment, @@innodb_extra_undo_segments, @@innodb_purge_threads'
sql 'CREATE DATABASE bench'
load() { sysbench "$(dirname "$0")"/undo.lua --db-driver=mysql --mysql-db=bench --mysql-user=root --mysql-socket="$D/socket" --threads=64 --rows=1000 --updated=100 "$@"; }
load prepare > /dev/null
count() { sql "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_undo_segments_created','Innodb_undo_segments_freed','Innodb_undo_segments_reused','Innodb_history_list_length')" | tr '\n' ' '; }
for rate; do
    for _ in 1 2 3 4; do    # the first of them is the warm-up
        before=$(count)
        n=$(load --rate="$rate" --time=10 run | awk '/transactions:/ {print $2}')
        echo "rate $rate, 10 s: $n transactions; before: $before after: $(count)"
    done
done
kill "$pid"; wait "$pid"
rm -r "$D"
