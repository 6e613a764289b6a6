#!/usr/bin/env bash
# Compiles InnoDB of 10.11 as one object from what lto.sh has compiled (../2026-11-26-10.11-oltp-4), and links
# mariadbd of the tarball's build directory with that in the place of the library.  OUT is a directory.
set -eu
TOP=$(git rev-parse --show-toplevel)
export TOP TREE=10.11
. "$TOP/build/lib.sh"
cd "$SOURCE/builddir-lto"
objects=$(ar t storage/innobase/libinnobase.a)
# with more than one partition, lto1 of gcc 12.2.0 ends with an internal compiler error (lto-partition.cc:215)
# shellcheck disable=SC2086
time g++ -r -nostdlib -O2 -g -flto -flinker-output=nolto-rel -flto-partition=one -fPIC -fprofile-use -fprofile-partial-training \
    -fprofile-correction -Wno-missing-profile -Wno-coverage-mismatch $objects -o "$OUT/innobase.o"
cd ../builddir-tarball
command=$(ninja -t commands sql/mariadbd | tail -1)
command=${command/storage\/innobase\/libinnobase.a/$OUT/innobase.o}
time bash -c "${command/-o sql\/mariadbd /-o $OUT/mariadbd }"
