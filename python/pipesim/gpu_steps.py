"""What a training step on a GPU takes of the thread that calls it, and of the GPU.

PyTorch launches the GPU's work and goes on, so that neither is the time of the call. The call is timed on an idle GPU.
The GPU is timed behind a kernel that only waits, long enough for the step to be launched meanwhile: then its kernels
follow each other, as they would not while they wait for their launches."""

from __future__ import annotations

import time
from typing import Any

import torch

from .arithmetic import typical

clock = time.perf_counter

# The GPU is kept asleep for so long: more than a step takes to launch.
ASLEEP_FACTOR, ASLEEP_S = 1.5, 1e-3
PROBE_CYCLES = 1_000_000
# A call that lasts for this share of the sleep waited for its end.
WAITED_SHARE = 0.9
# Until the GPU is done at most this share of the time is left when the call returns.
LEFT_SHARE = 0.05


def asleep(cycles: int) -> None:
    """A kernel that computes nothing for so many cycles of the GPU's clock."""
    torch.cuda._sleep(cycles)


class GpuSteps:
    """Times calls of a step, each between begin() and end(); the GPU is idle before."""

    def __init__(self) -> None:
        self.calls: list[float] = []  # seconds of the calling thread
        self.cpus: list[float] = []  # of them, its CPU time
        self.wholes: list[float] = []  # until the GPU was done
        self.behind: list[float] = []  # of the GPU, behind its sleep
        self.waited = 0  # calls that returned no earlier than the sleep was over
        self.cycles_per_s = 0.0
        self.events: list[Any] = []

    def begin(self, behind_sleep: bool = False) -> None:
        behind_sleep = behind_sleep and hasattr(torch.cuda, "_sleep")
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(3)] if behind_sleep else []
        if behind_sleep and self.cycles_per_s == 0.0:
            self.measure_cycles()
        torch.cuda.synchronize()
        if behind_sleep:
            self.events[0].record()
            asleep(int(self.cycles_per_s * (ASLEEP_FACTOR * typical(self.wholes) + ASLEEP_S)))
            self.events[1].record()
        self.began, self.began_cpu = clock(), time.thread_time()

    def end(self) -> None:
        called, cpu = clock() - self.began, time.thread_time() - self.began_cpu
        if not self.events:
            torch.cuda.synchronize()
            self.calls.append(called)
            self.cpus.append(cpu)
            self.wholes.append(clock() - self.began)
            return
        self.events[2].record()
        torch.cuda.synchronize()
        slept, took = (1e-3 * first.elapsed_time(second) for first, second in zip(self.events, self.events[1:]))
        self.behind.append(took)
        self.waited += called >= WAITED_SHARE * slept

    def measure_cycles(self) -> None:
        """Of a sleep's second. The first launch loads the kernel."""
        first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(2):
            first.record()
            asleep(PROBE_CYCLES)
            second.record()
            torch.cuda.synchronize()
        self.cycles_per_s = PROBE_CYCLES / (1e-3 * first.elapsed_time(second))

    def call(self) -> float:
        return typical(self.calls)

    def call_cpu(self) -> float:
        return min(typical(self.cpus), self.call())

    def rest(self) -> float:
        """Seconds that the GPU is busy after the call."""
        return typical(self.wholes) - self.call()

    def waits(self) -> bool:
        """The step reads a result back: it returns when the GPU is done with it."""
        returns_late = self.call() >= (1 - LEFT_SHARE) * typical(self.wholes)
        return returns_late and 2 * self.waited > len(self.behind)

    def of_the_gpu(self) -> float | None:
        """Seconds of the GPU alone; None where that was not timed."""
        return typical(self.behind) if self.behind else None
