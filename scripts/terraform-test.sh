#!/usr/bin/env bash
# Checks terraform/: format, validity, tests, tflint, checkov, and by Go's tests the
# README, rights and values. Nothing is deployed and no credentials are needed.
#
# TF                the program; else tofu or terraform from PATH, or what
#                   scripts/terraform-tools.sh has built
# TF_PLUGIN_MIRROR  a folder with the provider (a filesystem mirror), for machines
#                   that reach no provider registry
# TF_REQUIRE=1      what is missing is a failure, not a skipped check
set -euo pipefail
cd "$(dirname "$0")/.."

PATH=$PATH:$(scripts/terraform-tools.sh --where)/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0
unset TF_CLI_ARGS TF_WORKSPACE
status=0 done=() skipped=()

shout() { printf '\n!!! terraform-test: %s\n\n' "$*" >&2; }

# without WHAT WHY: a check that cannot be made.
without() {
    skipped+=("$1")
    if [[ ${TF_REQUIRE:-} == 1 ]]; then
        shout "FAILED: no $1: $2"
        status=1
    else
        shout "SKIPPED: $1: $2 (TF_REQUIRE=1 makes this a failure)"
    fi
}

# check NAME COMMAND...: runs a check; one failure does not hide the others.
check() {
    local name=$1
    shift
    echo "== $name"
    if "$@"; then done+=("$name"); else
        echo "terraform-test: $name failed" >&2
        status=1
    fi
}

# Each folder is copied with its place: examples name the module beside them.
modules=(modules/pipeline modules/serving)
folders=("${modules[@]}" examples/minimal examples/complete)
cp -r terraform "$work/terraform"
find "$work/terraform" -name '.terraform*' -prune -exec rm -rf {} +
mkdir "$work/dist"
for f in analyze pack packs zoom serve; do cp terraform/modules/pipeline/tests/fixtures/fn.zip "$work/dist/fn-$f-arm64.zip"; done

init() {
    local folder
    for folder in "${folders[@]}"; do
        (cd "$work/terraform/$folder" && timeout 120 "$tf" init -backend=false -input=false -no-color >"$work/init.log" 2>&1) || return
    done
}

in_all() {
    local folder
    for folder in "${folders[@]}"; do
        (cd "$work/terraform/$folder" && "$tf" "$@") || return
    done
}

in_modules() {
    local folder
    for folder in "${modules[@]}"; do
        (cd "$work/terraform/$folder" && "$tf" "$@") || return
    done
}

tf=${TF:-$(command -v tofu || command -v terraform || true)}
if [[ -z $tf ]]; then
    without "fmt, validate and test" "neither tofu nor terraform is in PATH; make terraform-tools builds tofu"
else
    echo "terraform-test: $("$tf" version | head -1), $tf"
    check fmt "$tf" fmt -check -diff -recursive terraform
    if [[ -n ${TF_PLUGIN_MIRROR:-} ]]; then
        shout "the provider is the one in TF_PLUGIN_MIRROR, not the registry's. If it is a stand-in that has the schema alone, values are not checked as AWS's own provider would."
        export TF_CLI_CONFIG_FILE=$work/tfrc
        printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$(cd "$TF_PLUGIN_MIRROR" && pwd)" >"$TF_CLI_CONFIG_FILE"
    fi
    if init; then
        check validate in_all validate -no-color
        check test in_modules test -no-color
    else
        cat "$work/init.log" >&2
        without "validate and test" "the provider cannot be had; where the registry is out of reach, TF_PLUGIN_MIRROR names a folder that has it"
    fi
fi

if command -v tflint >/dev/null; then
    check tflint tflint --no-color --recursive --chdir terraform --config "$PWD/terraform/.tflint.hcl"
else
    without tflint "make terraform-tools builds it"
fi
if command -v checkov >/dev/null; then
    check checkov checkov --directory terraform --config-file terraform/.checkov.yaml
else
    without checkov "make terraform-tools installs it"
fi

# What the above does not look at: the README's tables, rights, rules, values.
if command -v go >/dev/null; then
    check "go test" go -C terraform test ./...
else
    without "go test" "Go is missing"
fi

echo "terraform-test: done: ${done[*]:-nothing}${skipped:+; not done: ${skipped[*]}}"
exit $status
