# shellcheck shell=bash
# What every step of the road shares; a step begins with
#
#     . "$(dirname "$0")/lib.sh"
#
# Taken from the environment: TREE, PATCHES, VERSION, SHA256, TARBALL, PROFILE (the
# variables of `make help`).  Given to the step:
#
#   TOP TREE CACHE       checkout, release tree, where downloads are kept
#   VERSION SHA256 SIGNED_BY ARCHIVE DEBIAN_SOURCE DEBIAN_SUITES   trees/$TREE.conf
#   REVISION RELEASE     1, and 1 or 1~read.ahead (a subset)
#   DATE SOURCE_DATE_EPOCH
#   PATCH_DIR SERIES     where the patches are, and the file with their order
#   REBASE               work/$TREE/rebase-$VERSION where that is what is worked in, or empty
#   NAMES                the chosen ones in series order
#   SUBSET               all, or the names joined by +, or vanilla; +plain without a profile
#   OTHER                VERSION, where that is not the release that the tree is pinned to, or empty
#   WORK SOURCE DIST     work/$TREE/$SUBSET (work/$TREE/$OTHER/$SUBSET), the patched source in it, the packages
#   PROFILES             the profiles of the tree, one for each compiler that has one
#   TARBALL_FILE         upstream's tarball, verified, in CACHE
#   JOBS and the environment of ccache
#
# Functions: say, die, logged, compile, install_components, lay_out, lock_work,
# same_anywhere.

set -euo pipefail
export LC_ALL=C.UTF-8 TZ=UTC
umask 022

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }

# die WHAT [LINE...]: the first line names what is wrong, the others cause and mend.
die() {
    printf '%s: error: %s\n' "$(basename "$0")" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
    exit 1
}

# logged LOG COMMAND...: output to LOG, on the terminal only how far it is; where
# the command fails, the end of the log and its name.
logged() {
    local log=$1
    shift
    "$@" < /dev/null 2>&1 | tee "$log" | "$TOP/build/progress" "$(basename "$0")" \
        || die "$(basename "$1") failed" "$(grep -E 'error|FAILED|Error' "$log" | head -n5)" "$(tail -n8 "$log")" \
            "whole log: $log"
}

# lock_work: this process is the only one at work in WORK; another is refused at once.  The lock
# ends with its holder, however that ends.
lock_work() {
    mkdir -p "$WORK" 2>/dev/null || die "cannot write to $TOP/work" "make it writable"
    exec 9>> "$WORK/.lock"
    flock -n 9 || die "another make is at work in $WORK" \
        "wait until it is done (its process: $(cat "$WORK/.lock.pid" 2>/dev/null || echo unknown))"
    echo $$ > "$WORK/.lock.pid"
}

# same_anywhere DIR: what goes into a source package has the release's date, and not the modes of
# the umask that the checkout was made with.
same_anywhere() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# compile BUILDDIR COMMENT LAUNCHER [ARGUMENT...]: the source where we are, laid out as the
# tarball has it, in BUILDDIR with @@version_comment COMMENT.  LAUNCHER is what CMake calls
# before the compiler.  Configured anew only when the outcome would differ.
compile() {
    local builddir=$1 comment=$2 launcher=$3 log arguments
    shift 3
    log=$WORK/$(basename "$0").log
    arguments=(-GNinja -C "$TOP/build/server.cmake" -C "$TOP/build/layout-tarball.cmake"
               "-DCOMPILATION_COMMENT=$comment" "$@"
               "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher")
    mkdir -p "$builddir"
    printf '%s\n' "${arguments[@]}" | cat - "$TOP"/build/{server,layout-tarball}.cmake > "$builddir/configured.new"
    if ! cmp -s "$builddir"/configured{.new,}; then
        rm -f "$builddir"/{configured,CMakeCache.txt}
        logged "$log" cmake "${arguments[@]}" -B "$builddir" -S .
        mv "$builddir"/configured{.new,}
    fi
    logged "$log" ninja -C "$builddir" -j"$JOBS"
}

# install_components BUILDDIR DIR COMPONENT...: what upstream has in these components.
install_components() {
    local builddir=$1 dir=$2 component
    shift 2
    for component; do
        cmake --install "$builddir" --prefix "$dir" --component "$component" > /dev/null
    done
}

# lay_out BUILDDIR DIR: the server as a tarball has it, without clients, in a new DIR.
lay_out() {
    rm -rf "$2"
    install_components "$1" "$2" Server ServerSymlinks IniFiles Server_Scripts SupportFiles Common \
        provider-bzip2 provider-lz4 provider-lzma provider-lzo provider-snappy
}

# The real path: CMake and the compiler see only that, and a path through a symbolic link is not below it.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
case $TOP in
    *[[:space:]]*) die "the path of the checkout has a blank in it: $TOP" "neither ninja nor rpmbuild takes that" \
        "move it: mv '$TOP' SOMEWHERE-ELSE" ;;
esac
CACHE=${MILLRACE_CACHE:-$TOP/cache}

