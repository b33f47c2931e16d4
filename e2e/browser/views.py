"""Makes series, images and items for the browser tests, with python and NumPy alone and
`farread pack`, and then tells their values.

usage: views.py FOLDER, with FARREAD in the environment. Each line of stdin is a Python
expression; the answer is its value as a line of JSON."""

import hashlib
import io
import json
import math
import os
import subprocess
import sys

import numpy as np
from PIL import Image

folder = sys.argv[1]
source = os.path.join(folder, "..", os.path.basename(folder) + "-source")
os.makedirs(folder, exist_ok=True)
os.makedirs(source, exist_ok=True)


def pack(name, to, *options):
    subprocess.run([os.environ["FARREAD"], "pack", os.path.join(source, name), os.path.join(folder, to), "-q", "--force", *options], check=True, stdout=subprocess.DEVNULL)


# Two tracks at 1 kHz with one spike each, in UTC.
n = 1_200_000
t = np.arange(n) / 1000
rng = np.random.default_rng(5)
wave = (800 * np.sin(t / 190) + 90 * np.sin(t * 2.1) + rng.normal(0, 30, n)).astype("<i2")
wave[437_123] = 9000
calm = (rng.normal(50, 20, n)).astype("<i2")
calm[900_001] = -7000
both = np.stack([wave, calm], axis=1)
both.tofile(os.path.join(source, "two.raw"))
pack("two.raw", "two.zoom", "--dtype", "<i2", "--shape", f"{n},2", "--rate", "1000", "--origin", "2026-05-01T06:00:00Z", "--codec", "i16", "--zlib")
wave.tofile(os.path.join(source, "one.raw"))
pack("one.raw", "one.zoom", "--dtype", "<i2", "--shape", f"{n}", "--rate", "1000", "--codec", "i16", "--zlib")


def grow(samples):
    """A version of grow.zoom with so many samples."""
    wave[:samples].tofile(os.path.join(source, "grow.raw"))
    pack("grow.raw", "grow.zoom", "--dtype", "<i2", "--shape", f"{samples}", "--rate", "1000", "--codec", "i16", "--zlib")
    return samples


grow(60_000)

# Irregular times, with a pause of two hours, and empty cells.
times = np.arange(20_000) * 0.5 + np.where(np.arange(20_000) < 8_000, 0, 7200)
level = np.round(np.sin(np.arange(20_000) / 900) * 3, 4)
level[13_456] = 50
with open(os.path.join(source, "gap.csv"), "w") as f:
    f.write("time,level,temp\n")
    for i in range(20_000):
        f.write(f"{times[i]},{level[i]},{'' if 3000 < i < 5000 else round(15 + 5 * math.cos(i / 3000), 2)}\n")
pack("gap.csv", "gap.zoom")

# Images: 60 ids in two folders with labels.
clips = os.path.join(source, "clips")
for k in range(60):
    d = os.path.join(clips, "storm" if k % 3 else "calm", f"clip-{k:02d}")
    os.makedirs(d, exist_ok=True)
    for i in range(8 + k % 5):
        x = np.zeros((48, 64, 3), "u1")
        x[..., 0], x[..., 1], x[..., 2] = 4 * k, 20 * i, 90
        Image.fromarray(x).save(os.path.join(d, f"{i:04d}.jpg"), quality=92)
with open(os.path.join(clips, "labels.csv"), "w") as f:
    f.write("id,label,site\n" + "".join(f"clip-{k:02d},{'storm' if k % 3 else 'calm'},north-{k % 4}\n" for k in range(60)))
pack("clips", "clips.gulp")
pack("clips/storm", "set/", "--format", "gulp")

# Items: JSON with a number beyond float64, and bytes that are no text.
events = [json.dumps({"n": i, "kind": ["rain", "wind", "snow"][i % 3], "value": round(math.sin(i / 50), 4), "big": 2**62 + i}) for i in range(2_500)]
events[2_222] = json.dumps({"n": 2222, "kind": "a needle <b>in</b> the hay"})
with open(os.path.join(source, "events.jsonl"), "w") as f:
    f.write("\n".join(events) + "\n")
pack("events.jsonl", "events.blp")
os.makedirs(os.path.join(source, "files"), exist_ok=True)
for name, body in {"a & b.txt": b"<script>alert(1)</script>\n", "raw.bin": bytes(range(256)), "deep/note.json": b'{"a": [1, 2.50, 12345678901234567890], "b": {}}'}.items():
    os.makedirs(os.path.dirname(os.path.join(source, "files", name)), exist_ok=True)
    with open(os.path.join(source, "files", name), "wb") as f:
        f.write(body)
pack("files", "files.blp", "--records", "files")
np.save(os.path.join(source, "grid.npy"), np.arange(4 * 30 * 40, dtype="<i4").reshape(4, 30, 40))
pack("grid.npy", "grid.b2nd", "--chunk-shape", "2,30,40")
pack("events.jsonl", "plain.b2frame")
with open(os.path.join(folder, "notes.txt"), "w") as f:
    f.write("no dataset\n")


def stats(track, entry, exit):
    """Least, greatest, mean and number of samples from one offset to another; the first has offset 1."""
    part = both[int(entry) - 1 : int(exit), track]
    return [int(part.min()), int(part.max()), float(part.mean()), len(part)]


def sha(p):
    return hashlib.sha256(p).hexdigest()


def frame(k, i):
    with open(os.path.join(clips, "storm" if k % 3 else "calm", f"clip-{k:02d}", f"{i:04d}.jpg"), "rb") as f:
        return f.read()


def run(code, name):
    """The variable that a piece of Python leaves, as JSON or as a digest."""
    scope = {}
    exec(code, scope)
    v = scope[name]
    if isinstance(v, dict):
        return {str(k): [list(x.shape), sha(np.ascontiguousarray(x).tobytes())] for k, x in v.items()}
    if isinstance(v, bytes):
        return sha(v)
    if isinstance(v, list):
        return [len(v), sha(b"\n".join(v))]
    return [list(np.shape(v)), sha(np.ascontiguousarray(v).tobytes())]


def loaded(name):
    """A .npy as run tells it."""
    v = np.load(name)
    return [list(v.shape), sha(v.tobytes())]


print(json.dumps("ready"), flush=True)
for text in sys.stdin:
    v = eval(json.loads(text) if text.startswith('"') else text)
    print(json.dumps(v), flush=True)
