#!/usr/bin/env bash
# Builds the server of 10.11, whole series and profile, with link-time optimization, into builddir-lto of the patched source
# (make first), and says how long it takes to link it, and mariadb-backup.
set -eu
TOP=$(git rev-parse --show-toplevel)
export TOP TREE=10.11
. "$TOP/build/lib.sh"
cd "$SOURCE"
b=builddir-lto
mkdir -p $b
launcher=$("$TOP/build/with-profile" $b "${PROFILES[@]}")
hard="-fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security"
LTO="-flto=2 -fno-fat-lto-objects"
f="-O2 -g -DNDEBUG $hard $LTO"
cmake -GNinja -C "$TOP/build/server.cmake" -C "$TOP/build/layout-tarball.cmake" "-DCOMPILATION_COMMENT=Millrace 10.11.18-1 LTO" \
  "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" \
  -DCMAKE_AR=/usr/bin/gcc-ar -DCMAKE_RANLIB=/usr/bin/gcc-ranlib -DCMAKE_NM=/usr/bin/gcc-nm \
  "-DCMAKE_C_FLAGS_RELWITHDEBINFO=$f" "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=$f" -B $b -S .
date
ninja -C $b -j"$JOBS" mariadbd
date
rm $b/sql/mariadbd
time ninja -C $b -v mariadbd | tail -1 | cut -c1-300
time ninja -C $b mariadb-backup
date
