"""Drawn with replacement by a WeightedRandomSampler, rare classes more often."""

import torch
from torch.utils.data import Dataset, WeightedRandomSampler

from programs.work import burn, loader_of

WEIGHTS = [10.0 if index % 10 == 0 else 1.0 for index in range(10_000)]


class Classes(Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        burn(0.4e-3)
        return torch.zeros(3, 24, 24), index % 10


def dataset():
    return Classes()


def loader(num_workers, **overrides):
    return loader_of(
        dataset(), num_workers, overrides, batch_size=32, sampler=WeightedRandomSampler(WEIGHTS, 100_000))


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 24, 24], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "400us"},
    "loader": {"batch_size": 32},
}
