"""What clients of Zarr make of the status of a chunk; prints JSON.

stdin: {"url": of a server that answers below /CLIENT/STATUS/ with an array of int32 from 1 on, whose chunk 1 has that
status, "statuses": [...]}. stdout: {client: {status: "fill", "raises", "waits", "zeros" (the half) or "wrong"}}, or null if a
client is missing.
"""
import concurrent.futures
import json
import sys
import warnings

import numpy as np

try:
    import obstore.store
    import tensorstore
    import zarr
except ImportError as e:
    print(e, file=sys.stderr)
    zarr = None

warnings.simplefilter("ignore")
LIMIT = 4  # seconds; who has not answered by then goes on trying


def fsspec(url):
    return zarr.open_array(url, mode="r")[...]


def by_obstore(url):
    store = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
    return zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r")[...]


def by_tensorstore(url):
    a = tensorstore.open({"driver": "zarr3", "kvstore": url + "/"}).result()
    return np.asarray(a.read().result(timeout=LIMIT))


CLIENTS = {"fsspec": fsspec, "obstore": by_obstore, "tensorstore": by_tensorstore}


def outcome(client, url):
    try:
        got = CLIENTS[client](url)
    except TimeoutError:
        return "waits"
    except Exception:
        return "raises"
    chunk = got[1000:2000]
    if (got[:1000] != np.arange(1, 1001)).any():
        return "wrong"
    return "fill" if not chunk.any() else "zeros" if not chunk[500:].any() else "wrong"


def main():
    job = json.load(sys.stdin)
    if zarr is None:
        print("null")
        return
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        jobs = {c: {s: pool.submit(outcome, c, f"{job['url']}/{c}/{s}") for s in job["statuses"]} for c in CLIENTS}
        print(json.dumps({c: {s: f.result() for s, f in of.items()} for c, of in jobs.items()}))


if __name__ == "__main__":
    main()
