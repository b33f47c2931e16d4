"""Checks farread on the array among the upstream fixtures, FARREAD UPSTREAM.

Its manifest gives ranges of the frame's bytes (5472, padding included) beside the hash of the array in C order
(4800), and the shared checker looks for both in the latter, where they cannot both be. This looks for each where it is.
"""
import hashlib
import json
import os
import subprocess
import sys

farread, folder = sys.argv[1:]


def got(*args):
    return subprocess.run([farread, *args, "-o", "-"], check=True, capture_output=True).stdout


def sha(data):
    return hashlib.sha256(data).hexdigest()


with open(os.path.join(folder, "manifest.json")) as f:
    entries = [e for e in json.load(f) if e["kind"] == "b2nd"]
assert entries
for e in entries:
    path, want = os.path.join(folder, e["file"]), e["expect"]
    frame = want["schunk"]
    data = got("get", path, "--chunks", "0:%d" % frame["nchunks"])
    assert sha(data) == frame["sha256"], "the frame's bytes"
    for r in frame["ranges"]:
        part = data[r["start"] * r["unit"]:r["stop"] * r["unit"]]
        assert sha(part) == r["sha256"], r
    assert sha(got("get", path)) == want["sha256"], "the array"
    for s in want["slices"]:
        text = ", ".join("%d:%d" % tuple(x) for x in s["slice"])
        assert sha(got("slice", path, text, "--format", "raw")) == s["sha256"], text
    print("%s: 1 passed, 0 failed" % e["file"])
