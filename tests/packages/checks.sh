# shellcheck shell=bash
# The beginning of every script in this directory, which is called with the directory of the
# packages of a tree:
#
#     . "$(dirname -- "$(readlink -f -- "$0")")/checks.sh" || exit
#
# It sets top (the checkout) and dist (that directory), defines these functions and die, and
# prints the head of a script that is called with --help.  A script sets scratch, a directory that
# it removes in the end.

set -euo pipefail
top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
. "$top/build/lib/say.sh"
help_asked "$@"
[ $# -eq 1 ] || die "where are the packages?" "$0 DIST_DIR"
dist=$(realpath -- "$1")
failed=0

# check WHAT COMMAND...: runs a command; its output is printed only where it fails
check() {
    local what=$1
    shift
    if "$@" > "$scratch/check.log" 2>&1; then
        echo "PASS $what"
    else
        echo "FAIL $what"
        tail -n 25 "$scratch/check.log" | sed 's/^/  | /'
        failed=1
    fi
}

# finish: ends the script, with status 1 where a check has failed
finish() {
    exit "$failed"
}

# for_roots: for a script that makes clean roots: sets suite (this machine's Debian release), cache
# (a directory of its own, where it keeps what it makes them from) and run (one for the roots).
# Where memory has room for them, run is there: apt, dpkg and rpm write tens of thousands of small
# files.  The script starts anew then, in a mount namespace that ends with it.
for_roots() {
    [ "$(id -u)" = 0 ] || die "a clean root can only be made by root" "sudo $0 $dist"
    command -v mmdebstrap > /dev/null || die "mmdebstrap is missing" "build/setup tests"
    # shellcheck disable=SC1091
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    cache=${MILLRACE_CACHE:-$top/work}/$(basename "$0" .sh)
    run=$cache/run
    mkdir -p "$run"
    if [ -n "${ROOTS_IN_MEMORY:-}" ]; then
        mount -t tmpfs -o mode=755 none "$run"
    elif [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt $((12 << 20)) ]; then
        ROOTS_IN_MEMORY=yes exec unshare --mount "$0" "$dist"
    fi
}

# make_base FILE NAMES: a tarball of a minimal Debian with these packages, joined by commas
make_base() {
    local sources
    sources=$(grep -lsE "(^|[[:space:]])$suite([[:space:]]|$)" \
        /etc/apt/sources.list /etc/apt/sources.list.d/* || true)
    [ -n "$sources" ] \
        || die "no apt source of this machine has $suite" "see /etc/apt/sources.list.d"
    # shellcheck disable=SC2086  # several files
    mmdebstrap --mode=root --variant=minbase --include="$2" --quiet \
        --aptopt='Acquire::Retries "3"' "$suite" "$scratch/base.tar" $sources \
        || die "mmdebstrap $suite failed" "is there a network?"
    mv "$scratch/base.tar" "$1"
}
