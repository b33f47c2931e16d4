"""python-blosc2's, zarr's and farread's own Python side of reads from afar: one request a line on stdin, one JSON answer a line on stdout.

Each read opens the array anew, with clients and connections of its own; seconds are those of the clock, imports left out.
Arguments are strings.
"""
import json
import os
import subprocess
import sys
import time
import zlib

import blosc2
import fsspec
import numpy as np
import obstore.store
import zarr

PARALLEL = 64  # as many requests as farread has in flight
zarr.config.set({"async.concurrency": PARALLEL})


def make(raw, dtype, shape, path, chunks, shards):
    """A zarr array of the raw items of a file, one object a chunk, or chunks in shards."""
    shape, chunks, shards = json.loads(shape), json.loads(chunks), json.loads(shards)
    data = np.fromfile(raw, dtype).reshape(shape)
    codec = zarr.codecs.BloscCodec(cname="lz4", clevel=1, shuffle="shuffle", typesize=data.itemsize)
    a = zarr.create_array(path, shape=shape, dtype=data.dtype, chunks=chunks, shards=shards or None, compressors=codec, filters=None)
    a[...] = data
    return 0.001, data


def use(program, package):
    """Takes farread from a folder, and its program, which starts with a read of its own."""
    os.environ |= {"FARREAD_BIN": program, "PYTHONPATH": package}
    sys.path.insert(0, package)
    global farread
    import farread

    farread.configure()
    probe = np.zeros((0,))
    np.save(os.path.join(os.path.dirname(program), "probe.npy"), probe)
    farread.open(os.path.join(os.path.dirname(program), "probe.npy"))
    return 0.001, probe


def opened(reader, url):
    if reader == "farread":
        return farread.open(url)
    if reader == "blosc2":
        fsspec.spec.AbstractFileSystem.clear_instance_cache()
        fsspec.filesystem("http").clear_instance_cache()
        return blosc2.open(url, lazy=True, max_concurrency=PARALLEL)
    store = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
    return zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r", zarr_format=3)


def read(reader, url, index):
    """A slice: numbers, and null for all of an axis."""
    at = tuple(slice(None) if k is None else k for k in json.loads(index))
    start = time.perf_counter()
    out = np.asarray(opened(reader, url)[at])
    return time.perf_counter() - start, out


# What a program of its own needs for a read.
FRESH = {
    "farread": "import farread; a = farread.open(url)",
    "blosc2": "import blosc2; a = blosc2.open(url, lazy=True, max_concurrency=64)",
    "zarr": """import obstore.store, zarr
zarr.config.set({"async.concurrency": 64})
a = zarr.open_array(zarr.storage.ObjectStore(obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True}), read_only=True), mode="r", zarr_format=3)""",
}
READ = """
import json, sys
import numpy as np
out = np.asarray(a[tuple(slice(None) if k is None else k for k in json.loads(sys.argv[2]))])
sys.stdout.buffer.write(out.tobytes())
"""


def fresh(reader, url, index):
    """A slice by a Python that is started for it."""
    start = time.perf_counter()
    made = subprocess.run([sys.executable, "-c", "import sys; url = sys.argv[1]\n" + FRESH[reader] + READ, url, index], check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - start, np.frombuffer(made.stdout, np.uint8)


def find(reader, url, low, high):
    """The items from low on and below high. Neither peer skips by values, so it reads all."""
    start = time.perf_counter()
    v = np.asarray(opened(reader, url)[:])
    out = v[(v >= int(low)) & (v < int(high))]
    return time.perf_counter() - start, out


JOBS = {"make": make, "use": use, "read": read, "fresh": fresh, "find": find}


def main():
    versions = f"python-blosc2 {blosc2.__version__}, fsspec {fsspec.__version__}, zarr {zarr.__version__} with obstore {obstore.__version__}, NumPy {np.__version__}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, out = JOBS[job](*args)
        p = np.ascontiguousarray(out)
        print(json.dumps({"seconds": seconds, "frames": out.size, "bytes": out.nbytes, "sum": zlib.crc32(p)}), flush=True)


main()
