"""DataLoader in its two styles, with worker processes, which give out batches in turn, and get_worker_info."""

import multiprocessing
import random
import types

_info = None


def get_worker_info():
    return _info


def _work(loader, jobs, id, seed, pipe):
    global _info
    _info = types.SimpleNamespace(id=id, num_workers=loader.num_workers, seed=seed + id)
    for x in loader._made(jobs[id :: loader.num_workers]):
        pipe.send([x])
    pipe.send([])


class IterableDataset:
    pass


class DataLoader:
    def __init__(self, dataset, batch_size=1, shuffle=False, num_workers=0, collate_fn=lambda x: x):
        self.dataset, self.batch_size, self.shuffle, self.num_workers, self.collate_fn = dataset, batch_size, shuffle, num_workers, collate_fn

    def _made(self, jobs):  # batches of numbers; or, of an iterable, what it gives
        return iter(self.dataset) if isinstance(self.dataset, IterableDataset) else (self.collate_fn(self.dataset.__getitems__(j)) for j in jobs)

    def __iter__(self):
        size = self.batch_size
        places = [] if isinstance(self.dataset, IterableDataset) else list(range(len(self.dataset)))
        if self.shuffle:
            random.shuffle(places)
        jobs = [places[i : i + size] for i in range(0, len(places), size or 1)]
        if not self.num_workers:
            yield from self._made(jobs)
            return
        seed = random.getrandbits(63)  # one for the workers of an epoch
        pipes = [multiprocessing.Pipe(False) for _ in range(self.num_workers)]
        for id, (_, end) in enumerate(pipes):
            multiprocessing.get_context("fork").Process(target=_work, args=(self, jobs, id, seed, end), daemon=True).start()
        live = [p for p, _ in pipes]
        while live:
            for p in list(live):
                if got := p.recv():
                    yield got[0]
                else:
                    live.remove(p)
