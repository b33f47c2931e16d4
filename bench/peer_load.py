"""A shuffled loader of obstore and threads: one request a line on stdin, one JSON answer a line on stdout.

It does what 25 lines do for a trainer without a library: blocks of neighbours in random order, read by threads, cut
into frames, and mixed within a window of blocks. Seconds are those of the clock, without the index.
"""
import concurrent.futures
import json
import random
import sys
import time

import obstore
import obstore.store

THREADS = 16


def load(endpoint, bucket, data, meta, key, secret, block, window):
    store = obstore.store.S3Store(bucket, endpoint=endpoint, region="us-east-1", access_key_id=key, secret_access_key=secret,
                                  virtual_hosted_style_request=False, client_options={"allow_http": True})
    index = json.loads(bytes(obstore.get(store, meta).bytes()))
    frames = [f for item in index.values() for f in item["frame_info"]]
    block, window = int(block), int(window)
    start = time.perf_counter()
    blocks = [frames[i:i + block] for i in range(0, len(frames), block)]
    random.Random(7).shuffle(blocks)

    def fetch(b):
        first = b[0][0]
        body = memoryview(obstore.get_range(store, data, start=first, end=b[-1][0] + b[-1][2]))
        return [bytes(body[o - first:o - first + n - pad]) for o, pad, n in b]

    count = total = 0
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        mixed = []
        for part in pool.map(fetch, blocks):
            mixed += part
            if len(mixed) >= window:
                random.shuffle(mixed)
                count, total, mixed = count + len(mixed), total + sum(map(len, mixed)), []
        count, total = count + len(mixed), total + sum(map(len, mixed))
    return time.perf_counter() - start, count, total


def main():
    print(json.dumps({"versions": "obstore %s, Python %s" % (obstore.__version__, sys.version.split()[0])}), flush=True)
    for line in sys.stdin:
        job, *args = json.loads(line)
        seconds, frames, total = {"load": load}[job](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": total}), flush=True)


if __name__ == "__main__":
    main()
