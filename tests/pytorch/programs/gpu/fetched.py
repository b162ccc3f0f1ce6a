"""Samples that take 5 ms to arrive, as from an object store, for a network whose step takes some 20 ms on a GPU."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, residual_net, trained_on_gpu, wait


class Fetched(Dataset):
    def __init__(self):
        self.pictures = torch.zeros(16, 3, 128, 128, dtype=torch.uint8)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        wait(5e-3)
        return self.pictures[index % 16].float(), index % 100


def dataset():
    return Fetched()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32, shuffle=True, prefetch_factor=4,
                     persistent_workers=True)


def step():
    return trained_on_gpu(residual_net(256, 8, 100), reads_loss_every=1)


DESCRIPTION = None
