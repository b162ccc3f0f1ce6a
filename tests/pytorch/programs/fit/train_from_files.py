"""Training a small CNN on one CPU thread from pictures in files, which a network folder hands out in 2 ms."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, random_files, trained, wait


class Folder(Dataset):
    def __init__(self):
        self.paths = random_files("pictures", 1000, 3 * 64 * 64)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        wait(2e-3)
        with open(self.paths[index % len(self.paths)], "rb") as file:
            pixels = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
        return pixels.view(3, 64, 64).float().div_(255), index % 10


def dataset():
    return Folder()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32, shuffle=True)


def step():
    convolutions = torch.nn.Conv2d(3, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2)
    return trained(torch.nn.Sequential(*convolutions, torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(7200, 10)))


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 64, 64], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "40us", "wait": "2ms"},  # open, read, convert
    "loader": {"batch_size": 32},
    "device": {"name": "cpu", "step": "$step"},
    "limits": {"compute_threads": 1},
}

KNOWN_MISS = ("by description: reading and converting takes 176 us of CPU time beside the wait, not 40, and the "
              "wait of 2 ms 2.06, as the recording shows")
