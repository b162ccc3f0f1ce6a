"""Pictures of 128 x 128 that take 2 ms of CPU time to decode and augment, a residual network on a GPU, the usual loop:
pinned memory, non-blocking copies, the loss read back every 20 steps."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of, picture, residual_net, trained_on_gpu


class Pictures(Dataset):
    def __init__(self):
        self.pictures = [picture(128, seed) for seed in range(16)]

    def __len__(self):
        return 200_000

    def __getitem__(self, index):
        burn(2e-3)
        return self.pictures[index % 16].float() / 255, index % 100


def dataset():
    return Pictures()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=64, shuffle=True, pin_memory=True,
                     persistent_workers=True)


def step():
    return trained_on_gpu(residual_net(128, 8, 100), reads_loss_every=20, non_blocking=True)


DESCRIPTION = None
