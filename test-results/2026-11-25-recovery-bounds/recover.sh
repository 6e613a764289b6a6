#!/usr/bin/env bash
# recover.sh POOL ROUNDS SERVER...: recovers a copy of crashed/ with each server, kills it once it accepts connections, and prints processor
# time until then and the seconds of RECOVERY STATISTICS.  FLUSH=fsync, with the tables read first: they are in the kernel's cache.
pool=$1 rounds=$2
shift 2
for _ in $(seq "$rounds"); do for server; do
    rm -rf run socket error.log
    cp -r crashed run
    sync
    [ "${FLUSH:-O_DIRECT}" = O_DIRECT ] || cat run/bench/* run/undo* > /dev/null
    "$server/libexec/mariadbd" --no-defaults --user=root --basedir="$server" --lc-messages-dir="$server/share" --datadir="$PWD/run" \
        --socket="$PWD/socket" --pid-file="$PWD/pid" --log-error="$PWD/error.log" --innodb-flush-method="${FLUSH:-O_DIRECT}" \
        --innodb-log-file-size=512M --innodb-buffer-pool-size="$pool" --skip-networking --skip-grant-tables \
        --innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-at-shutdown=OFF --loose-innodb-fast-recovery=ON &
    while [ ! -S socket ]; do sleep 0.1; done
    awk '{printf "utime %.2f stime %.2f ", $14/100, $15/100}' "/proc/$!/stat"
    kill -9 $!
    wait
    grep -h -A3 "RECOVERY STAT" error.log | tr '\n' ' ' |
        sed 's/.*STATISTICS: \([0-9.]*\) sec.*stored, \([0-9.]*\) sec.*reads.*modified, \([0-9.]*\) sec.*recovery, \([0-9.]*\) .*/total \1 log \2 apply \3 flush \4 /'
    basename "$server"
done; done
