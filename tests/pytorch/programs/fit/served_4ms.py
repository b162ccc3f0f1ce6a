"""Each sample comes from a server (4 ms) and is decoded (0.2 ms)."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of, wait


class Served(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        wait(4e-3)
        burn(0.2e-3)
        return torch.zeros(3, 32, 32), index % 10


def dataset():
    return Served()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=8, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 32, 32], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "200us", "wait": "4ms"},
    "loader": {"batch_size": 8},
}
