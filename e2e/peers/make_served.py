"""Makes arrays for clients of Zarr, and tells what they hold; prints JSON.

stdin: {"dir": folder for new arrays, "arrays": {name: file}}. Makes there count.b2nd, int32 from 1 on in 4 chunks;
picture.b2nd (u1) and floats.b2nd (f8 of 0 to 1), pictures of 256 x 128; white.b2nd, u1 in two chunks of 64 x 64.
stdout: {name: {"shape", "sha256" of its items in C order, little-endian}}.
"""
import hashlib
import json
import os
import sys

import blosc2
import numpy as np

from read_blosc import assembled


def main():
    job = json.load(sys.stdin)

    def make(name, a, chunks):
        b = blosc2.asarray(a, urlpath=os.path.join(job["dir"], name), mode="w", chunks=chunks)
        if a.ndim == 2:
            b.schunk.vlmeta["_ARRAY_DIMENSIONS"] = ["y", "x"]

    picture = (np.add.outer(np.arange(128) * 3, np.arange(256) * 7) % 251 + 3).astype("u1")
    make("count.b2nd", np.arange(1, 4001, dtype="i4"), (1000,))
    make("picture.b2nd", picture, (64, 64))
    make("floats.b2nd", picture / 255, (64, 64))
    make("white.b2nd", np.full((64, 128), 255, "u1") - (np.arange(128) % 2).astype("u1"), (64, 64))
    out = {}
    for name, path in job["arrays"].items():
        a = assembled(blosc2.open(path, mode="r"))
        p = np.ascontiguousarray(a, a.dtype.newbyteorder("<")).tobytes()
        out[name] = {"shape": list(a.shape), "sha256": hashlib.sha256(p).hexdigest()}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
