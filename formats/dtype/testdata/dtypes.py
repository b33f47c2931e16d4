#!/usr/bin/env python3
"""Writes dtypes.jsonl: types, their texts in NumPy, and items with their values.

Each line is {"text": str(dtype) as python-blosc2 stores it, "descr": what
numpy.save writes (null where it refuses), "size", "fields": [[name, offset]],
"packed": the text after NumPy made the gaps fields, "items": base64, "values":
JSON that NumPy's own values give}. Types that Go must refuse have "refused".
Run: python3 dtypes.py > dtypes.jsonl
"""
import base64
import json
import math
import random

import numpy as np

rnd = random.Random(5)


def stored(d):
    return str(d) if d.kind == "V" else d.str  # blosc2_ext.pyx, NDArray creation


def without_align(d):
    """str(dtype) tells of a gap also by 'aligned', which text alone cannot."""
    return stored(d).replace(", 'aligned': True", "")


def num(f):
    f = float(f)
    if math.isnan(f):
        return None
    if math.isinf(f):
        return "inf" if f > 0 else "-inf"
    return f


def value(v, d):
    if d.subdtype:
        return [value(x, d.base if len(d.shape) == 1 else np.dtype((d.base, d.shape[1:]))) for x in v]
    if d.names is not None:
        return {n: value(v[n], d.fields[n][0]) for n in d.names}
    if d.kind == "b":
        return bool(v)
    if d.kind in "iu":
        return int(v)
    if d.char in "gG":
        return "opaque"
    if d.kind == "f":
        return num(v)
    if d.kind == "c":
        return [num(v.real), num(v.imag)]
    if d.kind == "S":
        return bytes(v).decode("latin-1" if any(c > 127 for c in v) else "ascii")
    if d.kind == "U":
        return str(v)
    if d.kind == "V":
        return base64.b64encode(v.tobytes()).decode()
    if np.isnat(v):
        return None
    if d.kind == "M" and np.datetime_data(d)[0] == "generic":
        return str(int(v.view("i8")))  # NumPy prints no generic times
    return str(v) if d.kind == "M" else int(v.astype("i8"))


def fill(d, n=10):
    if d.itemsize == 0:
        return np.zeros(0, d)
    raw = bytearray(rnd.randbytes(d.itemsize * n))
    text(raw, d, 0, n, d.itemsize)
    a = np.frombuffer(bytes(raw), dtype=d)
    if d.kind in "fc" and d.char not in "gG":
        part = np.concatenate([np.array([0.0, -0.0, 1, -1, 0.1, 1e-5, 65504, 6e-8, math.nan, math.inf, -math.inf, 1 / 3])] * 2)
        a = np.concatenate([a, part.astype(d)])
        if d.kind == "c":
            a[-1] = complex(1, math.nan)
            a[-2] = complex(-math.inf, -0.0)
    elif d.kind in "Mm":
        small = np.array([0, 1, -1, 59, 60, 3599, 86399, 86400, -86400, 11016, 11017, 19782, -719528, -2**63, 2**40, -2**41, 15], dtype="i8")
        a = np.concatenate([small, a.view(d.str[0] + "i8").astype("i8") % 2**36]).astype(d.str[0] + "i8").view(d)
    elif d.kind in "iu":
        lim = np.iinfo(d)
        a = np.concatenate([a, np.array([lim.min, lim.max, 0, 1], dtype=d)])
    return a if d.kind == "V" else a.astype(d)


