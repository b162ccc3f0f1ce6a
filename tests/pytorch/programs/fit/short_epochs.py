"""Epochs of 40 batches; the workers start again in each."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of


class Small(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        burn(0.5e-3)
        return torch.zeros(3, 32, 32), index % 10


def dataset():
    return Small()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=16, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 640, "shape": [3, 32, 32], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "500us"},
    "loader": {"batch_size": 16},
}

KNOWN_MISS = ("the profile's launch and the recorded start-up bring the first batch of 8 workers after 240 ms, it "
              "came after 150 to 160")
