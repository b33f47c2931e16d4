#!/usr/bin/env bash
# Runs each fuzz target of the module in the current folder for a while, as many at a
# time as there are processors, each with one worker: fuzz.sh TIME [PACKAGES]. An input
# that fails stays in the package's testdata/fuzz, to be kept as a test case.
set -euo pipefail

time=${1:?usage: fuzz.sh TIME [PACKAGES]}
shift
packages=("$@")
[[ $# -gt 0 ]] || packages=(./...)

# `go test -list` prints the names of a package, then "ok <package> <time>".
targets=$(go test -list '^Fuzz' "${packages[@]}" | awk '/^Fuzz/ {names[++n] = $1} /^ok/ {for (i = 1; i <= n; i++) print $2, names[i]; n = 0}')
[[ -n $targets ]] || {
    echo "fuzz: no targets in $PWD"
    exit 0
}

# one PACKAGE NAME runs a target. Inputs are not made smaller than one try does:
# archives are slow to run, and the time is better spent on new ones.
one() {
    go test -run '^$' -parallel 1 -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1x "$1" >"$log" 2>&1
}

# ended reports whether only the fuzzer's own deadline failed. Up to Go 1.26 the fuzzer
# sometimes takes the end of -fuzztime for a failure (golang/go#75804).
ended() { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; }

# tries PACKAGE NAME runs a target, and runs it again if only the deadline failed. A
# target that never ends in time hangs, which is a failure. What it says is printed
# at once, so that the lines of targets do not mix.
tries() {
    log=$(mktemp)
    for _ in 1 2 3 4; do
        if one "$1" "$2"; then
            printf 'fuzz: %s of %s: %s\n' "$2" "$1" "$(grep elapsed "$log" | tail -n 1)"
            rm -f "$log"
            return
        fi
        ended || break
    done
    printf 'fuzz: failed: %s of %s\n%s\n' "$2" "$1" "$(<"$log")"
    rm -f "$log"
    return 1
}
export time
export -f one ended tries

xargs -P "$(nproc)" -L 1 bash -c 'set -uo pipefail; tries "$@" </dev/null' fuzz <<<"$targets" || {
    echo "fuzz: a target failed, see \"fuzz: failed\" above" >&2
    exit 1
}
