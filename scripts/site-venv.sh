#!/usr/bin/env bash
# Makes .site with what `make site` needs. Running it again does nothing unless the list
# of packages has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

list=scripts/requirements-site.txt
stamp=.site/.installed
python=${PYTHON:-python3}

if [[ -x .site/bin/mkdocs ]] && cmp -s "$list" "$stamp"; then
    exit 0
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "site-venv: $python of version 3.11 or later is needed" >&2
    exit 1
}
rm -rf .site
if [[ -x .venv/bin/uv ]]; then # takes a tenth of pip's time
    .venv/bin/uv venv --quiet --python "$python" .site
    .venv/bin/uv pip install --quiet --python .site/bin/python --no-deps -r "$list"
else
    "$python" -m venv .site || {
        echo "site-venv: Python's venv module is missing (Debian: apt-get install python3-venv)" >&2
        exit 1
    }
    .site/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$list"
fi
cp "$list" "$stamp"
