"""Reads Blosc chunks, frames and arrays with the reference libraries and prints JSON.

One JSON list on stdin: [{"path": P, "kind": "blosc1" | "blosc2" | "frame" | "b2nd" | "grow"}, ...]. "grow" resizes an
array to "shape", overwrites all its items with bytes that count up, and then reads it as "b2nd" does.
One JSON list on stdout, in the same order: what the library found, or {"error": text}.
"""
import base64
import hashlib
import json
import sys

import blosc
import blosc2
import numpy as np

ext = blosc2.blosc2_ext


def sha(data):
    return hashlib.sha256(data).hexdigest()


def b64(data):
    return base64.b64encode(data).decode()


def chunk(path, kind):
    with open(path, "rb") as f:
        raw = f.read()
    data = bytes(blosc.decompress(raw) if kind == "blosc1" else blosc2.decompress2(raw))
    return {"sha256": sha(data), "nbytes": len(data)}


def frame(path):
    obj = ext.open(path, mode="r", offset=0)
    sc = getattr(obj, "schunk", obj)
    data = [bytes(sc.decompress_chunk(i)) for i in range(sc.nchunks)]
    return {
        "sha256": sha(b"".join(data)), "nbytes": sc.nbytes, "nchunks": sc.nchunks, "typesize": sc.typesize,
        "chunks": [len(d) for d in data],
        "metalayers": {k: b64(ext.meta__getitem__(sc, k)) for k in ext.meta_keys(sc)},
        "vlmetalayers": {k: b64(ext.vlmeta.get_vlmeta(sc.vlmeta, k)) for k in sc.vlmeta},
    }


def assembled(a):
    """The array from whole decoded chunks: what their blocks hold, put where they belong."""
    out = np.empty(a.shape, dtype=a.dtype)
    grid = [-(-n // c) if c else 0 for n, c in zip(a.shape, a.chunks)]
    blocks = [-(-c // b) if b else 0 for c, b in zip(a.chunks, a.blocks)]
    order = [k for i in range(a.ndim) for k in (i, a.ndim + i)]
    for i, at in enumerate(np.ndindex(*grid)):
        p = np.frombuffer(a.schunk.decompress_chunk(i), dtype=a.dtype).reshape((*blocks, *a.blocks))
        p = p.transpose(order).reshape([n * b for n, b in zip(blocks, a.blocks)])
        box = tuple(slice(k * c, min((k + 1) * c, n)) for k, c, n in zip(at, a.chunks, a.shape))
        out[box] = p[tuple(slice(0, b.stop - b.start) for b in box)]
    return out


def array(path):
    out = frame(path)
    a = blosc2.open(path, mode="r")
    whole = assembled(a)
    # With DELTA in the pipeline C-Blosc2 3.3.5 is right about whole chunks only: slices of arrays that it wrote
    # itself come out wrong, and single items of blocks behind the first one wait for ever.
    if blosc2.Filter.DELTA not in a.schunk.cparams.filters:
        got = np.asarray(a[()] if a.ndim == 0 else a[...])
        assert got.tobytes() == whole.tobytes(), "whole"
        if a.ndim and all(a.shape):
            box = tuple(slice(n // 2, n // 2 + 1) for n in a.shape)
            assert np.asarray(a[box]).tobytes() == whole[box].tobytes(), box
    out.update(shape=list(a.shape), chunkshape=list(a.chunks), blockshape=list(a.blocks),
               dtype=whole.dtype.str if whole.dtype.names is None else str(whole.dtype.descr),
               sha256=sha(np.ascontiguousarray(whole).tobytes()))
    return out


def grow(path, shape):
    a = blosc2.open(path, mode="a")
    a.resize(shape)
    n = int(np.prod(shape)) * a.dtype.itemsize
    if n:
        a[...] = np.arange(n).astype("u1").view(a.dtype).reshape(shape)
    return array(path)


def main():
    out = []
    for job in json.load(sys.stdin):
        try:
            path, kind = job["path"], job["kind"]
            if kind == "grow":
                out.append(grow(path, tuple(job["shape"])))
                continue
            out.append(array(path) if kind == "b2nd" else frame(path) if kind == "frame" else chunk(path, kind))
        except Exception as e:  # the reader's own words, for the test to show
            out.append({"error": repr(e)})
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
