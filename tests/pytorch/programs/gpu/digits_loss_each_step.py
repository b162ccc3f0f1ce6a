"""A small MLP on a GPU that prints its loss: `loss.item()` every step, and digits that cost nothing to load."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, trained_on_gpu


class Digits(Dataset):
    def __init__(self):
        self.digits = torch.zeros(10_000, 784)

    def __len__(self):
        return 500_000

    def __getitem__(self, index):
        return self.digits[index % 10_000], index % 10


def dataset():
    return Digits()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=256, shuffle=True)


def step():
    layers = torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU()
    return trained_on_gpu(torch.nn.Sequential(*layers, torch.nn.Linear(512, 10)), reads_loss_every=1)


DESCRIPTION = None
