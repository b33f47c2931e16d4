#!/usr/bin/env bash
# Gets what the browser tests need of Node's packages into e2e/browser/node_modules, as
# the lock file there pins them. Running it again does nothing unless that has changed.
# Needs node and npm; the browser itself is Debian's chromium.
set -euo pipefail
cd "$(dirname "$0")/../e2e/browser"

stamp=node_modules/.installed
if cmp -s package-lock.json "$stamp"; then
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
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
cp package-lock.json "$stamp"
