"""Zarr as zarr-python writes and reads it, beside what farread made of it.

    zarrfiles.py make DIR        writes arrays with random shapes, types and codecs; prints their names
    zarrfiles.py compare < JSON  [{"name", "zarr", "b2nd", "out"}]: the source, the b2nd that farread packed
                                 of it, and the Zarr that it unpacked of that; prints faults
"""
import json
import os
import random
import sys
import warnings

import blosc2
import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ZstdCodec

warnings.simplefilter("ignore")

TYPES = ["?", "<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "<M8[us]", "<m8[h]", "S7", "<U4", ">i4", ">f8", ">M8[D]", "V3", [("a", "<i4"), ("b", "S2"), ("c", [("d", "<f8"), ("e", "V3")])]]


def items(rng, d, shape):
    d = np.dtype(d)
    raw = rng.integers(0, 4, int(np.prod(shape)) * d.itemsize).astype("u1")
    if d.names:  # NumPy strips zeros at the end of text
        out = raw.view(d).reshape(shape)
        out["b"] = b"xy"
        return out
    if d.kind == "b":
        return (raw & 1).astype(d).reshape(shape)
    if d.kind == "U":
        return np.array(["aé"[int(k) % 2] * int(k % 5) for k in raw[:: d.itemsize]], d).reshape(shape)
    if d.kind == "S":
        return np.array([b"ab"[int(k) % 2 :] * int(k % 4) for k in raw[:: d.itemsize]], d).reshape(shape)
    return raw.view(d).reshape(shape)


def make(folder):
    names, dice = [], random.Random(15)
    rng = np.random.default_rng(15)
    for i in range(60):
        version, d = dice.choice([2, 3]), np.dtype(TYPES[i % len(TYPES)])
        if d.names:  # zarr-python 3 does not open members in members of version 2, which it has written
            version = 3
        axes = dice.randint(0, 4)
        shape = tuple(dice.randint(1, 12) for _ in range(axes))
        chunks = tuple(dice.randint(1, 6) for _ in range(axes))
        kw = {"chunk_key_encoding": {"name": dice.choice(["default", "v2"] if version == 3 else ["v2"]), "separator": dice.choice("/.")}}
        if version == 2:
            kw["order"] = dice.choice("CF")
            kw["compressors"] = dice.choice([None, numcodecs.Zlib(1), numcodecs.GZip(1), numcodecs.Zstd(1), numcodecs.LZ4(), numcodecs.Blosc("lz4", 3, dice.choice([0, 1, 2])),
                                             numcodecs.Blosc("zstd", 3, dice.choice([0, 1, 2]))])
        else:
            kw["compressors"] = dice.choice([None, [ZstdCodec(level=1), Crc32cCodec()], GzipCodec(level=1), BloscCodec(cname=dice.choice(["lz4", "zstd", "zlib", "blosclz"]), shuffle=dice.choice(["shuffle", "bitshuffle", "noshuffle"]))])
            if axes and dice.random() < 0.5 and d.kind != "V":  # zarr-python finds no hash for the fill value of these
                kw["shards"] = {"shape": tuple(c * dice.randint(1, 3) for c in chunks), "index_location": dice.choice(["start", "end"])}
            if dice.random() < 0.5:
                kw["dimension_names"] = [f"axis{k}" for k in range(axes)]
            if dice.random() < 0.3 and d.itemsize > 1 and d.kind in "iufc":
                kw["serializer"] = BytesCodec(endian="big")
        data = items(rng, d, shape)
        kw["fill_value"] = data.flat[0] if dice.random() < 0.5 and d.kind not in "SU" or d.names else None
        if kw["fill_value"] is None:
            del kw["fill_value"]
        name = f"{i:02d}-v{version}-{d.str.strip('<|>').replace('[', '_').replace(']', '').replace('?', 'b')}.zarr"
        z = zarr.create_array(os.path.join(folder, name), shape=shape, chunks=chunks, dtype=d, zarr_format=version, attributes={"units": "K", "n": i}, **kw)
        if axes and dice.random() < 0.4:  # chunks that are not there
            part = tuple(slice(0, dice.randint(0, n)) for n in shape)
            z[part] = data[part]
        else:
            z[...] = data
        names.append(name)
    print(json.dumps(names))


def same(a, b):
    return a.shape == b.shape and np.ascontiguousarray(a).astype(b.dtype).tobytes() == np.ascontiguousarray(b).tobytes()


def compare(jobs):
    faults = []
    for j in jobs:
        z = zarr.open(j["zarr"])
        want = np.asarray(z[...])
        b = blosc2.open(j["b2nd"])
        got = np.asarray(b[...])
        if not same(want, got):
            faults.append(f"{j['name']}: b2nd {got.dtype} {got.shape} is not {want.dtype} {want.shape}")
        if z.dtype.newbyteorder("=") != got.dtype.newbyteorder("="):
            faults.append(f"{j['name']}: b2nd of {got.dtype}, not {z.dtype}")
        chunks = tuple(min(c, max(n, 1)) for c, n in zip(z.chunks, z.shape))
        if z.shape and tuple(b.chunks) != chunks:
            faults.append(f"{j['name']}: chunks {b.chunks}, not {chunks}")
        o = zarr.open(j["out"])
        back = np.asarray(o[...])
        if not same(want, back) or o.metadata.zarr_format != 3:
            faults.append(f"{j['name']}: Zarr {back.dtype} {back.shape} is not {want.dtype} {want.shape}")
        attrs, dims = dict(z.attrs), getattr(z.metadata, "dimension_names", None) or attrs_names(z)
        if attrs.pop("_ARRAY_DIMENSIONS", None) and z.metadata.zarr_format == 2 and z.metadata.fill_value is not None and "_FillValue" not in attrs:
            # What xarray takes for missing in version 2 is an attribute in version 3.
            if dict(o.attrs).get("_FillValue") is None:
                faults.append(f"{j['name']}: no _FillValue")
            attrs["_FillValue"] = dict(o.attrs).get("_FillValue")
        if dict(o.attrs) != attrs:
            faults.append(f"{j['name']}: attributes {dict(o.attrs)}, not {attrs}")
        if dims and any(dims) and tuple(o.metadata.dimension_names or ()) != usable(dims):
            faults.append(f"{j['name']}: names {o.metadata.dimension_names}, not {usable(dims)} of {dims}")
        if j.get("shard") and list(o.shards or ()) != j["shard"]:
            faults.append(f"{j['name']}: shards {o.shards}, not {j['shard']}")
    print(json.dumps({"read": len(jobs), "faults": faults}))


def usable(dims):
    """Names of which none is missing or there twice."""
    out = [n if n and n not in dims[:i] else None for i, n in enumerate(dims)]
    for i, n in enumerate(out):
        if n is None:
            out[i] = f"{dims[i] or 'dim'}_{i}"
            while out[i] in out[:i] + out[i + 1:]:
                out[i] += "_"
    return tuple(out)


def attrs_names(z):
    return dict(z.attrs).get("_ARRAY_DIMENSIONS")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        compare(json.load(sys.stdin))
