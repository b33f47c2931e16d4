#!/usr/bin/env bash
# Installs what `make terraform-test` uses and this machine does not have: tflint
# and, where there is neither terraform nor tofu, OpenTofu, both built by Go; and
# checkov from PyPI. They are kept between checkouts, in the folder that --where
# prints. Running it again does nothing.
set -euo pipefail

tools=${FARREAD_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/farread/tools}
tflint=v0.64.0 checkov=3.3.30 tofu=v1.12.6
uv=0.13.9 # installs checkov in seconds, where pip takes a minute
if [[ ${1:-} == --where ]]; then
    echo "$tools"
    exit
fi
mkdir -p "$tools/bin"
export CGO_ENABLED=0

# once NAME VERSION COMMAND...: runs COMMAND unless that version of NAME is there.
once() {
    local name=$1 version=$2
    shift 2
    [[ -x $tools/bin/$name && $(cat "$tools/$name.version" 2>/dev/null) == "$version" ]] && return
    echo "terraform-tools: installing $name $version"
    rm -f "$tools/$name.version"
    "$@"
    echo "$version" >"$tools/$name.version"
}

get_tflint() { GOBIN=$tools/bin go install -trimpath "github.com/terraform-linters/tflint@$tflint"; }

get_checkov() {
    rm -rf "$tools/checkov"
    "${PYTHON:-python3}" -m venv "$tools/checkov"
    "$tools/checkov/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv"
    "$tools/checkov/bin/uv" pip install --quiet --no-cache --python "$tools/checkov/bin/python" "checkov==$checkov"
    ln -sf ../checkov/bin/checkov "$tools/bin/checkov"
}

# OpenTofu replaces one of its modules, which go install refuses; so it is built
# where its own go.mod counts.
get_tofu() {
    local dir
    dir=$(cd / && go mod download -json "github.com/opentofu/opentofu@$tofu" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
    (cd "$dir" && go build -trimpath -buildvcs=false -ldflags='-s -w -X github.com/opentofu/opentofu/version.dev=no' -o "$tools/bin/tofu" ./cmd/tofu)
}

once tflint "$tflint" get_tflint
if command -v checkov >/dev/null; then echo "terraform-tools: $(command -v checkov) is there"; else once checkov "$checkov" get_checkov; fi
if command -v terraform tofu >/dev/null; then
    echo "terraform-tools: $(command -v tofu terraform | head -1) is there"
else
    once tofu "$tofu" get_tofu
fi
