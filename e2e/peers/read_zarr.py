"""Reads Zarr arrays with zarr-python, and Blosc chunks with numcodecs, and prints JSON.

One JSON list on stdin. {"zarr": folder, "b2nd": path, "cast": type or ""} compares all values of the Zarr array in a
folder with what blosc2 reads from a b2nd array; "group" in place of "zarr" names a group with consolidated metadata, and
"array" the array in it. {"blosc": path} decodes one chunk.
One JSON list on stdout, in the same order: what was found, or {"error": text}. null means that the readers are missing.
"""
import hashlib
import json
import sys
import warnings

import blosc2
import numpy as np

from read_blosc import assembled

try:
    import numcodecs.blosc
    import zarr
except ImportError:
    zarr = None

blosc2.set_nthreads(1)  # with DELTA, threads of C-Blosc2 3.3.5 may use the first block before it is decoded
warnings.simplefilter("ignore")  # types that the standard does not have yet


def cast(a, name):
    """As the document says: floats towards zero, NaN to 0, ends of the range."""
    to = np.dtype(name)
    if a.dtype.kind in "mM":
        return a.view(a.dtype.str[0] + "i8").astype(to)
    if to.kind == "f":
        with np.errstate(over="ignore"):
            return a.astype(to)
    if a.dtype.kind == "f":
        a = np.trunc(np.nan_to_num(a.astype("f8"), nan=0.0))
    info = np.iinfo(to)
    return np.array([min(max(int(x), info.min), info.max) for x in a.ravel()], dtype=to).reshape(a.shape)


def equal(got, want):
    """By members, since what lies between them is not read."""
    if want.dtype.names:
        return all(equal(got[name], want[name]) for name in want.dtype.names)
    return got.tobytes() == want.tobytes()


def array(job):
    if "group" in job:
        group = zarr.open_group(job["group"], mode="r", use_consolidated=True)
        z = group[job["array"]]
    else:
        z = zarr.open_array(job["zarr"], mode="r")
    want = assembled(blosc2.open(job["b2nd"], mode="r"))
    if job.get("cast"):
        want = cast(want, job["cast"])
    got = np.asarray(z[...])
    assert got.shape == want.shape, (got.shape, want.shape)
    # zarr-python gives numbers in the order of the machine, so types may differ in that.
    same = got.astype(want.dtype, copy=False) if got.dtype.kind in "biufcmMSU" else got
    assert same.dtype.itemsize == want.dtype.itemsize, (got.dtype, want.dtype)
    assert equal(same, want), ("values", got.dtype, want.dtype)
    return {"shape": list(got.shape), "dtype": str(got.dtype), "chunks": list(z.chunks),
            "names": list(z.metadata.dimension_names or []), "attributes": sorted(z.attrs)}


def chunk(path):
    with open(path, "rb") as f:
        data = numcodecs.blosc.decompress(f.read())
    return {"sha256": hashlib.sha256(data).hexdigest()}


def main():
    out = [] if zarr else None
    for job in json.load(sys.stdin) if zarr else ():
        try:
            out.append(chunk(job["blosc"]) if "blosc" in job else array(job))
        except Exception as e:  # the reader's own words, for the test to show
            out.append({"error": repr(e)})
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
