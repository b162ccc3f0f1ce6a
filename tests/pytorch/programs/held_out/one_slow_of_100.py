"""One request in 100 has to be repeated: 40 ms instead of 1 ms."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of, wait


class Retried(Dataset):
    def __len__(self):
        return 50_000

    def __getitem__(self, index):
        wait(40e-3 if index % 100 == 0 else 1e-3)
        burn(0.1e-3)
        return torch.zeros(256)


def dataset():
    return Retried()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=8, shuffle=True, prefetch_factor=3)


DESCRIPTION = {
    "dataset": {"samples": 50_000, "shape": [256], "dtype": "float32", "tensors": 1},
    "prepare": {
        "kind": "burn", "cost": "100us",
        "wait": {"distribution": "empirical", "values": ["40ms"] + ["1ms"] * 99},
    },
    "loader": {"batch_size": 8, "prefetch_factor": 3},
}

KNOWN_MISS = "by description: not explained"
