#!/usr/bin/env python3
"""Records real PyTorch profiler traces for `pipesim import`: training loops whose bottleneck is known.

  tests/pytorch/traces.py --out tests/pytorch/data              all that this machine can record
  tests/pytorch/traces.py --out tests/pytorch/data starved_cpu

  starved_*        one worker needs 80 ms a batch, the step a fraction of it
  compute_bound_*  the step takes many times as long as loading
  launch_bound_*   20 small layers: the GPU waits for the host to start its kernels
  synced_*         as compute_bound, reading the loss back after every step

A trace holds STEPS steps after a warm-up and is written as NAME.json.gz. Exit code 77: no PyTorch here.
"""

import argparse
import pathlib
import sys
import time
import warnings

try:
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile, schedule
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

SKIPPED, STEPS = 5, 8


class Images(Dataset):
    def __init__(self, wait_s, shape):
        self.wait_s, self.image = wait_s, torch.zeros(shape)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        if self.wait_s:
            time.sleep(self.wait_s)
        return self.image, index % 10


def mlp(inputs, width, layers):
    parts = [nn.Flatten(), nn.Linear(inputs, width), nn.ReLU()]
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, 10))


# name: (seconds a sample waits, its shape, workers, the model, whether the loss is read back)
LOOPS = {
    "starved": lambda cuda: (5e-3, (784,), 1, mlp(784, 128, 1), False),
    "compute_bound": lambda cuda: (0, (784,), 2, mlp(784, 16384 if cuda else 1024, 2), False),
    "launch_bound": lambda cuda: (0, (64,), 2, mlp(64, 64, 20), False),
    "synced": lambda cuda: (0, (784,), 2, mlp(784, 8192, 2), True),
}
ONLY_CUDA = {"launch_bound", "synced"}


def record(name, device, file):
    cuda = device == "cuda"
    wait_s, shape, workers, model, read_back = LOOPS[name](cuda)
    loader = DataLoader(Images(wait_s, shape), batch_size=16 if wait_s else 256, num_workers=workers, pin_memory=cuda)
    model = model.to(device)
    optimizer, loss_of = torch.optim.SGD(model.parameters(), lr=0.01), nn.CrossEntropyLoss()
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if cuda else [])
    plan = schedule(wait=SKIPPED, warmup=2, active=STEPS, repeat=1)
    with profile(activities=activities, schedule=plan) as profiler:
        for step, (images, labels) in enumerate(loader):
            images, labels = (each.to(device, non_blocking=True) for each in (images, labels))
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            if read_back:
                loss.item()
            profiler.step()
            if step + 1 == SKIPPED + 2 + STEPS:
                break
    profiler.export_chrome_trace(str(file))


def main():
    names = [f"{name}_{device}" for device in ("cpu", "cuda") for name in LOOPS
             if device == "cuda" or name not in ONLY_CUDA]
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("name", nargs="*", help=f"of {', '.join(names)}; default: all that this machine can record")
    parse.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parse.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    possible = [name for name in names if name.endswith("_cpu") or torch.cuda.is_available()]
    for name in arguments.name or possible:
        file = arguments.out / f"{name}.json.gz"
        record(*name.rsplit("_", 1), file)
        print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
