"""Sentences split and looked up in Python, cut or padded to 128 tokens."""

import torch
from torch.utils.data import Dataset

from programs.work import drawn, loader_of


class Sentences(Dataset):
    def __init__(self):
        self.vocabulary = {f"word{number}": number for number in range(20_000)}
        self.sentences = drawn(2000, lambda stream: " ".join(
            f"word{stream.randrange(25_000)}" for _ in range(stream.randint(60, 180))))

    def __len__(self):
        return 300_000

    def __getitem__(self, index):
        words = self.sentences[index % len(self.sentences)].split()[:128]
        tokens = [self.vocabulary.get(word, 0) for word in words]
        return torch.tensor(tokens + [0] * (128 - len(tokens))), index % 2


def dataset():
    return Sentences()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=64, shuffle=True)


DESCRIPTION = {
    "dataset": {"samples": 300_000, "shape": [128, 8], "dtype": "uint8"},  # int64
    "prepare": {"kind": "burn", "cost": "$sample"},
    "loader": {"batch_size": 64},
}

KNOWN_MISS = ("with 3 and more workers the cores are used for three quarters: to take a batch over the parent wakes up 14 "
              "times and waits for a core each time, which a recording of resting workers does not show; by description "
              "at 0 workers: the stopwatch shows 68 us a sample, the loop takes 49 in all")
