"""Wrappers that time a user's data set and collate function from outside, in whichever process they
run. Nothing of the user's is patched; the figures travel in shared memory, not in the batches.

Times are seconds. Wall time is CLOCK_MONOTONIC, which all processes of a host share.
"""

from __future__ import annotations

import glob
import os
import random
import resource
import time
from multiprocessing import resource_sharer
from typing import Any, Callable, Iterator

from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data._utils import worker as worker_loop

from .batches import bytes_of

now = time.monotonic
thread_cpu = time.thread_time

# Rows of one worker: enough for a few seconds of tiny samples; what comes later is not kept.
SAMPLE_ROWS = 20_000
BATCH_ROWS = 5_000
SAMPLE_COLUMNS = 5
WALL, CPU, IN_QUEUE, GAVE_UP, ENDED = range(SAMPLE_COLUMNS)  # GAVE_UP: times that the thread left its core
UNKNOWN = -1.0
BATCH_COLUMNS = 9
(BEGIN, END, FETCH_CPU, COLLATE_WALL, COLLATE_CPU, PROCESS_CPU, SERVE_CPU, SAMPLES, QUEUED) = range(BATCH_COLUMNS)
HEAD = 6
STARTED, MEMORY, IN_HAND, CURRENT, ASKED, QUEUED_BEFORE = range(HEAD)  # the head of each worker's figures
NO_INDEX = -1.0
# After so many batches a worker has what it needs in memory.
SETTLED = 3
# Batches that are kept where they differ.
MOST_KEPT, MOST_KEPT_BYTES = 24, 64 << 20


MOST_ASKED = 16  # calls whose arguments are kept

# A sample that takes longer than this is worth two more readings, of about 6 us.
CAREFUL_S = 100e-6


ON_CPU, QUEUED_FOR_CPU = range(2)  # the first numbers of a thread's schedstat, nanoseconds


def schedstat(file: int, number: int) -> float:
    """Seconds; 0 where the kernel does not say."""
    try:
        return int(os.pread(file, 100, 0).split()[number]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class RunQueue:
    """Seconds that the calling thread was runnable without a core; 0 where the kernel does not say. The
    file stays open: it belongs to the thread that opened it."""

    def __init__(self) -> None:
        try:
            self.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self.file = -1

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)

    def seconds(self) -> float:
        return schedstat(self.file, QUEUED_FOR_CPU)


class Serving:
    """CPU seconds of the thread of this process that hands over the memory of what it sent
    (multiprocessing/resource_sharer.py); 0 before it has one, or where neither Python nor the kernel says."""

    def __init__(self) -> None:
        self.file = -1

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)

    def seconds(self) -> float:
        try:
            if self.file < 0:
                thread = resource_sharer._resource_sharer._thread
                if thread is None:
                    return 0.0
                self.file = os.open(f"/proc/self/task/{thread.native_id}/schedstat", os.O_RDONLY)
        except (AttributeError, OSError):
            return 0.0
        return schedstat(self.file, ON_CPU)


def run_queue_wait() -> float:
    return RunQueue().seconds()


def queued_of_all_threads() -> float:
    """Seconds that the threads of this process that live were runnable without a core."""
    total = 0.0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # it has ended
        total += schedstat(file, QUEUED_FOR_CPU)
        os.close(file)
    return total


