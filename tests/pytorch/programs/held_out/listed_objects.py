"""A list of a million Python objects, which forked workers copy page by page as they count references."""

import torch
from torch.utils.data import Dataset

from programs.work import burn_python, loader_of


class Listed(Dataset):
    def __init__(self):
        self.items = [(f"{number:07}.jpg", number % 1000) for number in range(1_000_000)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        name, label = self.items[index]
        burn_python(0.15e-3)
        return torch.full((64,), len(name)), label


def dataset():
    return Listed()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=64, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 1_000_000, "shape": [64, 8], "dtype": "uint8"},  # int64
    "prepare": {"kind": "burn", "cost": "150us"},
    "loader": {"batch_size": 64},
}

KNOWN_MISS = "not explained"
