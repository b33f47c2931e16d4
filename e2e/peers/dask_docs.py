"""Runs the Dask example of docs/analysis.md against a gateway, and compares it with NumPy; prints JSON.

stdin: {"url": of the gateway, "code": of the example, "dir": with temperature.npy and pressure.npy}.
stdout: {"checked": how many, "faults": [what went wrong]}, or null if a library is missing.
"""
import json
import sys

import numpy as np

try:
    import dask.array  # noqa: F401
    import fsspec  # noqa: F401
    import zarr  # noqa: F401
except ImportError as e:
    print(e, file=sys.stderr)
    print("null")
    sys.exit()

asked = json.load(sys.stdin)
code = asked["code"].replace("http://127.0.0.1:8080/zarr/datasets", asked["url"].rstrip("/") + "/zarr/data")
names = {}
exec(code, names)
a, b = (np.load(f"{asked['dir']}/{n}.npy").astype("f8") for n in ("temperature", "pressure"))
faults = []
if not np.isclose(names["together"], np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1], rtol=1e-4):
    faults.append(f"together is {names['together']}")
even = a[: a.shape[0] // 2 * 2, : a.shape[1] // 2 * 2]
want = even.reshape(even.shape[0] // 2, 2, even.shape[1] // 2, 2, -1).mean((1, 3))
if names["coarse"].shape != want.shape or not np.allclose(names["coarse"], want, rtol=1e-4):
    faults.append(f"coarse is {names['coarse'].shape}")
json.dump({"checked": 2, "faults": faults}, sys.stdout)
