./srv.sh start sb vanilla --innodb-buffer-pool-size=1G
$VANILLA/builddir/client/mariadb --no-defaults -S $SCRATCH/run/sb/s -e 'create database if not exists sbtest'
sysbench oltp_read_only --db-driver=mysql --mysql-socket=$SCRATCH/run/sb/s --mysql-user=root --tables=1 --table-size=1000000 prepare
./srv.sh stop sb vanilla
