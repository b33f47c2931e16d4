"""bloscpack's side of the benchmarks: one request a line on stdin, one JSON answer a line on stdout.

One thread; seconds are CPU seconds of this process, so imports and the pipe do not count. Arguments are strings.
"""
import collections
import collections.abc
import io
import json
import struct
import sys
import time
import zlib

for name in ("Mapping", "MutableMapping"):  # bloscpack 0.16 predates Python 3.10
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))

import blosc  # noqa: E402
import bloscpack  # noqa: E402
from bloscpack.abstract_io import PlainSink, unpack as unpack_chunks  # noqa: E402
from bloscpack.args import BloscArgs, BloscpackArgs  # noqa: E402
from bloscpack.file_io import CompressedFPSource  # noqa: E402
import numpy as np  # noqa: E402

blosc.set_nthreads(1)
SHUFFLES = {"none": blosc.NOSHUFFLE, "shuffle": blosc.SHUFFLE, "bitshuffle": blosc.BITSHUFFLE}


def pack(raw, path, codec, level, filters, typesize, checksum, chunk_size):
    """A file of version 3 as bloscpack writes it."""
    start = time.process_time()
    bloscpack.pack_file_to_file(raw, path, chunk_size=int(chunk_size), bloscpack_args=BloscpackArgs(checksum=checksum),
                                blosc_args=BloscArgs(typesize=int(typesize), clevel=int(level), shuffle=SHUFFLES[filters], cname=codec))
    return time.process_time() - start, 1, 0, 0


class Memory(PlainSink):
    """Where chunks are decoded to: the same memory each time, without a copy in between, as into its arrays."""

    def __init__(self, size):
        self.memory = np.empty(size, dtype=np.uint8)
        self.start = self.at = self.memory.__array_interface__["data"][0]

    def put(self, compressed):
        n = blosc.decompress_ptr(compressed, self.at)
        self.at += n
        return n


def unpack(path, size, reps):
    """A file of so many bytes into memory, reps times after once that does not count; digests are compared."""
    sink = Memory(int(size))
    for i in range(int(reps) + 1):
        if i == 1:
            start = time.process_time()
        sink.at = sink.start
        with open(path, "rb") as f:
            unpack_chunks(CompressedFPSource(f), sink)
    seconds = time.process_time() - start
    return seconds, 1, sink.at - sink.start, zlib.crc32(sink.memory)


def unpack_bytes(path, reps):
    """The same by the call that people make."""
    data = bloscpack.unpack_bytes_from_file(path)[0]
    start = time.process_time()
    for _ in range(int(reps)):
        bloscpack.unpack_bytes_from_file(path)
    return time.process_time() - start, 1, len(data), zlib.crc32(data)


def lines(raw, path, codec, level):
    """Lines to a file of version 4, one chunk a line, in memory: what a short program around python-blosc does."""
    with open(raw, "rb") as f:
        data = f.read()
    start = time.process_time()
    text = data[:-1].split(b"\n")
    body, offsets = io.BytesIO(), []
    at = 32 + 8 * len(text)
    for line in text:
        offsets.append(at)
        chunk = blosc.compress(line, typesize=1, clevel=int(level), shuffle=blosc.NOSHUFFLE, cname=codec)
        body.write(chunk)
        body.write(struct.pack("<I", zlib.adler32(chunk)))
        at += len(chunk) + 4
    head = struct.pack("<4sBBBBiiqII", b"blpk", 4, 5, 1, 1, -1, -1, len(text), 0, 0) + struct.pack("<%dq" % len(text), *offsets)
    seconds = time.process_time() - start
    with open(path, "wb") as f:
        f.write(head)
        f.write(body.getbuffer())
    return seconds, len(text), len(data), zlib.crc32(data)


def read_lines(path, meta):
    """All lines of such a file, in order, digests compared; they are summed up apart, and not timed."""
    with open(path, "rb") as f:
        data = f.read()
    n, view, out = struct.unpack_from("<q", data, 16)[0], memoryview(data), []
    start = time.process_time()
    for at in struct.unpack_from("<%dq" % n, data, 32 + int(meta)):
        end = at + struct.unpack_from("<i", data, at + 12)[0]
        chunk = view[at:end]
        if zlib.adler32(chunk) != struct.unpack_from("<I", data, end)[0]:
            raise RuntimeError("a wrong checksum")
        out.append(blosc.decompress(chunk))
    seconds = time.process_time() - start
    text = b"\n".join(out) + b"\n"
    return seconds, n, len(text), zlib.crc32(text)


JOBS = {"pack": pack, "read_lines": read_lines, "unpack": unpack, "unpack_bytes": unpack_bytes, "lines": lines}


def main():
    version = "bloscpack %s, blosc %s (C-Blosc %s), Python %s" % (
        bloscpack.__version__, blosc.__version__, blosc.blosclib_version.split()[0], sys.version.split()[0])
    print(json.dumps({"versions": version}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total, crc = JOBS[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total, "sum": crc}), flush=True)


if __name__ == "__main__":
    main()
