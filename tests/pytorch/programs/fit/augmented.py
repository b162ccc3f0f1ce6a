"""Random crop, flip and normalisation with torch, 256 x 256 to 224 x 224."""

import torch
from torch.utils.data import Dataset

from programs.work import loader_of, picture


class Augmented(Dataset):
    def __init__(self):
        self.pictures = torch.stack([picture(256, seed) for seed in range(8)])
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
        self.deviation = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        top, left, flip = torch.randint(0, 33, (3,)).tolist()
        cropped = self.pictures[index % 8, :, top:top + 224, left:left + 224]
        if flip % 2:
            cropped = cropped.flip(-1)
        return (cropped.float() / 255 - self.mean) / self.deviation, index % 1000


def dataset():
    return Augmented()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=32, shuffle=True, drop_last=True)


DESCRIPTION = {
    "dataset": {"samples": 100_000, "shape": [3, 224, 224], "dtype": "float32"},
    "prepare": {"kind": "burn", "cost": "$sample"},
    "loader": {"batch_size": 32},
}

KNOWN_MISS = ("the recording's own trial with 2 workers ran 37 % faster than the program did; by description: the "
              "recording's workers sent 1.1 GB/s, the profile has 1.64")
