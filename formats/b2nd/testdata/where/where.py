"""Writes where.jsonl: what NumPy finds in the arrays of the folder above. A line has the array, a
slice, a comparison in the words of formats/predicate, how many items match, and the first 12 bytes of SHA-256 of
their indexes in the array (int64, little endian, row by row) and of the items."""

import hashlib
import json
import pathlib

import blosc2
import numpy as np

HERE = pathlib.Path(__file__).parent.parent
S = np.s_


def at(a, sel, mask):
    """Indexes in a of the items of a[sel] for which mask is true, in row-major order."""
    grid = np.indices(a.shape)
    return np.stack([g[sel][mask] for g in grid], axis=-1) if a.ndim else np.zeros((int(mask), 0), "<i8")


def text(sel):
    def one(s):
        if isinstance(s, int):
            return str(s)
        return ":".join("" if x is None else str(x) for x in (s.start, s.stop, s.step))

    return "..." if sel is Ellipsis else ", ".join(one(s) for s in (sel if isinstance(sel, tuple) else (sel,)))


PLAIN = [
    ("v > {mid}", lambda v, m: v > m),
    ("v == {mid} or v < {low}", lambda v, m, l: (v == m) | (v < l)),
    ("not v >= {mid}", lambda v, m: ~(v >= m)),
    ("v != 0", lambda v: v != 0),
    ("v < 0 and v > 0", lambda v: (v < 0) & (v > 0)),
]


def numbers(v):
    """Two whole numbers between the extremes of v."""
    w = v[np.isfinite(v)] if v.dtype.kind == "f" else v
    lo, hi = (int(w.min()), int(w.max())) if w.size else (0, 1)
    return (lo + hi) // 2, lo + (hi - lo) // 10


def line(name, a, sel, where, mask):
    items = a[sel][mask]
    places = at(a, sel, mask).astype("<i8")
    print(json.dumps({"file": name, "slice": text(sel), "where": where, "hits": int(mask.sum()),
                      "at": hashlib.sha256(np.ascontiguousarray(places).tobytes()).hexdigest()[:24],
                      "items": hashlib.sha256(np.ascontiguousarray(items).tobytes()).hexdigest()[:24]}))


def main():
    names = sorted(p.name for p in HERE.glob("*.b2nd"))
    for name in names:
        if not name.startswith(("dtype_", "nd", "make_", "resized", "shrunk", "n_by", "one_by", "partial", "scalar", "tiny", "pipe", "block", "chunk", "old", "empty_0x5", "empty_5x0")):
            continue
        b = blosc2.open(str(HERE / name), mode="r")
        a = b[...] if b.ndim else b[()]
        a = np.asarray(a)
        if a.size > 1 << 20 or (name.startswith("pipe_delta")):
            continue
        sels = [Ellipsis]
        if a.ndim:
            sels.append(tuple([slice(None, None, -1)] + [slice(None)] * (a.ndim - 1)))
            sels.append(tuple([slice(None)] * (a.ndim - 1) + [slice(1, None, 3)]))
        for sel in sels:
            v = a[sel]
            if v.dtype.names:
                for f in v.dtype.names:
                    if v.dtype[f].kind in "iuf" and not v.dtype[f].shape:
                        m, _ = numbers(v[f])
                        line(name, a, sel, f"{f} > {m}", v[f] > m)
            elif v.dtype.kind in "iuf":
                m, l = numbers(v)
                for where, f in PLAIN:
                    args = [m, l][: f.__code__.co_argcount - 1]
                    line(name, a, sel, where.format(mid=m, low=l), f(v, *args))
            elif v.dtype.kind == "b":
                line(name, a, sel, "v == true", v)
            elif v.dtype.kind == "M":
                m = np.sort(v.ravel())[v.size // 2]
                line(name, a, sel, f"v >= '{m}'", v >= m)


main()
