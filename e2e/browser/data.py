"""Makes the datasets of the browser tests, and then tells their values.

usage: data.py FOLDER. Each line of stdin is a Python expression over the NumPy arrays
below and np; the answer is its value as a line of JSON."""

import base64
import decimal
import io
import json
import os
import sys

import blosc2
import numpy as np

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def save(name, array, **options):
    blosc2.asarray(array if array.ndim == 0 else np.ascontiguousarray(array), urlpath=os.path.join(folder, name), mode="w", **options)
    return array


def weather():
    t, y, x = np.arange(24), np.arange(300), np.arange(400)
    wave = 18 * np.sin(y / 47)[:, None] * np.cos(x / 61)[None, :]
    out = 280 + wave[None] + 6 * np.sin(t / 3)[:, None, None] + 5 * np.sin((x[None, None, :] + 9 * t[:, None, None]) / 23)
    return out.astype("f4")


weather = save("weather.b2nd", weather(), chunks=(4, 300, 400), blocks=(1, 100, 200))
# Values that a float64 does not hold.
exact = save("exact.b2nd", 2**60 + np.arange(60 * 80, dtype="i8").reshape(60, 80))
holes = weather[0].astype("f8")
holes[100:200, 100:300] = np.nan
holes[10:20, 10:20] = np.inf
holes = save("holes.b2nd", holes)
line = save("line.b2nd", (np.sin(np.arange(20000) / 500) * 100).astype("i2"))
points = np.zeros((50, 40), dtype=[("id", "<i8"), ("height", "<f4")])
points["id"] = 2**55 + np.arange(2000).reshape(50, 40)
points["height"] = np.hypot(*np.mgrid[0:50, 0:40]).astype("f4")
save("points.b2nd", points)
halves = save("halves.b2nd", (np.mgrid[0:40, 0:60][1] / 7).astype("f2"))
tall = save("tall.b2nd", np.arange(3000 * 20, dtype="u2").reshape(3000, 20))
days = save("days.b2nd", (np.datetime64("2024-01-01", "h") + np.arange(48)).astype("M8[s]").reshape(6, 8))
waves = save("waves.b2nd", (np.exp(1j * np.arange(30) / 4)[:, None] * np.arange(20)).astype("c8"))
one = save("one.b2nd", np.array(42.5))
words = save("words.b2nd", np.array([["ab", "c"], ["de", "fg"]], dtype="S2"))
sites = np.zeros((3, 4), dtype=[("id", "<i8"), ("site", "<U5"), ("box", "<f4", (2, 2))])
sites["id"] = np.arange(12).reshape(3, 4)
sites["site"] = [["oslo", "rome", "", "köln"], ["<b>", "a b", "c", "d"], ["e", "f", "g", "i"]]
save("sites.b2nd", sites)
pairs = save("pairs.b2nd", np.array([("ab", b"x"), ("é", b"yz")], dtype=[("left", "<U2"), ("right", "S2")]))
np.save(os.path.join(folder, "plain.npy"), weather[0, :30, :40])
open(os.path.join(folder, "empty.txt"), "w").close()
wide = save("wide.b2nd", np.add.outer(np.arange(2000), np.arange(3000)).astype("i4"), chunks=(500, 1000), blocks=(100, 250))

# Coordinates: in arrays of one axis beside an array whose dimensions have names, and in the
# layer of the array itself.
os.makedirs(os.path.join(folder, "grid"))
lat = np.linspace(60, 45.5, 30).astype("f4")
lon = np.cumsum(1 + np.arange(40) % 3) / 4
hours = np.arange(24, dtype="i4") * 6
epoch = {"units": "hours since 2025-02-28 18:00:00", "calendar": "standard"}


def told(name, array, **layers):
    save(os.path.join("grid", name), array)
    a = blosc2.open(os.path.join(folder, "grid", name), mode="a")
    for key, v in layers.items():
        a.schunk.vlmeta[key] = v
    return array


t2m = told("t2m.b2nd", np.arange(24 * 30 * 40, dtype="f4").reshape(24, 30, 40), dimension_names=["time", "lat", "lon"])
told("lat.b2nd", lat, units="degrees_north", dimension_names=["lat"])
told("lon.b2nd", lon)
told("time.b2nd", hours, **epoch)
told("series.b2nd", np.sin(np.arange(24)), dimension_names=["time"])
told("wrong.b2nd", t2m[:3], dimension_names=["lat", "lon", "time"])  # no length is that of its dimension
told("own.b2nd", t2m, farread={"dims": ["t", "y", "x"], "attrs": {"units": "K"}, "coords": [
    {"dim": "t", "dtype": "<M8[ns]", "start": 1740787200000000000, "step": 21600000000000},
    {"dim": "y", "dtype": "<f4", "values": lat.tobytes()},
    {"dim": "x", "dtype": "<f8", "start": 0.1, "step": 0.25}]})


def cf(number, units, calendar="standard"):
    """A time of the CF conventions as xarray has it."""
    from xarray.coding.times import decode_cf_datetime

    return str(decode_cf_datetime(np.array([number]), units, calendar)[0])


os.makedirs(os.path.join(folder, "deep", "er & odd #1"), exist_ok=True)
blosc2.asarray(np.arange(12).reshape(3, 4), urlpath=os.path.join(folder, "deep", "er & odd #1", "ä <i>?.b2nd"), mode="w")
os.makedirs(os.path.join(folder, "many"), exist_ok=True)
for i in range(1203):
    open(os.path.join(folder, "many", f"part-{i:04}.txt"), "w").close()
with open(os.path.join(folder, "notes.txt"), "w") as f:
    f.write("no dataset\n")


def npy(array):
    """The bytes of a .npy, as base64."""
    out = io.BytesIO()
    np.save(out, array)
    return base64.b64encode(out.getvalue()).decode()


def differ(texts, array):
    """The texts that are not the digits and the sign that NumPy prints. Where it begins to
    print exponents differs from type to type and from version to version."""
    def number(t):
        return t if "n" in t else (t[0] == "-", decimal.Decimal(t).normalize())

    pairs = list(zip(texts, [str(v) for v in array.ravel()], strict=True))
    return [p for p in pairs if number(p[0]) != number(p[1])]


def plain(v):
    if isinstance(v, np.ndarray):
        return [plain(x) for x in v]
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, np.generic):
        v = v.item()
    return str(v) if isinstance(v, int) and abs(v) > 2**53 else v


print(json.dumps("ready"), flush=True)
for text in sys.stdin:
    print(json.dumps(plain(eval(text))), flush=True)
