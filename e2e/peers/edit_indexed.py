"""Edits copies of a frame and of an array that have an index of farread inside, in all
ways that python-blosc2 has, and prints what each copy then holds. After "told" it prints what
the files hold that follow."""

import hashlib
import json
import shutil
import sys

import blosc2
import numpy as np

CPARAMS = dict(codec=blosc2.Codec.LZ4, clevel=1, nthreads=1)


def turned(schunk, i):
    """The data of chunk i with its blocks in reverse: it takes as many bytes encoded."""
    data = schunk.decompress_chunk(i)
    n = schunk.blocksize
    return b"".join(data[k : k + n] for k in range(len(data) - n, -1, -n))


def update_same_size(s, path):
    before = len(s.get_chunk(5))
    s.update_data(5, turned(s, 5), copy=True)
    assert len(s.get_chunk(5)) == before


def update_other_size(s, path):
    s.update_data(5, bytes(range(256)) * (s.chunksize // 256), copy=True)


def update_special(s, path):
    s.update_data(5, bytes(s.chunksize), copy=True)


def append(s, path):
    s.append_data(np.frombuffer(turned(s, 3), "<u2"))


def insert(s, path):
    s.insert_data(2, turned(s, 7), copy=True)


def delete(s, path):
    s.delete_chunk(4)


def reorder(s, path):
    s.reorder_offsets(np.arange(s.nchunks)[::-1])


def vlmeta_set(s, path):
    s.vlmeta["seen"] = [1, 2]


def vlmeta_again(s, path):
    s.vlmeta["note"] = "other"


def vlmeta_delete(s, path):
    del s.vlmeta["note"]


def nothing(s, path):
    s.vlmeta.getall()


FRAME = [update_same_size, update_other_size, update_special, append, insert, delete, reorder, vlmeta_set, vlmeta_again, vlmeta_delete, nothing]


def items(a, path):
    a[3:5, 10:20] = 7


def items_same_size(a, path):
    """The same items in other blocks: no number of header and offsets changes."""
    n = a.blocks[1]
    before = len(a.schunk.get_chunk(2))
    a[2] = np.concatenate([a[2][k : k + n] for k in range(a.shape[1] - n, -1, -n)])
    assert len(a.schunk.get_chunk(2)) == before


def grow(a, path):
    a.resize((a.shape[0] + 2, *a.shape[1:]))
    a[-2:] = 9


def shrink(a, path):
    a.resize((a.shape[0] - 3, *a.shape[1:]))


ARRAY = [items, items_same_size, grow, shrink]


def told(path, before):
    d = blosc2.open(path, mode="r")
    s = getattr(d, "schunk", d)
    data = d[:].tobytes() if hasattr(d, "schunk") else b"".join(s.decompress_chunk(i) for i in range(s.nchunks))
    with open(path + ".raw", "wb") as f:
        f.write(data)
    meta = s.vlmeta.getall()
    index = meta.pop("farread-index", None)
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest(), "changed": data != before, "vlmeta": meta,
            "index": None if index is None else len(index), "shape": list(getattr(d, "shape", []))}


def main():
    if sys.argv[1] == "told":
        json.dump({path: told(path, None) for path in sys.argv[2:]}, sys.stdout)
        return
    frame, array = sys.argv[1:]
    out = {}
    for path, edits in (frame, FRAME), (array, ARRAY):
        d = blosc2.open(path, mode="r")
        before = d[:].tobytes() if hasattr(d, "schunk") else d[:]
        for f in edits:
            to = path.replace(".", "_" + f.__name__ + ".")
            shutil.copy(path, to)
            d = blosc2.open(to, mode="a")
            f(d, to)
            del d
            out[f.__name__] = told(to, before)
        d = blosc2.open(path, mode="r")
        if hasattr(d, "save"):
            to = path.replace(".", "_copied.")
            d.copy(urlpath=to, mode="w", contiguous=True)
            out["copied"] = told(to, before)
            to = path.replace(".", "_saved.")
            d.save(to, mode="w")
            out["saved"] = told(to, before)
        to = path.replace(".", "_cframe.")
        with open(to, "wb") as f:
            f.write(getattr(d, "schunk", d).to_cframe())
        out["to_cframe " + path[-5:]] = told(to, before)
    json.dump(out, sys.stdout)


main()
