"""Holds answers about series against NumPy's, of the samples that the independent reader finds.

Reads [{"path", "codecs": {track: name}, "asked": [{"track", "type", "rate": [num, den], "from", "to", "every", "stats",
"shape", "answers": [{"stat", "type", "shape", "items": base64, "none"}]}]}] from stdin;
prints {"checked": how many answers, "faults": [what went wrong]}.
"""
import base64
import json
import math
import sys
from fractions import Fraction

import numpy as np

import zoom
import zoomref as z
from analyze import answer, fits, stats_of


def samples(r, track, dtype):
    """The values of a track, channel by channel, with their offsets, in the order of these."""
    values, offsets = [], []
    for p in r.headers():
        if isinstance(p, z.Packet) and p.track == track:
            v, at = r.samples(p)
            values += v
            offsets += at
    channels = r.tracks[track].channels or 1
    if r.tracks[track].codec.kind == "unit":
        values = [0] * len(offsets) if not r.tracks[track].channels else [(0,) * channels] * len(offsets)
    v = np.array(values, dtype).reshape(len(offsets), channels)
    at = np.array(offsets, "i8")
    order = np.argsort(at, kind="stable")
    return v[order], at[order]


def windows(at, q):
    """The samples of each window, whose ends are fractions of seconds."""
    rate = Fraction(*q["rate"])
    first = max(math.ceil(Fraction(q["from"]) * rate), int(at[0])) if q["from"] else int(at[0])
    last = min(math.ceil(Fraction(q["to"]) * rate) - 1, int(at[-1])) if q["to"] else int(at[-1])
    if not q["every"]:
        return [(at >= first) & (at <= last)]
    if first > last:
        return []
    every = Fraction(q["every"])
    begin = Fraction(q["from"]) if q["from"] else Fraction(0)
    low, high = (math.floor((off / rate - begin) / every) for off in (first, last))
    ends = [math.ceil((begin + n * every) * rate) for n in range(low, high + 2)]
    return [(at >= max(a, first)) & (at < min(b, last + 1)) for a, b in zip(ends, ends[1:])]


def check(name, r, q):
    v, at = samples(r, q["track"], q["type"])
    channels = r.tracks[q["track"]].channels
    cells = [(w, c) for w in windows(at, q) for c in range(channels or 1)]
    kept = ([len(cells) // (channels or 1)] if q["every"] else []) + ([channels] if channels else [])
    if q["shape"] != kept:
        yield f"{name}: {q}: shape {q['shape']}, want {kept}", 0
        return
    for stat, a in zip(stats_of(q["stats"]), q["answers"]):
        short = stat.split("(")[0]
        got = np.frombuffer(base64.b64decode(a["items"] or ""), np.dtype(a["type"])).reshape([len(cells), *a["shape"][len(kept):]])
        for n, (pick, c) in enumerate(cells):
            places = np.stack([at[pick], np.full(pick.sum(), c)], 1) if channels else at[pick].reshape(-1, 1)
            want = answer(stat, v[pick, c], places, v.dtype.kind in "bium")
            ok = a["none"][n] if want is None else not (a["none"] and a["none"][n]) and fits(short, got[n], want, v.dtype.kind in "bium")
            yield (None if ok else f"{name} {v.dtype} {q['track']} {q['from']}..{q['to']} by {q['every']}: {stat} cell {n}: {got[n]!r}, want {want!r}"), 1


def main():
    faults, checked = [], 0
    for job in json.load(sys.stdin):
        r = zoom.load(job["path"], job["codecs"])
        for q in job["asked"]:
            for fault, one in check(job["path"].rsplit("/", 1)[-1], r, q):
                checked += one
                if fault and len(faults) < 20:
                    faults.append(fault)
    json.dump({"checked": checked, "faults": faults}, sys.stdout)


if __name__ == "__main__":
    main()
