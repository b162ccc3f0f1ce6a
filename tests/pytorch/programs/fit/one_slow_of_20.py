"""One sample in 20 takes 30 times as long to decode."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of


class Uneven(Dataset):
    def __len__(self):
        return 50_000

    def __getitem__(self, index):
        burn(9e-3 if index % 20 == 0 else 0.3e-3)
        return torch.zeros(3, 16, 16), 0


def dataset():
    return Uneven()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=16, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 50_000, "shape": [3, 16, 16], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": {"distribution": "empirical", "values": ["9ms"] + ["300us"] * 19}},
    "loader": {"batch_size": 16},
}
