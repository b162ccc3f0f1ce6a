"""Times a training step on batches that are already there. The step is really called, in the calling
process: it trains. Random streams are put back afterwards."""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch
from torch.utils.data._utils.pin_memory import pin_memory

from .batches import bytes_of, first_samples, mapped
from .arithmetic import typical
from .errors import RecordingFailed
from .gpu import device_in_use, synchronize
from .gpu_steps import GpuSteps
from .machine import processors
from .probes import queued_of_all_threads, run_queue_wait
from .streams import kept_random_streams
from .walks import Loop

WARM_UP_CALLS = 3  # allocators and lazy initialization
BLOCK_S = 0.4  # of one batch size
LEAST_CALLS, MOST_CALLS = 3, 200
ATTEMPTS = 4  # blocks, where others took cores
QUIET = 0.05  # of a block's time that threads lacked cores
LEAST_CORE_SHARE = 0.5
# A GPU that computes for less of a step than this waits for its launches.
LAUNCHES_LIMIT = 0.9
LEAST_STEPS_BESIDE = 5
PINS = 6  # copies of a batch into page-locked memory; the first allocates it


@dataclass
class StepTimes:
    device: str  # cpu, cuda:N, or "" for a step that waits and holds no core
    threads: int
    points: list[tuple[int, float]]  # samples, seconds
    on_one_thread: float | None  # CPU with several threads: seconds of the full batch's on one
    copy_s: tuple[float, float] | None  # of a batch to the GPU: from ordinary, from page-locked memory
    beside_workers: float | None = None  # seconds of a full batch's in a loop over a loader with workers
    beside_many: float | None = None  # the same with many workers, where that was tried
    # GPU, a full batch. The points are then the GPU's times, its copies of a batch among them.
    call: float | None = None  # seconds of the calling thread, while the GPU has nothing else to do
    call_cpu: float | None = None  # of them, its CPU time
    waits: bool = False  # the call returns when the GPU is done
    pin_bandwidth: float | None = None  # bytes a second that one thread copies of a batch into page-locked memory
    queued: float = 0.0  # that the process's threads lacked a core because of other programs, over a step's time

    @property
    def alone(self) -> float:
        """Seconds of the training thread for a full batch that is there, without workers."""
        return self.points[-1][1] if self.call is None else self.call

    @property
    def launch(self) -> float:
        """Of a GPU's call, what it takes to launch the work. Unknown, and taken for 0, where it waits for the GPU,
        which computes for most of it."""
        computes = self.points[-1][1] >= LAUNCHES_LIMIT * self.call
        return 0.0 if self.waits and computes else self.call

    def tell_apart(self, gpu: GpuSteps, copy_s: float = 0.0) -> None:
        """Launching and computing. `copy_s`: of the batch, where the GPU's own time is without it."""
        samples, period = self.points[-1]
        own = gpu.of_the_gpu()
        # The GPU is busy from the call's end on; a step on streams of its own does not wait for the sleep.
        busy = period if own is None else min(period, max(own + copy_s, gpu.rest()))
        self.call, self.call_cpu, self.waits = gpu.call(), gpu.call_cpu(), gpu.waits()
        if busy < LAUNCHES_LIMIT * period:
            self.points = [(samples, busy)]  # smaller batches launch as many kernels


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


def _repeat(call: Callable[[], None], seconds: float) -> None:
    begin, calls = time.perf_counter(), 0
    while calls < MOST_CALLS and (calls < LEAST_CALLS or time.perf_counter() - begin < seconds):
        call()
        calls += 1


@dataclass
class Timed:
    seconds: float  # of one step
    queued: float  # that this process's threads lacked a core because of other programs, over the time that it took


def _time_block(step: Callable[[Any], Any], batches: list[Any]) -> Timed:
    on_cpu, times, turn = device_in_use() == "cpu", [], itertools.cycle(batches)

    def timed() -> None:
        batch = next(turn)
        given = mapped(batch, torch.clone) if on_cpu else batch
        at = time.perf_counter()
        step(given)
        times.append(time.perf_counter() - at)

    begin, queued = time.perf_counter(), queued_of_all_threads()
    _repeat(timed, BLOCK_S)
    synchronize()
    took = time.perf_counter() - begin
    # More threads than cores lack them by themselves.
    lacked = queued_of_all_threads() - queued if torch.get_num_threads() <= processors() else 0.0
    return Timed(typical(times) if on_cpu else took / len(times), lacked / took)


