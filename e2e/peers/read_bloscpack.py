"""Reads Bloscpack files with their reference readers and prints JSON.

One JSON list on stdin: [{"kind": "fixed" | "array" | "variable", "path": P, ...}, ...].
One JSON list on stdout, in the same order: what the reader found, or {"error": text}. The readers are the real bloscpack for
files of version 3, and vlblp.py for those of version 4, which bloscpack refuses.
"""
import hashlib
import json
import sys

import old_bloscpack  # noqa: F401  # first: makes the next ones load
import blosc
import bloscpack
import numpy as np
import vlblp
from bloscpack.file_io import CompressedFPSource

blosc.set_nthreads(1)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def fixed(path):
    """Everything that the real reader says of a file, its chunks decoded one after the other with their digests compared."""
    data = bloscpack.unpack_bytes_from_file(path)[0]
    with open(path, "rb") as f:
        src = CompressedFPSource(f)
        h, m, start = src.bloscpack_header, src.metadata_header, f.tell()
        chunks, starts, at = [], [], start
        for chunk, digest in src:
            chunks.append(len(blosc.decompress(chunk)))
            starts.append(at)
            at += len(chunk) + len(digest or b"")
        end = f.tell()
        f.seek(0, 2)
        rest = f.tell() - end
    out = {
        "sha256": sha(data), "nbytes": len(data), "chunks": chunks, "typesize": h.typesize, "chunk_size": h.chunk_size,
        "last_chunk": h.last_chunk, "nchunks": h.nchunks, "max_app_chunks": h.max_app_chunks, "checksum": h.checksum,
        "has_offsets": bool(h.offsets), "has_metadata": bool(h.metadata), "metadata": src.metadata, "start": start, "rest": rest,
    }
    # The reader itself never follows the table: it has to be right all the same.
    assert not h.offsets or list(src.offsets) == starts, "the table has %r, the chunks are at %r" % (src.offsets[:9], starts[:9])
    if m:
        out["meta"] = {"checksum": m.meta_checksum, "codec": m.meta_codec, "level": m.meta_level, "size": m.meta_size,
                       "max_size": m.max_meta_size, "stored": m.meta_comp_size}
    return out


def array(path, npy):
    """A file that holds an array; NumPy saves what came out as a .npy."""
    a = bloscpack.unpack_ndarray_from_file(path)
    np.save(npy, a)
    return {**fixed(path), "shape": list(a.shape), "dtype": repr(a.dtype.descr if a.dtype.names else a.dtype.str)}


def variable(path):
    """A file of version 4, every item with its digest; all rules of structure are checked."""
    with open(path, "rb") as f:
        data = f.read()
    r = vlblp.Reader(data)
    h = r.header
    return {**vlblp.describe(data), "warnings": r.warnings, "slack": r.slack, "chunk_size": h.chunk_size,
            "last_chunk": h.last_chunk, "has_offsets": h.offsets_present, "has_metadata": bool(h.meta_size)}


KINDS = {"fixed": fixed, "array": array, "variable": variable}


def main():
    out = []
    for job in json.load(sys.stdin.buffer):
        try:
            out.append(KINDS[job.pop("kind")](**job))
        except Exception as e:  # the reader's own words, for the test to show
            out.append({"error": repr(e)})
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
