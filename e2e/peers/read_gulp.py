"""Reads gulp chunks with GulpIO's own readers, or writes a dataset with its ingestor, and prints JSON.

read_gulp.py [--decode] PATH...   each PATH a folder of chunks or one .gulp file
read_gulp.py --write FOLDER       writes random images, then reads them
"""
import argparse
import contextlib
import hashlib
import json
import os
import sys

import numpy as np
from gulpio2.adapters import AbstractDatasetAdapter
from gulpio2.fileio import GulpChunk, GulpDirectory, GulpIngestor
from gulpio2.utils import jpeg_bytes_to_img


def raw(payload):
    return payload


def frames(payloads, decode):
    out = []
    for p in payloads:
        f = {"sha256": hashlib.sha256(p).hexdigest(), "size": len(p)}
        if decode:
            f["shape"] = list(jpeg_bytes_to_img(p).shape)
        out.append(f)
    return out


def read_chunk(data, meta, decode):
    chunk = GulpChunk(data, meta, jpeg_decoder=raw)
    items = []
    with chunk.open("rb"):
        for id_ in chunk.meta_dict:
            payloads, first = chunk.read_frames(id_)
            every_other, _ = chunk.read_frames(id_, slice(None, None, -2))
            assert every_other == payloads[::-2], id_
            items.append({"id": id_, "meta_data": chunk.meta_dict[id_]["meta_data"], "first": first,
                          "frames": frames(payloads, decode)})
    iterated = [len(p) for p, _ in chunk]
    assert iterated == [len(i["frames"]) for i in items]
    return {"name": os.path.basename(data), "items": items}


def read(path, decode):
    if not os.path.isdir(path):
        return {"chunks": [read_chunk(path, path[:-len(".gulp")] + ".gmeta", decode)], "ids": []}
    folder = GulpDirectory(path, jpeg_decoder=raw)
    chunks = [read_chunk(c.data_file_path, c.meta_file_path, decode) for c in folder]
    for c in chunks:  # by id, through the folder's own table
        for item in c["items"]:
            payloads, _ = folder[item["id"]]
            assert frames(payloads, decode) == item["frames"], item["id"]
    return {"chunks": chunks, "ids": list(folder.merged_meta_dict)}


def plain(v):
    """Leaves out the number words that are not in JSON, but in what GulpIO writes."""
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, list):
        return [plain(x) for x in v]
    return None if isinstance(v, float) and v != v else v


class Adapter(AbstractDatasetAdapter):
    """Clips of noise, grey and in colour, whose JPEGs have every length modulo 4."""

    def __len__(self):
        return 11

    def iter_data(self, slice_element=None):
        r = np.random.default_rng(7)
        clips = []
        for i in range(len(self)):
            shape = (8 + i, 16) if i % 3 == 2 else (8 + i, 16, 3)
            clips.append({
                "id": "clip/%d é\u4e2d" % i if i % 2 else i,
                "meta": {"label": i, "text": "häßlich \U0001f600 \"%d\"" % i, "nested": {"a": [1, 2.5, None, True]},
                         "nan": float("nan") if i == 3 else 1e300},
                "frames": [r.integers(0, 256, shape, dtype=np.uint8) for _ in range(1 + i * 3)],
            })
        return iter(clips[slice_element or slice(None)])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("paths", nargs="+")
    ap.add_argument("--decode", action="store_true")
    ap.add_argument("--write", action="store_true")
    a = ap.parse_args()
    if a.write:
        with contextlib.redirect_stdout(sys.stderr):
            GulpIngestor(Adapter(), a.paths[0], 4, 1)()
    out = [read(p, a.decode) for p in a.paths]
    json.dump(plain(out), sys.stdout)


if __name__ == "__main__":
    main()
