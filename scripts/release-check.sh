#!/usr/bin/env bash
# Takes what `make release` made as a stranger would: release-check.sh VERSION DIR TARGETS.
# It needs Go and Python, and for arm64 qemu-user; with Docker the image is built and run by
# it, with Wine (and MinGW, where Wine lacks a library of Go's) programs of Windows are started.
set -euo pipefail
version=$1 dir=$(realpath "$2") targets=$3
cd "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/tmp}/farread-release.XXXXXX")
trap 'WINEPREFIX=$work/wine wineserver -k 2>/dev/null || true; rm -rf "$work"' EXIT
start=$SECONDS
say() { printf 'release-check: %3d s: %s\n' $((SECONDS - start)) "$*"; }
fail() {
    echo "release-check: $*" >&2
    exit 1
}
commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
name=farread_${version#v}
label() { echo "${name}_${1/\//_}"; }

(cd "$dir" && sha256sum --quiet --check SHA256SUMS) || fail "SHA256SUMS does not hold"
[[ $(grep -c . "$dir/SHA256SUMS") == $(find "$dir" -type f ! -name SHA256SUMS | wc -l) ]] || fail "SHA256SUMS lacks a file"

# runs PROGRAM ARG...: a program of a target on this machine, with an empty home and the
# system's own programs alone.
emulate=()
runs() { env -i HOME="$work/home" TMPDIR="$work/tmp" PATH=/usr/bin:/bin "${emulate[@]}" "$@"; }
mkdir "$work/home" "$work/tmp" "$work/stranger"
printf '0 1 2\n' >"$work/x.txt"
go build -C scripts/release -o "$work/header" ./header

# says PROGRAM HEAD: what a program is and, since linkers write it into the bytes, of which
# version; the parts of its quickstart have none.
says() {
    local head
    head=$("$work/header" "$1")
    [[ $head == "$2" ]] || fail "$1 is \"$head\", want \"$2\""
    [[ $(basename "$1") != farread* ]] || grep -aqF "$version" "$1" || fail "$1 does not have $version in it"
}

# tells PROGRAM: it starts, and tells its version.
tells() { [[ $(runs "$1" version) == *"$version commit $commit "* ]] || fail "$1 does not say that it is $version of $commit"; }

# starts PROGRAM: it tells its version, and reads what it packed. Lines of Windows end in \r\n.
starts() {
    tells "$1"
    (cd "$work" && runs "$1" pack --format bloscpack x.txt x.blp >/dev/null 2>&1) || fail "$1 packs nothing"
    [[ $(cd "$work" && runs "$1" get x.blp --item 0 -o -) == "0 1 2" ]] || fail "$1 does not read what it packed"
    rm "$work/x.blp"
}

# wine_for_go makes the folder of a Wine in which programs of Go run. Wine 8 has no bcryptprimitives.dll, of which
# Go takes one function, the system's random bytes: MinGW makes that one.
wine_for_go() {
    local system=$work/wine/drive_c/windows/system32 mingw
    runs wineboot -i >/dev/null 2>&1 || return
    [[ ! -e $system/bcryptprimitives.dll ]] || return 0
    mingw=$(command -v x86_64-w64-mingw32-gcc) || return
    printf '%s\n' '#include <windows.h>' 'BOOLEAN WINAPI SystemFunction036(PVOID p, ULONG n);' \
        '__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return SystemFunction036(p, n); }' >"$work/prng.c"
    "$mingw" -shared -o "$system/bcryptprimitives.dll" "$work/prng.c" -ladvapi32
}

check_texts() {
    local root=$1 page
    for page in farread farread-get farread-quickstart; do
        [[ -s $root/man/man1/$page.1 ]] || fail "$root has no page $page.1"
    done
    for page in INSTALL.md README.md CHANGELOG.md SECURITY.md LICENSE completion/{farread.bash,_farread,farread.fish,farread.ps1}; do
        [[ -s $root/$page ]] || fail "$root has no $page"
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

# check_install runs the lines of INSTALL.md, as a new user would.
check_install() {
    local root=$1
    cp "$dir/SHA256SUMS" "$dir/$(label "$host").tar.gz" "$work/stranger/"
    awk '/^```/ {on = $0 == "```sh"; next} on' "$root/INSTALL.md" | sed "s/farread_[0-9.]*_linux_amd64/$(label "$host")/g" >"$work/install.sh"
    (cd "$work/stranger" && runs bash -euo pipefail "$work/install.sh" >"$work/install.txt" 2>&1) || { cat "$work/install.txt" >&2 && fail "the lines of INSTALL.md fail"; }
    [[ $(runs "$work/home/.local/bin/farread" version) == *"$version"* ]] || fail "INSTALL.md installs no farread"
    [[ -s $work/home/.local/share/man/man1/farread-get.1 ]] || fail "INSTALL.md installs no manual"
}

IFS=, read -ra list <<<"$targets"
for target in "${list[@]}"; do
    mkdir -p "$work/$(label "$target")"
    if [[ $target == windows/* ]]; then
        python3 -m zipfile -e "$dir/$(label "$target").zip" "$work"
    else
        tar xzf "$dir/$(label "$target").tar.gz" -C "$work"
    fi
    root=$work/$(label "$target") arch=${target#*/}
    program=$root/farread
    case $target in
    linux/*) head="linux $arch static" ;;
    darwin/*) head="darwin $arch 12.0 $([[ $arch == arm64 ]] && echo signed || echo unsigned)" ;;
    windows/*) head="windows $arch console" program+=.exe ;;
    esac
    says "$program" "$head"
    if [[ $target != windows/* ]]; then
        for part in localcloud fn-pack/bootstrap fn-zoom/bootstrap; do says "$root/$part" "$head"; done
    fi
    check_texts "$root"
    check_lists "$root"
    emulate=()
    if [[ $target == "$host" ]]; then
        starts "$program"
        check_install "$root"
        say "$target: starts, packs, reads; installed and quickstart run by the lines of INSTALL.md, with an empty home"
    elif [[ $target == linux/arm64 ]] && emulate=("$(command -v qemu-aarch64 || command -v qemu-aarch64-static)"); then
        starts "$program"
        say "$target: starts, packs, reads (emulated)"
    elif [[ $target == windows/amd64 ]] && emulate=(WINEDEBUG=-all WINEPREFIX="$work/wine" "$(command -v wine || command -v wine64)") && wine_for_go; then
        if [[ $(runs --version) =~ ^wine-[0-8]\. ]]; then # it renames and removes nothing by the handle of a folder
            tells "$program"
            say "$target: starts (by Wine 8, in which it cannot write files)"
        else
            starts "$program"
            say "$target: starts, packs, reads (by Wine)"
        fi
    else
        say "$target: read, not started here"
    fi
done
emulate=()

# Wheels: that of this machine in a new environment; of the others there are as many as systems.
[[ $(find "$dir" -name 'farread-*.whl' | wc -l) == "${#list[@]}" ]] || fail "not one wheel for each of $targets"
if [[ $targets == *"$host"* ]]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --no-deps --no-index --find-links "$dir" "farread==${version#v}" || fail "pip takes no wheel of $dir"
    [[ $(runs "$work/venv/bin/farread" version) == *"$version"* ]] || fail "the wheel has no farread that says that it is $version"
    say "the wheel in a new environment: its program starts"
fi

# Functions: as Lambda takes them.
for zip in "$dir"/fn-*.zip; do
    [[ -e $zip ]] || continue
    arch=${zip##*-}
    [[ $(python3 -m zipfile -l "$zip" | awk 'NR > 1 {print $1}') == bootstrap ]] || fail "$zip has more than bootstrap"
    python3 -m zipfile -e "$zip" "$work/fn"
    says "$work/fn/bootstrap" "linux ${arch%.zip} static"
done

# The same commit in another folder gives the same bytes. The cache would bring what the first build made.
git clone -q --local . "$work/again"
again=()
for target in linux/amd64 windows/amd64; do [[ ,$targets, != *,$target,* ]] || again+=("$target"); done
if ! git diff --quiet HEAD; then
    say "the checkout has changes that are not committed: no second build is compared"
elif [[ ${#again[@]} -gt 0 ]]; then
    (
        cd "$work/again"
        [[ -n ${CI:-} ]] || export GOCACHE=$work/cache
        go run -C scripts/release . -root "$PWD" -version "$version" -targets "$(IFS=,; echo "${again[*]}")" -functions="${RELEASE_FUNCTIONS:-true}" 2>/dev/null
    )
    for file in "$work/again/dist/release"/*; do
        [[ $file == */SHA256SUMS ]] || cmp "$file" "$dir/$(basename "$file")" || fail "a second build of $(basename "$file") differs"
    done
    rm -rf "$work/cache"
    say "a second build of ${again[*]} in another folder: the same bytes of $(grep -c . "$work/again/dist/release/SHA256SUMS") files"
fi

# The image: by Docker, or its root alone.
image=$work/image root=$work/image/root
scripts/image-root.sh "$work/$(label "$host")/farread" "$image"
cp "$work/x.txt" "$root/data/"
inside() { env -i HOME=/tmp TMPDIR=/tmp "$(command -v chroot)" --userspec=65532:65532 "$root" /farread "$@"; }
if timeout 20 docker version >/dev/null 2>&1; then
    docker build -q -t farread-release-check --build-arg VERSION="$version" "$image" >/dev/null
    [[ $(docker inspect -f '{{index .Config.Labels "org.opencontainers.image.version"}}' farread-release-check) == "$version" ]] || fail "the image has no label of its version"
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
get=(install "github.com/farread/farread/cmd/farread@latest")
[[ -z ${CI:-} ]] || get=(mod download "github.com/farread/farread@$version")
GOBIN=$work/gobin GOMODCACHE=$work/modules GOFLAGS="-trimpath -modcacherw" CGO_ENABLED=0 GONOSUMDB=github.com/farread/farread \
    GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)" \
    go "${get[@]}" 2>"$work/install.txt" || { cat "$work/install.txt" >&2 && fail "go ${get[*]} failed"; }
if [[ -z ${CI:-} ]]; then
    [[ $("$work/gobin/farread" version) == *"$version"* ]] || fail "what go install made does not say that it is $version"
    # Alone it has no quickstart, and says where one is.
    if (cd / && runs "$work/gobin/farread" quickstart --once) >"$work/alone.txt" 2>&1; then fail "a quickstart without its parts"; fi
    grep -q 'unpack an archive of a release' "$work/alone.txt" || { cat "$work/alone.txt" >&2 && fail "farread alone does not say where its quickstart is"; }
fi
say "go ${get[*]}"

if [[ -n ${MINIMUM:-} ]]; then
    GOTOOLCHAIN=go$(awk '$1 == "go" {print $2}' go.mod) go test -timeout 30m ./...
    say "tests with Go $(awk '$1 == "go" {print $2}' go.mod)"
fi
