# shellcheck shell=bash
# How a server is compiled in the patched source; sourced after context.sh.
#
#   use_ccache     sets JOBS and the environment of ccache, of dpkg-buildpackage and of
#                  build/compiler/with-profile
#   compile, install_components, lay_out
#   static_libraries   prints a hash of those that build/cmake/portable.cmake links

# ccache finds an object again in another directory: the paths that it hashes are relative to
# the source (base_dir), and -ffile-prefix-map keeps the rest out.
use_ccache() {
    local dir
    export CCACHE_BASEDIR=$SOURCE CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros,locale
    export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}
    export MILLRACE_LAUNCHER=$TOP/build/compiler/cached
    JOBS=${JOBS:-$(nproc)}
    export DEB_BUILD_OPTIONS="parallel=$JOBS nocheck"
    dir=${CCACHE_DIR:-$(ccache --get-config cache_dir 2>/dev/null)} || dir=
    if [ -z "$dir" ] || ! mkdir -p "$dir" 2>/dev/null || [ ! -w "$dir" ]; then
        export CCACHE_DIR=$TOP/work/ccache
        mkdir -p "$CCACHE_DIR"
        say "ccache cannot write to ${dir:-its directory}, and keeps its objects in work/ccache"
    else
        export CCACHE_DIR=$dir
    fi
}

# compile BUILDDIR COMMENT LAUNCHER [ARGUMENT...]: compiles the source in the current directory,
# laid out as the tarball has it, in BUILDDIR, with @@version_comment COMMENT.  LAUNCHER is what
# CMake calls before the compiler; the ARGUMENTs are CMake's.
compile() {
    local builddir=$1 comment=$2 launcher=$3 log
    shift 3
    log=$WORK/${0##*/}.log
    logged "$log" "$TOP/build/cmake/configure" "$builddir" -C "$TOP/build/cmake/server.cmake" \
        -C "$TOP/build/cmake/layout-tarball.cmake" "-DCOMPILATION_COMMENT=$comment" "$@" \
        "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher"
    logged "$log" ninja -C "$builddir" -j"$JOBS"
}

static_libraries() {
    "$TOP/build/lib/static-libraries" | sha256sum | cut -c1-16
}

# components GROUP...: the components of upstream that these groups have.
components() {
    local group
    for group; do
        sed -n "s/^$group: *//p" "$TOP/build/lib/components"
    done
}

# install_components BUILDDIR DIR GROUP...: installs what upstream has in these groups.
install_components() {
    local builddir=$1 dir=$2 component
    shift 2
    for component in $(components "$@"); do
        cmake --install "$builddir" --prefix "$dir" --component "$component" > /dev/null
    done
}

# lay_out BUILDDIR DIR: the server as a tarball has it, without clients, in a new DIR.
lay_out() {
    rm -rf "$2"
    install_components "$1" "$2" server common
}
