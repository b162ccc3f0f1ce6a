"""A transform that takes 1 ms of CPU time for each sample."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of


class Transformed(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        burn(1e-3)
        return torch.zeros(3, 32, 32), index % 10


def dataset():
    return Transformed()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32, shuffle=True, drop_last=True)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 32, 32], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "1ms"},
    "loader": {"batch_size": 32},
}
