"""An IterableDataset that shares its samples among the workers; 0.5 ms of Python a sample."""

import torch
from torch.utils.data import IterableDataset, get_worker_info

from programs.work import burn_python, loader_of


class Stream(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        first, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        for index in range(first, 1_000_000, stride):
            burn_python(0.5e-3)
            yield torch.zeros(256), index % 10


def dataset():
    return Stream()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32)


DESCRIPTION = {
    "dataset": {"samples": 1_000_000, "shape": [256], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "500us"},
    "loader": {"batch_size": 32, "shuffle": False},
}
