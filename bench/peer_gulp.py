"""GulpIO2's side of the benchmarks: one request a line on stdin, one JSON answer a line on stdout.

Times are taken here, so imports and the pipe do not count. Images pass through: the
decoder and the encoder are replaced by the identity, as only bytes are compared.
"""
import json
import os
import sys
import tarfile
import time

import gulpio2.fileio
from gulpio2.__version__ import __version__ as version
from gulpio2.fileio import ChunkWriter, GulpChunk


def same(b):
    return b


gulpio2.fileio.img_to_jpeg_bytes = same


def read(data, meta):
    """Every id, all frames of it in one call."""
    chunk = GulpChunk(data, meta, jpeg_decoder=same)
    n = total = 0
    start = time.perf_counter()
    with chunk.open("rb"):
        for id_ in chunk.meta_dict:
            frames, _ = chunk.read_frames(id_)
            n += len(frames)
            total += sum(map(len, frames))
    return time.perf_counter() - start, n, total


def random(data, meta):
    """One frame a call, in the order (id i, frame i * 37)."""
    chunk = GulpChunk(data, meta, jpeg_decoder=same)
    ids = list(chunk.meta_dict)
    counts = [len(chunk.meta_dict[i]["frame_info"]) for i in ids]
    n = total = 0
    start = time.perf_counter()
    with chunk.open("rb"):
        for i in range(20000):
            k = i % len(ids)
            frames, _ = chunk.read_frames(ids[k], [i * 37 % counts[k]])
            n += 1
            total += len(frames[0])
    return time.perf_counter() - start, n, total


class Tar:
    """An adapter over a tar: one item for each folder."""

    def __init__(self, path):
        self.path = path

    def iter_data(self, _):
        with tarfile.open(self.path, "r:") as tar:
            id_, frames = None, []
            for member in tar:
                folder = member.name.rsplit("/", 1)[0]
                if folder != id_ and frames:
                    yield {"id": id_, "meta": {}, "frames": frames}
                    frames = []
                id_ = folder
                frames.append(tar.extractfile(member).read())
            yield {"id": id_, "meta": {}, "frames": frames}


def pack(tar, data, meta):
    if os.path.exists(meta):
        os.remove(meta)  # or it would be added to
    start = time.perf_counter()
    chunk = GulpChunk(data, meta, jpeg_decoder=same)
    ChunkWriter(Tar(tar)).write_chunk(chunk, None)
    d = time.perf_counter() - start
    infos = [f for m in chunk.meta_dict.values() for f in m["frame_info"]]
    return d, len(infos), sum(f[2] - f[1] for f in infos)


def main():
    print(json.dumps({"versions": "gulpio2 %s, Python %s" % (version, sys.version.split()[0])}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total = {"read": read, "random": random, "pack": pack}[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total}), flush=True)


if __name__ == "__main__":
    main()
