"""Makes arrays with questions about them, and holds answers against NumPy's.

analyze.py make DIR N SEED: saves N arrays as DIR/<n>.npy; prints [{"slice", "stats", "over", "every", "where"}].
analyze.py check DIR: reads {"questions": as above, "answers": [[{"stat", "type", "shape", "items": base64, "none"}]]} from stdin;
prints {"checked": how many answers, "faults": [what went wrong]}.
"""
import base64
import itertools
import json
import math
import sys
from fractions import Fraction

import numpy as np

DTYPES = ["|b1", "|i1", "|u1", "<i2", ">i2", "<u2", "<i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8",
          "<c8", ">c16", "<M8[s]", ">M8[ms]", "<m8[us]", "struct"]
STRUCT = np.dtype([("a", "<f4"), ("in", [("b", ">i8"), ("c", "<u2")])])
NUMBERS = "count{},nan{},min{},max{},argmin{},argmax{},sum{},mean{},std{}"


def items(rng, dtype, n):
    """n items of a type, with extremes, NaN and equal ones."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, n).astype(d)
    if d.kind in "iu":
        few = rng.integers(0, 5, n)
        info = np.iinfo(d)
        many = rng.integers(info.min, info.max, n, dtype=d.newbyteorder("="), endpoint=True)
        if d.itemsize == 8:
            many //= 1 << 12  # so that sums fit
        return np.where(rng.integers(0, 2, n) == 0, few, many).astype(d)
    if d.kind in "Mm":
        v = rng.integers(-(10**9), 10**9, n)
        v[rng.random(n) < 0.1] = np.iinfo(np.int64).min
        return v.view(np.dtype(d.newbyteorder("="))).astype(d)
    if d.kind == "c":
        return (items(rng, "<f8", n) + 1j * items(rng, "<f8", n)).astype(d)
    with np.errstate(over="ignore"):
        v = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
        if rng.integers(0, 4) == 0 and d.itemsize > 2:
            v *= 10.0 ** rng.integers(-20, 20, n)
        v[rng.random(n) < 0.1] = np.nan
        v[rng.random(n) < 0.1] = -0.0
        if rng.integers(0, 4) == 0:
            v[rng.random(n) < 0.05] = np.inf
        if rng.integers(0, 8) == 0:
            v[rng.random(n) < 0.05] = -np.inf
        return v.astype(d)


def array(rng, dtype, shape):
    n = math.prod(shape)
    if dtype != "struct":
        return items(rng, dtype, n).reshape(shape)
    a = np.zeros(n, STRUCT)
    a["a"], a["in"]["b"], a["in"]["c"] = items(rng, "<f4", n), items(rng, ">i8", n), items(rng, "<u2", n)
    return a.reshape(shape)


def question(rng, dtype, shape):
    parts = [str(rng.choice([":", ":", "1:", "::2", "::-1", "::-3", "0", "-1"])) for _ in shape]
    left = [i for i, p in enumerate(parts) if ":" in p]
    over = [i for i in range(len(left)) if rng.integers(0, 2)]
    every = [int(rng.integers(1, 6)) for _ in over[: rng.integers(0, len(over) + 1)]]
    kind = np.dtype(dtype).kind if dtype != "struct" else "s"
    stats = {"c": "count,nan,sum,mean", "M": "count,nan,min,max,argmin,argmax", "m": NUMBERS.format(*[""] * 9),
             "s": NUMBERS.format(*["(.a)"] * 9) + ",sum(.in.b),min(.in.b),quantiles(.in.c,0.5,0.9),hist(.a,5,-2:2)"}
    q = {"slice": ",".join(parts), "over": over, "every": every, "where": "",
         "stats": stats.get(kind, NUMBERS.format(*[""] * 9) + ",hist(7,-3:10.5),quantiles(0,0.25,0.5,0.99,1)")}
    if kind in "iuf" and rng.integers(0, 2):
        q["where"] = str(rng.choice(["v > 1", "v <= 3", "v != 0 and v < 1000"])) if kind != "u" else "v > 2"
    return q


def matches(v, where):
    with np.errstate(invalid="ignore"):
        return {"": lambda: np.ones(v.shape, bool), "v > 1": lambda: v > 1, "v <= 3": lambda: v <= 3, "v > 2": lambda: v > 2,
                "v != 0 and v < 1000": lambda: (v != 0) & (v < 1000)}[where]()


def total(v):
    """The sum of floats, rounded once."""
    v = [float(x) for x in v]
    if any(math.isinf(x) for x in v):
        return float(np.sum(np.array([x for x in v if math.isinf(x)])))
    return math.fsum(v)


def mean(v):
    s = total(v)
    if not v.size or not math.isfinite(s):
        return s if v.size else math.nan
    return float(sum((Fraction(float(x)) for x in v), Fraction()) / v.size)


def equal(got, want):
    return got == want or got != got and want != want


def answer(stat, v, at, whole):
    """What a stat of the items v of a cell is; at are their indexes."""
    name = stat.split("(")[0]
    args = [a for a in stat[len(name):].strip("()").split(",") if a and a[0] != "."]
    nan = np.isnat(v) if v.dtype.kind in "Mm" else np.isnan(v) if v.dtype.kind in "fc" else np.zeros(v.shape, bool)
    good, at = v[~nan], at[~nan]
    number = good.astype("i8") if v.dtype.kind in "m" else good
    if name == "count":
        return good.size
    if name == "nan":
        return int(nan.sum())
    if name in ("min", "max"):
        return getattr(np, name)(good) if good.size else None
    if name in ("argmin", "argmax"):
        return at[getattr(np, name)(good)] if good.size else None
    if name == "hist":
        with np.errstate(invalid="ignore"):
            n = good.astype("f8")
        lo, hi = map(float, args[1].split(":"))
        return np.histogram(n[np.isfinite(n)], int(args[0]), (lo, hi))[0]
    if name == "quantiles":
        return np.array([np.sort(good.astype("f8"))[math.floor(float(q) * (good.size - 1))] if good.size else math.nan for q in args])
    if v.dtype.kind == "c":
        parts = (good.real, good.imag)
        return complex(*map(total if name == "sum" else mean, parts))
    if name == "sum":
        return sum(int(x) for x in number) if whole else total(number)
    if name == "mean":
        return mean(number) if not whole else float(Fraction(sum(int(x) for x in number), number.size)) if number.size else math.nan
    if not number.size or not np.all(np.isfinite(number.astype("f8"))):
        return math.nan
    exact = [Fraction(int(x)) if whole else Fraction(float(x)) for x in number]
    m = sum(exact, Fraction()) / len(exact)
    var = sum(((x - m) ** 2 for x in exact), Fraction()) / len(exact)
    scale = 1 << 400
    return math.isqrt(var.numerator * scale * scale // var.denominator) / scale


def fits(name, got, want, whole):
    if name == "quantiles":
        return all(equal(g, w) or abs(g - w) <= abs(w) / 512 for g, w in zip(got, want))
    if name in ("hist", "argmin", "argmax"):
        return np.array_equal(got, want)
    if name == "std":
        return equal(float(got), want) or abs(float(got) - want) <= abs(want) * 2.0**-52
    if isinstance(want, complex):
        return equal(got.real, want.real) and equal(got.imag, want.imag)
    if isinstance(want, (np.datetime64, np.timedelta64)):
        return got == want
    return equal(got, want)


def stats_of(text):
    out, depth, word = [], 0, ""
    for c in text + ",":
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            out.append(word)
            word = ""
        else:
            word += c
    return out


def check(name, a, q, answers):
    index = tuple(int(p) if ":" not in p else slice(*[int(x) if x else None for x in p.split(":")]) for p in q["slice"].split(","))
    s = a[index]
    at = np.moveaxis(np.indices(a.shape), 0, -1)[index]
    windows = []
    for i, n in enumerate(s.shape):
        if i not in q["over"]:
            w = 1
        else:
            k = q["over"].index(i)
            w = q["every"][k] if k < len(q["every"]) else max(n, 1)
        whole = i in q["over"] and q["over"].index(i) >= len(q["every"])
        windows.append([slice(lo, lo + w) for lo in range(0, max(n, whole), w)])
    kept = [len(w) for i, w in enumerate(windows) if i not in q["over"] or q["over"].index(i) < len(q["every"])]
    for stat, r in zip(stats_of(q["stats"]), answers):
        field = stat[stat.find("(.") + 2:].split(",")[0].split(")")[0] if "(." in stat else ""
        v = s
        for part in field.split(".") if field else []:
            v = v[part]
        short, whole = stat.split("(")[0], v.dtype.kind in "bium"
        got = np.frombuffer(base64.b64decode(r["items"] or ""), np.dtype(r["type"]))
        shape = r["shape"]
        if shape[: len(kept)] != kept:
            yield f"{name}: {stat}: shape {shape}, want {kept}", 0
            continue
        got = got.reshape([math.prod(kept), *shape[len(kept):]])
        for n, cell in enumerate(itertools.product(*windows)):
            pick = matches(s[cell], q["where"]).reshape(-1) if q["where"] else np.ones(s[cell].size, bool)
            want = answer(stat, np.atleast_1d(v[cell]).reshape(-1)[pick], at[cell].reshape(-1, a.ndim)[pick], whole)
            if want is None:
                ok = r["none"][n]
            else:
                ok = not (r["none"] and r["none"][n]) and fits(short, got[n], want, whole)
            yield (None if ok else f"{name} {a.dtype} {a.shape} {q}: {stat} cell {n}: {got[n]!r}, want {want!r}"), 1


def main():
    if sys.argv[1] == "make":
        rng = np.random.default_rng(int(sys.argv[4]))
        out = []
        for n in range(int(sys.argv[3])):
            dtype = DTYPES[n % len(DTYPES)]
            shape = tuple(int(k) for k in rng.integers(1, 12, rng.integers(1, 4)))
            np.save(f"{sys.argv[2]}/{n}.npy", array(rng, dtype, shape))
            out.append(question(rng, dtype, shape))
        json.dump(out, sys.stdout)
        return
    asked, faults, checked = json.load(sys.stdin), [], 0
    for n, (q, answers) in enumerate(zip(asked["questions"], asked["answers"])):
        for fault, one in check(f"{n}.npy", np.load(f"{sys.argv[2]}/{n}.npy"), q, answers):
            checked += one
            if fault and len(faults) < 20:
                faults.append(fault)
    json.dump({"checked": checked, "faults": faults}, sys.stdout)


if __name__ == "__main__":
    main()
