#!/usr/bin/env python3
"""Writes slices.jsonl: random arrays and slice texts, and what NumPy makes of them.

Each line is {"shape", "item", "slice", "out", "sha256"}: the array holds its own
flat item numbers, little endian in `item` bytes (modulo 2^(8*item); 3 and 16
bytes are zero-extended), and sha256 is of the selected items in C order. An
integer out of bounds has "error": "index" instead, too many axes "syntax".
Run: python3 slices.py > slices.jsonl
"""
import hashlib
import json
import random

import numpy as np

rnd = random.Random(20240229)


def number(n):
    return rnd.choice(["", str(rnd.randint(-n - 3, n + 3)), str(rnd.randint(0, n))])


def axis(n):
    r = rnd.random()
    if r < 0.3:
        lim = n + (rnd.random() < 0.04)
        return str(rnd.randint(-lim, max(lim - 1, -lim)))
    text = number(n) + ":" + number(n)
    if r > 0.5:
        text += ":" + rnd.choice(["", "1", "2", "3", "-1", "-2", "-5", "7", "100", "-9223372036854775808", "9223372036854775807"])
    return text


def spaced(text):
    if rnd.random() < 0.2:
        text = "".join(c + " " if c in ",:" else c for c in text)
    if rnd.random() < 0.2:
        text = "[" + text + "]"
    return text


for _ in range(520):
    shape = [rnd.choice([0, 1, 2, 3, 4, 5, 7, 9, 12]) if rnd.random() < 0.9 else 1 for _ in range(rnd.randint(0, 5))]
    if 0 in shape and rnd.random() < 0.7:
        shape = [n or 2 for n in shape]
    k = rnd.randint(0, len(shape) + (rnd.random() < 0.03))
    parts = [axis(shape[i] if i < len(shape) else 1) for i in range(k)]
    if rnd.random() < 0.4:
        at = rnd.randint(0, k)
        rest = len(shape) - (k - at)
        for j in range(at, k):  # those behind the ellipsis belong to the last axes
            parts[j] = axis(shape[rest + j - at]) if 0 <= rest + j - at < len(shape) else ":"
        parts.insert(at, "...")
    text = ", ".join(parts) if rnd.random() < 0.5 else ",".join(parts)
    item = rnd.choice([1, 2, 3, 4, 8, 16])
    total = int(np.prod(shape, dtype=np.int64))
    flat = b"".join((i % (1 << 8 * item)).to_bytes(item, "little") for i in range(total))
    a = np.frombuffer(flat, dtype="V%d" % item, count=total).reshape(shape)
    line = {"shape": shape, "item": item, "slice": spaced(text)}
    try:
        # eval of text that this script made: NumPy's own parser is Python's.
        got = eval("a[%s]" % (text or "..."), {"a": a})
        line["out"] = list(np.shape(got))
        line["sha256"] = hashlib.sha256(np.ascontiguousarray(got).tobytes()).hexdigest()
    except IndexError as e:
        line["error"] = "syntax" if "too many indices" in str(e) else "index"
    print(json.dumps(line))
