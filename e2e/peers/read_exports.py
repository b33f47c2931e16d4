"""Reads slices that farread wrote as Arrow IPC and as b2nd, and compares them with what blosc2 reads from the arrays; prints JSON.

stdin: {"arrays": [{"name", "file": the array, "arrow": its slice or "", "b2nd": its slice or ""}]}.
stdout: {"read": {"arrow": n, "b2nd": n}, "faults": [what went wrong]}, or null if pyarrow is missing.
"""
import json
import sys

import blosc2
import numpy as np

from read_zarr import equal

try:
    import pyarrow as pa
except ImportError as e:
    print(e, file=sys.stderr)
    pa = None


def flat(column, n):
    """The values of a column, and whether it is a list."""
    a = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    while isinstance(a, pa.ChunkedArray):
        a = a.chunk(0)
    if isinstance(a, pa.ExtensionArray):
        a = a.storage
    listed = pa.types.is_fixed_size_list(a.type)
    return (a.flatten() if listed else a), listed


def values(a, dtype):
    """An Arrow array as NumPy's items of a type."""
    if dtype.kind == "c":
        return a.to_numpy(zero_copy_only=False).view(dtype.newbyteorder("<"))
    if dtype.kind in "Mm":
        return a.to_numpy(zero_copy_only=False).astype(dtype.newbyteorder("<"))
    if dtype.kind == "S":
        return np.array([v.rstrip(b"\0") for v in a.to_pylist()], dtype=dtype)
    if dtype.kind == "U":
        return np.array(a.to_pylist(), dtype=dtype.newbyteorder("<"))
    if dtype.kind == "V":
        return np.array([v for v in a.to_pylist()], dtype=object)
    return a.to_numpy(zero_copy_only=False)


def leaves(dtype, name="", get=lambda a: a):
    """(name, function that gets the items) of all members."""
    for m in dtype.names:
        full = f"{name}.{m}" if name else m
        def sub(a, m=m, get=get):
            return get(a)[m]
        if dtype[m].names:
            yield from leaves(dtype[m], full, sub)
        else:
            yield full, dtype[m], sub


def differs(table, want):
    if want.dtype.names:
        rows = want.reshape(-1)
        if table.num_rows != len(rows):
            return f"{table.num_rows} rows, want {len(rows)}"
        for name, dtype, get in leaves(want.dtype):
            a, _ = flat(table.column(name), len(rows))
            if dtype.base.names:
                continue
            got, exp = values(a, dtype.base), np.ascontiguousarray(get(rows)).reshape(-1)
            if dtype.base.kind == "V":
                exp = np.array([bytes(v) for v in exp], dtype=object)
            if not equal(np.asarray(got), np.asarray(exp)):
                return f"member {name}"
        return None
    rows = want.shape[0] if want.ndim else 1
    if table.num_rows != rows:
        return f"{table.num_rows} rows, want {rows}"
    if json.loads(table.schema.metadata[b"farread.shape"]) != list(want.shape):
        return "shape"
    if rows == 0:
        return None
    a, listed = flat(table.column("v"), rows)
    if listed != (want.ndim > 1 or want.dtype.kind == "c"):
        return f"a list: {listed}"
    got, exp = values(a, want.dtype), want.reshape(-1).astype(want.dtype.newbyteorder("<"))
    if want.dtype.kind == "V":
        exp = np.array([bytes(v) for v in exp], dtype=object)
    if not equal(np.asarray(got), np.asarray(exp)):
        return f"values {got[:3]} {exp[:3]}"
    if want.ndim > 1 and want.size and want.dtype.kind in "iuf" and want.dtype.itemsize <= 8:
        t = table.column("v").combine_chunks()
        t = t.chunk(0) if isinstance(t, pa.ChunkedArray) else t
        if not equal(t.to_numpy_ndarray(), want.astype(want.dtype.newbyteorder("<"))):
            return f"a tensor of {t.type}"
    return None


def main():
    task = json.load(sys.stdin)
    if pa is None:
        return None
    read, faults = {"arrow": 0, "b2nd": 0}, []
    for x in task["arrays"]:
        try:
            a = blosc2.open(x["file"], mode="r")
            want = np.asarray(a[()] if a.ndim == 0 else a[...])
        except (RuntimeError, ValueError) as e:
            print(x["name"], e, file=sys.stderr)  # C-Blosc2 does not read it
            continue
        for kind in ("arrow", "b2nd"):
            if not x[kind]:
                continue
            try:
                if kind == "arrow":
                    with pa.memory_map(x[kind]) as f:
                        table = pa.ipc.open_file(f).read_all()
                    table.validate(full=True)
                    fault = differs(table, want)
                else:
                    a = blosc2.open(x[kind], mode="r")
                    got = np.asarray(a[()] if a.ndim == 0 else a[...])
                    fault = None if a.shape == want.shape and got.dtype == want.dtype and equal(got, want) else f"{got.dtype} {got.shape}"
            except Exception as e:  # noqa: BLE001: any is a fault of the file
                fault = repr(e)
            if fault:
                faults.append(f"{x['name']} as {kind}: {fault}")
            else:
                read[kind] += 1
    return {"read": read, "faults": faults}


print(json.dumps(main()))
