"""Judges files that `farread analyze` writes: levels of pyramids against NumPy's blocks, Parquet against the JSON of the same answers.

analyze_files.py make DIR: saves arrays as DIR/<name>.npy; prints [{"name", "factors"}].
analyze_files.py coarse DIR: reads DIR/<name>.npy, DIR/<name>.<stat>.npy and DIR/<name>.<stat>.b2nd.
analyze_files.py parquet DIR: reads DIR/answers.parquet beside DIR/answers.csv, and DIR/<type>.parquet beside DIR/<type>.npy.
Both print {"checked": how many, "faults": [what went wrong]}.
"""
import csv
import json
import math
import sys

import blosc2
import numpy as np

FACTORS = {"image": [4, 4], "volume": [2, 3], "bytes": [3, 5, 2], "half": [7], "long": [1000], "big": [4, 2], "wide": [1, 64]}


def arrays():
    rng = np.random.default_rng(16)
    return {
        "image": rng.integers(0, 60000, (301, 410)).astype(">u2"),
        "volume": (rng.normal(size=(17, 20, 31)) * 1e3).astype("<f4"),
        "bytes": rng.integers(-128, 128, (20, 31, 9)).astype("|i1"),
        "half": rng.normal(size=(50, 8)).astype(">f2"),
        "long": rng.integers(-(2**50), 2**50, 12_345).astype("<i8"),
        "big": rng.normal(size=(33, 65)).astype(">f8"),
        "wide": rng.integers(0, 2, (12, 500)).astype(bool),
    }


