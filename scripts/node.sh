#!/usr/bin/env bash
# Gets what the browser tests need of Node's packages into .node, as the lock file in
# e2e/browser pins them. Running it again does nothing unless that has changed. Needs node
# and npm; the browser itself is Debian's chromium.
set -euo pipefail
cd "$(dirname "$0")/.."

list=e2e/browser/package-lock.json
stamp=.node/.installed
if cmp -s "$list" "$stamp"; then
    exit 0
fi
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
mkdir -p .node
cp e2e/browser/package.json "$list" .node/
(cd .node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
cp "$list" "$stamp"
