"""A store whose answers take 3 ms on average, with a long tail."""

import torch
from torch.utils.data import Dataset

from programs.work import drawn, loader_of, lognormal, wait


class Stored(Dataset):
    def __init__(self):
        self.waits = drawn(20_000, lognormal(3e-3, 3e-3))

    def __len__(self):
        return len(self.waits)

    def __getitem__(self, index):
        wait(self.waits[index])
        return torch.zeros(128)


def dataset():
    return Stored()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=8, shuffle=True, prefetch_factor=4)


DESCRIPTION = {
    "dataset": {"samples": 20_000, "shape": [128], "dtype": "float32", "tensors": 1},
    "prepare": {"kind": "wait", "cost": {"distribution": "lognormal", "mean": "3ms", "stdev": "3ms"}},
    "loader": {"batch_size": 8, "prefetch_factor": 4},
}
