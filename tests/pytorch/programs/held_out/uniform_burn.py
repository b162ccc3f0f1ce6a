"""A transform in Python of 0.1 to 0.7 ms, five batches ahead, any order."""

import torch
from torch.utils.data import Dataset

from programs.work import burn_python, drawn, loader_of


class Varied(Dataset):
    def __init__(self):
        self.costs = drawn(10_000, lambda stream: stream.uniform(0.1e-3, 0.7e-3))

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        burn_python(self.costs[index % len(self.costs)])
        return torch.zeros(3, 32, 32), index % 10


def dataset():
    return Varied()


def loader(num_workers, **overrides):
    return loader_of(
        dataset(), num_workers, overrides, batch_size=48, shuffle=True, prefetch_factor=5, in_order=False)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 32, 32], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": {"distribution": "uniform", "low": "100us", "high": "700us"}},
    "loader": {"batch_size": 48, "prefetch_factor": 5, "in_order": False},
}
