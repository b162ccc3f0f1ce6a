#!/usr/bin/env python3
"""Trains a small network on photos that lie on a file server, with a plain DataLoader. It is slow: docs/tutorial says
why, and how to find out.

The photos are generated into ./photos at the first start. Reading one from the server takes LATENCY_S, which stands
for the server here; unpacking, cropping and training are real and run on the CPU.

  python3 train.py                 as it is
  python3 train.py --watch         the first epoch watched by pipesim
  python3 train.py --workers 4     with other settings of the DataLoader
"""

import argparse
import pathlib
import random
import time
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FOLDER = pathlib.Path("photos")
PHOTOS, SIZE, CROP = 2000, 72, 64
LATENCY_S = 4e-3
EPOCHS = 3


def make_photos():
    """PHOTOS compressed pictures of SIZE x SIZE, brighter on the left (class 0) or on the right (class 1)."""
    FOLDER.mkdir(exist_ok=True)
    slope = torch.linspace(0, 120, SIZE)
    for number in range(PHOTOS):
        light = slope if number % 2 else slope.flip(0)
        photo = (light + 100 * torch.rand(3, SIZE, SIZE)).to(torch.uint8)
        (FOLDER / f"{number:05}.z").write_bytes(zlib.compress(bytes(photo.flatten().tolist())))


class Photos(Dataset):
    def __init__(self):
        if not FOLDER.exists():
            make_photos()
        self.paths = sorted(FOLDER.glob("*.z"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        time.sleep(LATENCY_S)
        pixels = bytearray(zlib.decompress(self.paths[index].read_bytes()))
        photo = torch.frombuffer(pixels, dtype=torch.uint8).view(3, SIZE, SIZE)
        top, left = random.randint(0, SIZE - CROP), random.randint(0, SIZE - CROP)
        photo = photo[:, top:top + CROP, left:left + CROP].float() / 255
        return (photo - 0.5) / 0.25, index % 2


def make_loader(num_workers=0):
    return DataLoader(Photos(), batch_size=32, shuffle=True, num_workers=num_workers)


def make_step():
    """A function that trains on one batch and returns its loss."""
    torch.set_num_threads(1)
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        nn.Flatten(), nn.Linear(512, 2))
    optimizer, loss_of = torch.optim.SGD(network.parameters(), lr=0.01), nn.CrossEntropyLoss()

    def step(batch):
        photos, classes = batch
        optimizer.zero_grad()
        loss = loss_of(network(photos), classes)
        loss.backward()
        optimizer.step()
        return loss

    return step


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--workers", type=int, default=0)
    parse.add_argument("--epochs", type=int, default=EPOCHS)
    parse.add_argument("--watch", action="store_true", help="let pipesim watch the first epoch")
    arguments = parse.parse_args()
    loader, step = make_loader(arguments.workers), make_step()
    if arguments.watch:
        import pipesim

        loader = pipesim.watch(loader)
    for epoch in range(arguments.epochs):
        begun = time.perf_counter()
        for batch in loader:
            loss = step(batch)
        seconds = time.perf_counter() - begun
        print(f"epoch {epoch}: loss {loss.item():.3f}, {PHOTOS / seconds:.0f} photos/s")


if __name__ == "__main__":
    main()
