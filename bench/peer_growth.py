"""python-blosc2's side of the rows of growth: one array, opened, one slice, then all of it a row of chunks at a time; one JSON answer."""
import json
import sys
import time

import blosc2
import numpy as np


def resident():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS:"))


imports = resident()
start = time.perf_counter()
a = blosc2.open(sys.argv[1], mode="r")
a[a.shape[0] // 2, 10:20, 10:20]
first = time.perf_counter() - start
start = time.perf_counter()
step, total, samples = a.chunks[0], 0, 0
for i in range(0, a.shape[0], step):
    part = a[i:i + step]
    samples += int(part.reshape(-1).view(np.uint8)[-total % 4093::4093].sum(dtype=np.uint64))
    total += part.nbytes
print(json.dumps({"slice": first, "scan": time.perf_counter() - start, "bytes": total, "sum": samples, "imports": imports}))