def times_given_up() -> int:
    """How often this thread left its core by itself: a sample that waits does so at least once."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def private_memory() -> float:
    """Bytes that belong to this process alone."""
    try:
        with open("/proc/self/smaps_rollup") as file:
            lines = [line.split() for line in file]
    except OSError:
        return 0.0
    return 1024.0 * sum(int(line[1]) for line in lines if line[0] in ("Private_Clean:", "Private_Dirty:"))


class Rows:
    """Rows of numbers in shared memory, appended by one process and read by another."""

    def __init__(self, context: Any, rows: int, columns: int):
        self.rows, self.columns = rows, columns
        self.count = context.RawValue("l", 0)
        self.values = context.RawArray("d", rows * columns)

    def append(self, *row: float) -> None:
        count = self.count.value
        if count < self.rows:
            self.values[count * self.columns : (count + 1) * self.columns] = row
            self.count.value = count + 1

    def read(self) -> list[list[float]]:
        used = self.values[: self.count.value * self.columns]
        return [used[at : at + self.columns] for at in range(0, len(used), self.columns)]


class Figures:
    """What one worker, or the only process, measures."""

    def __init__(self, context: Any):
        self.head = context.RawArray("d", HEAD)
        self.samples = Rows(context, SAMPLE_ROWS, SAMPLE_COLUMNS)
        self.batches = Rows(context, BATCH_ROWS, BATCH_COLUMNS)
        self.head[IN_HAND] = 0.0
        self.head[CURRENT] = NO_INDEX


def own_figures(figures: list[Figures]) -> Figures:
    worker = get_worker_info()
    if isinstance(worker, NotedInfo):  # this is not the user who asks
        worker = worker._info
    return figures[worker.id if worker is not None else 0]


class Begin:
    """When the fetch of the present batch began: set by its first sample, used up by its collate."""

    def __init__(self) -> None:
        self.wall: float | None = None
        self.cpu = 0.0
        self.samples = 0

    def note(self, samples: int) -> None:
        if self.wall is None:
            self.wall, self.cpu = now(), thread_cpu()
        self.samples += samples


class Probe:
    """Shared by the wrappers of one data set in one process; pickled, it starts afresh elsewhere."""

    def __init__(self, figures: list[Figures], each_sample: bool, pause_s: float = 0.0):
        """`pause_s`: up to so long, at random, before a batch's first sample."""
        self.figures, self.each_sample, self.pause_s = figures, each_sample, pause_s
        self.begin = Begin()
        self.own: Figures | None = None
        self.queue: RunQueue | None = None
        self.is_long = False  # a sample took long enough for `queue`
        self.chance = random.SystemRandom()  # without a state, which forked workers would share
        self.none_at: Any = None  # the index of this batch's first sample that was None
        self.asked: list = []  # the indices of the last batch that was loaded as one
        self.first_asked: list = []  # what the first timed calls loaded

    def mine(self) -> Figures:
        if self.own is None:
            self.own = own_figures(self.figures)
        return self.own

    def __getstate__(self) -> dict:
        return {"figures": self.figures, "each_sample": self.each_sample, "pause_s": self.pause_s}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)

    def call(self, function: Callable, argument: Any, samples: int) -> Any:
        """function(argument), which yields `samples` samples: noted, and timed if wanted."""
        if self.begin.wall is None:
            self.none_at = None
            if self.pause_s:
                time.sleep(self.chance.uniform(0, self.pause_s))
        self.begin.note(samples)
        mine = self.own or self.mine()
        mine.head[CURRENT] = float(argument) if isinstance(argument, int) else NO_INDEX
        mine.head[IN_HAND] = now()
        result = self.timed(function, argument, samples, mine) if self.each_sample else function(argument)
        mine.head[IN_HAND] = 0.0
        if result is None and self.none_at is None:
            self.none_at = argument
        if self.is_long and self.queue is None:
            self.queue = RunQueue()  # not while a sample is in hand: it opens a file
        return result

    def call_all(self, function: Callable, arguments: list) -> list:
        """function of each argument, one sample each: noted as one batch, which costs a short sample nothing."""
        self.begin.note(len(arguments))
        mine = self.own or self.mine()
        mine.head[CURRENT], mine.head[IN_HAND] = NO_INDEX, now()
        loading = None
        try:
            results = [function(loading := argument) for argument in arguments]
        except Exception:
            mine.head[CURRENT] = float(loading) if isinstance(loading, int) else NO_INDEX
            raise
        mine.head[IN_HAND] = 0.0
        self.asked = arguments
        return results

    def where_none(self, samples: list) -> str:
        """Which of a batch's samples is None, where that is known."""
        at = self.none_at
        if at is None and len(self.asked) == len(samples):
            at = self.asked[[sample is None for sample in samples].index(True)]
        return "" if at is None else f" at index {at}"

    def timed(self, function: Callable, argument: Any, samples: int, mine: Figures) -> Any:
        queue = self.queue
        if len(self.first_asked) < MOST_ASKED:
            self.first_asked.append(argument)
        if queue is not None:
            queued, given_up = queue.seconds(), times_given_up()
        cpu, wall = thread_cpu(), now()
        result = function(argument)
        end = now()
        wall, cpu = end - wall, thread_cpu() - cpu
        if queue is not None:
            queued, given_up = queue.seconds() - queued, times_given_up() - given_up
            mine.samples.append(wall / samples, cpu / samples, queued / samples, given_up, end)
        else:
            mine.samples.append(wall / samples, cpu / samples, 0.0, UNKNOWN, end)
            self.is_long = wall > CAREFUL_S
        return result


