"""Walks over a loader that note what each next(loader), and each step, took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch.utils.data import DataLoader

from . import probes
from .batches import touch
from .gpu import FewBehind
from .opening import Opened, timed_opening

MOST_BATCHES = 3_000
READY_ROUNDS = 8  # batches of each worker taken when they are surely there: what their first touch takes
# Longest pause that waits for ready batches: with slower ones their first touch does not matter.
LONGEST_PAUSE_S = 0.3
TRAINING_BUDGETS = 3  # at most, of a walk with slow steps


class TrialLoader(DataLoader):
    """Of as many workers as a trial wants: PyTorch's word on that would not be of the user's loader."""

    def check_worker_number_rationality(self) -> None:
        pass


@dataclass
class Take:
    """One call of next(loader): when it was asked and when it came."""

    asked: float
    got: float
    cpu: float = 0.0  # of the process, from asking until the batch before was freed
    opening: float = 0.0  # seconds in which what a worker sent was opened
    opening_cpu: float = 0.0  # CPU time of that


@dataclass
class Loop:
    """One walk over a loader."""

    began: float = 0.0  # iter(loader) called
    started: float = 0.0  # iter(loader) returned
    takes: list[Take] = field(default_factory=list)
    touches: list[tuple[float, float]] = field(default_factory=list)  # of a ready batch: first, again
    steps: list[float] = field(default_factory=list)  # seconds of each, but for waiting for a core
    shutdown: float = 0.0  # from the last batch until the workers were gone
    gone: float = 0.0  # when they were
    ended: bool = False  # the loader had no more

    def since_first(self) -> float:
        """Seconds since the first batch came."""
        return probes.now() - self.takes[0].got if self.takes else 0.0


class Walk:
    """One walk over a loader, and what it noted."""

    def __init__(self, loader: DataLoader, opened: Opened):
        self.opened = opened
        self.queue = probes.RunQueue()
        self.cpu = 0.0  # of the process, when the last batch was asked for
        self.loop = Loop(began=probes.now())
        self.iterator = iter(loader)
        self.loop.started = probes.now()
        self.at_hand = torch.zeros(1024)

    def take(self) -> Any:
        before = Opened(self.opened.seconds, self.opened.cpu)
        self.cpu, asked = time.process_time(), probes.now()
        batch = next(self.iterator)
        self.loop.takes.append(
            Take(
                asked, probes.now(),
                opening=self.opened.seconds - before.seconds, opening_cpu=self.opened.cpu - before.cpu,
            )  # fmt: skip
        )
        return batch

    def freed(self) -> None:
        """The batch before the last one is gone."""
        self.loop.takes[-1].cpu = time.process_time() - self.cpu

    def train(self, step: Callable[[Any], Any], batch: Any) -> None:
        begin, queued = probes.now(), self.queue.seconds()
        step(batch)
        self.loop.steps.append(probes.now() - begin - (self.queue.seconds() - queued))

    def take_ready(self, workers: int, pause_s: float) -> Any:
        """Batches of all workers, after a pause in which they came to rest."""
        time.sleep(pause_s)
        for _ in range(workers):
            batch = next(self.iterator)
        touch(self.at_hand)  # what the code itself takes after a rest is no first touch of the batch
        begin = probes.now()
        touch(batch)
        middle = probes.now()
        touch(batch)
        self.loop.touches.append((middle - begin, probes.now() - middle))
        return batch

    def end(self, pause_s: float) -> Loop:
        loop = self.loop
        if not loop.ended:
            time.sleep(min(pause_s, LONGEST_PAUSE_S))  # a batch in work would delay the workers' end
        last = probes.now()
        self.iterator = None  # its workers end here at the latest
        loop.gone = probes.now()
        loop.shutdown = loop.gone - (loop.takes[-1].got if loop.ended and loop.takes else last)
        return loop


def walk(loader: DataLoader, budget_s: float, least: int, pause_s: float | None = None) -> Loop:
    """Takes batches until the budget is used and at least `least` came, or the loader ends. `pause_s`: in
    which its workers come to rest, for batches that are taken then."""
    with timed_opening() as opened:
        walk = Walk(loader, opened)
        loop, batch = walk.loop, None
        try:
            while len(loop.takes) < least or probes.now() - loop.started < budget_s:
                batch = walk.take()
                walk.freed()
                if len(loop.takes) >= MOST_BATCHES:
                    break
            for _ in range(0 if pause_s is None else READY_ROUNDS):
                batch = walk.take_ready(loader.num_workers, pause_s)
        except StopIteration:
            loop.ended = True
        del batch
        return walk.end(pause_s or 0.0)


def train(loader: DataLoader, step: Callable[[Any], Any], budget_s: float, least: int) -> Loop:
    """Steps on fresh batches until the budget is used and at least `least` came, or a few budgets. From the first batch
    on: how long workers start is none of it."""
    with timed_opening() as opened:
        walk, gpu = Walk(loader, opened), FewBehind()
        loop, batch = walk.loop, None
        try:
            while (spent := loop.since_first()) < budget_s or (
                len(loop.takes) < least and spent < TRAINING_BUDGETS * budget_s
            ):
                batch = walk.take()
                walk.freed()
                walk.train(step, batch)
                gpu.step_done()
        except StopIteration:
            loop.ended = True
        del batch
        return walk.end(0.0)


def mean_period(loop: Loop) -> float:
    """Seconds from one batch to the next."""
    takes = loop.takes
    if len(takes) < 2:
        return takes[0].got - takes[0].asked if takes else 0.0
    return (takes[-1].got - takes[0].got) / (len(takes) - 1)
