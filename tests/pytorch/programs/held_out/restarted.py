"""Epochs of 25 batches of cheap samples: starting workers is most of the time."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of


class Small(Dataset):
    def __len__(self):
        return 800

    def __getitem__(self, index):
        burn(0.1e-3)
        return torch.zeros(3, 32, 32), index % 10


def dataset():
    return Small()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 800, "shape": [3, 32, 32], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "100us"},
    "loader": {"batch_size": 32},
}

KNOWN_MISS = ("the profile's launch and the recorded start-up bring the first batch of 8 workers after 210 ms, it "
              "came after 130 to 150")
