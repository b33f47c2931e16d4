"""Shuffled epochs of other loaders: one request a line on stdin, one JSON answer a line on stdout.

Nothing is decoded: a sample is its number and its bytes, in the process that would train. The order of the numbers is
written as int32 into a file, for the one who asked. Seconds are those of the clock; imports and the listing of shards
are left out, the start of workers is in.

StreamingDataset and WebDataset take from torch the class that they extend and the number of the worker. Where torch
is not installed, a module of these names stands in for it, and workers are processes that send batches through pipes,
as those of torch's DataLoader do.
"""
import array
import contextlib
import importlib.abc
import importlib.util
import json
import multiprocessing
import multiprocessing.connection
import os
import random
import shutil
import sys
import time

BATCH = 256
HERE = None  # the worker that this process is


class Worker:
    def __init__(self, id, num_workers):
        self.id, self.num_workers = id, num_workers


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules and classes for what streaming imports and is not installed."""

    def __init__(self, *names):
        self.names = [n for n in names if importlib.util.find_spec(n) is None]

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in self.names:
            return importlib.util.spec_from_loader(name, self, is_package=True)

    def exec_module(self, module):
        module.__getattr__ = lambda name: importlib.import_module(f"{module.__name__}.{name}") if name.islower() else type(name, (), {})
        if module.__name__ == "torch.distributed":
            module.is_available = module.is_initialized = lambda: False
        elif module.__name__ == "torch.utils.data":
            module.get_worker_info = lambda: HERE


stand_in = StandIn("torch", "torchvision", "transformers")
DataLoader = None
if "torch" not in stand_in.names:
    from torch.utils.data import DataLoader
sys.meta_path.append(stand_in)


def work(dataset, k, workers, pipe):
    global HERE
    HERE = Worker(k, workers)
    os.environ["WORKER"], os.environ["NUM_WORKERS"] = str(k), str(workers)
    batch = []
    for sample in dataset:
        batch.append(sample)
        if len(batch) == BATCH:
            pipe.send(batch)
            batch = []
    pipe.send(batch)
    pipe.close()
    os._exit(0)  # the threads and the shared memory of a dataset are those of the parent


def batches(dataset, workers):
    """Batches of the samples of a dataset, read by so many processes."""
    if workers and DataLoader:
        yield from DataLoader(dataset, batch_size=BATCH, num_workers=workers, collate_fn=list)
        return
    if not workers:
        for sample in dataset:
            yield (sample,)
        return
    fork, pipes = multiprocessing.get_context("fork"), []
    for k in range(workers):
        ours, theirs = fork.Pipe(duplex=False)
        fork.Process(target=work, args=(dataset, k, workers, theirs), daemon=True).start()
        theirs.close()
        pipes.append(ours)
    while pipes:
        for p in multiprocessing.connection.wait(pipes):
            try:
                yield p.recv()
            except EOFError:
                pipes.remove(p)


def epoch(dataset, workers, start):
    order, total = array.array("i"), 0
    for batch in batches(dataset, workers):
        for number, data in batch:
            order.append(int(number))
            total += len(data)
    return time.perf_counter() - start, order, total


def webdataset(urls, workers, buffer):
    """Shards in random order, each read from front to end by curl, and samples mixed in a buffer."""
    import webdataset as wds
    urls = json.loads(urls)
    start = time.perf_counter()
    data = wds.WebDataset(urls, shardshuffle=len(urls), empty_check=False).shuffle(int(buffer), initial=int(buffer)).to_tuple("__key__", "jpg")
    return epoch(data, int(workers), start)


class Numbered:
    """Samples of a dataset of records as pairs."""

    def __new__(cls, **options):
        from streaming import StreamingDataset

        class Pairs(StreamingDataset):
            def __iter__(self):
                for x in super().__iter__():
                    yield x["n"], x["jpg"]
        return Pairs(**options)


def streaming(endpoint, remote, key, secret, local, workers, algorithm):
    """Shards of S3 are copied to a folder, a few ahead, and samples are read from there."""
    from streaming.base.util import clean_stale_shared_memory
    os.environ.update(S3_ENDPOINT_URL=endpoint, AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret, AWS_DEFAULT_REGION="us-east-1")
    shutil.rmtree(local, ignore_errors=True)
    clean_stale_shared_memory()
    data = Numbered(remote=remote, local=local, shuffle=True, shuffle_algo=algorithm, batch_size=BATCH, predownload=16 * BATCH,
                    num_canonical_nodes=1)
    for s in data.streams:
        s._downloader.clean_up()  # its client has read the index; workers that are forked would share the connection, and mix up answers
    out = epoch(data, int(workers), time.perf_counter())
    del data
    shutil.rmtree(local)
    return out


def gulpio2(folder):
    """Frames of local files in random order, a frame a call."""
    from gulpio2 import GulpDirectory
    d = GulpDirectory(folder, jpeg_decoder=lambda b: b)
    frames, n = [], 0
    for chunk in d:
        for id_, item in chunk.meta_dict.items():
            frames += [(n + k, chunk, id_, k) for k in range(len(item["frame_info"]))]
            n += len(item["frame_info"])

    def samples():
        random.Random(7).shuffle(frames)
        for number, chunk, id_, k in frames:
            yield number, chunk.read_frames(id_, [k])[0][0]

    with contextlib.ExitStack() as opened:
        for chunk in d:
            opened.enter_context(chunk.open("rb"))
        return epoch(samples(), 0, time.perf_counter())


def make_streaming(folder, data, meta, limit):
    """The frames of a gulp as MDS shards."""
    from streaming import MDSWriter
    n = total = 0
    with open(data, "rb") as f, open(meta) as m, MDSWriter(out=folder, columns={"n": "int", "jpg": "bytes"}, size_limit=int(limit)) as out:
        for item in json.load(m).values():
            for offset, pad, size in item["frame_info"]:
                f.seek(offset)
                out.write({"n": n, "jpg": f.read(size - pad)})
                n, total = n + 1, total + size - pad
    return 0.001, array.array("i", range(n)), total


JOBS = {"webdataset": webdataset, "streaming": streaming, "gulpio2": gulpio2, "make-streaming": make_streaming}


def versions():
    from importlib.metadata import PackageNotFoundError, version
    have = []
    for name in ("webdataset", "mosaicml-streaming", "boto3", "gulpio2", "torch"):
        try:
            have.append("%s %s" % (name, version(name)))
        except PackageNotFoundError:
            pass
    return ", ".join(have + ["Python " + sys.version.split()[0]])


def main():
    print(json.dumps({"versions": versions()}), flush=True)
    for line in sys.stdin:
        job, numbers, *args = json.loads(line)
        seconds, order, total = JOBS[job](*args)
        if numbers:
            with open(numbers, "wb") as f:
                order.tofile(f)
        print(json.dumps({"seconds": seconds, "frames": len(order), "bytes": total}), flush=True)


if __name__ == "__main__":
    main()
