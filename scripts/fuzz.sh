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
    go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1x "$1" 2>&1 | tee "$log"
}

failed=0
while read -r package name; do
    echo "fuzz: $name of $package"
    one "$package" "$name" </dev/null && continue
    # The fuzzer sometimes reports its own deadline as a failure. With no failing
    # input written, one more run tells.
    if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
        echo "fuzz: the fuzzer ran into its own deadline, once more"
        one "$package" "$name" </dev/null && continue
    fi
    failed=1
done <<<"$targets"
exit "$failed"
