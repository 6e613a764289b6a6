#!/bin/bash
# Usage: compare-all.sh VANILLA PATCHED DIRECTORY FIRST-SEED SECONDS
#
# Crashes of mixed loads, one for each seed, until the time is over; each is recovered by servers, by mariadb-backup
# --prepare that is killed up to 5 times, and with a damaged log, and compared with what VANILLA makes of a copy.
cd "$(dirname "$0")/../2026-11-21-10.11-fast-recovery" || exit
vanilla=$1 patched=$2 place=$3
mkdir -p "$place"
for ((i = $4; SECONDS < $5; i++)); do
    timeout 120 python3 mixed.py "$vanilla" "$place/$i" "$i" > /dev/null || continue
    {
        timeout 900 python3 servers.py "$vanilla" "$patched" "$place/$i" --seed "$i" --pools 8,16,40
        timeout 900 python3 compare.py "$vanilla" "$patched" "$place/$i" --kills 5 --pools 8,10,14,30,300 --seed "$i"
        timeout 900 python3 compare.py "$vanilla" "$patched" "$place/$i" --damage --pools 8,20 --seed "$i"
    } | tee "$place/$i.out"
    [ "$(grep -c '^failed: 0' "$place/$i.out")" != 3 ] || rm -rf "$place/$i"
done
