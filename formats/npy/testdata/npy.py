#!/usr/bin/env python3
"""Writes npy.jsonl: what numpy.save writes for arrays, and boxes of them.

Each line is {"dtype": str(dtype), "shape", "fortran", "sha256": of the header,
"header": base64 of it (left out when long)}. In place of a long dtype stand
"lengths": of the names, each a run of n, of u1 members; or "prefix" of the names
of 4000 <f8 members, prefix0 to prefix3999. Some have also {"file": base64 of the
whole file, "boxes": [[slice text, sha256 of the items in C order], …]}.
Run: python3 npy.py > npy.jsonl
"""
import base64
import hashlib
import io
import json
import random
import warnings

import numpy as np

warnings.simplefilter("ignore")
rnd = random.Random(11)


def header(d, shape, fortran):
    b = io.BytesIO()
    np.lib._format_impl._write_array_header(b, {"descr": np.lib.format.dtype_to_descr(d), "fortran_order": fortran, "shape": shape})
    return b.getvalue()


def emit(d, shape, fortran=False, head=None, **more):
    head = head or header(d, shape, fortran)
    line = {"shape": shape, "fortran": fortran, "sha256": hashlib.sha256(head).hexdigest()}
    if not {"lengths", "prefix"} & more.keys():
        line["dtype"] = str(d) if d.kind == "V" else d.str
    if len(head) < 2000:
        line["header"] = base64.b64encode(head).decode()
    print(json.dumps(line | more))


for t in ["<f4", ">f8", "|b1", "|S5", "<U3", "|V4", "<M8[25s]", "<c16", "<f2"]:
    emit(np.dtype(t), (3, 4))
for shape in [(), (0,), (5,), (0, 3), (1, 2, 3, 4, 5), (10**12, 3), (4611686018427387903,), (3, 1234567890123)]:
    for fortran in (False, True):
        emit(np.dtype("<i2"), shape, fortran)
for k in range(40, 110):  # every padding, 64 among them
    emit(np.dtype([("n" * k, "u1")]), (7,))
structs = [
    [("a", "<i4"), ("b", ">f8"), ("c", "S3")],
    [("it's", "i4"), ('q"q', "f4", (2, 3)), (("title", "name"), "?")],
    [("\u00e9", "i4"), ("\u00ff\u0080", "f4")],  # Latin-1 still
    [("\u20ac", "i4"), ("\U0001f600", "f4")],  # version 3
]
for t in structs:
    emit(np.dtype(t), (2,))
for prefix in ["field", "\u20acfield"]:  # versions 2 and 3
    emit(np.dtype([(prefix + str(i), "<f8") for i in range(4000)]), (2,), prefix=prefix)
for n in [[65000, 360]] + [[65535 - 128 + i] for i in range(0, 128, 5)]:  # where version 1 ends
    emit(np.dtype([("n" * k, "u1") for k in n]), (2,), lengths=n)
emit(np.dtype([("a", "i4"), ("b", "i8")], align=True), (3,))

for _ in range(60):
    shape = tuple(rnd.choice([1, 2, 3, 4, 5, 6]) for _ in range(rnd.randint(0, 4)))
    if rnd.random() < 0.05:
        shape += (0,)
    d = np.dtype(rnd.choice(["<i2", "|u1", "<f8", "|S3", "<c16", [("a", "<i2"), ("b", "u1")]]))
    a = np.frombuffer(rnd.randbytes(d.itemsize * int(np.prod(shape))), d).reshape(shape)
    fortran = rnd.random() < 0.6
    if fortran:
        a = np.asfortranarray(a)
    b = io.BytesIO()
    np.save(b, a)
    raw = b.getvalue()
    boxes = []
    for _ in range(6):
        parts = []
        for n in shape:
            lo, hi = sorted((rnd.randint(0, n), rnd.randint(0, n)))
            parts.append(rnd.choice([":", "%d:%d" % (lo, hi), "%d:%d" % (lo, hi), "%d:%d:2" % (lo, hi), "::-1", "::-2"] + [str(rnd.randint(-n, max(n - 1, -n)))] * (n > 0)))
        text = ", ".join(parts) or "..."
        got = eval("a[%s]" % text, {"a": a})
        boxes.append([text, hashlib.sha256(np.ascontiguousarray(got).tobytes()).hexdigest()])
    # NumPy calls an array that is both C; the header tells.
    start = len(raw) - a.nbytes
    emit(d, a.shape, b"'fortran_order': True" in raw[:start], raw[:start], file=base64.b64encode(raw).decode(), boxes=boxes)
