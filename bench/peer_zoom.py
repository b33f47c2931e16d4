"""NumPy's side of the benchmarks of zoom-cache files: one request a line on stdin, one JSON answer a line on stdout.

One thread; seconds are CPU seconds of this process, so imports and the pipe do not count. Arguments are strings.
"""
import json
import struct
import sys
import time
import zlib

import numpy as np


def bins(raw, dtype, width, reps):
    """Minimum, maximum, mean and rms of bins of so many samples, reps times after once that does not count."""
    data = np.fromfile(raw, dtype=dtype)
    rows = data.reshape(-1, int(width))
    for i in range(int(reps) + 1):
        if i == 1:
            start = time.process_time()
        low, high = rows.min(axis=1), rows.max(axis=1)
        mean = rows.mean(axis=1)
        if data.dtype.kind == "f":
            rms = np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1])
        else:
            wide = rows.astype(np.float64)
            rms = np.sqrt(np.einsum("ij,ij->i", wide, wide) / rows.shape[1])
    seconds = time.process_time() - start
    assert mean.shape == rms.shape
    return seconds, len(rows), data.nbytes, zlib.crc32(struct.pack("<dd", low.min(), high.max()))


JOBS = {"bins": bins}


def main():
    print(json.dumps({"versions": "numpy %s, Python %s" % (np.__version__, sys.version.split()[0])}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total, crc = JOBS[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total, "sum": crc}), flush=True)


if __name__ == "__main__":
    main()
