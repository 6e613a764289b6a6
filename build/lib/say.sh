# shellcheck shell=bash
# How a script of build/ speaks: its name first, on every line that it begins.

say() { printf '%s: %s\n' "${0##*/}" "$*"; }

# die WHAT [LINE...]: ends the script.  WHAT names the fault, the lines its cause and its mend.
die() {
    printf '%s: error: %s\n' "${0##*/}" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
    exit 1
}

# logged LOG COMMAND...: the command's output goes to LOG, and its progress to the terminal.
# Where the command fails, the script ends with the end of the log.
logged() {
    local log=$1
    shift
    "$@" < /dev/null 2>&1 | tee "$log" | "$TOP/build/lib/progress" "${0##*/}" \
        || die "${1##*/} failed" "$(grep -E 'error|FAILED|Error' "$log" | head -n5)" \
            "$(tail -n8 "$log")" "whole log: $log"
}

# help_asked "$@": where a script is called with --help or -h, prints its head and ends it.
help_asked() {
    case ${1:-} in
        -h | --help)
            sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
            exit ;;
    esac
}

# no_arguments "$@": ends a script that takes none and was given some.
no_arguments() {
    [ $# -eq 0 ] || die "not understood: $*" "$0 takes no argument: see $0 --help"
}
