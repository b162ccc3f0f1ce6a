"""Whether a GPU computes in this process, and loops that it works behind."""

from __future__ import annotations

from typing import Any

import torch

MOST_STEPS_BEHIND = 4


def on_gpu() -> bool:
    """Something in this process has used CUDA."""
    return torch.cuda.is_initialized()


def synchronize() -> None:
    if on_gpu():
        torch.cuda.synchronize()


def device_in_use() -> str:
    """Where the step computes, as far as its allocations show."""
    if not on_gpu():
        return "cpu"
    used = [torch.cuda.memory_allocated(index) for index in range(torch.cuda.device_count())]
    return f"cuda:{used.index(max(used))}" if max(used) > 0 else "cpu"


class FewBehind:
    """Lets the GPU be at most a few steps behind a loop that reads nothing back, so that the loop's rate is also the
    GPU's. Without one it does nothing."""

    def __init__(self) -> None:
        self.ends: list[Any] = []

    def step_done(self) -> None:
        if not on_gpu():
            return
        self.ends.append(torch.cuda.Event())
        self.ends[-1].record()
        if len(self.ends) > MOST_STEPS_BEHIND:
            self.ends.pop(0).synchronize()
