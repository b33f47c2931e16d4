"""Makes zarr.jsonl: small Zarr arrays and groups as zarr-python writes them, one a line.

A line has the name, the objects by their keys in base64, and what NumPy read back: the
type, the shape and the SHA-256 of the items in row-major order, in the byte order of the
type. Lines of "refused" hold arrays of types that have no place in a b2nd.

    .venv/bin/python formats/zarr/testdata/zarrs.py > formats/zarr/testdata/zarr.jsonl
"""
import base64
import hashlib
import json
import sys
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import (BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec,
                         TransposeCodec, ZstdCodec)

warnings.simplefilter("ignore")


def items(dtype, shape, seed=1):
    """Items that repeat here and there, so that codecs have something to do."""
    d = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape, dtype=np.int64))
    if d.kind == "b":
        a = rng.integers(0, 2, n).astype(bool)
    elif d.kind in "iu":
        a = rng.integers(-100 if d.kind == "i" else 0, 100, n).astype(d)
    elif d.kind == "f":
        a = (rng.integers(-50, 50, n) / 4).astype(d)
        a[::7] = np.nan
    elif d.kind == "c":
        a = (rng.integers(-50, 50, n) + 1j * rng.integers(-50, 50, n)).astype(d)
    elif d.kind in "mM":
        a = rng.integers(-10**6, 10**6, n).astype("i8").view(d.newbyteorder("=")).astype(d)
        a[::7] = np.array("NaT", d)
    elif d.kind == "S":
        a = np.array([b"x" * int(k) for k in rng.integers(0, d.itemsize + 1, n)], d)
    elif d.kind == "U":
        a = np.array(["é" * int(k) for k in rng.integers(0, d.itemsize // 4 + 1, n)], d)
    elif d.kind == "V":
        a = np.frombuffer(rng.bytes(n * d.itemsize), d)
    else:
        raise ValueError(d)
    return a.reshape(shape)


def line(name, store, a, **more):
    out = {"name": name, "objects": {k: base64.b64encode(v.to_bytes()).decode() for k, v in sorted(store.items())}}
    if a is not None:
        a = np.ascontiguousarray(a) if a.ndim else a
        out |= {"dtype": str(a.dtype) if a.dtype.names else a.dtype.str, "shape": list(a.shape), "sha256": hashlib.sha256(a.tobytes()).hexdigest()}
    print(json.dumps(out | more, sort_keys=True))


def make(name, dtype="<i4", shape=(7, 10), chunks=(3, 4), version=3, whole=True, **kw):
    store = {}
    kw.setdefault("compressors", None)
    z = zarr.create_array(store=zarr.storage.MemoryStore(store), shape=shape, chunks=chunks, dtype=dtype, zarr_format=version, **kw)
    data = items(dtype, shape)
    if whole is True:
        z[...] = data
    elif whole is not None:
        z[whole] = data[whole]
    read = np.asarray(z[...])
    # Types of version 3 have no byte order.
    line(name, store, read.astype(np.dtype(dtype).newbyteorder("<") if version == 3 else np.dtype(dtype)))


def types():
    for d in ["?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
              "<M8[ns]", "<M8[25s]", "<m8[D]", "S5", "<U3"]:
        name = d.strip("<").replace("?", "b1")
        for v in 2, 3:
            make(f"type {name} v{v}", d, (5,), (2,), v)
    for d in [">i2", ">f4", ">f8", ">c16", ">M8[s]", ">U3"]:
        make(f"type {d} v2", d, (5,), (2,), 2)
        make(f"type {d} v3", d, (5,), (2,), 3)
    make("little endian", "<i4", serializer=BytesCodec(endian="little"))
    make("big endian", ">i4", serializer=BytesCodec(endian="big"))


def codecs():
    blosc = [dict(cname="lz4", shuffle="shuffle"), dict(cname="zstd", shuffle="bitshuffle"), dict(cname="blosclz", shuffle="noshuffle"),
             dict(cname="zlib", shuffle="shuffle"), dict(cname="lz4hc", shuffle="bitshuffle")]
    for b in blosc:
        n = b["cname"] + " " + b["shuffle"]
        make(f"blosc {n} v3", "<i4", (40, 30), (25, 20), compressors=BloscCodec(clevel=5, **b))
        s = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[b["shuffle"]]
        make(f"blosc {n} v2", "<i4", (40, 30), (25, 20), 2, compressors=numcodecs.Blosc(cname=b["cname"], clevel=5, shuffle=s))
    make("gzip v3", compressors=GzipCodec(level=5))
    make("zstd v3", compressors=ZstdCodec(level=3))
    make("zstd checksum v3", compressors=ZstdCodec(level=3, checksum=True))
    make("crc32c v3", compressors=[Crc32cCodec()])
    make("zstd crc32c v3", compressors=[ZstdCodec(level=1), Crc32cCodec()])
    make("transpose v3", "<i2", (4, 5, 6), (2, 3, 4), filters=[TransposeCodec(order=(2, 0, 1))])
    make("transpose twice v3", "<i2", (4, 5, 6), (2, 3, 4), filters=[TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(1, 0, 2))],
         compressors=ZstdCodec(level=1))
    import numcodecs.zarr3 as z3
    make("numcodecs.zlib v3", compressors=[z3.Zlib(level=3)])
    make("numcodecs.lz4 v3", compressors=[z3.LZ4(acceleration=1)])
    make("numcodecs.shuffle v3", compressors=[z3.Shuffle(elementsize=4), z3.Zlib(level=3)])
    for n, c in [("zlib", numcodecs.Zlib(level=3)), ("gzip", numcodecs.GZip(level=3)), ("zstd", numcodecs.Zstd(level=3)),
                 ("lz4", numcodecs.LZ4()), ("bz2", numcodecs.BZ2(level=3))]:
        make(f"{n} v2", version=2, compressors=c)
    make("shuffle v2", version=2, filters=[numcodecs.Shuffle(elementsize=4)], compressors=numcodecs.Zlib(level=3))
    make("F order v2", "<f4", (4, 5, 6), (2, 3, 4), 2, order="F", compressors=numcodecs.Zstd(level=1))
    make("F order edges v2", ">i2", (7, 10), (3, 4), 2, order="F")


def shards():
    for at in "end", "start":
        make(f"shards index {at}", "<i4", (13, 20), (3, 4), shards={"shape": (6, 12), "index_location": at}, compressors=ZstdCodec(level=1))
    make("shards bare", "<f8", (13, 20), (3, 4), shards=(9, 8))
    make("shards with missing inner chunks", "<i2", (13, 20), (3, 4), shards=(6, 12), whole=(slice(0, 3), slice(4, 9)), fill_value=-5,
         compressors=GzipCodec(level=1))
    # The shard codec as it may stand in a document, with what zarr-python's own options do not make.
    for name, index in [("index without checksum", [BytesCodec()]), ("index big endian", [BytesCodec(endian="big"), Crc32cCodec()])]:
        make(f"shards {name}", "<i4", (13, 20), (6, 12),
             serializer=ShardingCodec(chunk_shape=(3, 4), codecs=[BytesCodec(endian="big"), BloscCodec(typesize=4)], index_codecs=index))
    make("shards transposed within", "<i4", (12, 20), (6, 10),
         serializer=ShardingCodec(chunk_shape=(3, 5), codecs=[TransposeCodec(order=(1, 0)), BytesCodec(), Crc32cCodec()], index_codecs=[BytesCodec(), Crc32cCodec()]))
    make("transposed shards", "<i4", (24, 20), (12, 12), filters=[TransposeCodec(order=(1, 0))],
         serializer=ShardingCodec(chunk_shape=(4, 6), codecs=[BytesCodec(), Crc32cCodec()], index_codecs=[BytesCodec(), Crc32cCodec()]))
    make("compressed shards", "<i4", (12, 20), (6, 10), compressors=ZstdCodec(level=1),
         serializer=ShardingCodec(chunk_shape=(3, 5), codecs=[BytesCodec()], index_codecs=[BytesCodec(), Crc32cCodec()]))
    make("shards in shards", "<i4", (24, 20), (12, 10),
         serializer=ShardingCodec(chunk_shape=(6, 10), codecs=[ShardingCodec(chunk_shape=(3, 5), codecs=[BytesCodec(), ZstdCodec(level=1)],
                                  index_codecs=[BytesCodec(), Crc32cCodec()])], index_codecs=[BytesCodec(), Crc32cCodec()]))


def fills():
    fill = {"?": True, "<i4": -7, "<u8": 2**64 - 1, "<i8": -2**63, "<f2": np.float16("nan"), "<f4": float("inf"), "<f8": -0.0, "<c8": complex(1, float("nan")),
            "<M8[D]": np.datetime64("NaT"), "<M8[ms]": np.datetime64(5, "ms"), "<m8[s]": np.timedelta64(-3, "s"), "S4": b"ab", "<U2": "é"}
    for d, f in fill.items():
        for v in 2, 3:
            make(f"fill {d} v{v}", d, (7, 10), (3, 4), v, whole=(slice(0, 3), slice(0, 4)), fill_value=f)
    make("fill none v2", "<i4", (7,), (3,), 2, whole=slice(0, 3), fill_value=None)
    make("no chunks v3", "<f8", (7, 10), (3, 4), whole=None, fill_value=1.5)
    make("no chunks v2", ">f8", (7, 10), (3, 4), 2, whole=None, fill_value=1.5)


def shapes():
    for v in 2, 3:
        make(f"0-d v{v}", "<f8", (), (), v)
        make(f"nothing v{v}", "<f8", (0, 4), (1, 2), v)
        make(f"one v{v}", "<f8", (1,), (1,), v)
        make(f"chunk above shape v{v}", "<i2", (3, 2), (10, 8), v)
        make(f"five axes v{v}", "i1", (3, 2, 4, 3, 2), (2, 2, 3, 1, 2), v)
    for sep in "/", ".":
        make(f"separator {sep} v2", shape=(7, 10), version=2, chunk_key_encoding={"name": "v2", "separator": sep})
        make(f"separator {sep} v3", shape=(7, 10), chunk_key_encoding={"name": "default", "separator": sep})
        make(f"v2 keys {sep} v3", shape=(7, 10), chunk_key_encoding={"name": "v2", "separator": sep})
    make("v2 keys 0-d v3", shape=(), chunks=(), chunk_key_encoding={"name": "v2", "separator": "."})
    make("names", "<f4", (7, 10), (3, 4), dimension_names=("time", "x"), attributes={"units": "K", "nested": {"a": [1, 2.5, None, "é"]}})
    make("names v2", "<f4", (7, 10), (3, 4), 2, attributes={"_ARRAY_DIMENSIONS": ["time", "x"], "units": "K"})
    make("a name missing", "<f4", (7, 10), (3, 4), dimension_names=("time", None))
    make("names odd", "<f4", (7, 10, 2, 2), (3, 4, 2, 2), dimension_names=("a=b, c", "p/q", "", "wind speed"))
    make("names twice v2", "<f4", (7, 7), (3, 4), 2, attributes={"_ARRAY_DIMENSIONS": ["x", "x"], "units": "K"})
    make("names null v2", "<f4", (7, 7), (3, 4), 2, attributes={"_ARRAY_DIMENSIONS": ["dim_1", None]})


def groups():
    for v in 2, 3:
        for con in False, True:
            store = {}
            m = zarr.storage.MemoryStore(store)
            g = zarr.create_group(m, zarr_format=v, attributes={"title": "two"})
            for path, d in [("t", "<f4"), ("sub/u", "<i2")]:
                more = {"dimension_names": ("y", "x")} if v == 3 else {}
                a = g.create_array(path, shape=(7, 10), chunks=(3, 4), dtype=d, compressors=None, **more)
                a[...] = items(d, (7, 10))
            if con:
                zarr.consolidate_metadata(m, zarr_format=v)
            line(f"group{' consolidated' if con else ''} v{v}", store, None, arrays={
                p: hashlib.sha256(items(d, (7, 10)).tobytes()).hexdigest() for p, d in [("sub/u", "<i2"), ("t", "<f4")]})


MEMBERS = [("id", "<i4"), ("x", "<f8"), ("name", "S3"), ("é", "<u2"), ("in", [("p", "u1"), ("q", "<f4")]), ("raw", "V3"), ("c", "<c8")]


def members():
    for v in 2, 3:
        make(f"raw v{v}", "V4", version=v)
        make(f"raw fill v{v}", "V4", version=v, whole=(slice(0, 3), slice(0, 4)), fill_value=np.void(b"abcd"))
        make(f"members v{v}", MEMBERS, version=v, fill_value=np.zeros((), MEMBERS)[()])
        make(f"members fill v{v}", [("a", "<i4"), ("b", "<f8")], version=v, whole=(slice(0, 3), slice(0, 4)), fill_value=np.array((7, -0.5), [("a", "<i4"), ("b", "<f8")])[()])


def refused():
    cases = {"variable text": (str, {}), "bytes of any length": ("variable_length_bytes", {})}
    for name, (d, kw) in cases.items():
        for v in 2, 3:
            store = {}
            try:
                zarr.create_array(store=zarr.storage.MemoryStore(store), shape=(3,), chunks=(2,), dtype=d, zarr_format=v, compressors=None, **kw)
            except Exception as e:
                print(name, v, e, file=sys.stderr)
                continue
            line(f"refused {name} v{v}", store, None, refused=True)
    for name, f in [("delta", numcodecs.Delta("<i4")), ("quantize", numcodecs.Quantize(3, "<f4"))]:
        store = {}
        zarr.create_array(store=zarr.storage.MemoryStore(store), shape=(3,), chunks=(2,), dtype=f.dtype, zarr_format=2, filters=[f], compressors=None)
        line(f"refused {name} v2", store, None, refused=True)
    for name, d in [("members big-endian", [("a", ">i4"), ("b", "<f8")]), ("members that are arrays", [("a", "<i4", (2, 2)), ("b", "<f8")])]:
        store = {}
        try:
            zarr.create_array(store=zarr.storage.MemoryStore(store), shape=(3,), chunks=(2,), dtype=d, zarr_format=2, compressors=None)
            line(f"refused {name} v2", store, None, refused=True)
        except Exception as e:
            print(name, e, file=sys.stderr)
    store = {}
    zarr.create_array(store=zarr.storage.MemoryStore(store), shape=(3,), chunks=(2,), dtype="<i4", zarr_format=2, compressors=numcodecs.LZMA())
    line("refused lzma v2", store, None, refused=True)


if __name__ == "__main__":
    for part in types, codecs, shards, fills, shapes, groups, members, refused:
        part()
