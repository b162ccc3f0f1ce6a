"""Trial epochs of a DataLoader, in a process of their own: what a batch costs where.

Each on fresh batches of the user's own order and in a process of its own: its workers are forked
from a heap like the user's, not from one that the trials before have grown:
  samples  without workers, each sample timed: the distributions of CPU time and waiting;
  batches  without workers, only batches timed: what Python adds, free of the probes' own cost;
  lock     without workers, a short one: how long another thread waits for the interpreter's lock;
  workers  with two worker processes: start-up, sending, receiving, and the rate as a check;
  one, many  with one worker process and with twice as many as cores, where the budget allows: sending and receiving
           again, since the caller waits for the one, and each of the many rests longer and wakes up later;
  turns    where samples wait, with two worker processes, a short one: whether they wait for each other.
Where there is a step, one more runs in the calling process:
  training, training_many  with two worker processes, and with as many as `many` had: what loading and a step cost side
           by side.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset

from . import probes, turns
from .alone import collate_points, empty_call_s, fetch_loop_s
from .apart import in_own_process
from .batches import Layout, layout_of
from .errors import ConfigurationError, RecordingFailed
from .kept import KEPT_SHARE, share_again
from .lock import waits_for_lock
from .machine import processors, shared_memory_free
from .order import Continued
from .reading import CountedOpens, Reading, io_counters
from .shards import workers_served
from .streams import kept_random_streams
from .walks import LONGEST_PAUSE_S, MOST_BATCHES, READY_ROUNDS, Loop, TrialLoader, mean_period, train, walk

WORKERS = 2  # the smallest number that shows what several processes cost
MOST_OF_MANY = 8
# Batches of a trial at least; a mean over fewer says little.
LEAST_BATCHES = 6
STREAM_SEARCH = 3  # times the budget
LOCK_SHARE = 0.15  # of the budget of a trial
LOCK_BATCHES = 2
TURNS_SHARE = 0.4  # of the budget of a trial
AGAIN_SHARE = 0.2  # of the budget of a trial
WAITING = 0.5  # samples wait where their thread gives up its core at least so often for each
SLOW_BATCH_S = 1.0  # its samples are worth a note each, since one may hang


def many_workers() -> int:
    return min(MOST_OF_MANY, 2 * max(WORKERS, processors()))


@dataclass
class Samples:
    """What the samples trial found, beside its figures."""

    reading: Reading
    loop: Loop
    layout: Layout  # of the first batch
    collate_points: list[tuple[int, float]]  # samples, CPU seconds, in isolation
    sendable: bool  # a batch could be sent to the caller
    again: float  # what samples take the second time, as a share of the first


@dataclass
class Trials:
    """Everything measured in the child, as plain values."""

    layout: Layout  # of the first batch
    first_samples: int  # samples in it
    batch_samples: float  # of a full batch; the mean where batches differ
    mixed: Mixed | None  # batches that differ, by a batch sampler
    reading: Reading
    collate_points: list[tuple[int, float]]  # samples, CPU seconds, in isolation
    probe_s: float  # of one timed sample: what the probe itself costs
    inner_probe_s: float  # the part of it that a sample's CPU time contains
    python_sample_s: float  # the fetch loop's own, for each sample
    lock_s: float  # how long another thread waits for the interpreter's lock during a fetch
    turn_s: float  # in which what workers share serves a sample, one at a time; 0 where nothing shows that they do
    samples_seen: int
    epoch_samples: int | None  # of an iterable that came to its end
    loops: dict[str, Loop]
    start_method: str
    sendable: bool  # a batch could be sent to the caller
    repeats_stream: bool  # no worker of an iterable asked which one it is: each yields all of it
    served: tuple[int, int] | None  # of an iterable: see shards.py
    again: float  # what samples take the second time, as a share of the first

    @property
    def keeps_samples(self) -> bool:
        """The data set keeps what it has loaded."""
        return self.again < KEPT_SHARE


@dataclass(frozen=True)
class Mixed:
    """Sizes of the batches seen, in samples."""

    least: int
    most: int
    batches: int


def batch_sizes(sizes: list[int], an_epoch: int | None) -> tuple[float, Mixed | None]:
    """Samples of a batch, and the sizes where they differ. Only an epoch's last batch may be smaller
    without that; `an_epoch`: its batches, None where they are not known."""
    most = max(sizes)
    if an_epoch is None:
        others = sizes
    else:
        others = [size for place, size in enumerate(sizes, 1) if place % max(1, an_epoch) != 0]
    if all(size == most for size in others):
        return most, None
    return sum(sizes) / len(sizes), Mixed(min(sizes), most, len(sizes))


def batches_an_epoch(loader: DataLoader) -> int | None:
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


def start_method_of(loader: DataLoader) -> str:
    """How its workers start. Asking the default context would fix the default for good."""
    if loader.multiprocessing_context is not None:
        return loader.multiprocessing_context.get_start_method()
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def is_iterable(loader: DataLoader) -> bool:
    return isinstance(loader.dataset, IterableDataset)


def trial_loader(
    loader: DataLoader,
    order: Continued | None,
    workers: int,
    dataset: Any,
    collate: Callable,
    start: Callable | None,
    timeout_s: float = 0,
) -> DataLoader:
    """The user's loader again, with wrapped parts and other workers; `loader` itself stays as it is."""
    settings: dict[str, Any] = {"num_workers": workers, "collate_fn": collate}
    if workers > 0:
        settings["worker_init_fn"] = start
        settings["timeout"] = timeout_s
        settings["prefetch_factor"] = loader.prefetch_factor or 2
        # Without one PyTorch asks the default context, which fixes the default for good.
        settings["multiprocessing_context"] = loader.multiprocessing_context or start_method_of(loader)
    if order is None:
        settings["batch_size"] = loader.batch_size
        if loader.batch_size is not None:
            settings["drop_last"] = loader.drop_last
    elif loader.batch_sampler is not None:
        settings["batch_sampler"] = order
    else:
        settings.update(batch_size=None, sampler=order)
    return TrialLoader(dataset, **settings)


