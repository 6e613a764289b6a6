#!/bin/bash
# usage: srv.sh start|stop NAME vanilla|patched [mariadbd options]
act=$1 name=$2 which=$3; shift 3
V=$VANILLA/builddir P=$SCRATCH/patched/mariadb-10.11.18/builddir-deb
case $which in vanilla) B=$V;; patched) B=$P;; esac
CL=$V/client/mariadb
d=$SCRATCH/run/$name
case $act in
start)
 mkdir -p $d/data/mysql $d/data/test
 $B/sql/mariadbd --no-defaults --datadir=$d/data --socket=$d/s --skip-networking --pid-file=$d/pid --lc-messages-dir=$B/sql/share --character-sets-dir=${B%/*}/sql/share/charsets --skip-grant-tables --skip-log-bin --innodb-flush-method=O_DIRECT --innodb-buffer-pool-load-at-startup=0 --innodb-buffer-pool-dump-at-shutdown=0 --innodb-fast-shutdown=1 --user=root "$@" > $d/err.log 2>&1 &
 for i in $(seq 300); do $CL --no-defaults -S $d/s -e 'select 1' >/dev/null 2>&1 && exit 0; sleep .1; done; echo start failed; tail -5 $d/err.log; exit 1;;
stop) p=$(cat $d/pid); kill $p; while kill -0 $p 2>/dev/null; do sleep .1; done;;
esac