class Proxy:
    """Stands for the user's data set: whatever is not timed goes straight to it, so that a
    worker_init_fn that sets attributes of get_worker_info().dataset works."""

    def __init__(self, dataset: Any, probe: Probe):
        object.__setattr__(self, "_dataset", dataset)
        object.__setattr__(self, "_probe", probe)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # copying and pickling ask for these before there is a data set
        return getattr(object.__getattribute__(self, "_dataset"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._dataset, name, value)

    def __reduce__(self) -> tuple:
        return type(self), (self._dataset, self._probe)

    def __len__(self) -> int:
        return len(self._dataset)


def samples_in(index: Any) -> int:
    """A sampler without batching may hand over a list of indices, which the data set makes a batch of."""
    return max(1, len(index)) if isinstance(index, (list, tuple)) else 1


class MapProxy(Proxy):
    def __getitem__(self, index: Any) -> Any:
        return self._probe.call(self._dataset.__getitem__, index, samples_in(index))


class BulkProxy(MapProxy):
    """For a data set with __getitems__, which loads a whole batch at once."""

    def __getitems__(self, indices: list) -> Any:
        return self._probe.call(self._dataset.__getitems__, indices, max(1, len(indices)))


class BatchProxy(MapProxy):
    """Notes batches, not samples: PyTorch's fetch loop asks for a whole batch where it can."""

    def __getitems__(self, indices: list) -> Any:
        return self._probe.call_all(self._dataset.__getitem__, indices)


class IterableProxy(Proxy, IterableDataset):
    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self._dataset)
        step = lambda _: next(iterator)  # noqa: E731
        position = 0
        while True:
            try:
                sample = self._probe.call(step, position, 1)
            except StopIteration:
                self._probe.mine().head[IN_HAND] = 0.0
                return
            position += 1
            yield sample


def proxy_of(dataset: Any, probe: Probe, each_sample: bool = True) -> Proxy:
    """`each_sample`: notes each, so that one that hangs is known."""
    if isinstance(dataset, IterableDataset):
        return IterableProxy(dataset, probe)
    if getattr(dataset, "__getitems__", None):
        return BulkProxy(dataset, probe)
    return MapProxy(dataset, probe) if each_sample else BatchProxy(dataset, probe)


class TimedCollate:
    """Ends a batch: one row with the fetch, the collate and the process's CPU time so far."""

    def __init__(self, collate: Callable, probe: Probe):
        self.collate, self.probe = collate, probe
        self.queue: RunQueue | None = None  # of the thread that collates
        self.serving = Serving()
        self.keeps = 0  # batches at most: the first, with its samples, and others of other bytes
        self.samples: Any = None
        self.batches: list[Any] = []
        self.made = 0

    def __call__(self, samples: Any) -> Any:
        if self.queue is None:
            self.queue = RunQueue()
        cpu, wall = thread_cpu(), now()
        try:
            batch = self.collate(samples)
        except Exception as error:
            if isinstance(samples, list) and any(sample is None for sample in samples):
                raise TypeError(f"the data set returned None (nothing){self.probe.where_none(samples)}") from error
            raise
        end, end_cpu = now(), thread_cpu()
        begin = self.probe.begin
        counted = len(samples) if isinstance(samples, list) else 0
        self.probe.mine().batches.append(
            wall if begin.wall is None else begin.wall, end,
            end_cpu - (cpu if begin.wall is None else begin.cpu), end - wall, end_cpu - cpu,
            time.process_time(), self.serving.seconds(), float(begin.samples or counted), self.queue.seconds(),
        )  # fmt: skip
        begin.wall, begin.samples = None, 0
        self.made += 1
        if len(self.batches) < self.keeps:
            self.keep(batch, samples)
        if self.made == SETTLED:
            self.probe.mine().head[MEMORY] = private_memory()
        return batch

    def keep(self, batch: Any, samples: Any) -> None:
        """Batches of as many samples whose bytes differ, such as padded ones, make steps that differ."""
        if not self.batches:
            self.batches, self.samples = [batch], samples if isinstance(samples, list) else None
            return
        size, first = bytes_of(batch), bytes_of(self.batches[0])
        alike = self.samples is None or not isinstance(samples, list) or len(samples) == len(self.samples)
        if alike and size != first and size * len(self.batches) <= MOST_KEPT_BYTES:
            self.batches.append(batch)


class NotedInfo:
    """Stands for what get_worker_info() returns in a worker: notes that someone asked which worker it is."""

    def __init__(self, info: Any, head: Any):
        self._info, self._head = info, head

    def __getattr__(self, name: str) -> Any:
        if name in ("id", "num_workers", "seed"):
            self._head[ASKED] = 1.0
        return getattr(self._info, name)


class NotedStart:
    """A worker_init_fn that notes the CPU time until the worker was ready, and its wait for a core, then calls the
    user's."""

    def __init__(self, user_function: Callable | None, probe: Probe):
        self.user_function, self.probe = user_function, probe

    def __call__(self, worker: int) -> None:
        figures = self.probe.figures[worker]
        figures.head[STARTED], figures.head[QUEUED_BEFORE] = time.process_time(), run_queue_wait()
        self.probe.own = figures
        worker_loop._worker_info = NotedInfo(worker_loop._worker_info, figures.head)
        if self.user_function is not None:
            self.user_function(worker)