def text(raw, d, off, n, step):
    """Puts valid text (and bools) where random bytes would be none."""
    for i in range(n):
        at = off + i * step
        if d.subdtype:
            for k in range(int(np.prod(d.shape))):
                text(raw, d.base, at + k * d.base.itemsize, 1, 0)
        elif d.names is not None:
            for name in d.names:
                f = d.fields[name]
                text(raw, f[0], at + f[1], 1, 0)
        elif d.kind == "b":
            raw[at] = rnd.randint(0, 1)
        elif d.kind == "S":
            s = bytes(rnd.choice(b"a\"b\\,\n\x00\x7f\x01z ") for _ in range(d.itemsize))
            if rnd.random() < 0.2:
                s = (b"\xe9" + s)[: d.itemsize]
            raw[at : at + d.itemsize] = s
        elif d.kind == "U":
            s = "".join(rnd.choice("aé\"\\,\n\x00\x7f\u200b\u20ac\U0001f600 ") for _ in range(d.itemsize // 4))
            raw[at : at + d.itemsize] = s.encode("utf-32-be" if d.str[0] == ">" else "utf-32-le")
        elif d.kind in "mM" and step == 0:
            raw[at : at + 8] = np.array([rnd.randint(-(2**36), 2**36)], d.str[0] + "i8").tobytes()


plain = ["?", "i1", "u1", "S0", "S1", "S7", "U0", "U3", ">U3", "V0", "V1", "V13", "f16", "c32", ">f16", "M8", "m8"]
plain += [o + k for o in "<>" for k in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")]
plain += [o + k + "[" + u + "]" for o in "<>" for k in ("M8", "m8") for u in "Y M W D h m s ms us ns ps fs as 25s 7D 3M 10Y 15m 500ms".split()]
types = [np.dtype(t) for t in plain]
types += [
    np.dtype(t)
    for t in [
        [("a", "<i4"), ("b", ">f8"), ("c", "S3")],
        [("a", "<i4", (2,))],
        [("a", "<i4"), ("f1", "V4"), ("b", "<i8"), ("f3", "V8")],
        [("f0", "V7")],
        [("a", "u1"), ("b", "?"), ("c", "S3"), ("d", "U2"), ("e", "V4"), ("f", "M8[ns]"), ("g", ">i4"), ("h", "S0"), ("i", "V0"), ("j", "m8"), ("k", "U0")],
        [("it's", "i4"), ('q"q', "f4"), ("x'\"y", "i1"), ("\u00e9\n\t\r\\\u200b\U0001f600\x7f\x01\u00ad\ue000", "i1")],
        [(("title", "name"), "<i4"), ("s", [("x", "i4"), ("y", "f8", (2, 3))], (2,))],
        [(("it's", 'a"b'), "<c8"), ("s", [(("t", "x"), "i4")])],
        [("a", "i4", (1,)), ("b", "?", (2, 1, 2)), ("c", [("d", [("e", [("f", "<f2", (2,))])])])],
        [("l", "f16"), ("a", "i2")],
        [("z", "i4", (0,)), ("y", "u1")],
        [],
        {"names": ["a", "b"], "formats": ["i4", "i8"], "offsets": [4, 8], "itemsize": 24},
        {"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]},
        {"names": ["a", "b"], "formats": ["i4", ("i2", (2,))], "offsets": [4, 0], "titles": ["T", None]},
        {"names": ["a", "b"], "formats": ["i4", [("x", "u1"), ("y", ">u2")]], "offsets": [1, 9]},
        {"names": [], "formats": [], "offsets": [], "itemsize": 5},
    ]
]
types += [
    np.dtype([("a", "i4"), ("b", "i8")], align=True),
    np.dtype([("a", "u1"), ("b", "i8", (2,)), ("c", "S3")], align=True),
    np.dtype([("a", "i4"), ("b", "i8"), ("c", "f4")], align=True)[["b"]],
]

for d in types:
    a = fill(d)
    line = {"text": without_align(d), "size": d.itemsize}
    try:
        line["descr"] = repr(np.lib.format.dtype_to_descr(d))
    except ValueError:
        line["descr"] = None
    if d.names is not None:
        line["fields"] = [[n, d.fields[n][1]] for n in d.names]
        if line["descr"] is not None and len(d.names):
            line["packed"] = str(np.dtype(d.descr)) if d.descr and d.names[0] is not None else None
    line["items"] = base64.b64encode(a.tobytes()).decode()
    line["values"] = [value(x, d) for x in a] if d.itemsize else []
    print(json.dumps(line))
