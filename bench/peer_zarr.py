"""zarr-python's side of the benchmarks: one request a line on stdin, one JSON answer a line on stdout.

Seconds are those of the wall clock, without imports and without what makes the data. Arguments are strings.
"""
import json
import logging
import sqlite3
import sys
import time
import warnings
import zlib

import blosc2
import fsspec.implementations.http
import numpy as np
import obstore
import obstore.store
import zarr

warnings.simplefilter("ignore")
logging.disable()  # sessions that nobody closes
OPENED = {}


def volume(shape):
    """Numbers of 16 bits that change slowly, with noise in the last 5 bits."""
    shape = [int(n) for n in shape.split(",")]
    at = np.add.outer(np.add.outer(np.arange(shape[0]) * 3, np.arange(shape[1]) * 5), np.arange(shape[2]) * 2)
    noise = np.random.default_rng(7).integers(0, 32, size=shape, dtype="u2")
    return (at.astype("u2") & 0xFFE0) + noise


def make(b2nd, store, shape, chunks):
    """The same array as one file of blosc2, and as a Zarr store of one object a chunk, both with zstd 1 and shuffle."""
    a = volume(shape)
    chunks = tuple(int(n) for n in chunks.split(","))
    blosc2.asarray(a, urlpath=b2nd, mode="w", chunks=chunks, cparams={"codec": blosc2.Codec.ZSTD, "clevel": 1})
    codec = zarr.codecs.BloscCodec(cname="zstd", clevel=1, shuffle="shuffle", typesize=a.dtype.itemsize)
    zarr.create_array(store, data=a, chunks=chunks, compressors=codec)
    return 0, 1, a.nbytes, zlib.crc32(a)


def tiles(path, tile):
    """An MBTiles archive with a file's bytes as one tile."""
    with open(tile, "rb") as f, sqlite3.connect(path) as db:
        db.execute("CREATE TABLE metadata (name text, value text)")
        db.execute("CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob)")
        db.executemany("INSERT INTO metadata VALUES (?, ?)", [("format", "png"), ("minzoom", "0"), ("maxzoom", "0"), ("name", "t"),
                                                              ("bounds", "-180,-85,180,85"), ("type", "overlay")])
        db.execute("INSERT INTO tiles VALUES (0, 0, 0, ?)", (f.read(),))
    return 0, 1, 0, 0


def opened(reader, url):
    if reader == "fsspec":
        fsspec.implementations.http.HTTPFileSystem.clear_instance_cache()  # with its connections
        return zarr.open_array(url, mode="r")
    store = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
    return zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r")


def box(text):
    return tuple(slice(*(int(n) if n else None for n in w.split(":"))) if ":" in w else int(w) for w in text.split(","))


def read(reader, url, what):
    """Open an array with connections of its own, and read a part of it."""
    start = time.perf_counter()
    a = opened(reader, url)
    got = np.ascontiguousarray(a[box(what)])
    seconds = time.perf_counter() - start
    OPENED[reader] = a
    return seconds, 1, got.nbytes, zlib.crc32(got)


def again(reader, what):
    """Read a part of the array that was opened last."""
    start = time.perf_counter()
    got = np.ascontiguousarray(OPENED[reader][box(what)])
    return time.perf_counter() - start, 1, got.nbytes, zlib.crc32(got)


def remote(url, what):
    """Open an array of blosc2 over HTTP, and read a part of it."""
    start = time.perf_counter()
    got = np.ascontiguousarray(blosc2.open(url, mode="r", lazy=True)[box(what)])
    return time.perf_counter() - start, 1, got.nbytes, zlib.crc32(got)


JOBS = {f.__name__: f for f in (make, tiles, read, again, remote)}


def main():
    print(json.dumps({"versions": f"zarr {zarr.__version__}, fsspec {fsspec.__version__}, obstore {obstore.__version__}, Python {sys.version.split()[0]}"}), flush=True)
    for line in sys.stdin:
        name, *args = json.loads(line)
        seconds, frames, size, crc = JOBS[name](*args)
        print(json.dumps({"seconds": seconds, "frames": frames, "bytes": size, "sum": crc}), flush=True)


main()
