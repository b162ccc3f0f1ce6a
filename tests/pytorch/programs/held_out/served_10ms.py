"""A slow server, 10 ms a sample, batches of 4, eight batches ahead for each worker."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, wait


class Served(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        wait(10e-3)
        return torch.zeros(3, 100, 100), index % 10


def dataset():
    return Served()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=4, shuffle=True, prefetch_factor=8)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 100, 100], "dtype": "float32", "numbers": 1},
    "prepare": {"kind": "wait", "cost": "10ms"},
    "loader": {"batch_size": 4, "prefetch_factor": 8},
}
