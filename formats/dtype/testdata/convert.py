#!/usr/bin/env python3
"""Writes convert.jsonl: items of one type, and what NumPy's astype makes of them.

Each line is {"from", "to": dtype.str, "src", "want": base64}, or "refused": true if a
number of the first type may not be one of the second (numpy.can_cast, "same_kind",
says no, or a float would become whole). "unfit" is the number of the first item that
the second type has no value for. Run: python3 convert.py > convert.jsonl
"""
import base64
import json

import numpy as np

np.seterr(all="ignore")
rnd = np.random.default_rng(7)
numbers = ["|b1", "|i1", "|u1"] + ["<" + t for t in ("i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")] + [">i2", ">u8", ">f2", ">f4", ">c16"]
others = ["<M8[ns]", ">M8[ns]", "<M8[s]", "<m8[ns]", ">m8[ns]", "<U3", ">U3", "<U4", "|S3", "|V4", "|S4"]


def b64(a):
    return base64.b64encode(a.tobytes()).decode()


def items(d):
    """Values that matter: ends of all types, halves between floats, and noise."""
    if d.kind == "b":
        return np.array([0, 1, 1, 0], d)
    ints = [0, 1, 2, 100, 127, 128, 129, 255, 256, 2047, 2049, 4099, 32767, 32768, 65503, 65504, 65519, 65520, 65535, 65536,
            2**24 - 1, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 - 1, 2**53 + 1, 2**60 + 2**36 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    if d.kind in "iu":
        info = np.iinfo(d)
        vals = [v for v in ints + [-v for v in ints] + [info.min] if info.min <= v <= info.max]
        noise = rnd.integers(info.min, info.max, 8, dtype=d.newbyteorder("="), endpoint=True)
        return np.concatenate([np.array(vals, d), noise.astype(d)]).astype(d)
    if d.kind == "f":
        vals = [float(v) for v in ints] + [0.5, 0.1, 1 / 3, 1e-7, 2.0**-24, 2.0**-25, 2.0**-25 * (1 + 2**-20), 2.0**-26, 6.1e-5, 1e-40, 1e-46, 1e38, 3.5e38, 1e300, 5e-324,
                                        float("inf"), 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 2049.0, 2049.0000001, float("nan")]
        vals += [-v for v in vals]
        return np.concatenate([np.array(vals, "f8"), rnd.normal(size=8)]).astype(d)
    if d.kind == "c":
        part = np.dtype(d.byteorder.replace("=", "<") + "f" + str(d.itemsize // 2))
        re = items(part)
        out = np.empty(len(re), d)
        out.real, out.imag = re, re[::-1]
        return out
    return np.frombuffer(rnd.integers(0, 127, 12 * d.itemsize, dtype="u1").astype("u1").tobytes(), d) if d.kind not in "U" else np.array(["a", "bé", "xyz", ""], d)


def allowed(a, b):
    """Numbers may become wider or narrower of their kind, or of a later kind."""
    if a == b:
        return True
    if a.kind in "biufc" and b.kind in "iufc":
        rank = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
        return rank[a.kind] <= rank[b.kind]
    return a.kind in "MmU" and a == b.newbyteorder()


types = [np.dtype(t) for t in numbers + others]
for a in types:
    for b in types:
        line = {"from": a.str, "to": b.str}
        src = items(a)
        if not allowed(a, b):
            line |= {"refused": True}
        else:
            if a.kind in "iu" and b.kind in "iu":
                info = np.iinfo(b)
                ok = [info.min <= int(v) <= info.max for v in src]
                if not all(ok):
                    print(json.dumps(line | {"src": b64(src), "unfit": ok.index(False)}))
                    src = src[np.array(ok)]
            line |= {"src": b64(src), "want": b64(src.astype(b))}
        print(json.dumps(line))
