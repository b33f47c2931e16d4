"""Reads the layer "farread" of an array with msgpack, edits the array in place, and prints the layer before and after.

argv: the array. stdout: {"before": the layer, "after": the layer, "shape": the new shape}.
"""
import json
import sys

import blosc2


def plain(v):
    return v.hex() if isinstance(v, bytes) else {k: plain(x) for k, x in v.items()} if isinstance(v, dict) else [plain(x) for x in v] if isinstance(v, list) else v


a = blosc2.open(sys.argv[1], mode="a")
before = plain(a.schunk.vlmeta["farread"])
a[0] = 7
a.resize((a.shape[0] + 3, *a.shape[1:]))
a[-3:] = 9
a.schunk.vlmeta["seen"] = True
shape = list(a.shape)
del a
b = blosc2.open(sys.argv[1], mode="r")
after = plain(b.schunk.vlmeta["farread"])
json.dump({"before": before, "after": after, "shape": shape}, sys.stdout)
