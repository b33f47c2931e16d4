#!/usr/bin/env bash
# proof.sh ARCHIVE WHEEL [REQUIREMENT…]: a release as it meets a new user. The archive is unpacked, the
# wheel and the requirements go into a fresh venv, and in a root without Go, home, checkout and network
# the quickstart of the archive runs, and then docs/notebook.ipynb on its local cloud.
set -euo pipefail
archive=$(realpath "$1") wheel=$(realpath "$2")
shift 2
cd "$(dirname "$0")/.."
top=$PWD uv=.venv/bin/uv
work=$(mktemp -d /tmp/farread-proof.XXXXXX)
trap 'rm -rf "$work"' EXIT
start=$SECONDS
say() { printf 'proof: %3d s: %s\n' $((SECONDS - start)) "$*"; }

mkdir "$work"/{archive,bin,home,python,tests,tmp}
tar xzf "$archive" -C "$work/archive" --strip-components=1
cp -r python/tests/{conftest.py,test_notebook.py,standin} docs/notebook.ipynb "$work/tests/"
"$uv" venv --quiet --python .venv/bin/python "$work/venv"
"$uv" pip install --quiet --python "$work/venv/bin/python" -r scripts/requirements-wheel.txt "$wheel" "$@"
for name in bash cat ls rm sh; do ln -s "$(command -v $name)" "$work/bin/$name"; done
say "$(basename "$archive") is unpacked, $(basename "$wheel") installed"

# inside runs in the new root. Python's own folder stays where it is, of which a venv is a part.
inside() {
    local hidden
    mount --make-rprivate /
    mount --bind "$base" "$work/python"
    for hidden in "$top" "$HOME" "$goroot"; do
        case $work/ in "$hidden"/*) continue ;; esac
        [[ ! -d $hidden || $hidden == / ]] || mount -t tmpfs -o mode=755 tmpfs "$hidden"
    done
    [[ -d $base ]] || mkdir -p "$base"
    mount --bind "$work/python" "$base"
    ip link set lo up
    [[ ! -e $top/Makefile && ! -e $goroot/bin/go ]] || { echo "proof: the checkout or Go is still there" >&2; exit 1; }
    clean
}
clean() {
    cd "$work/tests"
    exec "$work/venv/bin/python" -c '
import os, sys
work, *command = sys.argv[1:]
os.execve(command[0], command, {"HOME": work + "/home", "TMPDIR": work + "/tmp", "PATH": work + "/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
    "FARREAD_LOCALCLOUD": work + "/archive/localcloud", "FARREAD_NOTEBOOK": work + "/tests/notebook.ipynb"})
' "$work" "$work/venv/bin/python" -m pytest -q -p no:cacheprovider test_notebook.py
}
base=$("$work/venv/bin/python" -c 'import sys; print(sys.base_prefix)')
goroot=$(go env GOROOT)
export top work base goroot
export -f inside clean
PATH=$PATH:/usr/sbin:/sbin
if unshare --mount --net true 2>/dev/null && command -v ip >/dev/null; then
    unshare --mount --net bash -euo pipefail -c inside
    say "quickstart and notebook, without Go, home, checkout and network; $("$work/venv/bin/python" -c 'import importlib.util; print("torch" if importlib.util.find_spec("torch") else "a stand-in for torch")')"
else
    (clean)
    say "quickstart and notebook, with an empty home and nothing on PATH (no namespaces here)"
fi
