"""python-blosc2's side of the benchmarks: one request a line on stdin, one JSON answer a line on stdout.

One thread; seconds are CPU seconds of this process, so imports and the pipe do not count. Arguments are strings.
"""
import json
import sys
import time

import blosc2
import numpy as np

blosc2.set_nthreads(1)
CODECS = {"blosclz": blosc2.Codec.BLOSCLZ, "lz4": blosc2.Codec.LZ4, "lz4hc": blosc2.Codec.LZ4HC,
          "zlib": blosc2.Codec.ZLIB, "zstd": blosc2.Codec.ZSTD}
FILTERS = {"none": [], "shuffle": [blosc2.Filter.SHUFFLE], "bitshuffle": [blosc2.Filter.BITSHUFFLE]}


def load(path):
    with open(path, "rb") as f:
        return f.read()


def params(codec, level, filters, typesize):
    return {"codec": CODECS[codec], "clevel": int(level), "filters": FILTERS[filters], "typesize": int(typesize), "nthreads": 1}


def cpu(reps, job):
    """CPU seconds of reps calls, after one that does not count."""
    out = job()
    start = time.process_time()
    for _ in range(int(reps)):
        job()
    return time.process_time() - start, out


def encode(raw, chunk, codec, level, filters, typesize, reps):
    """Encode a file's bytes into one chunk, reps times; the chunk is kept in a file."""
    data, kw = load(raw), params(codec, level, filters, typesize)
    seconds, out = cpu(reps, lambda: blosc2.compress2(data, **kw))
    with open(chunk, "wb") as f:
        f.write(out)
    return seconds, 1, len(out)


def decode(chunk, reps):
    """Decode a chunk into the same memory, reps times."""
    data = load(chunk)
    dst = bytearray(int.from_bytes(data[4:8], "little"))
    seconds, _ = cpu(reps, lambda: blosc2.decompress2(data, dst=dst, nthreads=1))
    return seconds, 1, len(dst)


def to_array(path, out, codec, level):
    """A .npy into a frame on disk, read as it is needed."""
    a = np.load(path, mmap_mode="r")
    start = time.process_time()
    b = blosc2.asarray(a, urlpath=out, mode="w", cparams={"codec": CODECS[codec], "clevel": int(level), "nthreads": 1})
    return time.process_time() - start, b.schunk.nchunks, b.schunk.cbytes


def slices(path, *keys):
    """Parts of an array, opened once."""
    a = blosc2.open(path, mode="r")
    a.schunk.dparams = blosc2.DParams(nthreads=1)
    want = [eval("np.s_[%s]" % k) for k in keys]  # our own text
    a[want[0]]
    total = 0
    start = time.process_time()
    for k in want:
        total += a[k].nbytes
    return time.process_time() - start, len(want), total


JOBS = {"encode": encode, "decode": decode, "to_array": to_array, "slices": slices}


def main():
    version = "blosc2 %s (C-Blosc2 %s), Python %s" % (blosc2.__version__, blosc2.VERSION_STRING, sys.version.split()[0])
    print(json.dumps({"versions": version}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total = JOBS[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total}), flush=True)


if __name__ == "__main__":
    main()
