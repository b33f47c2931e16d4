#!/usr/bin/env bash
# Runs each fuzz target of the module in the current folder for a while, one
# after the other: fuzz.sh TIME [PACKAGES]. An input that fails stays in the
# package's testdata/fuzz, to be kept as a test case.
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

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Inputs are not made smaller than one try does: archives are slow to run, and the
# time is better spent on new ones.
one() { # one PACKAGE NAME
    go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1x "$1" >"$log" 2>&1
}

# ended reports whether only the fuzzer's own deadline failed. Up to Go 1.26 the fuzzer
# sometimes takes the end of -fuzztime for a failure (golang/go#75804).
ended() { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; }

# tries runs a target, and runs it again if only the deadline failed. A target that
# never ends in time hangs, which is a failure.
tries() { # tries PACKAGE NAME
    for _ in 1 2 3 4; do
        if one "$1" "$2"; then
            grep elapsed "$log" | tail -n 1
            return
        fi
        ended || break
        echo "fuzz: the fuzzer ran into its own deadline"
    done
    cat "$log"
    return 1
}

failed=()
while read -r package name; do
    echo "fuzz: $name of $package"
    tries "$package" "$name" </dev/null || failed+=("$name of $package")
done <<<"$targets"
[[ ${#failed[@]} -eq 0 ]] || {
    printf 'fuzz: failed: %s\n' "${failed[@]}" >&2
    exit 1
}
