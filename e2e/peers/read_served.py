"""Reads what a gateway serves with Zarr clients, and compares it with what blosc2 reads from the files; prints JSON.

stdin: {"url": of the gateway, "dir": that its root "data" serves, "arrays": [names in dir], "few": [those that tensorstore
knows the type of]}. All files are there at first; the last step deletes one.
stdout: {"read": {client: number of arrays}, "faults": [what went wrong]}, or null if a client is missing.
"""
import hashlib
import json
import os
import sys
import urllib.request
import warnings

import blosc2
import numpy as np

from read_blosc import assembled
from read_zarr import cast, equal

try:
    import dask.array
    import obstore.store
    import tensorstore
    import xarray
    import zarr
except ImportError as e:
    print(e, file=sys.stderr)
    zarr = None

warnings.simplefilter("ignore")  # types that the standard does not have yet


def by_fsspec(url):
    return zarr.open_array(url, mode="r")


def by_obstore(url):
    store = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
    return zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r")


class Tensor:
    """A tensorstore that reads when it is indexed, as the arrays of zarr-python."""

    def __init__(self, url):
        self.a = tensorstore.open({"driver": "zarr3", "kvstore": url + "/"}).result()

    def __getitem__(self, at):
        return self.a[at].read().result()


CLIENTS = {"fsspec": by_fsspec, "obstore": by_obstore, "tensorstore": Tensor}


def differs(got, want):
    got = np.asarray(got)
    if got.shape != want.shape:
        return f"shape {got.shape}, want {want.shape}"
    same = got.astype(want.dtype, copy=False) if got.dtype.kind in "biufcmMSU" else got
    return None if equal(same, want) else f"values of {got.dtype}"


class Run:
    def __init__(self, job):
        self.job, self.read, self.faults = job, {}, []

    def check(self, client, what, fn, want):
        try:
            fault = differs(fn(), want)
        except Exception as e:
            fault = repr(e)
        if fault:
            self.faults.append(f"{client}: {what}: {fault}")
        self.read[client] = self.read.get(client, 0) + 1

    def path(self, *names):
        return os.path.join(self.job["dir"], *names)

    def values(self, *names):
        return assembled(blosc2.open(self.path(*names), mode="r"))

    def arrays(self):
        for name in self.job["arrays"]:
            want = self.values(name)
            for client, opened in CLIENTS.items():
                if client == "tensorstore" and name not in self.job["few"]:
                    continue
                for verb in ("zarr", "zarr~blocks", "zarr~raw"):
                    url = f"{self.job['url']}/{verb}/data/{name}"
                    self.check(client, f"{verb} {name}", lambda: opened(url)[...], want)
                if name in self.job["few"] and want.dtype.kind in "iuf":
                    url = f"{self.job['url']}/zarr~float32/data/{name}"
                    self.check(client, f"float32 {name}", lambda: opened(url)[...], cast(want, "float32"))

    def groups(self):
        """A folder and one array with xarray; the folder has coordinates and CF times."""
        axes = {"temp": ["time", "lat"], "time": ["time"], "lat": ["lat"]}
        data = {"time": np.arange(40, dtype="i4"), "lat": np.linspace(-80, 80, 30), "temp": np.arange(1200, dtype="f4").reshape(40, 30)}
        for name, a in data.items():
            b = blosc2.asarray(a, urlpath=self.path("cf", name + ".b2nd"), mode="w")
            b.schunk.vlmeta["_ARRAY_DIMENSIONS"] = axes[name]
            if name == "time":
                b.schunk.vlmeta["units"] = "days since 2000-01-01"
        url = f"{self.job['url']}/group/data"
        ds = xarray.open_zarr(url + "/cf", chunks=None)
        for name, a in data.items():
            want = np.datetime64("2000-01-01", "ns") + a * np.timedelta64(1, "D") if name == "time" else a
            self.check("xarray", name, lambda: ds[name].values.astype(want.dtype), want)
        if sorted(ds.coords) != ["lat", "time"] or ds["temp"].dims != ("time", "lat"):
            self.faults.append(f"xarray: {ds}")
        row = ds["temp"].sel(time="2000-01-05", lat=data["lat"][3])
        self.check("xarray", "by label", lambda: row.values, data["temp"][4:5, 3].reshape(row.shape))
        everything = xarray.open_zarr(url + "/", chunks=None, decode_cf=False)
        for name in self.job["arrays"]:
            self.check("xarray", name, lambda: everything[os.path.splitext(name)[0]].values, self.values(name))
        one = xarray.open_zarr(url + "/" + self.job["few"][0], chunks=None, decode_cf=False)
        self.check("xarray", "one array", lambda: one["data"].values, self.values(self.job["few"][0]))
        group = zarr.open_group(url + "/cf", mode="r")
        self.check("fsspec", "group", lambda: group["temp"][...], data["temp"])

    def sums(self):
        """dask reads chunk by chunk, in several threads: the items, and sums of them."""
        for name in self.job["few"]:
            want = self.values(name)
            a = dask.array.from_zarr(f"{self.job['url']}/zarr/data/{name}")
            self.check("dask", name, a.compute, want)
            if want.dtype.kind in "iu" and want.ndim:
                self.check("dask", f"sum of {name}", lambda: a.sum(axis=0).compute(), want.sum(axis=0))

    def gone(self):
        """An array whose file is deleted raises, whatever reads it: it is never zeros."""
        name = "gone.b2nd"
        blosc2.asarray(np.arange(1, 4001, dtype="i4"), urlpath=self.path(name), mode="w", chunks=(1000,), blocks=(100,))
        opened = {client: fn(f"{self.job['url']}/zarr/data/{name}") for client, fn in CLIENTS.items()}
        opened["xarray"] = xarray.open_zarr(f"{self.job['url']}/group/data/{name}", chunks=None)["data"]
        os.remove(self.path(name))
        for client, a in opened.items():
            try:
                got = np.asarray(a[1500:2500])
                self.faults.append(f"{client}: {got[:3]} of an array that is gone")
            except Exception as e:
                if "410" not in repr(e) and "Gone" not in repr(e):
                    self.faults.append(f"{client}: {e!r}")

    def page(self):
        """Stored bytes are those of the file."""
        name = self.job["few"][0]
        with urllib.request.urlopen(f"{self.job['url']}/raw/data/{name}") as r, open(self.path(name), "rb") as f:
            if hashlib.sha256(r.read()).digest() != hashlib.sha256(f.read()).digest():
                self.faults.append("raw")


def main():
    job = json.load(sys.stdin)
    if zarr is None:
        print("null")
        return
    run = Run(job)
    os.makedirs(run.path("cf"), exist_ok=True)
    for step in (run.arrays, run.groups, run.sums, run.gone, run.page):
        try:
            step()
        except Exception as e:  # the client's own words, for the test to show
            run.faults.append(f"{step.__name__}: {e!r}")
    json.dump({"read": run.read, "faults": run.faults}, sys.stdout)


if __name__ == "__main__":
    main()
