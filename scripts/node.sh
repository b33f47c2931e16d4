#!/usr/bin/env bash
# Gets what tests need of Node's packages into .node, as the lock files pin them: those of
# the browser tests into .node itself, others into a folder of it. Running it again does
# nothing unless a lock file has changed. Needs node and npm; a browser is Debian's chromium.
set -euo pipefail
cd "$(dirname "$0")/.."

# get FOLDER WHERE: the packages of FOLDER's lock file into WHERE.
get() {
    local list=$1/package-lock.json stamp=$2/.installed
    if [[ ! -f $list ]] || cmp -s "$list" "$stamp"; then return; fi
    for tool in node npm; do
        command -v "$tool" >/dev/null || {
            echo "node: $tool is missing: install Node 20 or later (Debian: apt-get install nodejs npm)" >&2
            exit 1
        }
    done
    node -e 'process.exit(parseInt(process.versions.node, 10) < 20 ? 1 : 0)' || {
        echo "node: Node 20 or later is needed, this is $(node --version)" >&2
        exit 1
    }
    mkdir -p "$2"
    cp "$1/package.json" "$list" "$2/"
    (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$list" "$stamp"
}

get e2e/browser .node
get e2e/peers/node .node/peers
