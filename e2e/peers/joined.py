"""Days of a dataset that a rule with append makes.

joined.py make DIR           writes the days, and names them
joined.py extend DIR N…      compares days.b2nd with days N… and its record, and appends rows
joined.py check DIR N…       compares it; "hand" are the rows that were appended
"""
import json
import os
import sys

import blosc2
import numpy as np

DAYS = 10
HAND = np.full((3, 4, 5), 1000, "<f4")


def day(n):
    return (np.random.default_rng(n).integers(0, 99, (1 + n * 5 % 7, 4, 5)) + 100 * n).astype("<f4")


def make(folder):
    names = [f"day {n}.npy" for n in range(DAYS)]
    for n, name in enumerate(names):
        np.save(os.path.join(folder, name), np.asfortranarray(day(n)) if n % 3 == 1 else day(n))
    return names


def compare(folder, numbers):
    a = blosc2.open(os.path.join(folder, "days.b2nd"))
    want = np.concatenate([HAND if n == "hand" else day(int(n)) for n in numbers])
    if a.shape != want.shape or a.dtype != want.dtype or not (a[...] == want).all():
        return f"{a.shape} {a.dtype}, want {want.shape} {want.dtype}"
    record = json.loads(a.schunk.vlmeta["farread-joined"])
    keys = [f"day {n}.npy" for n in numbers if n != "hand"]
    if [u[0] for u in record["uploads"] if u[2]] != keys or record["before"] != [0, 0, ""]:
        return f"record {record}"
    return ""


def extend(folder, numbers):
    problem = compare(folder, numbers)
    a = blosc2.open(os.path.join(folder, "days.b2nd"), mode="a")
    n = a.shape[0]
    a.resize((n + len(HAND), *a.shape[1:]))
    a[n:] = HAND
    return problem


command, folder, *numbers = sys.argv[1:]
print(json.dumps(make(folder) if command == "make" else {"extend": extend, "check": compare}[command](folder, numbers)))
