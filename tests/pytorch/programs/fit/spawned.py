"""Workers started by spawn, as beside CUDA; they stay for all epochs."""

import torch
from torch.utils.data import Dataset

from programs.work import burn, loader_of


class Transformed(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        burn(0.4e-3)
        return torch.zeros(3, 48, 48), index % 10


def dataset():
    return Transformed()


def loader(num_workers, **overrides):
    return loader_of(
        dataset(), num_workers, overrides, batch_size=32, shuffle=True, multiprocessing_context="spawn",
        persistent_workers=True)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 48, 48], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "400us"},
    "loader": {"batch_size": 32, "start_method": "spawn", "persistent_workers": True},
}
