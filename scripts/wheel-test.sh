#!/usr/bin/env bash
# wheel-test.sh WHEEL [PYTEST-ARGUMENTS]: installs a wheel of farread into a fresh venv, and runs
# its tests there, with bin/localcloud as the store.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=$1
shift
venv=dist/.wheel-venv
rm -rf "$venv"
trap 'rm -rf "$venv"' EXIT
uv=.venv/bin/uv
"$uv" venv --quiet --python .venv/bin/python "$venv"
"$uv" pip install --quiet --python "$venv/bin/python" -r scripts/requirements-wheel.txt "$wheel"
# From elsewhere, so that the package is the one of the wheel.
export FARREAD_LOCALCLOUD=$PWD/bin/localcloud FARREAD_BIN= PYTHONDONTWRITEBYTECODE=1
python=$PWD/$venv/bin/python
cd python/tests
"$python" -m pytest -q -p no:cacheprovider "$@" .
# The oldest Python that the wheel is for.
"$python" -m mypy --strict --python-version 3.10 --cache-dir "${TMPDIR:-/tmp}/farread-mypy" -p farread
"${python%/python}/vermin" --quiet --no-tips --violations --target=3.10- --eval-annotations "$("$python" -c 'import farread; print(*farread.__path__)')"
