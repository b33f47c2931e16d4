"""Reads and writes zoom-cache files with the format's independent program, zoomref.py, and prints JSON.

One JSON list on stdin: [{"kind": "read" | "write", "path": P, ...}, ...].
One JSON list on stdout, in the same order: what the program says of each file, or {"error": text}.
"""
import io
import json
import random
import struct
import sys
import zlib
from fractions import Fraction

import numpy as np
import zoomref as z


def number(v):
    """A value without a loss: floats in hexadecimal, integers in decimal."""
    return float(v).hex() if isinstance(v, (float, np.floating)) else str(int(v))


def summaries(r):
    """Every stored summary of a declared track, in the order of the file."""
    out = []
    for b in r.blocks():
        if isinstance(b, z.Summary):
            c = r.tracks[b.track].codec
            names = z.sum_dict(c, b)["channels"]
            out.append({"track": b.track, "level": b.level, "entry": b.entry, "exit": b.exit,
                        "channels": [dict(zip(n, map(number, x))) for n, x in zip(names, b.chans)]})
    return out


def rewritten(r, source, raw):
    """The file as the program writes it: the values that source holds, flushed where its packets end."""
    rounds = []
    for h in source.headers():
        if isinstance(h, z.Packet) and h.track in source.tracks:
            if not rounds or len(rounds[-1]) == len(source.tracks):
                rounds.append([])
            rounds[-1].append(h)
    out = io.BytesIO()
    w = z.Writer(out, r.tracks, r.utc, raw)
    for no in r.tracks:
        w.set_watermark(no, 1 << 62)
    for i, packets in enumerate(rounds[:-1]):  # the last are those of close
        for p in packets:
            for v, so in zip(*source.samples(p)):
                w.write_at(p.track, so, v) if source.tracks[p.track].vbr else w.write(p.track, v)
        if i < len(rounds) - 2:
            w.flush()
    w.close()
    return out.getvalue()


def plain(r):
    """Header and blocks of the declared tracks, packets inflated; and where they end."""
    out, end = [r.b[:r.first_block]], r.first_block
    for h in r.headers():
        n = h.size if isinstance(h, z.Summary) else h.length
        body = r.b[h.offset + 36:h.offset + 36 + n]
        if h.track not in r.tracks:
            continue
        if h.offset != end:
            raise z.ZoomError("order", "blocks of a declared track behind those of another", h.offset)
        end = h.offset + 36 + n
        if isinstance(h, z.Packet) and r.tracks[h.track].zlib:
            body = zlib.decompress(body)
            out.append(r.b[h.offset:h.offset + 32] + struct.pack(">i", len(body)) + body)
        else:
            out.append(r.b[h.offset:end])
    return out, end


PLAIN = dict(z.BY_IDENT)


def load(path, codecs):
    z.BY_IDENT.update(PLAIN)
    for name in codecs.values():  # the values of all tracks come out right by these two
        if name in ("integer", "pcm-i32"):
            z.BY_IDENT[z.CODECS[name].ident] = z.CODECS[name]
    with open(path, "rb") as f:
        r = z.Reader(f.read())
    for no, name in codecs.items():  # what shares an identifier with another
        assert z.CODECS[name].ident == r.tracks[int(no)].codec.ident, "track %s is %s" % (no, r.tracks[int(no)].codec.name)
        r.tracks[int(no)].codec = z.CODECS[name]
    return r


def read(path, codecs, raw=""):
    """What a file holds. Its blocks must be, byte for byte, those that the program makes of its values, or of those of the file
    raw where it has none itself."""
    r = load(path, codecs)
    out = z.describe(r.b)
    mine, end = plain(r)
    theirs, _ = plain(z.Reader(rewritten(r, load(raw, codecs) if raw else r, not raw)))
    for i, (a, b) in enumerate(zip(mine, theirs)):
        if a != b:
            raise z.ZoomError("differs", "block %d is %s, and should be %s" % (i, a[:160].hex(), b[:160].hex()))
    if len(mine) != len(theirs):
        raise z.ZoomError("differs", "%d blocks, and should be %d" % (len(mine), len(theirs)))
    return {**out, "end": end, "blocks": len(mine) - 1}


def value(rng, spec):
    """A value of a track; floats that are stored as differences are such that these are exact."""
    c = spec.codec
    if c.kind == "unit":
        return None
    if c.kind == "bool":
        return rng.random() < 0.4
    if c.kind == "float":
        v = rng.randrange(-4000, 4000) / 8
        if not spec.delta and rng.random() < 0.3:
            v = rng.choice([rng.gauss(0, 1) * 10.0 ** rng.randrange(-30, 30), float("inf"), float("-inf"), float("nan"), -0.0])
        return np.float32(v) if c.fmt == ">f" else v
    if c.big and rng.random() < 0.5:
        return rng.randrange(-(1 << 90), 1 << 90)
    bits = 8 * struct.calcsize(c.fmt) if c.fmt else 64
    if rng.random() < 0.5:
        bits = min(bits, 7)
    return rng.randrange(-(1 << bits - 1), 1 << bits - 1) if c.signed else rng.randrange(0, 1 << bits)


def write(path, seed, tracks, utc=None, watermark=1024, rounds=3, raw=True):
    """A file of random values, flushed here and there."""
    rng = random.Random(seed)
    specs = {}
    for t in tracks:
        specs[t["number"]] = z.TrackSpec(z.CODECS[t["codec"]], Fraction(t["rate"]), t["variable"], t["delta"], t["zlib"],
                                         t["name"].encode(), t["channels"])
    stamps = {no: rng.randrange(-1000, 1000) for no in specs}
    with open(path, "wb") as f, np.errstate(all="ignore"):
        w = z.Writer(f, specs, tuple(utc) if utc else None, raw)
        for no in specs:
            w.set_watermark(no, watermark)
        for _ in range(rounds):
            for no, s in specs.items():
                for _ in range(rng.choice([0, 1, 2, watermark, rng.randrange(3 * watermark)])):
                    v = tuple(value(rng, s) for _ in range(s.channels)) if s.channels else value(rng, s)
                    if s.vbr:
                        stamps[no] += rng.choice([0, 1, 1, 7, 1000, -5])
                        w.write_at(no, stamps[no], v)
                    else:
                        w.write(no, v)
            w.flush()
        w.close()
    r = load(path, {t["number"]: t["codec"] for t in tracks})
    z.BY_IDENT.update(PLAIN)  # as a reader sees it that was told nothing
    return {**z.describe(r.b), "all": summaries(r)}


KINDS = {"read": read, "write": write}


def main():
    out = []
    for job in json.load(sys.stdin.buffer):
        try:
            with np.errstate(all="ignore"):
                out.append(KINDS[job.pop("kind")](**job))
        except Exception as e:  # the program's own words, for the test to show
            out.append({"error": repr(e)})
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
