#!/usr/bin/env bash
# Builds the server of 10.11, whole series and profile, with -O3 for the objects that perf names (objects.txt), in
# builddir-tarball of the patched source (make tarball first), and puts it beside the packages' build: o3.sh OUT
set -eu
here=$(cd "$(dirname "$0")" && pwd) out=$1
cd "$(git rev-parse --show-toplevel)"
builddir=work/10.11/all/mariadb-10.11.18/builddir-tarball
cp -p $builddir/build.ninja $builddir/build.ninja.packages
awk -v objects="$here/objects.txt" '
    BEGIN { while ((getline < objects) > 0) wanted[$1] = 1 }
    /^build / { name = $2; sub(/:$/, "", name); hit = name in wanted; changed += hit }
    hit && /^  FLAGS = / { if (!sub(/-O2 /, "-O3 ")) exit 1 }
    { print } END { print changed " objects" > "/dev/stderr" }' $builddir/build.ninja.packages > $builddir/build.ninja
ninja -C $builddir sql/mariadbd
mkdir -p "$out"
tar -C "$out" --strip-components=1 -xf dist/10.11/millrace-10.11.18-1-linux-x86_64.tar.zst
size "$out/libexec/mariadbd" $builddir/sql/mariadbd
strip --strip-debug -o "$out/libexec/mariadbd" $builddir/sql/mariadbd
mv $builddir/build.ninja.packages $builddir/build.ninja
ninja -C $builddir sql/mariadbd