@contextlib.contextmanager
def kept_signal_handler() -> Iterator[None]:
    """A DataLoader with workers leaves a handler behind, which says why a worker died."""
    module = torch.utils.data._utils.signal_handling
    was_set, before = module._SIGCHLD_handler_set, signal.getsignal(signal.SIGCHLD)
    try:
        yield
    finally:
        if module._SIGCHLD_handler_set and not was_set:
            signal.signal(signal.SIGCHLD, before)
            module._SIGCHLD_handler_set = False


class Recorder:
    """Runs the trials of one loader. Made before the fork, so that the caller sees the figures."""

    def __init__(self, loader: DataLoader, budget_s: float, alone: bool = False):
        self.loader, self.budget_s, self.alone = loader, budget_s, alone
        self.start_method = start_method_of(loader)
        context = multiprocessing.get_context(self.start_method)
        self.figures = {
            name: [probes.Figures(context) for _ in range(count)]
            for name, count in (
                ("samples", 1), ("batches", 1), ("workers", WORKERS), ("one", 1), ("many", many_workers()),
                ("turns", WORKERS), ("training", WORKERS), ("training_many", many_workers()),
            )
        }

    def in_hand(self) -> tuple[float, int | None] | None:
        """Since when a sample is being loaded, and its index; the oldest one."""
        heads = [figures.head for group in self.figures.values() for figures in group]
        # Each is read once: it changes meanwhile.
        held = [(head[probes.IN_HAND], head[probes.CURRENT]) for head in heads]
        busy = [(since, index) for since, index in held if since > 0]
        if not busy:
            return None
        since, index = min(busy)
        return since, int(index) if index >= 0 else None

    def run(self, report: Callable[[str, Any], None], send_batch: bool) -> Trials:
        torch.set_num_threads(1)  # as in a worker, and a forked process must not use its parent's pool
        loader = self.loader
        batches = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        order = None if is_iterable(loader) else Continued(batches)
        loops: dict[str, Loop] = {}

        report("phase", "samples: what each costs, without workers")
        seen = self.trial(order, lambda: self.samples_trial(order, report, send_batch))
        loops["samples"] = seen.loop
        sizes = self.sizes_seen()
        # With a batch_size, only an epoch's last batch differs, and a worker's of a stream.
        plain = loader.batch_size is not None or loader.batch_sampler is None
        samples, mixed = (max(sizes), None) if plain else batch_sizes(sizes, batches_an_epoch(loader))

        report("phase", "batches: what Python adds, without workers")
        loops["batches"] = self.trial(order, lambda: self.batches_trial(order))
        batch_s = mean_period(loops["batches"])
        lock_s = self.trial(order, lambda: self.lock_trial(order))
        report("phase", f"workers: sending and receiving, with {WORKERS} processes ({self.start_method})")
        loops["workers"] = self.trial(order, lambda: self.workers_trial(order, batch_s))
        for name, workers in (("one", 1), ("many", many_workers())):
            if not self.allows(workers, batch_s, seen.layout.batch_bytes):
                continue
            report("phase", f"workers: the same with {workers} process{'' if workers == 1 else 'es'}")
            loops[name] = self.trial(order, lambda: self.workers_again(order, self.figures[name], batch_s))
        turn_s = 0.0
        if self.may_take_turns(seen.reading, sum(sizes), batch_s):
            report("phase", f"turns: whether the samples of {WORKERS} workers wait for each other")
            turn_s = self.trial(order, lambda: self.turns_trial(order, batch_s, batch_s / samples))
        if self.alone:
            report("phase", "loader alone, as it is")
            loops["alone"] = self.trial(order, lambda: self.alone_trial(order))
        if send_batch and order is not None:
            order.left = sum(self.batches_of_workers(batch_s, workers) for workers in (WORKERS, many_workers()))
            report("items", list(order))
        probe_s, inner_s = empty_call_s()
        return Trials(
            layout=seen.layout, first_samples=sizes[0], batch_samples=samples, mixed=mixed, reading=seen.reading,
            collate_points=seen.collate_points, probe_s=probe_s, inner_probe_s=inner_s,
            python_sample_s=fetch_loop_s(), lock_s=lock_s, turn_s=turn_s,
            samples_seen=sum(sizes),
            epoch_samples=sum(sizes) if order is None and seen.loop.ended else None,
            loops=loops, start_method=self.start_method, sendable=seen.sendable,
            repeats_stream=order is None and not self.asked_which_worker(), again=seen.again,
            served=workers_served(self.figures) if order is None else None,
        )  # fmt: skip

    def trial(self, order: Continued | None, work: Callable[[], Any]) -> Any:
        """work() in a process of its own. The order goes on after it."""
        result, taken = in_own_process(lambda: (work(), order.taken if order is not None else 0))
        if order is not None:
            order.go_on_to(taken)
        return result

    def asked_which_worker(self) -> bool:
        return any(figures.head[probes.ASKED] > 0 for figures in self.figures["workers"])

    def sizes_seen(self) -> list[int]:
        """Of the samples trial."""
        return [int(row[probes.SAMPLES]) for row in self.figures["samples"][0].batches.read()]

    def send(self, report: Callable[[str, Any], None], batches: list[Any]) -> bool:
        try:
            report("batches", pickle.dumps(batches))  # by value: they outlive this process
        except Exception:  # noqa: BLE001 - a batch may hold what cannot be pickled
            return False
        return True

    def samples_trial(self, order: Continued | None, report: Callable[[str, Any], None], send_batch: bool) -> Samples:
        figures = self.figures["samples"]
        probe = probes.Probe(figures, each_sample=True)
        collate = probes.TimedCollate(self.loader.collate_fn, probe)
        collate.keeps = probes.MOST_KEPT if send_batch else 1
        dataset = probes.proxy_of(self.loader.dataset, probe)
        loader = trial_loader(self.loader, order, 0, dataset, collate, None)
        if order is not None:
            order.left = MOST_BATCHES
        opens = CountedOpens(figures[0])
        before, switches = io_counters(), probes.times_given_up()
        # The end of a stream, which has no length, is worth a search.
        loop = walk(loader, self.budget_s * (STREAM_SEARCH if order is None else 1), LEAST_BATCHES)
        after, switches = io_counters(), probes.times_given_up() - switches
        change = {name: after[name] - before[name] for name in before}
        reading = Reading(opens.count, change.get("rchar", 0), change.get("read_bytes", 0), switches)
        sizes = self.sizes_seen()
        if not sizes:
            raise RecordingFailed(
                "the loader has no batch: the data set is empty, returns nothing, was used up by a loop before (a "
                "generator yields nothing a second time) or, with drop_last, holds less than one"
            )
        return Samples(
            reading, loop, layout_of(collate.batches[0], sizes[0]),
            collate_points(collate.collate, collate.samples) if collate.samples else [],
            send_batch and self.send(report, collate.batches),
            self.again(probe.first_asked, reading),
        )  # fmt: skip

    def again(self, asked: list[Any], reading: Reading) -> float:
        """Of samples that don't come from a disk, which the page cache keeps."""
        dataset = self.loader.dataset
        if is_iterable(self.loader) or getattr(dataset, "__getitems__", None) or reading.disk_bytes > 0:
            return 1.0
        rows = self.figures["samples"][0].samples.read()
        first_s = [row[probes.WALL] - row[probes.IN_QUEUE] for row in rows]
        return share_again(dataset.__getitem__, asked, first_s, AGAIN_SHARE * self.budget_s)

    def batches_trial(self, order: Continued | None) -> Loop:
        probe = probes.Probe(self.figures["batches"], each_sample=False)
        collate = probes.TimedCollate(self.loader.collate_fn, probe)
        loader = trial_loader(self.loader, order, 0, self.loader.dataset, collate, None)
        if order is not None:
            order.left = MOST_BATCHES
        return walk(loader, self.budget_s, LEAST_BATCHES)

    def lock_trial(self, order: Continued | None) -> float:
        loader = trial_loader(self.loader, order, 0, self.loader.dataset, self.loader.collate_fn, None)
        if order is not None:
            order.left = MOST_BATCHES
        batches = iter(loader)
        return waits_for_lock(lambda: next(batches), LOCK_SHARE * self.budget_s, LOCK_BATCHES)

    def batches_of_workers(self, batch_s: float, workers: int = WORKERS) -> int:
        """As many as a trial with workers can take at most."""
        expected = int(self.budget_s * workers / max(batch_s, 1e-6))
        return min(MOST_BATCHES, max(LEAST_BATCHES * workers, expected))

    def loader_of_workers(
        self, order: Any, figures: list[probes.Figures], batch_s: float, timeout_s: float = 0
    ) -> DataLoader:
        probe = probes.Probe(figures, each_sample=False)
        return self.probed(order, probe, batch_s > SLOW_BATCH_S, timeout_s)

    def probed(self, order: Any, probe: probes.Probe, each_sample: bool, timeout_s: float = 0) -> DataLoader:
        """With workers. `each_sample`: the probe sees each, else batches."""
        collate = probes.TimedCollate(self.loader.collate_fn, probe)
        dataset = probes.proxy_of(self.loader.dataset, probe, each_sample)
        start = probes.NotedStart(self.loader.worker_init_fn, probe)
        return trial_loader(self.loader, order, len(probe.figures), dataset, collate, start, timeout_s)

    def workers_trial(self, order: Continued | None, batch_s: float) -> Loop:
        loader = self.loader_of_workers(order, self.figures["workers"], batch_s)
        least = LEAST_BATCHES * WORKERS
        # All that was asked for is there.
        prefetch = loader.prefetch_factor
        pause_s = 1.5 * prefetch * batch_s + 0.005
        if order is not None:
            order.left = self.batches_of_workers(batch_s) + WORKERS * (READY_ROUNDS + prefetch)
        try:
            loop = walk(loader, self.budget_s, least, pause_s if pause_s < LONGEST_PAUSE_S else None)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise self.unpicklable(error) from error
        return loop

    def allows(self, workers: int, batch_s: float, batch_bytes: int) -> bool:
        """Where batches take longer, handing them over hardly counts; all that are there need shared memory."""
        at_once = min(workers, processors())
        prefetched = workers * ((self.loader.prefetch_factor or 2) + 1)
        return (
            LEAST_BATCHES * workers * batch_s <= at_once * self.budget_s
            and 2 * prefetched * batch_bytes <= shared_memory_free()
        )

    def workers_again(self, order: Continued | None, figures: list[probes.Figures], batch_s: float) -> Loop:
        loader = self.loader_of_workers(order, figures, batch_s)
        if order is not None:
            order.left = self.batches_of_workers(batch_s, len(figures))
        return walk(loader, self.budget_s, LEAST_BATCHES * len(figures))

    def may_take_turns(self, reading: Reading, samples: int, batch_s: float) -> bool:
        """Samples that wait, each loaded by itself, in batches of which the budget allows enough."""
        waits = reading.given_up >= WAITING * samples
        alone = not getattr(self.loader.dataset, "__getitems__", None)
        return waits and alone and turns.LEAST_BATCHES * batch_s <= self.budget_s

    def turns_trial(self, order: Continued | None, batch_s: float, sample_s: float) -> float:
        """Samples that take equally long would stay apart as they began: each batch begins after a random pause."""
        figures = self.figures["turns"]
        loader = self.probed(order, probes.Probe(figures, each_sample=True, pause_s=sample_s), each_sample=True)
        if order is not None:
            order.left = self.batches_of_workers(batch_s)
        walk(loader, TURNS_SHARE * self.budget_s, WORKERS * turns.LEAST_BATCHES)
        if any(worker.batches.count.value < turns.LEAST_BATCHES for worker in figures):
            return 0.0  # a short epoch
        return turns.time_of_turn([worker.samples.read() for worker in figures])

    def training_trial(
        self, name: str, items: list | None, step: Callable[[Any], Any], batch_s: float, timeout_s: float
    ) -> Loop:
        """In the calling process, which trains. `items`: the order, None for a stream; `batch_s`: in which one is
        made; `timeout_s`: for a batch."""
        figures = self.figures[name]
        workers = len(figures)
        loader = self.loader_of_workers(items, figures, batch_s, timeout_s)
        window = workers * loader.prefetch_factor
        with kept_random_streams(), kept_signal_handler():
            return train(loader, step, self.budget_s, window + LEAST_BATCHES * workers)

    def alone_trial(self, order: Continued | None) -> Loop:
        user = self.loader
        loader = trial_loader(user, order, user.num_workers, user.dataset, user.collate_fn, user.worker_init_fn)
        if order is not None:
            order.left = MOST_BATCHES
        return walk(loader, self.budget_s, LEAST_BATCHES * max(1, user.num_workers))

    def unpicklable(self, error: BaseException) -> BaseException:
        if self.start_method == "fork" or "pickle" not in str(error).lower():
            return error
        return ConfigurationError(
            f"workers that start by {self.start_method} need a data set, collate_fn and worker_init_fn that can be pickled: "
            f"{error}\n"
            "define their classes and functions at the top level of a module, or use start method fork"
        )
