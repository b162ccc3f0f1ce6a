"""A batch sampler of its own: batches of 8, 16, 24 and 32 samples."""

import random

import torch
from torch.utils.data import Dataset, Sampler

from programs.work import burn_python, loader_of


class Buckets(Sampler):
    def __iter__(self):
        stream, first = random.Random(1), 0
        for _ in range(len(self)):
            size = stream.choice([8, 16, 24, 32])
            yield list(range(first, first + size))
            first += size

    def __len__(self):
        return 30_000


class Sequences(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        burn_python(0.25e-3)
        return torch.zeros(200)


def dataset():
    return Sequences()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_sampler=Buckets())


DESCRIPTION = {
    "dataset": {"samples": 1_000_000, "shape": [200], "dtype": "float32", "tensors": 1},
    "prepare": {"kind": "burn", "cost": "250us"},
    "loader": {"batch_size": 20},  # the mean
}

KNOWN_MISS = "by description: not explained"
