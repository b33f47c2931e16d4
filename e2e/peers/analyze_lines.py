"""Makes lines of JSON and what Python's json finds in them.

analyze_lines.py N SEED: prints N questions
[{"lines": [...], "where": text, "group": [paths], "stats": text, "labels": [[...] for each path], "values": [[...] for each stat], "skipped": n}].
"""
import json
import math
import random
import sys
from fractions import Fraction

TEXTS = ["/a", "/b,c", "é", "\U0001f600", 'q"uote', "back\\slash", "new\nline", "\x7f", "5", "null", "", "/" + "long" * 20]


def number(r):
    return r.choice([r.randrange(-5, 6), r.random(), r.gauss(0, 1e6), 2**53 + 1, -(2**53) - 3, 1e300 * r.random(), 2.5, 1e-300, 10**15 + r.randrange(1000)])


def value(r, depth=0):
    k = r.randrange(12)
    if k < 6:
        return number(r)
    if k < 8:
        return r.choice(TEXTS)
    if k == 8:
        return r.choice([None, True, False])
    if k == 9 and depth < 3:
        return [value(r, depth + 1) for _ in range(r.randrange(3))]
    if k == 10 and depth < 3:
        return {r.choice(TEXTS + ["a", "b"]): value(r, depth + 1) for _ in range(r.randrange(4))}
    return r.choice([float("nan"), float("inf"), -float("inf")])


def line(r):
    if r.random() < 0.05:
        return r.choice(["", "nope", '{"a":1', '{"a":01}', "{'a':1}", '{"a":1}}', '{"a":tru}'])
    item = {"path": r.choice([r.choice(TEXTS), value(r)]), "ms": value(r), "req": {"bytes": r.randrange(10**6), "x": value(r)}, "whole": r.randrange(2**55)}
    for k in list(item):
        if r.random() < 0.1:
            del item[k]
    text = json.dumps(item, ensure_ascii=r.random() < 0.5, separators=r.choice([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
    return r.choice(["", " "]) + text + r.choice(["", "\r"])


def at(item, path):
    for name in path:
        if not isinstance(item, dict) or name not in item:
            return None
        item = item[name]
    return item


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool) and v == v


def rank(v):
    """The order of keys: a pair that is equal for equal keys."""
    if v is None:
        return (0, 0)
    if isinstance(v, bool):
        return (1 + v, 0)
    if isinstance(v, (int, float)):
        return (3, (1, Fraction(v)) if math.isfinite(v) else (0, 0) if v != v else (0, 1) if v < 0 else (2, 0))
    if isinstance(v, str):
        return (4, v.encode())
    return (5, 0) if isinstance(v, list) else (6, 0)


def label(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (int, float)):
        return float(v) if not math.isfinite(v) or v != int(v) or abs(v) >= 2**63 else int(v)  # told apart by the caller
    if isinstance(v, str):
        return v
    return "[...]" if isinstance(v, list) else "{...}"


def hexed(v):
    return float(v).hex()


def total(list_):
    if any(not math.isfinite(v) for v in list_):
        return sum(v for v in list_ if not math.isfinite(v))
    try:
        return float(sum(Fraction(v) for v in list_))
    except OverflowError:
        return math.inf


def answer(stat, items):
    if stat == "count":
        return len(items)
    name, path = stat[:-1].split("(.")
    path, *args = path.split(",")
    values = [at(i, path.split(".")) for i in items]
    numbers = [v for v in values if is_number(v)]
    if name == "count":
        return len(numbers)
    if name == "nan":
        return len(values) - len(numbers)
    if name == "sum":
        if all(isinstance(v, int) for v in numbers):
            return str(sum(numbers))
        return hexed(total(numbers))
    if not numbers:
        return "nan"
    floats = sorted(float(v) for v in numbers)
    if name == "min":
        return hexed(floats[0] + 0.0)
    if name == "max":
        return hexed(floats[-1] + 0.0)
    if name == "mean":
        if any(not math.isfinite(v) for v in numbers):
            return hexed(total(numbers))
        return hexed(float(sum(Fraction(v) for v in numbers) / len(numbers)))
    return hexed(floats[math.floor(float(args[0]) * (len(floats) - 1))])


WHERE = [
    ("", lambda i: True),
    (".ms > 0", lambda i: is_number(at(i, ["ms"])) and at(i, ["ms"]) > 0),
    ("not .ms > 0", lambda i: not (is_number(at(i, ["ms"])) and at(i, ["ms"]) > 0)),
    (".ms >= 9007199254740993 or .ms == 2.5", lambda i: is_number(at(i, ["ms"])) and (at(i, ["ms"]) >= 2**53 + 1 or at(i, ["ms"]) == 2.5)),
    (".path == 'é' or .path >= 'q'", lambda i: isinstance(at(i, ["path"]), str) and (at(i, ["path"]) == "é" or at(i, ["path"]) >= "q")),
    (".path != null and .req.x == null", lambda i: at(i, ["path"]) is not None and at(i, ["req", "x"]) is None),
    (".ms == true or 100 <= .req.bytes < 500000", lambda i: at(i, ["ms"]) is True or is_number(at(i, ["req", "bytes"])) and 100 <= at(i, ["req", "bytes"]) < 500000),
    (".whole < 1e16", lambda i: is_number(at(i, ["whole"])) and at(i, ["whole"]) < 1e16),
]
STATS = ["count", "count(.ms)", "nan(.ms)", "sum(.ms)", "mean(.ms)", "min(.ms)", "max(.ms)", "quantiles(.ms,0.5)", "sum(.whole)", "mean(.whole)", "sum(.req.bytes)", "sum(.req.x)", "quantiles(.req.bytes,0.9)"]


def question(r):
    lines = [line(r) for _ in range(r.randrange(300))]
    where, keep = r.choice(WHERE)
    group = r.choice([[], [".path"], [".req.x"], [".path", ".ms"]])
    items, skipped = [], 0
    for text in lines:
        try:
            item = json.loads(text)
        except ValueError:
            skipped += 1
            continue
        if keep(item):
            items.append(item)
    groups, first = {}, {}
    for i in items:
        values = [at(i, g[1:].split(".")) for g in group]
        k = tuple(rank(v) for v in values)
        groups.setdefault(k, []).append(i)
        first.setdefault(k, values)
    if not group:
        groups.setdefault((), items)
        first[()] = []
    keys = sorted(groups)
    labels = [[{"text": label(first[k][n])} if isinstance(label(first[k][n]), str) and isinstance(first[k][n], str) else {"other": label(first[k][n])}
               if isinstance(label(first[k][n]), str) else {"number": hexed(label(first[k][n])) if isinstance(label(first[k][n]), float) else str(label(first[k][n]))}
               for k in keys] for n in range(len(group))]
    return {"lines": lines, "where": where, "group": group, "stats": ",".join(STATS), "labels": labels,
            "values": [[answer(s, groups[k]) for k in keys] for s in STATS], "skipped": skipped}


r = random.Random(int(sys.argv[2]))
print(json.dumps([question(r) for _ in range(int(sys.argv[1]))]))
