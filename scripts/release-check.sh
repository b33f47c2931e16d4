#!/usr/bin/env bash
# Takes what `make release` made as a stranger would: release-check.sh VERSION DIR TARGETS.
# It needs Go, and for arm64 qemu-user; with Docker the image is built and run by it.
set -euo pipefail
version=$1 dir=$(realpath "$2") targets=$3
cd "$(dirname "$0")/.."
work=$(mktemp -d /tmp/farread-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
start=$SECONDS
say() { printf 'release-check: %3d s: %s\n' $((SECONDS - start)) "$*"; }
fail() {
    echo "release-check: $*" >&2
    exit 1
}
host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
name=farread_${version#v}

(cd "$dir" && sha256sum --quiet --check SHA256SUMS) || fail "SHA256SUMS does not hold"
[[ $(grep -c . "$dir/SHA256SUMS") == $(find "$dir" -type f ! -name SHA256SUMS | wc -l) ]] || fail "SHA256SUMS lacks a file"

# runs PROGRAM ARG...: a program of a target on this machine, with an empty home and nothing on PATH.
emulate=()
runs() { env -i HOME="$work/home" TMPDIR="$work/tmp" PATH=/usr/bin:/bin "${emulate[@]}" "$@"; }
mkdir "$work/home" "$work/tmp"
printf '0 1 2\n' >"$work/x.txt"

check_linux() {
    local root=$1 page
    [[ $(runs "$root/farread" version) == *"${version}"* ]] || fail "$root/farread does not say that it is $version"
    runs "$root/farread" pack --format bloscpack "$work/x.txt" "$work/x.blp" >/dev/null 2>&1 || fail "$root/farread packs nothing"
    [[ $(runs "$root/farread" get "$work/x.blp" --item 0 -o -) == "0 1 2" ]] || fail "$root/farread does not read what it packed"
    rm "$work/x.blp"
    for page in farread farread-get farread-quickstart; do
        [[ -s $root/man/man1/$page.1 ]] || fail "$root has no page $page.1"
    done
    bash -n "$root/completion/farread.bash" || fail "the completion for bash is no script"
    bash -c 'source "$1" && complete -p farread' _ "$root/completion/farread.bash" >/dev/null || fail "the completion for bash completes nothing"
}

# check_lists holds the lists of modules against the programs.
check_lists() {
    local root=$1 sbom program listed there
    for sbom in "$root"/sbom/*.cdx.json; do
        program=$root/$(basename "$sbom" .cdx.json)
        [[ ! -d $program ]] || program=$program/bootstrap
        [[ -e $program ]] || program=$program.exe
        listed=$(python3 -c 'import json, sys; print(*sorted(c["name"] + " " + c["version"] for c in json.load(open(sys.argv[1]))["components"] if c["name"] != "std"), sep="\n")' "$sbom")
        there=$(go version -m "$program" | awk '$1 == "dep" && $2 !~ /^github.com\/farread\// {print $2, $3}' | LC_ALL=C sort)
        [[ $(LC_ALL=C sort <<<"$listed" | grep -v '^github.com/farread/') == "$there" ]] || fail "$sbom lists other modules than $program has"
    done
    [[ $(grep -c '^==== ' "$root/THIRD_PARTY_LICENSES") -gt 20 ]] || fail "$root has few licences"
}

IFS=, read -ra list <<<"$targets"
for target in "${list[@]}"; do
    label=$name"_"${target/\//_}
    mkdir -p "$work/$label"
    if [[ $target == windows/* ]]; then
        python3 -m zipfile -e "$dir/$label.zip" "$work"
    else
        tar xzf "$dir/$label.tar.gz" -C "$work"
    fi
    root=$work/$label
    program=$root/farread
    [[ $target != windows/* ]] || program+=.exe
    go version -m "$program" | grep -q "GOOS=${target%/*}\$" || fail "$program is not for $target"
    go version -m "$program" | grep -q "GOARCH=${target#*/}\$" || fail "$program is not for $target"
    check_lists "$root"
    emulate=()
    if [[ $target == "$host" ]]; then
        check_linux "$root"
        runs "$root/farread" quickstart --once >"$work/quickstart.txt" 2>&1 || { cat "$work/quickstart.txt" >&2 && fail "the quickstart of $target failed"; }
        say "$target: starts, packs, reads; quickstart with an empty home"
    elif [[ $target == linux/arm64 ]] && emulate=("$(command -v qemu-aarch64 || command -v qemu-aarch64-static)"); then
        check_linux "$root"
        say "$target: starts, packs, reads (emulated)"
    else
        say "$target: read, not started here"
    fi
done

# The same commit in another folder gives the same bytes.
git clone -q --local . "$work/again"
if ! git diff --quiet HEAD; then
    say "the checkout has changes that are not committed: no second build is compared"
elif [[ $targets == *"$host"* ]]; then
    (cd "$work/again" && go run -C scripts/release . -root "$PWD" -version "$version" -targets "$host" 2>/dev/null)
    label=$name"_"${host/\//_}.tar.gz
    cmp "$dir/$label" "$work/again/dist/release/$label" || fail "a second build of $label differs"
    say "a second build in another folder: the same bytes"
fi

# The image: by Docker, or its root alone.
image=$work/image root=$work/image/root
scripts/image-root.sh "$work/${name}_${host/\//_}/farread" "$image"
cp "$work/x.txt" "$root/data/"
inside() { env -i HOME=/tmp TMPDIR=/tmp "$(command -v chroot)" --userspec=65532:65532 "$root" /farread "$@"; }
if timeout 20 docker version >/dev/null 2>&1; then
    docker build -q -t farread-release-check "$image" >/dev/null
    inside() { docker run --rm --network none --tmpfs /tmp farread-release-check "$@"; }
elif [[ $EUID -ne 0 ]]; then
    inside() { fail "neither Docker nor root here to try the image"; }
fi
[[ $(inside version) == *"$version"* ]] || fail "the image does not start"
inside pack --format bloscpack /data/x.txt /tmp/x.blp >/dev/null 2>&1 || fail "the image packs nothing into its /tmp"
if inside pack --format bloscpack /data/x.txt /x.blp >/dev/null 2>&1; then fail "the image's user may write into its root"; fi
if timeout 20 docker version >/dev/null 2>&1; then
    docker rmi -f farread-release-check >/dev/null
    say "image: built and run by Docker, as a user who owns nothing"
else
    say "image: no Docker here; its root alone, in a chroot, as a user who owns nothing"
fi

# go install, from a proxy of files: the module as Go would pack it. Its modules come from
# the cache of this machine, where they are there. CI, for which a third compilation is a
# minute, only asks whether Go takes the module.
go run -C scripts/release ./proxy -root "$work/again" -version "$version" -out "$work/proxy"
get=(install "github.com/farread/farread/cmd/farread@$version")
[[ -z ${CI:-} ]] || get=(mod download "github.com/farread/farread@$version")
GOBIN=$work/gobin GOMODCACHE=$work/modules GOFLAGS="-trimpath -modcacherw" CGO_ENABLED=0 GONOSUMDB=github.com/farread/farread \
    GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)" \
    go "${get[@]}" 2>"$work/install.txt" || { cat "$work/install.txt" >&2 && fail "go ${get[*]} failed"; }
[[ -n ${CI:-} || $("$work/gobin/farread" version) == *"$version"* ]] || fail "what go install made does not say that it is $version"
say "go ${get[*]}"

if [[ -n ${MINIMUM:-} ]]; then
    GOTOOLCHAIN=go$(awk '$1 == "go" {print $2}' go.mod) go test -timeout 30m ./...
    say "tests with Go $(awk '$1 == "go" {print $2}' go.mod)"
fi
