"""A library with one lock for all readers: each read holds it for 1 ms."""

import multiprocessing

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of, wait


class Locked(Dataset):
    def __init__(self):
        self.lock = multiprocessing.Lock()

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        with self.lock:
            wait(1e-3)
        burn(1e-3)
        return torch.zeros(500)


def dataset():
    return Locked()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=8, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [500], "dtype": "float32", "tensors": 1},
    "storage": {"latency": "1ms", "queue_depth": 1},
    "prepare": {"kind": "burn", "cost": "1ms"},
    "loader": {"batch_size": 8},
}
