"""What python-blosc2 sees of arrays that farread packed for a use; prints JSON.

argv: "make" and a folder: writes .npy files, and their names as a list.
      "read" and the folder: of each .b2nd made of them the faults, as a list.
"""
import json
import os
import sys

import blosc2
import numpy as np

mode, folder = sys.argv[1:3]
path = lambda name: os.path.join(folder, name)
rng = np.random.default_rng(7)
arrays = {
    "days": np.cumsum(rng.normal(size=(120, 90, 70)), axis=0).astype("f4"),
    "table": np.asfortranarray(rng.integers(0, 99, size=(5000, 7), dtype="i2")),
    "levels": rng.integers(0, 9, size=(30, 5, 23, 41), dtype="u1"),
    "line": np.arange(70_001, dtype="i8"),
    "records": np.zeros((40, 50), dtype=[("a", "i4"), ("b", "f8")]),
    "wide": np.full((6, 9, 11), b"x" * 300),
    "prime": np.arange(101 * 103 * 107, dtype=">u4").reshape(101, 103, 107),
}
arrays["records"]["b"] = rng.normal(size=(40, 50))

if mode == "make":
    for name, a in arrays.items():
        np.save(path(name + ".npy"), a)
    json.dump(list(arrays), sys.stdout)
    sys.exit()

faults = []
for name, want in arrays.items():
    for use in "series", "planes", "both", "cubes", "again":
        b = blosc2.open(path(f"{name}-{use}.b2nd"), mode="r")
        if b.shape != want.shape or b.dtype != want.dtype or not np.array_equal(b[...], want):
            faults.append(f"{name} for {use}: other items, or {b.shape} of {b.dtype}")
        for _ in range(5):
            at = tuple(slice(*sorted(rng.integers(0, n + 1, size=2))) for n in want.shape)
            if not np.array_equal(b[at], want[at]):
                faults.append(f"{name} for {use}: other items at {at}, chunks {b.chunks}, blocks {b.blocks}")
json.dump(faults, sys.stdout)
