#!/bin/bash
# Usage: crash.sh SERVER
#
# crash.py with what google-io meets: back ends, page sizes, limits, failing requests.
cd "$(dirname "$0")" || exit
server=$1
run() {
    echo "== $*"
    rm -rf data data.*
    python3 crash.py "$server" data "$@" || exit
}
run 4
run 4 --faults --innodb-linux-aio=aio
run 3 --faults --innodb-use-native-aio=0
run 2 --faults
run 3 --page-size=4096 --faults --innodb-linux-aio=aio
run 3 --page-size=65536 --faults --innodb-use-native-aio=0
run 3 --page-size=65536
run 2 --innodb-max-merged-io=1
run 2 --innodb-max-merged-io=64 --faults --innodb-linux-aio=aio
run 2 --innodb-doublewrite=0 --innodb-flush-neighbors=2 --innodb-max-merged-io=64
run 3 --resize --innodb-buffer-pool-size-max=64M