def block_reduce(a, factors, f):
    """f of the items of each block; the last blocks of an axis may be shorter."""
    factors = factors + [1] * (a.ndim - len(factors))
    shape = [-(-n // k) for n, k in zip(a.shape, factors)]
    out = [f(a[tuple(slice(i * k, i * k + k) for i, k in zip(at, factors))].reshape(-1)) for at in np.ndindex(*shape)]
    return np.array(out).reshape(shape)


def mean(v):
    if v.dtype.kind in "iub":
        return sum(int(x) for x in v) / len(v)
    return math.fsum(v.astype("f8")) / len(v)


def coarse(folder):
    checked, faults = 0, []
    for name, a in arrays().items():
        for stat, f in {"mean": mean, "max": np.max}.items():
            want = block_reduce(a, FACTORS[name], f)
            dtype = "<f8" if stat == "mean" else a.dtype
            npy = np.load(f"{folder}/{name}.{stat}.npy")
            level = blosc2.open(f"{folder}/{name}.{stat}.b2nd")
            for kind, got in {"npy": npy, "b2nd": np.asarray(level[:])}.items():
                checked += 1
                if got.shape != want.shape or got.dtype.newbyteorder("=") != np.dtype(dtype).newbyteorder("="):
                    faults.append(f"{name}.{stat}.{kind}: {got.dtype} {got.shape}, want {dtype} {want.shape}")
                elif not (np.allclose(got, want, rtol=2**-52, atol=0) if stat == "mean" else np.array_equal(got, want)):
                    faults.append(f"{name}.{stat}.{kind}: other items")
            if npy.dtype.str != np.dtype(dtype).str:
                faults.append(f"{name}.{stat}.npy: {npy.dtype.str}, want {np.dtype(dtype).str}")
            if max(level.chunks) > 4 * min(n for n in [*level.shape, 4096]) * 64:
                faults.append(f"{name}.{stat}: chunks {level.chunks} of {level.shape}")
    return checked, faults


def parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    checked, faults = 0, []
    t = pq.read_table(f"{folder}/answers.parquet")
    rows = list(csv.reader(open(f"{folder}/answers.csv")))
    if t.column_names != rows[0] or t.num_rows != len(rows) - 1:
        faults.append(f"{t.column_names} of {t.num_rows} rows, want {rows[0]} of {len(rows) - 1}")
        return checked, faults
    for name, want in zip(rows[0], zip(*rows[1:])):
        got = t[name].to_pylist()
        for g, w in zip(got, want):
            checked += 1
            if not (g is None and w == "" or g is not None and w != "" and (float(g) == float(w) or math.isnan(g) and w.lower() == "nan")):
                faults.append(f"{name}: {g}, want {w}")
    types = {f.name: str(f.type) for f in t.schema}
    want = {"i0": "int64", "count": "int64", "min": "int8", "argmin[1]": "int64", "mean": "double", "hist[0:30]": "int64", "quantiles[0.5]": "double"}
    faults += [f"{k} is {types.get(k)}, want {v}" for k, v in want.items() if types.get(k) != v]
    if t["min"].null_count == 0:
        faults.append("no minimum is missing")
    for name in ["bool", "u1", "u2be", "u4", "u8", "i1", "i4be", "f2be", "f4", "M8s", "M8ns", "M8D", "m8us", "c16"]:
        a = np.load(f"{folder}/{name}.npy")
        t = pq.read_table(f"{folder}/{name}.parquet")
        checked += 1
        if name == "c16":
            got = complex(t["mean.real"][0].as_py(), t["mean.imag"][0].as_py())
            want = complex(math.fsum(a.real) / len(a), math.fsum(a.imag) / len(a))
        elif a.dtype.kind == "M":
            v = t["max"]
            if not pa.types.is_timestamp(v.type) or t["min"][1].as_py() is not None:
                faults.append(f"{name}: {v.type}, {t['min']}")
            got, want = v.cast(pa.timestamp("ns"))[0].value, np.nanmax(a[: len(a) // 2]).astype("M8[ns]").astype("i8")
        elif a.dtype.kind == "m":
            got, want = t["max"][0].as_py(), a[: len(a) // 2].max().astype("i8")
            if t.schema.metadata.get(b"farread.dtype.max") != b"<m8[us]":
                faults.append(f"{name}: {t.schema.metadata}")
        else:
            got, want = t["max"][0].as_py(), a[: len(a) // 2].max().item()
            kinds = {"bool": "bool", "u1": "uint8", "u2be": "uint16", "u4": "uint32", "u8": "uint64", "i1": "int8", "i4be": "int32", "f2be": "float", "f4": "float"}
            if str(t["max"].type) != kinds[name]:
                faults.append(f"{name}: {t['max'].type}")
        if got != want and not (name == "c16" and abs(got - want) < 1e-15):  # fsum and the division round twice
            faults.append(f"{name}: {got}, want {want}")
    return checked, faults


def make(folder):
    rng = np.random.default_rng(17)
    for name, a in arrays().items():
        np.save(f"{folder}/{name}.npy", a)
    ints = {"bool": "?", "u1": "|u1", "u2be": ">u2", "u4": "<u4", "u8": "<u8", "i1": "|i1", "i4be": ">i4", "f2be": ">f2", "f4": "<f4", "m8us": "<m8[us]"}
    for name, d in ints.items():
        d = np.dtype(d)
        v = rng.integers(0, 2, 40) if d.kind == "b" else np.full(40, 3)
        v = v.astype(d)
        if d.kind in "iu":
            v[:20] = np.iinfo(d).max - (d.kind == "i")
            v[0] = np.iinfo(d).min if d.kind == "i" else 0
        np.save(f"{folder}/{name}.npy", v)
    for name, d in {"M8s": "<M8[s]", "M8ns": ">M8[ns]", "M8D": "<M8[D]"}.items():
        v = np.array(["2024-02-29", "1961-04-12"] * 20, d)
        v[20:] = np.datetime64("NaT")
        np.save(f"{folder}/{name}.npy", v)
    np.save(f"{folder}/c16.npy", rng.normal(size=40) + 1j * rng.normal(size=40))
    return [{"name": n, "factors": f} for n, f in FACTORS.items()]


if sys.argv[1] == "make":
    json.dump(make(sys.argv[2]), sys.stdout)
else:
    checked, faults = {"coarse": coarse, "parquet": parquet}[sys.argv[1]](sys.argv[2])
    json.dump({"checked": checked, "faults": faults}, sys.stdout)
