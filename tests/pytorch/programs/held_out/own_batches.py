"""An IterableDataset that makes whole batches; the DataLoader only moves them."""

import torch
from torch.utils.data import IterableDataset, get_worker_info

from programs.work import burn, loader_of, wait


class Batches(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        for _ in range(100_000 // (worker.num_workers if worker else 1)):
            wait(6e-3)
            burn(2e-3)
            yield torch.zeros(64, 1000), torch.zeros(64, dtype=torch.int64)


def dataset():
    return Batches()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=None)


DESCRIPTION = {  # a sample is what the dataset yields
    "dataset": {"samples": 100_000, "shape": [64, 1000], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "2ms", "wait": "6ms"},
    "collate": {"batch": 0},
    "loader": {"batch_size": 1, "shuffle": False},
}
