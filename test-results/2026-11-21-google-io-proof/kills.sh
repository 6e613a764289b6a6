#!/bin/bash
# Usage: kills.sh BUILD: tests/crash/sigkill with what google-io meets: back ends, limits, page sizes, failing requests.
cd "$(dirname "$0")/../.." || exit
run() {
    echo "== sigkill --kills $*"
    tests/crash/sigkill "$build" --data work/kills-$name --kills "$@" 2>&1 || exit 1
}
build=$1 name=$(basename "$1")
run 16 --innodb-linux-aio=aio
run 16 --innodb-linux-aio=io_uring
run 12 --innodb-use-native-aio=0
run 8 --innodb-linux-aio=aio --innodb-max-merged-io=1
run 8 --innodb-linux-aio=aio --innodb-max-merged-io=64
run 6 --innodb-linux-aio=io_uring --innodb-max-merged-io=64
run 4 --innodb-use-native-aio=0 --innodb-max-merged-io=64
run 4 --innodb-use-native-aio=0 --innodb-max-merged-io=1
run 8 --faults --innodb-linux-aio=aio
run 6 --faults --innodb-use-native-aio=0
run 4 --faults --innodb-linux-aio=io_uring
run 4 --page-size=4096 --innodb-linux-aio=aio
run 4 --page-size=65536 --innodb-linux-aio=io_uring --innodb-buffer-pool-size=48M
