# shellcheck shell=bash
# Where upstream's releases are to be had, for build/fetch and scripts/upstream-watch: the mirror
# of the release archive that UPSTREAM names, the release archive, and the Debian source packages
# of the mirrors that this machine uses.
# Sourced after context.sh, once `context` has set what the tree is built from.
#
#   archive_download VERSION DIR [CHECK]     tarball and signature as DIR/archive and
#                                    DIR/archive.asc, from the first place whose URL CHECK takes
#   archive_releases                 the releases of the tree's line
#   debian_open DIR                  a private apt configuration in DIR; then:
#   debian_versions                  the source package's versions
#   debian_download VERSION DIR      as archive_download
#   pool_download VERSION DIR        likewise; for a release that the mirrors' indexes
#                                    have dropped, which their pools keep for a while
#
# Each fails, with a line on stderr, where it can reach nothing.

CURL=(curl --fail --location --show-error --connect-timeout 10 --retry 2)

# ARCHIVE, after the same below UPSTREAM: its path is the layout
archives() {
    [ -z "${UPSTREAM:-}" ] || echo "${UPSTREAM%/}/${ARCHIVE#*://*/}"
    echo "$ARCHIVE"
}

archive_download() {
    local archive url
    for archive in $(archives); do
        url=${archive//@VERSION@/$1}
        say "fetching $url"
        "${CURL[@]}" --silent --output "$2/archive.asc" "$url.asc" \
            && "${CURL[@]}" --progress-bar --output "$2/archive" "$url" \
            && "${3:-:}" "$url" && return
    done
    return 1
}

# The directory of the archive in which there is one for each release, as it is listed.
archive_releases() {
    local archive parent listing listings=''
    for archive in $(archives); do
        parent=${archive%%@VERSION@*}
        listing=$("${CURL[@]}" --silent "${parent%/*}/") && listings=$listings$listing
    done
    [ -n "$listings" ] || return 1
    grep -oE "${parent##*/}${VERSION%.*}\.[0-9]+" <<< "$listings" \
        | sed "s|^${parent##*/}||" | sort -uV
}

# The Debian mirrors that this machine's apt uses, with the source indexes of the
# suites that have the tree's releases; its own configuration stays as it is.
debian_open() {
    local apt=$1 uri suite keys=/usr/share/keyrings/debian-archive-keyring.gpg
    APT_DIR=$apt
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/source"
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null \
        | sed -n 's/^Debian //p' | sort -u > "$apt/mirrors" || true
    if [ ! -s "$apt/mirrors" ]; then
        echo "this machine's apt has no Debian mirror, or apt-get update has not been run" >&2
        return 1
    fi
    while read -r uri; do
        for suite in $DEBIAN_SUITES; do
            # a security suite is on a mirror of its own
            case $uri:$suite in
                *-security/:*-security) ;;
                *-security/:* | *:*-security) continue ;;
            esac
            echo "deb-src [signed-by=$keys] $uri $suite main"
        done
    done < "$apt/mirrors" > "$apt/sources.list"
    APT=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
         -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt" -o "APT::Sandbox::User=$(id -un)"
         -o Acquire::Retries=3)
    apt-get "${APT[@]}" update || true
}

debian_versions() {
    apt-cache "${APT[@]}" showsrc "$DEBIAN_SOURCE" 2>/dev/null \
        | sed -n 's/^Version: //p' | sort -uV
}

debian_download() {
    local version
    version=$(debian_versions | grep -E "^([0-9]+:)?${1//./\\.}-" | tail -n1) || true
    if [ -z "$version" ]; then
        version=$(debian_versions | grep -E "^([0-9]+:)?${1//./\\.}\+" | tail -n1) || true
        if [ -n "$version" ]; then
            echo "Debian's $DEBIAN_SOURCE $version is passed over: it is repacked, without" \
                "upstream's signature" >&2
        else
            echo "no Debian mirror lists the source package $DEBIAN_SOURCE of release $1" >&2
        fi
        return 1
    fi
    mkdir -p "$2/source"
    (cd "$2/source" && apt-get "${APT[@]}" source --download-only "$DEBIAN_SOURCE=$version") \
        || return 1
    mv "$2"/source/*.orig.tar.gz "$2/archive"
    mv "$2"/source/*.orig.tar.gz.asc "$2/archive.asc"
}

# A point release of Debian replaces a version in the indexes at once; its files
# stay in the pool as long as an older index names them.
pool_download() {
    local uri file=pool/main/${DEBIAN_SOURCE:0:1}/$DEBIAN_SOURCE/${DEBIAN_SOURCE}_$1.orig.tar.gz
    while read -r uri; do
        say "looking for $(basename "$file") in the pool of a Debian mirror"
        if pool_file "$uri$file" "$2/archive" && pool_file "$uri$file.asc" "$2/archive.asc"; then
            return 0
        fi
    done < <(grep -v -- '-security/$' "$APT_DIR/mirrors")
    return 1
}

pool_file() { # URI FILE: by apt's own methods, and through its proxy
    /usr/lib/apt/apt-helper "${APT[@]}" download-file "$1" "$2"
}
