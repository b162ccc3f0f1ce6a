"""Training a small MLP on one CPU thread on rows of a table in memory: loading costs Python's own time."""

import torch
from torch.utils.data import TensorDataset

from programs.work import loader_of, trained


def dataset():
    return TensorDataset(torch.randn(1_000_000, 32), torch.randint(0, 2, (1_000_000,)))


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=200, shuffle=True)


def step():
    return trained(torch.nn.Sequential(torch.nn.Linear(32, 256), torch.nn.ReLU(), torch.nn.Linear(256, 2)))


DESCRIPTION = {
    "dataset": {"samples": 1_000_000, "shape": [32], "dtype": "float32"},
    "loader": {"batch_size": 200},
    "device": {"name": "cpu", "step": "$step"},
    "limits": {"compute_threads": 1},
}

KNOWN_MISS = ("more workers than 2 cost the trainer more for each batch, which the model does not have; by "
              "description: not explained")
