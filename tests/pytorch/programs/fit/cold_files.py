"""Files of 1 MB that the page cache does not keep: each read goes to the disk."""

import os

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, random_files


class Cold(Dataset):
    def __init__(self):
        self.paths = random_files("cold", 200, 1 << 20)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        file = os.open(self.paths[index % len(self.paths)], os.O_RDONLY)
        try:
            data = bytearray(os.read(file, 1 << 20))
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
        return torch.frombuffer(data, dtype=torch.uint8)


def dataset():
    return Cold()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=8, shuffle=True)


DESCRIPTION = None  # the code does not say how fast the disk is

KNOWN_MISS = "not explained: 1 worker reads at half the rate of the training loop's own reads"
