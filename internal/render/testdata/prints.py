"""Writes arrays and what NumPy prints of them, a JSON object a line: dtype, shape, columns,
items (C order, zlib, base64) and text."""

import base64
import json
import zlib

import numpy as np

rng = np.random.default_rng(15)


def put(a, columns=75):
    a = np.ascontiguousarray(a)
    print(json.dumps({"dtype": a.dtype.str, "shape": a.shape, "columns": columns,
                      "items": base64.b64encode(zlib.compress(a.tobytes(), 9)).decode(),
                      "text": np.array2string(a, max_line_width=columns)}))


def floats(kind, n):
    """Numbers of many sizes, of few, round ones, and some that are none."""
    size = np.dtype(kind).itemsize
    yield rng.normal(0, 1, n).astype(kind)
    yield rng.integers(-99, 100, n).astype(kind)
    yield (rng.integers(-9999, 9999, n) / 100).astype(kind)
    yield rng.random(n).astype(kind) * np.array(1000, kind)
    powers = {2: 4, 4: 30, 8: 200}[size]
    yield (rng.normal(0, 1, n) * 10.0 ** rng.integers(-powers, powers, n)).astype(kind)
    yield (1 / np.arange(1, n + 1)).astype(kind)
    a = rng.normal(0, 50, n).astype(kind)
    a[rng.integers(0, n, max(n // 4, 1))] = np.nan
    yield a
    a = a.copy()
    a[rng.integers(0, n, max(n // 4, 1))] = np.inf
    yield a
    a[rng.integers(0, n, max(n // 4, 1))] = -np.inf
    yield a
    yield np.where(np.arange(n) % 2 > 0, np.nan, np.inf).astype(kind)
    yield np.where(np.arange(n) % 2 > 0, -np.inf, np.inf).astype(kind)
    yield np.zeros(n, kind)
    yield -np.zeros(n, kind)
    for edge in [1e-4, 9.9e-5, 1e8, 99999999.0, 1e6, 999999.0, 1000.0, 1001.0, 0.1]:
        with np.errstate(over="ignore"):
            yield np.full(n, edge).astype(kind)
            yield (np.arange(n) % 2 * (edge - 1) + 1).astype(kind)
    yield np.full(n, np.finfo(kind).max, kind)
    yield np.full(n, np.finfo(kind).tiny, kind)
    yield np.full(n, np.finfo(kind).smallest_subnormal, kind)


with np.errstate(all="ignore"):
    for kind in ["<f2", "<f4", "<f8", ">f4", ">f8"]:
        for n in [1, 11]:
            for a in floats(kind, n):
                put(a)
    for kind in ["<c8", "<c16", ">c16"]:
        part = kind.replace("c8", "f4").replace("c16", "f8")
        for n in [1, 6]:
            for re, im in zip(floats(part, n), reversed(list(floats(part, n)))):
                c = np.empty(n, kind)
                c.real, c.imag = re, im
                put(c, int(rng.integers(20, 120)))

for kind in ["<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", ">i2", ">u4", ">i8"]:
    info = np.iinfo(kind)
    for shape in [(1,), (40,), (3, 4), (2, 50), (2, 3, 4), (2, 2, 2, 3), (1, 1, 1), (5, 1), (3, 2, 50)]:
        put(rng.integers(info.min, info.max, shape, endpoint=True, dtype=np.dtype(kind).newbyteorder("=")).astype(kind))
        put(rng.integers(0, 100, shape).astype(kind), int(rng.integers(20, 140)))
for columns in range(20, 90, 3):
    put(np.arange(200, dtype="<u1"), columns)
    put(np.arange(60, dtype="<i4").reshape(2, 30) * 31, columns)
    put(np.arange(48, dtype="<f8").reshape(2, 2, 12) / 7, columns)

for shape in [(1,), (9,), (30,), (4, 5), (2, 3, 2)]:
    n = int(np.prod(shape))
    put((rng.random(n) < .5).reshape(shape))
    for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "7D"]:
        a = rng.integers(-300, 3000, n).astype(f"<M8[{unit}]").reshape(shape)
        put(a)
        b = rng.integers(-10**6, 10**6, n).astype(f"<m8[{unit}]").reshape(shape)
        put(b)
        a.ravel()[rng.integers(0, n)] = np.datetime64("NaT")
        b.ravel()[rng.integers(0, n)] = np.timedelta64("NaT")
        put(a, 40)
        put(b, 40)
    put(np.full(shape, np.datetime64("NaT", "s")))
    words = ["", "a", "it's", 'say "no"', "both ' and \"", "back\\slash", "tab\there", "line\nend", "\x1b[31mred", "\x7f",
             "grün", "名前", "\u202egnp", "\u00a0", "é\u0301", "\U0001f600", "\u200b", "\xad", "\u0378", "0"]
    put(np.array([words[i] for i in rng.integers(0, len(words), n)], "<U12").reshape(shape))
    put(np.array([words[i] for i in rng.integers(0, len(words), n)], ">U12").reshape(shape), 30)
    raw = [b"", b"a", b"it's", b'"x"', b"'\"", b"\\", b"\x00\x01", b"\xff\xfe", b"\n\t\r\x1b", b"a\x00b"]
    put(np.array([raw[i] for i in rng.integers(0, len(raw), n)], "S6").reshape(shape))
    put(np.frombuffer(rng.bytes(3 * n), "V3").reshape(shape))

# More than a page: the first and the last few.
for shape in [(1001,), (5000,), (7, 200), (200, 7), (6, 200), (200, 6), (20, 60), (8, 20, 8), (12, 2, 50), (3, 3, 3, 50), (1000,), (10, 100), (11, 100), (9, 9, 9, 9)]:
    n = int(np.prod(shape))
    put(np.arange(n, dtype="<i4").reshape(shape))
    put((np.arange(n, dtype="<f4") / 4).reshape(shape), 60)
    put((np.arange(n) % 3 == 0).reshape(shape))
a = np.zeros(1500)
a[700] = 1e30  # what is not shown does not count
put(a)
