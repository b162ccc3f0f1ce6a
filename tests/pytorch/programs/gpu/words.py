"""A transformer on tokens that are indexed from memory, the loss read back every step."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, trained_on_gpu

WORDS, LENGTH = 10_000, 256


class Texts(Dataset):
    def __init__(self):
        self.tokens = torch.randint(0, WORDS, (1_000_000,), generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        begin = index * 7919 % (len(self.tokens) - LENGTH)
        return self.tokens[begin:begin + LENGTH], index % 5


def dataset():
    return Texts()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32, shuffle=True)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, 512)
        layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.head = torch.nn.Linear(512, 5)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


def step():
    return trained_on_gpu(Classifier(), reads_loss_every=1)


DESCRIPTION = None
