"""python-blosc2's and dask's side of analysis: one request a line on stdin, one JSON answer a line on stdout.

Each job opens the array anew, with clients and connections of its own; seconds are those of the clock, imports left out, and cpu those
of the processors. Threads are as many as the libraries take by themselves, but where a job says how many. Arguments are strings.
"""
import json
import sys
import time

import blosc2
import dask
import dask.array
import fsspec
import numpy as np
import obstore.store
import zarr

PARALLEL = 64  # as many requests as farread has in flight
zarr.config.set({"async.concurrency": PARALLEL})


def make(npy, store, chunks):
    """The items of a .npy as a Zarr store, zstd 1 and shuffle, an object for each chunk."""
    a = np.load(npy, mmap_mode="r")
    codec = zarr.codecs.BloscCodec(cname="zstd", clevel=1, shuffle="shuffle", typesize=a.dtype.itemsize)
    z = zarr.create_array(store, shape=a.shape, dtype=a.dtype, chunks=json.loads(chunks), compressors=codec, filters=None)
    for i in range(0, a.shape[0], 64):
        z[i:i + 64] = a[i:i + 64]
    return a.nbytes, None


def opened(where):
    if not where.startswith("http"):
        return blosc2.open(where, mode="r")
    fsspec.spec.AbstractFileSystem.clear_instance_cache()
    fsspec.filesystem("http").clear_instance_cache()
    return blosc2.open(where, lazy=True, max_concurrency=PARALLEL)


def lazy(where):
    """Lazy expressions of python-blosc2, one after the other: it has none with several reductions."""
    a = opened(where)
    e = blosc2.lazyexpr("a", {"a": a})
    return a.nbytes, (e.mean(), e.std(), e.min(), e.max())


def whole(where):
    """All items into memory by python-blosc2, and then NumPy."""
    a = opened(where)[:]
    return a.nbytes, (a.mean(dtype="f8"), a.std(dtype="f8"), a.min(), a.max())


def graph(where, rows, threads):
    """One graph of dask for all four, whose chunks are so many rows of the array; threads 0: as many as it takes itself."""
    if where.startswith("http"):
        store = obstore.store.HTTPStore.from_url(where, client_options={"allow_http": True})
    else:
        store = obstore.store.LocalStore(where)
    z = zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r", zarr_format=3)
    a = dask.array.from_zarr(z, chunks=(int(rows), *z.shape[1:]))
    kw = {"num_workers": int(threads)} if int(threads) else {}
    return a.nbytes, dask.compute(a.mean(), a.std(), a.min(), a.max(), scheduler="threads", **kw)


def check(got, want):
    """The extremes are ours, mean and deviation near them: the peers add float32."""
    want = [float(x) for x in want]
    near = [abs(float(g) - w) <= 1e-4 * max(1, abs(w)) for g, w in zip(got, want)]
    if not all(near) or any(float(g) != w for g, w in zip(got[2:], want[2:])):
        raise ValueError(f"{got}, ours {want}")


JOBS = {f.__name__: f for f in (make, lazy, whole, graph)}


def main():
    versions = f"python-blosc2 {blosc2.__version__} ({blosc2.nthreads} threads), dask {dask.__version__}, zarr {zarr.__version__} with obstore {obstore.__version__}, NumPy {np.__version__}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        args, want = args[:-4] if job != "make" else args, args[-4:]
        start, cpu = time.perf_counter(), time.process_time()
        size, got = JOBS[job](*args)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        if got is not None:
            check(got, want)
        print(json.dumps({"seconds": seconds, "cpu": cpu, "frames": 1, "bytes": size, "sum": 0}), flush=True)


main()
