"""What the programs share: waiting, CPU work of a known length, generated files, and the DataLoader with its settings.

The module takes one thread for torch's operations, as PyTorch does in its workers, so that a sample costs the same
with workers and without. A program whose training step takes more sets them in step().
"""

import math
import os
import pathlib
import random
import tempfile
import time
import zlib

import torch
from torch.utils.data import DataLoader

torch.set_num_threads(1)

wait = time.sleep
BLOCK = bytes(6144)  # zlib.crc32 releases Python's lock above 5 KiB


def burn(seconds):
    """Takes CPU time of this thread in C code that releases Python's lock, as decoders and torch's operations do. It
    is CPU time, not wall time: as long on a shared core as real work would be."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.crc32(BLOCK)


def burn_python(seconds):
    """The same in Python code, which holds the lock: the worker's other threads, which hand over its batches, wait."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def drawn(count, draw, seed=1):
    """`count` values of draw(stream), the same in every process."""
    stream = random.Random(seed)
    return [draw(stream) for _ in range(count)]


def lognormal(mean, stdev):
    """A draw for `drawn` by the mean and deviation of the value itself."""
    sigma2 = math.log1p((stdev / mean) ** 2)
    return lambda stream: stream.lognormvariate(math.log(mean) - sigma2 / 2, math.sqrt(sigma2))


def loader_of(dataset, num_workers, overrides, **settings):
    """A DataLoader with the program's settings; without workers those that PyTorch refuses there are left out."""
    settings = {**settings, "num_workers": num_workers, **overrides}
    if settings["num_workers"] == 0:
        for key in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
            settings.pop(key, None)
    return DataLoader(dataset, **settings)


def scratch():
    """The folder of generated files: PIPESIM_SCRATCH, or one in the system's folder for temporary files."""
    return pathlib.Path(os.environ.get("PIPESIM_SCRATCH") or pathlib.Path(tempfile.gettempdir()) / "pipesim-programs")


def files(name, count, make):
    """The paths of `count` files, file i with the bytes of make(stream, i). Made once, also by processes that ask at
    the same time: whoever renames its finished folder first wins."""
    folder = scratch() / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        own = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
        stream = random.Random(name)
        for i in range(count):
            (own / f"{i:06}").write_bytes(make(stream, i))
        try:
            own.rename(folder)
        except OSError:
            for file in own.iterdir():
                file.unlink()
            own.rmdir()
    return [str(folder / f"{i:06}") for i in range(count)]


def random_files(name, count, size):
    return files(name, count, lambda stream, _: stream.randbytes(size))


def picture(size, seed=1):
    """A smooth uint8 picture of 3 x size x size: it compresses about as well as a photograph."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, size // 8, size // 8, generator=generator)
    fine = torch.nn.functional.interpolate(coarse, size=(size, size), mode="bilinear")[0]
    return (fine * 250 + 5 * torch.rand(3, size, size, generator=generator)).to(torch.uint8)


def residual_net(width, blocks, classes):
    """A small convolutional network with skip connections, on pictures with three channels."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            half = [torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width)]
            other = [torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width)]
            self.path = torch.nn.Sequential(*half, torch.nn.ReLU(), *other)

        def forward(self, pictures):
            return torch.relu(pictures + self.path(pictures))

    stem = torch.nn.Conv2d(3, width, 7, stride=2, padding=3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
    head = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(width, classes)
    return torch.nn.Sequential(*stem, *[Block() for _ in range(blocks)], *head)


def trained_on_gpu(model, reads_loss_every=0, non_blocking=False):
    """A training step of `model` on cuda:0, whose loss is read back every so many steps; 0: never."""
    model = model.to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    steps = 0

    def step(batch):
        nonlocal steps
        inputs, classes = (each.to("cuda", non_blocking=non_blocking) for each in batch)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), classes)
        loss.backward()
        optimizer.step()
        steps += 1
        if reads_loss_every and steps % reads_loss_every == 0:
            loss.item()

    return step


def trained(model, threads=1, learning_rate=0.01):
    """A training step of `model` on (inputs, classes) with `threads` threads."""
    torch.set_num_threads(threads)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loss_of = torch.nn.CrossEntropyLoss()

    def step(batch):
        inputs, classes = batch
        optimizer.zero_grad()
        loss_of(model(inputs), classes).backward()
        optimizer.step()

    return step
