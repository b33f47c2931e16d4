"""Python's side of the benchmarks of lines of JSON: its json in a loop, and DuckDB. One request a line on stdin, one JSON answer a line on stdout.

One thread; seconds are CPU seconds of this process. Arguments are strings.
"""
import json
import sys
import time

import duckdb


def loop(path):
    """Counts, sums and medians of ms >= 100 by event."""
    start = time.process_time()
    out = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            item = json.loads(line)
            ms = item["ms"]
            if ms >= 100:
                group = out.setdefault(item["event"], [0, 0.0, []])
                group[0] += 1
                group[1] += ms
                group[2].append(ms)
    for group in out.values():
        group[2].sort()
        group[2] = group[2][(len(group[2]) - 1) // 2]
    return time.process_time() - start, len(out), sum(g[0] for g in out.values()), 0


def duck(path):
    """The same question to DuckDB, which is told the types of the two columns."""
    c = duckdb.connect()
    c.execute("set threads = 1")
    c.execute("set enable_progress_bar = false")  # which goes to stdout
    start = time.process_time()
    got = c.execute("select event, count(*), sum(ms), quantile_disc(ms, 0.5) from read_json(?, format = 'newline_delimited', "
                    "columns = {event: 'VARCHAR', ms: 'DOUBLE'}) where ms >= 100 group by event order by event", [path]).fetchall()
    return time.process_time() - start, len(got), sum(r[1] for r in got), 0


def main():
    print(json.dumps({"versions": "Python %s, DuckDB %s" % (sys.version.split()[0], duckdb.__version__)}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total, crc = {"loop": loop, "duck": duck}[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total, "sum": crc}), flush=True)


if __name__ == "__main__":
    main()
