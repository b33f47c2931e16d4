#!/usr/bin/env python3
"""Writes stats.jsonl: items of all types, and what NumPy says of their columns.

Each line is {"dtype": str(dtype), "items": base64, "fill": base64 of an item, or
null for zeros, "columns": [{"name", "count", "nan", "fill", "min", "max"}]}; min and
max are base64 of an item of the column, or null. Some lines have {"shape", "valid"}:
the items are an array of that shape, and only the first valid[i] items along each
axis i count.
Run: python3 stats.py > stats.jsonl
"""
import base64
import json
import random

import numpy as np

rnd = random.Random(29)
np.seterr(all="ignore")


def b64(v):
    return base64.b64encode(v).decode()


def leaves(a, name=""):
    """The columns of a: fields by path, without sub-arrays and without text."""
    if a.dtype.names is not None:
        for n in a.dtype.names:
            if a.dtype.fields[n][0].subdtype is None:
                yield from leaves(a[n], name + "." + n if name else n)
    elif a.dtype.kind in "biufcMm" and a.dtype.char not in "gG":
        yield name, a


def column(name, a, fill):
    nan = np.isnat(a) if a.dtype.kind in "Mm" else np.isnan(a) if a.dtype.kind in "fc" else np.zeros(a.shape, bool)
    blank = np.isnat(fill) if a.dtype.kind in "Mm" else fill != fill
    c = {"name": name, "count": a.size, "nan": int(nan.sum()), "fill": int((nan if blank else a == fill).sum())}
    v = a[~nan]
    c["min"] = c["max"] = None
    if v.size and a.dtype.kind != "c":
        for key, m in (("min", v.min()), ("max", v.max())):
            if a.dtype.kind == "f":
                m = m + a.dtype.type(0)  # -0 becomes 0
            c[key] = b64(np.array(m).astype(a.dtype).tobytes())
    return c


def emit(a, fill=None, valid=None):
    d = a.dtype
    line = {"dtype": str(d) if d.kind == "V" else d.str, "items": b64(a.tobytes()), "fill": None}
    f = np.zeros((), d)
    if fill is not None:
        f = np.array(fill, d)
        line["fill"] = b64(f.tobytes())
    part = a
    if valid is not None:
        line |= {"shape": a.shape, "valid": valid}
        part = a[(*(slice(n) for n in valid), ...)]
    fills = dict(leaves(f))
    line["columns"] = [column(n, np.asarray(x), fills[n]) for n, x in leaves(part)]
    print(json.dumps(line))


def items(t, n):
    d = np.dtype(t)
    if d.kind == "f":
        special = np.array([0.0, -0.0, 1, -1, 0.1, 65504, 6e-8, np.nan, -np.nan, np.inf, -np.inf, 1 / 3])
    elif d.kind == "c":
        special = np.array([0, complex(-0.0, 0.0), complex(0, np.nan), complex(np.nan, 1), 1, -1, 2 + 3j, complex(np.inf, 0)])
    elif d.kind in "Mm":
        special = np.array([0, 1, -1, -(2**63), 1 - 2**63, 2**63 - 1, 1740787200]).astype(d.byteorder + "i8").view(d)
    elif d.kind == "b":
        special = np.array([True, False])
    else:
        i = np.iinfo(d)
        special = np.array([0, i.min, i.max, 1, i.max - 1, i.min + 1], d)
    special = special.astype(d)
    raw = np.frombuffer(rnd.randbytes(n * d.itemsize), d) if d.kind != "b" else np.array([rnd.random() < 0.3 for _ in range(n)], d)
    pick = np.array([rnd.random() < 0.3 for _ in range(n)], bool)
    out = raw.copy()
    out[pick] = special[np.array([rnd.randrange(len(special)) for _ in range(int(pick.sum()))], int)]
    return out


plain = ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[ns]", "M8[25s]", "m8[us]", "m8", "S3", "V4"]
for t in plain:
    for order in "<>" if t != "m8" else "<":  # NumPy does not swap the bytes of >m8
        d = np.dtype(order + t)
        if order == ">" and d.str[0] != ">":
            continue
        if d.kind in "SV":
            emit(np.zeros(3, d))
            continue
        emit(np.zeros(0, d))
        emit(items(d, 1))
        a = items(d, 40)
        emit(a)
        emit(a, fill=a[3])
        if d.kind in "fc":
            emit(np.full(5, np.nan, d), fill=np.nan)
            emit(np.array([-0.0, -0.0], d))
        if d.kind in "Mm":
            emit(np.full(5, "NaT", d), fill=np.array("NaT", d))
        emit(items(d, 3 * 4 * 5).reshape(3, 4, 5), valid=[2, 4, 3])
for d in ["<i4", ">f8", "<f2"]:
    emit(items(d, 24).reshape(4, 6), valid=[3, 6])
    emit(items(d, 24).reshape(4, 6), valid=[0, 6])
    emit(items(d, 1).reshape(()), valid=[])
structs = [
    [("a", "<i4"), ("b", ">f8"), ("c", "S3"), ("d", "<f2", (2,)), ("t", "<M8[s]")],
    {"names": ["x", "y"], "formats": ["<u2", "<f4"], "offsets": [1, 5], "itemsize": 12},
    [("in", [("p", "|u1"), ("q", "<c8"), ("r", [("z", "|b1")])]), ("p", ">i8")],
]
for t in structs:
    d = np.dtype(t)
    a = np.zeros(30, d)
    for n, x in leaves(a):
        x[...] = items(x.dtype, 30)
    emit(a)
    emit(a, fill=a[7])
    emit(a.reshape(5, 6), valid=[4, 5])
