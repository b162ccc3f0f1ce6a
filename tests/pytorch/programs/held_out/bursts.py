"""Stretches of 64 cheap and 64 dear samples before an accelerator of 6 ms a batch."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, wait


class Stretches(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        wait(3e-3 if index // 64 % 2 else 0.2e-3)
        return torch.zeros(300), index % 10


def dataset():
    return Stretches()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=8, prefetch_factor=8)


def step():
    return lambda batch: wait(6e-3)


DESCRIPTION = {
    "dataset": {"samples": 1_000_000, "shape": [300], "dtype": "float32", "numbers": 1},
    "prepare": {"kind": "wait", "cost": {"distribution": "empirical", "values": ["200us", "3ms"]}},
    "loader": {"batch_size": 8, "prefetch_factor": 8, "shuffle": False},
    "device": {"emulated": {"base": "6ms"}},
    "model": {"sync_every": 1},
}

KNOWN_MISS = "costs come in stretches; a distribution, stated or recorded, does not keep their order"