load_tree() {
    local wanted_version=${VERSION:-} wanted_sha256=${SHA256:-} conf name
    TREE=${TREE:-10.11}
    conf=$TOP/trees/$TREE.conf
    [ -f "$conf" ] || die "no release tree $TREE: there is no trees/$TREE.conf" \
        "known trees: $(cd "$TOP/trees" && echo *.conf | sed 's/\.conf//g')"
    VERSION='' SHA256='' SIGNED_BY=''
    # shellcheck disable=SC1090
    . "$conf"
    for name in VERSION SHA256 SIGNED_BY; do
        [ -n "${!name:-}" ] || die "trees/$TREE.conf pins no $name" \
            "nothing is built from a release that is not pinned" "git checkout trees/$TREE.conf"
    done
    PATCH_DIR=$TOP/patches/$TREE SERIES=$TOP/series WORK=$TOP/work/$TREE
    REBASE=$WORK/rebase-$wanted_version
    if [ -n "$wanted_version" ] && [ -f "$REBASE/tree.conf" ]; then
        # shellcheck disable=SC1091
        . "$REBASE/tree.conf"
        PATCH_DIR=$REBASE/patches SERIES=$REBASE/series WORK=$REBASE OTHER=$VERSION
    else
        REBASE='' OTHER=''
    fi
    if [ -z "$REBASE" ] && [ -n "$wanted_version" ] && [ "$wanted_version" != "$VERSION" ]; then
        [ -n "$wanted_sha256" ] || die \
            "no sha256 is pinned for release $wanted_version of tree $TREE" \
            "pinned in trees/$TREE.conf: $VERSION" \
            "give the hash too: make VERSION=$wanted_version SHA256=..."
        VERSION=$wanted_version SHA256=$wanted_sha256 OTHER=$wanted_version WORK=$WORK/$wanted_version
    fi
    SOURCE_DATE_EPOCH=$(date -u -d "$DATE" +%s)
    export SOURCE_DATE_EPOCH
    TARBALL_FILE=$CACHE/mariadb-$VERSION.tar.gz
}

# A subset must have what its patches need (Depends: in their headers).
check_depends() { # SERIES
    local name needed missing wanted=$NAMES
    for name in $(printf '%s\n' $1 | tac); do      # what a patch needs stands before it
        case " $wanted " in *" $name "*) ;; *) continue ;; esac
        for needed in $(sed -n '/^---$/q; s/^Depends://p' "$PATCH_DIR/$name.patch"); do
            case " none $wanted " in *" $needed "*) continue ;; esac
            missing="${missing:-}${missing:+, and }'$name' needs '$needed'" wanted="$wanted $needed"
        done
    done
    [ -z "${missing:-}" ] || die "PATCHES leaves out what is needed: $missing" \
        "take it too, or leave both out: make PATCHES=\"$wanted\""
}

# Resolves PATCHES (unset: all; "none": vanilla) against the series, of which a
# tree may lack what another has.
choose_patches() {
    local all= name chosen=
    for name in $(sed 's/#.*//' "$SERIES"); do
        if [ -f "$PATCH_DIR/$name.patch" ]; then
            all="$all $name"
        elif ! compgen -G "$TOP/patches/*/$name.patch" > /dev/null; then
            die "series names '$name', but there is no patches/$TREE/$name.patch" \
                "add the patch, or take its line out of the file series"
        fi
    done
    all=$(echo $all)
    if [ -z "${PATCHES+set}" ] || [ "$PATCHES" = all ]; then
        NAMES=$all SUBSET=all
    elif [ "$PATCHES" = none ]; then
        NAMES='' SUBSET=vanilla
    else
        for name in $PATCHES; do
            case " $all " in
                *" $name "*) ;;
                *) die "no patch '$name' in the series of tree $TREE" "known patches: $all" \
                       "or PATCHES=none for the vanilla server" ;;
            esac
        done
        for name in $all; do
            case " $PATCHES " in *" $name "*) chosen="$chosen $name" ;; esac
        done
        NAMES=$(echo $chosen)
        [ -n "$NAMES" ] || die "PATCHES is empty" "known patches: $all" \
            "leave PATCHES out for all, or say PATCHES=none for the vanilla server"
        check_depends "$all"
        SUBSET=${NAMES// /+}
        [ "$NAMES" != "$all" ] || SUBSET=all
    fi
    [ -z "$PLAIN" ] || SUBSET=${SUBSET#all} SUBSET=${SUBSET:+$SUBSET+}plain
    if [ "$SUBSET" = all ]; then
        RELEASE=$REVISION DIST=$TOP/dist/$TREE${OTHER:+-$OTHER}
    else
        # a tilde sorts before: the full release of the same revision replaces it
        RELEASE=$REVISION~${SUBSET//-/.} DIST=$TOP/dist/$TREE${OTHER:+-$OTHER}+$SUBSET
    fi
    WORK=$WORK/$SUBSET
    SOURCE=$WORK/mariadb-$VERSION
    export VERSION RELEASE
}

# PROFILE=none: built without the profile of the tree, beside what is built with it.
choose_profile() {
    PLAIN='' PROFILES=()
    case ${PROFILE:-} in
        '') mapfile -t PROFILES < <(compgen -G "$TOP/profiles/$TREE-*.tar.xz" | sort) ;;
        none) PLAIN=yes ;;
        *) die "PROFILE=$PROFILE: there is only PROFILE=none" "leave PROFILE out to build with the profile of the tree" ;;
    esac
}

# ccache finds an object again in another directory: the paths it hashes are
# relative to the source (base_dir), and -ffile-prefix-map keeps the rest out.
use_ccache() {
    export CCACHE_BASEDIR=$SOURCE CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros,locale
    export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}
    export MILLRACE_LAUNCHER=$TOP/build/cached-compiler
    JOBS=${JOBS:-$(nproc)}
    export DEB_BUILD_OPTIONS="parallel=$JOBS nocheck"
}

load_tree
choose_profile
choose_patches
use_ccache
