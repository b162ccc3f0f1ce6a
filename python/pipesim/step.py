"""Times a training step on batches that are already there. The step is really called, in the calling
process: it trains. Random streams are put back afterwards."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch

from .batches import bytes_of, first_samples, mapped
from .costs import typical
from .errors import RecordingFailed
from .probes import run_queue_wait
from .streams import kept_random_streams

WARM_UP_CALLS = 3  # allocators and lazy initialization
BLOCK_S = 0.4  # of one batch size
LEAST_CALLS, MOST_CALLS = 3, 200
LEAST_CORE_SHARE = 0.5


@dataclass
class StepTimes:
    device: str  # cpu, cuda:N, or "" for a step that waits and holds no core
    threads: int
    points: list[tuple[int, float]]  # samples, seconds
    on_one_thread: float | None  # CPU with several threads: seconds of the full batch's on one
    copy_s: tuple[float, float] | None  # of a batch to the GPU: from ordinary, from page-locked memory
    beside_workers: float | None = None  # seconds of a full batch's in a loop over a loader with workers


def on_gpu() -> bool:
    """Something in this process has used CUDA."""
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def synchronize() -> None:
    if on_gpu():
        torch.cuda.synchronize()


@contextlib.contextmanager
def threads_set(count: int | None) -> Iterator[None]:
    """torch.set_num_threads, put back at the end."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _time(step: Callable[[Any], Any], batch: Any) -> float:
    """Seconds of one step. On the CPU each gets a copy of the batch, new memory as in a loop over a loader; on a
    GPU a block of steps shares one synchronization, as in training."""
    for _ in range(WARM_UP_CALLS):
        step(batch)
    synchronize()
    on_cpu, given = _device() == "cpu", batch
    begin, calls, times = time.perf_counter(), 0, []
    while calls < MOST_CALLS and (calls < LEAST_CALLS or time.perf_counter() - begin < BLOCK_S):
        if on_cpu:
            given = mapped(batch, torch.clone)
        at = time.perf_counter()
        step(given)
        times.append(time.perf_counter() - at)
        calls += 1
    synchronize()
    return typical(times) if on_cpu else (time.perf_counter() - begin) / calls


def _device() -> str:
    """Where the step computes, as far as its allocations show."""
    if not on_gpu():
        return "cpu"
    used = [torch.cuda.memory_allocated(index) for index in range(torch.cuda.device_count())]
    return f"cuda:{used.index(max(used))}" if max(used) > 0 else "cpu"


def _copies(batch: Any, device: str) -> tuple[float, float]:
    def block(source: Any) -> float:
        mapped(source, lambda tensor: tensor.to(device, non_blocking=True))
        synchronize()
        begin, repeats = time.perf_counter(), 10
        for _ in range(repeats):
            mapped(source, lambda tensor: tensor.to(device, non_blocking=True))
        synchronize()
        return (time.perf_counter() - begin) / repeats

    return block(batch), block(mapped(batch, lambda tensor: tensor.pin_memory()))


class CoreShare:
    """Of the time since it was made in which this thread did not queue for a core: the share that it
    computed. A step that mostly waits, for an accelerator or a service, leaves its core to the workers."""

    def __init__(self) -> None:
        self.wall, self.cpu, self.queued = time.perf_counter(), time.thread_time(), run_queue_wait()

    def spent(self) -> tuple[float, float]:
        """CPU seconds, and seconds without those in the run queue."""
        cpu = time.thread_time() - self.cpu
        return cpu, max(cpu, time.perf_counter() - self.wall - (run_queue_wait() - self.queued))


def holds_a_core(cpu_s: float, wall_s: float) -> bool:
    return cpu_s >= LEAST_CORE_SHARE * wall_s


def time_step(step: Callable[[Any], Any], batch: Any, samples: int) -> StepTimes:
    with kept_random_streams():
        try:
            points = [(samples, _time(step, batch))]
        except Exception as error:
            raise RecordingFailed(f"the step failed: {type(error).__name__}: {error}") from error
        for part in sorted({samples // 4, samples // 2} - {0, samples}):
            try:
                points.append((part, _time(step, first_samples(batch, part, samples))))
            except Exception:  # noqa: BLE001 - a step may be made for one batch size
                break
        device, threads = _device(), torch.get_num_threads()
        share = CoreShare()
        _time(step, batch)
        if device == "cpu" and not holds_a_core(*share.spent()):
            device = ""
        on_one = None
        if device == "cpu" and threads > 1:
            with threads_set(1):
                on_one = _time(step, batch)
        copy = _copies(batch, device) if device.startswith("cuda") and bytes_of(batch) else None
    return StepTimes(device, threads, sorted(points), on_one, copy)