def _time(step: Callable[[Any], Any], batches: list[Any]) -> Timed:
    """One step of several, on each batch in turn. On the CPU each gets a copy of its batch, new memory as in a loop
    over a loader; on a GPU a block of steps shares one synchronization, as in training. What lacked cores, since
    another program took them, is tried again."""
    for _ in range(WARM_UP_CALLS):
        step(batches[0])
    synchronize()
    best = _time_block(step, batches)
    for _ in range(ATTEMPTS - 1):
        if best.queued <= QUIET:
            break
        best = min(best, _time_block(step, batches), key=lambda timed: timed.queued)
    return best


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


def _time_on_gpu(step: Callable[[Any], Any], batches: list[Any], device: str) -> GpuSteps:
    """Also behind a sleep of the GPU, on batches that are there already: a copy would wait for the sleep's end."""
    gpu, turn = GpuSteps(), itertools.cycle(batches)

    def timed(given: Any, behind_sleep: bool) -> None:
        gpu.begin(behind_sleep)
        step(given)
        gpu.end()

    _repeat(lambda: timed(next(turn), False), BLOCK_S / 2)
    try:
        there = itertools.cycle([mapped(batch, lambda tensor: tensor.to(device)) for batch in batches])
        _repeat(lambda: timed(next(there), True), BLOCK_S / 2)
    except Exception:  # noqa: BLE001 - a step may want its batch on the host
        gpu.behind.clear()
    return gpu


def beside(times: StepTimes, loop: Loop) -> float | None:
    """Seconds of the step's call in a loop over a loader with workers, but for waiting for a core, which a prediction
    adds by itself; on a GPU of those that found it idle, since others wait for it."""
    gaps = [take.got - take.asked for take in loop.takes[1 : len(loop.steps)]]
    steps = loop.steps[1:]
    if times.call is not None:
        least = 0.0 if times.waits else times.points[-1][1] - times.call
        steps = [seconds for seconds, gap in zip(steps, gaps) if gap >= least]
    return typical(steps) if len(steps) >= (LEAST_STEPS_BESIDE if times.call is not None else 1) else None


def _pin_bandwidth(batch: Any) -> float | None:
    """Bytes a second of a thread like the loader's pin thread, once PyTorch has page-locked memory at hand."""
    if not bytes_of(batch):
        return None
    times: list[float] = []
    with threads_set(1):
        for _ in range(PINS):
            begin = time.perf_counter()
            pin_memory(batch)
            times.append(time.perf_counter() - begin)
    return bytes_of(batch) / typical(times[1:])


def time_step(step: Callable[[Any], Any], batches: list[Any], samples: int, pinned: bool = False) -> StepTimes:
    """`batches`: of `samples` each, more than one where they differ, as padded ones do; `pinned`: the loader hands them
    over in page-locked memory, where there is a GPU."""
    with kept_random_streams():
        try:
            step(batches[0])  # where it computes shows then
            device = device_in_use()
            pin_bandwidth = None
            if pinned and device != "cpu":
                pin_bandwidth = _pin_bandwidth(batches[0])
                batches = [pin_memory(batch) for batch in batches]
            full = _time(step, batches)
        except Exception as error:
            raise RecordingFailed(f"the step failed: {type(error).__name__}: {error}") from error
        points = [(samples, full.seconds)] + _smaller(step, batches, samples, full)
        threads = torch.get_num_threads()
        share = CoreShare()
        _time_block(step, batches[:1])
        if device == "cpu" and not holds_a_core(*share.spent()):
            device = ""
        on_one = None
        if device == "cpu" and threads > 1:
            with threads_set(1):
                on_one = _time(step, batches).seconds
        times = StepTimes(device, threads, sorted(points), on_one, None, queued=full.queued)
        if device.startswith("cuda"):
            batch = batches[0]
            times.pin_bandwidth = pin_bandwidth
            times.copy_s = _copies(batch, device) if bytes_of(batch) else None
            copy_s = times.copy_s[1 if pinned else 0] if times.copy_s else 0.0
            times.tell_apart(_time_on_gpu(step, batches, device), copy_s)
    return times


def _smaller(step: Callable[[Any], Any], batches: list[Any], samples: int, full: Timed) -> list[tuple[int, float]]:
    """Seconds on parts of the first batch, in proportion to all of them. A part that lacked cores says nothing."""
    points: list[tuple[int, float]] = []
    try:
        of_first = full if len(batches) == 1 else _time(step, batches[:1])
        for part in sorted({samples // 4, samples // 2} - {0, samples}):
            timed = _time(step, [first_samples(batches[0], part, samples)])
            if timed.queued <= QUIET:
                points.append((part, timed.seconds * full.seconds / of_first.seconds))
    except Exception:  # noqa: BLE001 - a step may be made for one batch size
        pass
    return points
