"""A store with exponential waits of 2 ms on average."""

import torch
from torch.utils.data import Dataset

from programs.work import drawn, loader_of, wait


class Stored(Dataset):
    def __init__(self):
        self.waits = drawn(20_000, lambda stream: stream.expovariate(1 / 2e-3))

    def __len__(self):
        return len(self.waits)

    def __getitem__(self, index):
        wait(self.waits[index])
        return torch.zeros(512), index % 10


def dataset():
    return Stored()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=16, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 20_000, "shape": [512], "dtype": "float32", "numbers": 1},
    "prepare": {"kind": "wait", "cost": {"distribution": "exponential", "mean": "2ms"}},
    "loader": {"batch_size": 16},
}
