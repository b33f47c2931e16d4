#!/usr/bin/env python3
"""Writes masks.jsonl: items of all types, and the masks of comparisons with them.

Each line is {"dtype": str(dtype), "items": base64, "masks": [[text, base64 of the
mask's bits, least significant first], …]}. NumPy compares, with two exceptions where
it would round first: whole numbers with floats, and numbers with a point with integers.
Those Python compares, exactly.
Run: python3 masks.py > masks.jsonl
"""
import base64
import json
import operator
import random

import numpy as np

rnd = random.Random(31)
np.seterr(all="ignore")
OPS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def bits(m):
    return base64.b64encode(np.packbits(m, bitorder="little").tobytes()).decode()


def compare(a, op, text):
    """The mask of one comparison with a literal, given as our text."""
    f = OPS[op]
    if text[0] == "'":
        t = text[1:-1]  # as a day at least: NumPy would round a month to weeks
        return f(a, np.datetime64(t, "D") if len(t) < 10 else np.datetime64(t))
    if text in ("true", "false"):
        return f(a, text == "true")
    whole = not set(text) & set(".enaif")
    x = int(text) if whole else float(text)
    if a.dtype.kind == "m":
        return f(a.astype("=i8"), x) & ~np.isnat(a) | np.isnat(a) & (op == "!=")
    if whole != (a.dtype.kind in "iub"):
        return np.array([f(v, x) for v in a.tolist()], bool)
    return f(a, a.dtype.type(x)) if a.dtype.kind == "f" else f(a, x)


def literals(d):
    if d.kind == "b":
        return ["true", "false", "0", "1", "2", "-1", "0.5"]
    if d.kind in "iu":
        i = np.iinfo(d)
        near = [i.min, i.max, 0, 1, 5, i.max // 2, i.min - 1, i.max + 1, -1, -7]
        near = [str(n) for n in near if -(2**63) <= n < 2**64]
        return near + ["0.5", "-0.5", "3.0", "1e300", "-1e300", "inf", "-inf", "nan", "9007199254740993", "9007199254740992.0", "1e18"]
    if d.kind == "f":
        return ["0", "0.0", "-0.0", "1", "0.1", "-1.5", "2049", "16777217", "9007199254740993", "18446744073709551615", "6e-8", "inf", "-inf", "nan", "0.3333333333333333"]
    if d.kind == "m":
        return ["0", "-1", "1000", "9223372036854775807", "0.5"]
    return ["'2025-03-01T00:00'", "'2025-03-01'", "'1970'", "'1969-12'", "'2025-03-01T12:00:01.5'", "'1700-01-01'", "'2024-02-29T23:59:59'", "'NaT'"]


def one(name, a):
    """A comparison of a column: text and mask."""
    lits = literals(a.dtype)
    kind = rnd.randrange(4)
    op, lit = rnd.choice(list(OPS)), rnd.choice(lits)
    if kind == 0:
        return f"{lit} {op} {name}", compare(a, FLIP[op], lit)
    if kind == 1:
        op2, lit2 = rnd.choice(list(OPS)), rnd.choice(lits)
        return f"{lit}{op}{name}{op2}{lit2}", compare(a, FLIP[op], lit) & compare(a, op2, lit2)
    return f"{name} {op} {lit}", compare(a, op, lit)


def tree(cols, depth):
    kind = rnd.randrange(5)
    if depth == 0 or kind == 0:
        return one(*rnd.choice(cols))
    if kind == 1:
        t, m = tree(cols, depth - 1)
        return f"not ({t})", ~m
    (t, m), (u, n) = tree(cols, depth - 1), tree(cols, depth - 1)
    if kind < 4:
        return f"({t}) and ({u})", m & n
    return f"({t}) or ({u})", m | n


def leaves(a, name=""):
    if a.dtype.names is not None:
        for n in a.dtype.names:
            yield from leaves(a[n], name + "." + n if name else n)
    elif a.dtype.kind in "biufMm" and a.dtype.char not in "gG":
        yield name or "v", a


def items(d, n):
    if d.kind == "f":
        v = [0.0, -0.0, 1, -1.5, 0.1, 1 / 3, 6e-8, 2048, 16777216, 2.0**53, 2.0**64, np.nan, -np.nan, np.inf, -np.inf]
    elif d.kind == "b":
        v = [True, False]
    elif d.kind in "iu":
        i = np.iinfo(d)
        v = [x for x in (0, 1, 5, 3, -1, -7, i.min, i.max, i.max - 1, i.max // 2, 2**53, 2**53 + 1, 10**18) if i.min <= x <= i.max]
    elif d.kind == "m":
        v = [0, 1, -1, 1000, -(2**63), 2**63 - 1]
    else:  # counts of steps of the unit, around the literals
        steps = [np.datetime64(s).astype(np.dtype(d.str.replace(">", "<"))).astype(int).item() for s in ("2025-03-01T12:00", "1970-01-01", "1969-12-01", "1700-01-01", "2024-02-29")]
        v = [s + k for s in steps for k in (-1, 0, 1)] + [-(2**63)]
    pick = [v[rnd.randrange(len(v))] for _ in range(n)]
    if d.kind in "Mm":
        return np.array(pick, d.byteorder + "i8" if d.byteorder != "=" else "i8").view(d)
    return np.array(pick).astype(d) if d.kind != "u" else np.array(pick, d)


def emit(a, texts):
    d = a.dtype
    text = str(d) if d.kind == "V" else d.str
    print(json.dumps({"dtype": text, "items": base64.b64encode(a.tobytes()).decode(), "masks": [[t, bits(np.atleast_1d(m))] for t, m in texts]}))


for t in ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "M8[ns]", "M8[25s]", "M8[D]", "M8[h]", "M8[M]", "M8[Y]", "M8[W]", "M8[3M]", "m8[us]", "m8"]:
    for order in "<>" if t != "m8" else "<":  # NumPy does not swap the bytes of >m8
        d = np.dtype(order + t)
        if order == ">" and d.str[0] != ">":
            continue
        a = items(d, 70)
        texts = [(f"v {op} {lit}", compare(a, op, lit)) for lit in literals(d) for op in (OPS if order == "<" else rnd.sample(list(OPS), 2))]
        texts += [tree([("v", a)], 3) for _ in range(8)]
        emit(a, texts)
structs = [
    [("temp", "<f4"), ("n", ">i8"), ("name", "S3"), ("t", "<M8[s]"), ("v", "|u1")],
    {"names": ["x", "y"], "formats": ["<u2", "<f2"], "offsets": [1, 5], "itemsize": 12},
    [("in", [("p", "|u1"), ("r", [("z", "|b1")])]), ("p", ">u8")],
]
for t in structs:
    d = np.dtype(t)
    a = np.zeros(150, d)
    cols = list(leaves(a))
    for n, x in cols:
        x[...] = items(x.dtype, 150)
    emit(a, [tree(cols, 4) for _ in range(60)])
