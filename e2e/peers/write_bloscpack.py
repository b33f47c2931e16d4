"""Writes Bloscpack files with their reference writers.

One JSON list on stdin: [{"kind": "npy" | "pack" | "array" | "append" | "metadata" | "variable", ...}, ...], done one after the other.
One JSON list on stdout, in the same order: {} or {"error": text}. Version 3 is written by the real bloscpack, version 4 by vlblp.py.
"""
import ast
import base64
import json
import sys

import old_bloscpack  # noqa: F401  # first: makes the next ones load
import blosc
import bloscpack
import numpy as np
import vlblp
from bloscpack.append import _rewrite_metadata_fp, _seek_to_metadata, append
from bloscpack.args import BloscArgs, BloscpackArgs, MetadataArgs

blosc.set_nthreads(1)
SHUFFLES = {"none": blosc.NOSHUFFLE, "shuffle": blosc.SHUFFLE, "bitshuffle": blosc.BITSHUFFLE}


def blosc_args(typesize=8, level=7, filter="shuffle", codec="blosclz"):
    return BloscArgs(typesize=typesize, clevel=level, shuffle=SHUFFLES[filter], cname=codec)


def file_args(chunk_size=1 << 20, checksum="adler32", offsets=True, max_app=None, meta=None):
    """Arguments of pack; max_app None is the writer's own choice."""
    more = {} if max_app is None else {"max_app_chunks": max_app}
    return {"chunk_size": chunk_size, "bloscpack_args": BloscpackArgs(offsets=offsets, checksum=checksum, **more),
            "metadata_args": None if meta is None else MetadataArgs(**meta)}


def npy(path, dtype, shape, order):
    """An array of the type for NumPy to save: any bytes, but letters in texts and 0 or 1 in booleans."""
    t = np.dtype(ast.literal_eval(dtype))
    n = int(np.prod(shape, dtype=np.int64)) * t.itemsize
    p = np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8)
    if t.kind == "b":
        p &= 1
    if t.kind == "U":
        p = (np.frombuffer(p, dtype=">u4") % 26 + 97).astype(t.byteorder + "u4").view(np.uint8)
    np.save(path, np.asarray(np.frombuffer(p.tobytes(), dtype=t).reshape(shape), order=order))


def pack(src, path, blosc=None, file=None, metadata=None):
    bloscpack.pack_file_to_file(src, path, metadata=metadata, blosc_args=blosc_args(**blosc or {}), **file_args(**file or {}))


def array(src, path, blosc=None, file=None):
    bloscpack.pack_ndarray_to_file(np.load(src), path, blosc_args=blosc_args(**blosc or {}), **file_args(**file or {}))


def add(src, path, blosc=None):
    append(path, src, blosc_args=None if blosc is None else blosc_args(**blosc))


def set_metadata(path, metadata):
    with open(path, "r+b") as f:
        _seek_to_metadata(f)
        _rewrite_metadata_fp(f, metadata)


def variable(path, items, checksum="adler32", typesize=1, codecs=("blosclz",), level=5, filter="shuffle", metadata=None,
             order=None, missing=(), gap=""):
    """Items in base64, chunks in the given order, those missing left out, filler before each chunk."""
    sums = [c.name for c in vlblp.CHECKSUMS]
    spec = vlblp.Spec(checksum=sums.index(checksum), typesize=typesize, cnames=tuple(codecs), clevel=level,
                      shuffle=SHUFFLES[filter], metadata=None if metadata is None else vlblp.encode_metadata(metadata))
    with open(path, "wb") as f:
        w = vlblp.Writer(f, spec, len(items))
        for i in range(len(items)) if order is None else order:
            if i not in missing:
                w.put_gap(base64.b64decode(gap))
                w.put(i, base64.b64decode(items[i]))
        w.finish(allow_missing=bool(missing))


KINDS = {"npy": npy, "pack": pack, "array": array, "append": add, "metadata": set_metadata, "variable": variable}


def main():
    out = []
    for job in json.load(sys.stdin.buffer):
        try:
            KINDS[job.pop("kind")](**job)
            out.append({})
        except Exception as e:  # the writer's own words, for the test to show
            out.append({"error": repr(e)})
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
