"""Small data sets for test_record.py and test_watch.py, each with a cost that is known, or a fault."""

import collections
import dataclasses
import multiprocessing
import os
import random
import signal
import time
from typing import NamedTuple

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, get_worker_info


def burn(seconds):
    """CPU time of this thread, as long on a shared core as alone."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Numbers(Dataset):
    def __init__(self, count=64):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((16,), float(index)), index


class Padded(Numbers):
    """Samples of 1 to 5 numbers, alike within a batch of 8."""

    def __getitem__(self, index):
        return torch.zeros(1 + index // 8 % 5)


def pad(samples):
    return torch.stack(samples)


class Burns(Numbers):
    def __getitem__(self, index):
        burn(0.002)
        return super().__getitem__(index)


class Waits(Numbers):
    def __getitem__(self, index):
        time.sleep(0.003)
        return super().__getitem__(index)


class Locks(Numbers):
    """Two thirds of a sample hold a lock that all workers share."""

    def __init__(self):
        super().__init__()
        self.lock = multiprocessing.Lock()

    def __getitem__(self, index):
        with self.lock:
            time.sleep(0.002)
        time.sleep(0.001)
        return super().__getitem__(index)


class DrawsItsCost(Numbers):
    """One sample of four takes ten times as long."""

    def __getitem__(self, index):
        burn(0.005 if index % 4 == 0 else 0.0005)
        return super().__getitem__(index)


class Pictures(Numbers):
    """Large samples: 602,112 bytes of uint8."""

    def __getitem__(self, index):
        return torch.zeros(3, 448, 448, dtype=torch.uint8), index


class Nested(Numbers):
    def __getitem__(self, index):
        return {"image": torch.zeros(3, 8, 8), "boxes": (torch.zeros(4), [torch.zeros(2), index]), "name": f"{index}"}


class Named(Numbers):
    """A tensor deep in a sample, full of the sample's label."""

    def __getitem__(self, index):
        return {"box": (index, [torch.full((2,), float(index))]), "label": index}


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class Points(Numbers):
    def __getitem__(self, index):
        return Point(torch.zeros(5), torch.ones(5))


class Bulk(Numbers):
    def __getitems__(self, indices):
        burn(0.004)
        return [self[index] for index in indices]


class WaitsOnce(Numbers):
    """A batch of any size waits 24 ms."""

    def __getitems__(self, indices):
        time.sleep(0.024)
        return [self[index] for index in indices]


class OpensLate(Numbers):
    """Its first sample in each process takes 60 ms of waiting and 20 ms of CPU time more."""

    opened = False

    def __getitem__(self, index):
        if not self.opened:
            self.opened = True
            time.sleep(0.06)
            burn(0.02)
        burn(0.0005)
        return super().__getitem__(index)


class Keeps(Numbers):
    """Makes a sample once, in 2 ms."""

    def __init__(self, count=64):
        super().__init__(count)
        self.made = {}

    def __getitem__(self, index):
        if index not in self.made:
            burn(0.002)
            self.made[index] = super().__getitem__(index)
        return self.made[index]


class Files(Numbers):
    """Reads a file of 100 kB for each sample."""

    def __init__(self, path, count=64):
        super().__init__(count)
        self.path = path

    def __getitem__(self, index):
        with open(self.path, "rb") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)


class Stream(IterableDataset):
    """Sharded by worker_init_fn, as PyTorch's documentation does it."""

    def __init__(self, count=64):
        self.first, self.last = 0, count

    def __iter__(self):
        for index in range(self.first, self.last):
            burn(0.0005)
            yield torch.full((16,), float(index))


def shard(worker):
    info = get_worker_info()
    stream, workers = info.dataset, info.num_workers
    share = (stream.last - stream.first) // workers
    stream.first += worker * share
    stream.last = stream.first + share


class Remembers(Numbers):
    """Its own state, and every random stream, change with each sample."""

    def __init__(self, count=64):
        super().__init__(count)
        self.seen = []

    def __getitem__(self, index):
        self.seen.append(index)
        return torch.rand(4), random.random()


class Pairs(Sampler):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count // 2

    def __iter__(self):
        return iter([[2 * i, 2 * i + 1] for i in range(len(self))])


class Buckets(Sampler):
    """Batches of these sizes, in turn."""

    def __init__(self, count, sizes):
        self.count, self.sizes = count, sizes

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter([list(range(self.sizes[i % len(self.sizes)])) for i in range(len(self))])


class Fails(Numbers):
    def __getitem__(self, index):
        if index == 37:
            self.fail()
        return super().__getitem__(index)


class Raises(Fails):
    def fail(self):
        raise ValueError("a broken picture")


class Hangs(Fails):
    def fail(self):
        time.sleep(1000)


class Dies(Fails):
    def fail(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class KnowsItsProcess(Numbers):
    """Fails in a process forked from one that had loaded samples."""

    process = None

    def __getitem__(self, index):
        if self.process not in (None, os.getpid()):
            raise RuntimeError("samples were loaded before this process was forked")
        self.process = os.getpid()
        return super().__getitem__(index)


class ReturnsNothing(Numbers):
    def __getitem__(self, index):
        pass


class HoldsALambda(Numbers):
    """Cannot be pickled, so its workers cannot be spawned."""

    def __init__(self):
        super().__init__()
        self.change = lambda value: value


@dataclasses.dataclass
class Own:
    """A batch of a class of the user's."""

    values: torch.Tensor


def to_own(samples):
    burn(0.003)
    return Own(torch.stack([values for values, _ in samples]))


class Encoding(collections.UserDict):
    """Items as attributes, like Hugging Face's BatchEncoding."""

    def __getattr__(self, name):
        if name in self.__dict__.get("data", {}):
            return self.data[name]
        raise AttributeError(name)


def to_encoding(samples):
    return Encoding(images=torch.stack([values for values, _ in samples]))


def make_loader(num_workers):
    return DataLoader(Waits(400), batch_size=8, num_workers=num_workers)


def make_two():
    return make_loader(0), make_loader(0)


def make_step():
    model = torch.nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        model(batch[0]).sum().backward()
        optimizer.step()
        burn(0.002)

    return step


def wait_for_a_device(batch):
    time.sleep(0.004)
