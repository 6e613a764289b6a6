#!/bin/bash
# measure.sh BINARY WORKLOAD: one cold run; prints one line of CSV
w=$1 load=$2 shift2=
M="$VANILLA/builddir/client/mariadb --no-defaults -S $SCRATCH/run/sb/s -N sbtest"
cd $SCRATCH
./srv.sh start sb $w --innodb-buffer-pool-size=512M || exit 1
p=$(cat run/sb/pid)
$M -e 'select count(*) from sbtest1 where id=0' >/dev/null
st() { $M -e "select group_concat(variable_value order by variable_name) from information_schema.global_status where variable_name in ('innodb_buffer_pool_read_ahead','innodb_buffer_pool_read_ahead_rnd','innodb_buffer_pool_reads','innodb_data_reads')"; }
cpu() { awk '{print ($14+$15)*10}' /proc/$p/stat; }
dev() { awk '$3=="vda"{print $4","$6}' /proc/diskstats; }
a=$(st); c0=$(cpu); d0=$(dev); t0=$(date +%s.%N)
case $load in
asc) $M -e "select sum(length(c)) from sbtest1 force index(primary) where id>0" >/dev/null;;
desc) $M -e "select sum(l) from (select length(c) l from sbtest1 order by id desc limit 2000000) d" >/dev/null;;
k) $M -e "select sum(k) from sbtest1 force index(k_1) where k>0" >/dev/null;;
rand) sysbench oltp_point_select --db-driver=mysql --mysql-socket=$SCRATCH/run/sb/s --mysql-user=root --tables=1 --table-size=1000000 --threads=4 --time=0 --events=60000 --rand-type=uniform --rand-seed=$RANDOM run > run/sb/rand.out;;
esac
t1=$(date +%s.%N); c1=$(cpu); d1=$(dev); b=$(st)
python3 - "$w" "$load" "$a" "$b" $t0 $t1 $c0 $c1 $d0 $d1 "$(cut -d' ' -f1 /proc/loadavg)" <<'PY'
import sys
w,l,a,b,t0,t1,c0,c1,d0,d1,load=sys.argv[1:]
A=[int(x) for x in a.split(',')]; B=[int(x) for x in b.split(',')]
# in the order of the names: buffer_pool_reads, _read_ahead, _read_ahead_rnd, data_reads
d=[y-x for x,y in zip(A,B)]
D=[int(y)-int(x) for x,y in zip(d0.split(','),d1.split(','))]
print(f"{w},{l},{d[0]},{d[1]},{d[2]},{d[3]},{float(t1)-float(t0):.3f},{int(c1)-int(c0)},{D[0]},{load}")
PY
./srv.sh stop sb $w
