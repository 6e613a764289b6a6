# Reads a build's output; every fifteen seconds it says how far ninja is, and how
# long what is left will take at the pace so far.
BEGIN { begin = said = systime() }
match($0, /^\[[0-9]+\/[0-9]+\]/) {
    split(substr($0, 2, RLENGTH - 2), n, "/")
    now = systime()
    if (now - said >= 15) {
        said = now
        printf "%s: %d of %d, about %d s left\n", step, n[1], n[2], (now - begin) * (n[2] - n[1]) / n[1]
        fflush()
    }
}
