"""Parts of arrays, and whether arrays are the sum of them.

append_parts.py make DIR     writes NAME.b2nd by python-blosc2, NAME-N.npy to be appended, and NAME.npy, the sum
append_parts.py check DIR    compares NAME.b2nd with NAME.npy, and appends a row by python-blosc2
"""
import json
import os
import sys

import blosc2
import numpy as np

CASES = {
    "cube": ("<f4", (10, 33, 20), (4, 10, 20), (2, 5, 10), [3, 1, 9, 30]),
    "line": ("<i8", (1000,), (128,), (32,), [24, 1, 500]),
    "wide": (">i2", (3, 700), (2, 300), (1, 100), [1, 1, 1, 4]),
    "stamps": ("<M8[s]", (5, 4), (5, 4), (5, 2), [5, 2]),
    "empty": ("<u2", (0, 6), (4, 6), (2, 3), [2, 7]),
}


def make(folder):
    r = np.random.default_rng(7)
    for name, (dtype, shape, chunks, blocks, parts) in CASES.items():
        def some(n):
            return r.integers(0, 9000, (n, *shape[1:])).astype("<i8").astype(dtype)
        first = some(shape[0])
        a = blosc2.asarray(first, chunks=chunks, blocks=blocks, urlpath=os.path.join(folder, name + ".b2nd"), mode="w")
        a.schunk.vlmeta["note"] = {"made": "by python-blosc2"}
        assert np.dtype(a.dtype) == np.dtype(dtype), a.dtype
        all_of = [first]
        for i, n in enumerate(parts):
            all_of.append(some(n))
            np.save(os.path.join(folder, f"{name}-{i}.npy"), all_of[-1])
        np.save(os.path.join(folder, name + ".npy"), np.concatenate(all_of).astype(dtype))  # concatenate gives the machine's order
    return {name: len(c[4]) for name, c in CASES.items()}


def check(folder):
    out = {}
    for name in CASES:
        want = np.load(os.path.join(folder, name + ".npy"))
        path = os.path.join(folder, name + ".b2nd")
        a = blosc2.open(path, mode="a")
        same = a.shape == want.shape and a.dtype == want.dtype and bool((a[...] == want).all()) and a.schunk.vlmeta["note"] == {"made": "by python-blosc2"}
        a.resize((want.shape[0] + 1, *want.shape[1:]))
        a[-1:] = want[:1]
        again = blosc2.open(path)
        out[name] = same and bool((again[...] == np.concatenate([want, want[:1]])).all())
    return out


print(json.dumps({"make": make, "check": check}[sys.argv[1]](sys.argv[2])))
