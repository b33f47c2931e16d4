"""python-blosc2's side of the benchmarks: one request a line on stdin, one JSON answer a line on stdout.

One thread, and seconds are CPU seconds of this process, if a job does not say else: imports and the pipe do not count. Arguments are strings.
"""
import ctypes
import glob
import json
import os
import sys
import time
import zlib

import blosc2
import numpy as np

blosc2.set_nthreads(1)
LIB = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(blosc2.__file__), "lib*", "libblosc2.so*"))[0])
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


class DParams(ctypes.Structure):
    _fields_ = [("nthreads", ctypes.c_int16), ("schunk", ctypes.c_void_p), ("postfilter", ctypes.c_void_p),
                ("postparams", ctypes.c_void_p), ("typesize", ctypes.c_int32)]


LIB.blosc2_create_dctx.argtypes, LIB.blosc2_create_dctx.restype = [DParams], ctypes.c_void_p
LIB.blosc2_free_ctx.argtypes, LIB.blosc2_free_ctx.restype = [ctypes.c_void_p], None
LIB.blosc2_decompress_ctx.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32]


def decode(chunk, reps):
    """Decode a chunk into the same memory, reps times, in one context: decompress2 makes one for each call."""
    data = load(chunk)
    dst = np.empty(int.from_bytes(data[4:8], "little"), dtype=np.uint8)
    size, at = len(data), ctypes.c_void_p(dst.ctypes.data)
    context = LIB.blosc2_create_dctx(DParams(1, None, None, None, 8))
    if LIB.blosc2_decompress_ctx(context, data, size, at, len(dst)) != len(dst):
        raise RuntimeError("blosc2_decompress_ctx")
    seconds, _ = cpu(reps, lambda: LIB.blosc2_decompress_ctx(context, data, size, at, len(dst)))
    LIB.blosc2_free_ctx(context)
    return seconds, 1, len(dst)


def filter_block(name, width, raw, result, reps):
    """A filter of the C library on one block, reps times, less what as many calls on no bytes take."""
    f = getattr(LIB, name)
    f.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p]
    src = np.fromfile(raw, dtype=np.uint8)
    dst = np.empty_like(src)
    w, size, s, d = int(width), ctypes.c_int32(len(src)), ctypes.c_void_p(src.ctypes.data), ctypes.c_void_p(dst.ctypes.data)
    if f(w, size, s, d) < 0:
        raise RuntimeError(name)
    none = ctypes.c_int32(0)
    empty, _ = cpu(reps, lambda: f(w, none, s, d))
    seconds, _ = cpu(reps, lambda: f(w, size, s, d))
    dst.tofile(result)
    return seconds - empty, 1, len(src)


def shape(text):
    return tuple(int(n) for n in text.split(","))


def to_array(path, out, codec, level, chunks=None, blocks=None):
    """A .npy into a frame on disk, read as it is needed."""
    kw = {"chunks": shape(chunks), "blocks": shape(blocks)} if chunks else {}
    start = time.process_time()
    a = np.load(path, mmap_mode="r")
    b = blosc2.asarray(a, urlpath=out, mode="w", cparams={"codec": CODECS[codec], "clevel": int(level), "nthreads": 1}, **kw)
    return time.process_time() - start, b.schunk.nchunks, b.schunk.cbytes


def slices(path, *keys):
    """Parts of an array, opened once; what they hold is summed up apart, and not timed."""
    a = blosc2.open(path, mode="r", dparams={"nthreads": 1})
    want = [eval("np.s_[%s]" % k) for k in keys]  # our own text
    total, crc = 0, 0
    for k in want:
        p = a[k].tobytes()
        total, crc = total + len(p), zlib.crc32(p, crc)
    start = time.process_time()
    for k in want:
        a[k]
    return time.process_time() - start, len(want), total, crc


def whole(path, threads):
    """All of an array, opened once, into new memory, by the clock on the wall."""
    a = blosc2.open(path, mode="r", dparams={"nthreads": int(threads)})
    if a.schunk.dparams.nthreads != int(threads):
        raise RuntimeError("%d threads" % a.schunk.dparams.nthreads)
    start = time.perf_counter()
    p = a[:]
    seconds = time.perf_counter() - start
    return seconds, 1, p.nbytes, zlib.crc32(p)


JOBS = {"encode": encode, "decode": decode, "filter": filter_block, "to_array": to_array, "slices": slices, "whole": whole}


def main():
    version = "blosc2 %s (C-Blosc2 %s), Python %s" % (blosc2.__version__, blosc2.VERSION_STRING, sys.version.split()[0])
    print(json.dumps({"versions": version}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total, *crc = JOBS[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total, "sum": crc[0] if crc else 0}), flush=True)


if __name__ == "__main__":
    main()
