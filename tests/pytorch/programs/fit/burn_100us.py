"""A light transform in Python, 0.1 ms of CPU time for each sample, in large batches."""

import torch
from torch.utils.data import Dataset

from programs.work import burn_python, loader_of


class Transformed(Dataset):
    def __len__(self):
        return 200_000

    def __getitem__(self, index):
        burn_python(1e-4)
        return torch.zeros(64), index % 10


def dataset():
    return Transformed()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=128, shuffle=True, prefetch_factor=4)


DESCRIPTION = {
    "dataset": {"samples": 200_000, "shape": [64], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "100us"},
    "loader": {"batch_size": 128, "prefetch_factor": 4},
}

KNOWN_MISS = "by description: a sample takes 104 us of CPU time, not 100; the rest is not explained"
