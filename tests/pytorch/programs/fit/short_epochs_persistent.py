"""Epochs of 30 batches, with workers that stay."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of, wait


class Small(Dataset):
    def __len__(self):
        return 470

    def __getitem__(self, index):
        burn(0.3e-3)
        wait(1e-3)
        return torch.zeros(3, 32, 32), index % 10


def dataset():
    return Small()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=16, shuffle=True, persistent_workers=True)


DESCRIPTION = {
    "dataset": {"samples": 470, "shape": [3, 32, 32], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "300us", "wait": "1ms"},
    "loader": {"batch_size": 16, "persistent_workers": True},  # the last batch has 6 samples
}

KNOWN_MISS = "not explained: 8 workers come to 4,180 samples/s, 3,510 predicted"
