"""Files that grow, and whether they are the sum of their parts to the formats' own readers.

append_kinds.py make DIR     writes NAME.b2frame by python-blosc2, and the parts of all files as NAME-N.SUFFIX
append_kinds.py check DIR    reads NAME.b2frame, NAME.zoom and NAME.blp, and goes on with the frames by python-blosc2
"""
import json
import os
import sys
from pathlib import Path

import blosc2
import numpy as np

import vlblp
import zoomref

FRAMES = {"bytes": (1, 4096, [10_000, 1, 5000, 50_000]), "words": (8, 1 << 16, [1 << 16, 8, 800_000])}
ROWS = [1500, 1, 548, 3000, 4000]
LINES = [300, 1, 0, 4000]


def make(folder):
    r = np.random.default_rng(11)
    for name, (typesize, chunk, parts) in FRAMES.items():
        data = [np.cumsum(r.integers(0, 9, n // typesize + 1)).astype(f"<i{typesize}").tobytes()[:n] for n in parts]
        s = blosc2.SChunk(chunksize=chunk, urlpath=os.path.join(folder, name + ".b2frame"), mode="w", contiguous=True, cparams={"typesize": typesize})
        for i in range(0, len(data[0]), chunk):
            s.append_data(data[0][i:i + chunk])
        s.vlmeta["note"] = "by python-blosc2"
        for i, p in enumerate(data):
            Path(folder, f"{name}-{i}.bin").write_bytes(p)
    at = 0
    for i, n in enumerate(ROWS):
        rows = [f"{at + k + (k // 700) * 1000},{(k * 37 % 1000) / 8},{k * k % 9973 if k % 5 else ''}" for k in range(n)]
        Path(folder, f"tide-{i}.csv").write_text("time_s,level,flow\n" + "\n".join(rows) + "\n")
        at += n + n // 700 * 1000 + 1
    e = "\u00e9"
    for i, n in enumerate(LINES):
        Path(folder, f"log-{i}.txt").write_bytes("".join(f"line {k} of {i} {e * (k % 90)}\n" for k in range(n)).encode())
    return {"bytes": 4, "words": 3, "tide": len(ROWS), "log": len(LINES)}


def frames(folder, name):
    want = b"".join(Path(folder, f"{name}-{i}.bin").read_bytes() for i in range(len(FRAMES[name][2])))
    path = os.path.join(folder, name + ".b2frame")
    s = blosc2.open(path, mode="a")
    same = s[:] == want and s.vlmeta["note"] == "by python-blosc2"
    if len(want) % s.chunksize == 0:
        s.append_data(want[:s.chunksize])
        want += want[:s.chunksize]
    else:
        s.vlmeta["more"] = 1
    return same and blosc2.open(path)[:] == want


def series(folder):
    want = {1: [], 2: []}
    for i in range(len(ROWS)):
        for row in Path(folder, f"tide-{i}.csv").read_text().splitlines()[1:]:
            at, level, flow = row.split(",")
            want[1].append((int(at), float(level)))
            if flow:
                want[2].append((int(at), int(flow)))
    r = zoomref.Reader(Path(folder, "tide.zoom").read_bytes())
    got = {1: [], 2: []}
    tops = {1: None, 2: None}
    for b in r.blocks():
        if b.track not in got:
            continue
        if hasattr(b, "level"):
            s = r.summary(b)
            tops[b.track] = (s.entry, s.exit)
        else:
            values, stamps = r.samples(b)
            got[b.track] += zip(stamps, values)
    ends = all(tops[t] == (want[t][0][0], want[t][-1][0]) for t in want)
    return got == want and ends


def items(folder):
    want = b"".join(Path(folder, f"log-{i}.txt").read_bytes() for i in range(len(LINES))).split(b"\n")[:-1]
    r = vlblp.Reader(Path(folder, "log.blp").read_bytes())
    return [r.item(i) for i in range(len(r))] == want and r.metadata["shape"] == [len(want)] and not r.warnings


def check(folder):
    return {**{name: frames(folder, name) for name in FRAMES}, "tide": series(folder), "log": items(folder)}


print(json.dumps({"make": make, "check": check}[sys.argv[1]](sys.argv[2])))
