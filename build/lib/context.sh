# shellcheck shell=bash
# The beginning of every step of the road:
#
#     . "$(dirname -- "$(readlink -f -- "$0")")/lib/context.sh" || exit
#     context
#
# (Without the exit a script that is copied elsewhere would go on, with none of its paths set.)
# Sourcing it defines functions, sets TOP (the checkout), takes out of the environment what
# would change how the tools work, and prints the head of a script that is called with --help.
# `context` sets what the build is of, from TREE, PATCHES, VERSION, SHA256 and PROFILE: the fields
# of Context in scripts/millrace/context.py, in capitals.

set -euo pipefail
export LC_ALL=C.UTF-8 TZ=UTC
umask 022

set +o posix      # POSIXLY_CORRECT sets it
# The real path: CMake and the compiler see only that one.
TOP=$(CDPATH='' cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd -P)

_forget_stray_variables() {
    local name pattern patterns
    mapfile -t patterns < "$TOP/scripts/millrace/stray-variables"
    for name in $(compgen -e); do
        for pattern in "${patterns[@]}"; do
            # shellcheck disable=SC2053     # a pattern; comments fit no name
            [[ $name == ${pattern#!} ]] || continue
            [[ $pattern == !* ]] || unset "$name"
            break
        done
    done
}
_forget_stray_variables
# quilt does not quote it, and goes on without it
[[ ${TMPDIR:-} =~ ^/[^[:space:]]*$ && -w $TMPDIR ]] || unset TMPDIR

. "$TOP/build/lib/say.sh"
help_asked "$@"

# The context is made once: a step that another step calls finds it in the environment, and takes
# it if the variables that it was made from are the same.
_asked() {
    printf -v asked '%s|' "$TOP" "${TREE:-}" "${PATCHES-all}" "${VERSION:-}" "${SHA256:-}" \
        "${PROFILE:-}" "${MILLRACE_CACHE:-}"
}

context() {
    local asked
    _asked
    if [ "${MILLRACE_CONTEXT_OF:-}" != "$asked" ]; then
        MILLRACE_CONTEXT=$("$TOP/scripts/python" -m millrace.context) || exit 1
    fi
    eval "$MILLRACE_CONTEXT"
    # absolute, for steps that work in another directory
    MILLRACE_CACHE=$CACHE
    _asked
    MILLRACE_CONTEXT_OF=$asked
    export MILLRACE_CONTEXT MILLRACE_CONTEXT_OF MILLRACE_CACHE TREE VERSION SHA256 RELEASE \
        SOURCE_DATE_EPOCH
}

# chosen: the variables with which a command finds this same build, for the commands that an error
# advises.
chosen() {
    local of="TREE=$TREE${OTHER:+ VERSION=$OTHER}"
    [ -n "$REBASE" ] || of="$of${OTHER:+ SHA256=$SHA256}"
    echo "$of${PROFILE:+ PROFILE=$PROFILE} PATCHES=\"${PATCHES:-all}\""
}

# lock_work: this process is the only one at work in WORK until it ends; a second one is refused.
lock_work() {
    mkdir -p "$WORK" 2>/dev/null || die "cannot write to $TOP/work" "make it writable"
    exec 9>> "$WORK/.lock"
    flock -n 9 || die "another make is at work in $WORK" \
        "wait until it is done (its process: $(cat "$WORK/.lock.pid" 2>/dev/null || echo unknown))"
    echo $$ > "$WORK/.lock.pid"
}

# same_anywhere DIR: gives files of a source package the release's date, and modes that do not
# depend on the umask of the checkout.
same_anywhere() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# own_patches: quilt's state in SOURCE names the patches of this checkout, also where the
# checkout was copied or moved.  The paths are relative, so that quilt alone gets it right, too.
own_patches() {
    local patches series
    patches=$(realpath --relative-to="$SOURCE" "$PATCH_DIR")
    series=$(realpath --relative-to="$SOURCE" "$WORK/series")
    [ -d "$SOURCE/.pc" ] || mkdir "$SOURCE/.pc"
    [ -e "$SOURCE/.pc/.version" ] || echo 2 > "$SOURCE/.pc/.version"
    [ "$(cat "$SOURCE/.pc/.quilt_patches" 2>/dev/null)" = "$patches" ] \
        || echo "$patches" > "$SOURCE/.pc/.quilt_patches"
    [ "$(cat "$SOURCE/.pc/.quilt_series" 2>/dev/null)" = "$series" ] \
        || echo "$series" > "$SOURCE/.pc/.quilt_series"
}
