"""Float pictures of 224 x 224 from memory, 38 MB a batch, copied as a plain `.to("cuda")` does it."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, residual_net, trained_on_gpu


class Pictures(Dataset):
    def __init__(self):
        self.pictures = torch.zeros(64, 3, 224, 224)

    def __len__(self):
        return 200_000

    def __getitem__(self, index):
        return self.pictures[index % 64].clone(), index % 100


def dataset():
    return Pictures()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=64, shuffle=True)


def step():
    return trained_on_gpu(residual_net(64, 4, 100))


DESCRIPTION = None
