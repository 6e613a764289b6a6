#!/usr/bin/env bash
# Usage: relink.sh BUILDDIR SERVER BYTES NEW
#
# Links the mariadbd of BUILDDIR again with BYTES (a multiple of 16) of no-ops before all other code, and puts it into NEW,
# a copy of the unpacked SERVER: the same code, each function BYTES further on.
set -euo pipefail
builddir=$1 server=$2 bytes=$3 new=$4
work=$(mktemp -d)
printf '.text\n.balign 16\n.skip %d, 0x90\n.section .note.GNU-stack,"",@progbits\n' "$bytes" | as -o "$work/pad.o" -
cp -a "$server" "$new"
cd "$builddir"
command=$(ninja -t commands sql/mariadbd | tail -n1)
main='sql/CMakeFiles/mariadbd.dir/main.cc.o -o sql/mariadbd'
eval "${command/"$main"/"$work/pad.o ${main% *} $work/mariadbd"}"
strip "$work/mariadbd"
mv "$work/mariadbd" "$new/libexec/mariadbd"
rm -r "$work"
