"""The blocks of steps of a probed training loop: which kind of step comes next, whether it counts, and copies of the
batches that are kept. Times nothing but the blocks and the copying."""

from __future__ import annotations

import enum
import time
from typing import Any

from .batches import mapped
from .gpu import on_gpu, synchronize

clock = time.perf_counter

BLOCK_S, LEAST_BLOCK_STEPS = 1.0, 10
ROUNDS = 3  # of blocks as it is, cached, and a third kind
CACHED_BATCHES = 4
# A cached block counts once the workers have filled their queues, for which they take cores from the step;
# but it waits no longer than this for workers that are slow.
LONGEST_FILL_S = 4 * BLOCK_S
# Steps that are not counted at the start: caches, lazy initialization, and the first window of batches.
WARM_UP_STEPS = 3


class Kind(enum.Enum):
    """Of a block of steps."""

    AS_IT_IS = enum.auto()
    CACHED = enum.auto()  # on batches that are kept
    ONE_THREAD = enum.auto()  # the same with torch.set_num_threads(1)
    ONE_BY_ONE = enum.auto()  # the same, each step on an idle GPU


class Blocks:
    """Which kind of step comes next: a warm-up, then each kind in turn, then as it is. A GPU works behind the loop:
    it is idle when a block begins to count, and a block ends when its work does."""

    def __init__(self, window: int, third: Kind | None):
        self.window = window
        self.left = [kind for kind in (Kind.AS_IT_IS, Kind.CACHED, third) if kind] * ROUNDS
        self.skip = 0  # steps of this block that are not counted
        self.fill_s = 0.0  # seconds of it that are not
        self.steps = 0
        self.began = 0.0
        self.counts = False  # the step that comes next
        self.rest_s = 0.0  # of the block that has just ended, until the GPU was done with it
        self.mean_period_s = 0.0  # of the last block as it was

    @property
    def kind(self) -> Kind:
        return self.left[0] if self.left else Kind.AS_IT_IS

    def next(self, kept: int) -> Kind:
        """Called before each step, when the last one is over."""
        spent, self.rest_s = clock() - self.began, 0.0
        done = self.steps >= LEAST_BLOCK_STEPS + self.skip and spent >= BLOCK_S + self.fill_s
        if self.left and (self.steps == 0 or (done and kept == CACHED_BATCHES)):
            if self.steps > 0:
                ended = clock()
                synchronize()
                self.rest_s = clock() - ended
                if self.left.pop(0) is Kind.AS_IT_IS:
                    self.mean_period_s = (spent + self.rest_s) / self.steps
            # After a cached block the queue is full; after any, a cache or a pipe warms up.
            self.skip = max(self.window, WARM_UP_STEPS) if self.kind is Kind.AS_IT_IS else WARM_UP_STEPS
            fills = self.kind is Kind.CACHED
            self.fill_s = min(self.window * self.mean_period_s, LONGEST_FILL_S) if fills else 0.0
            self.steps, self.began, self.counts = 0, clock(), not self.left
        self.steps += 1
        if not self.counts and self.steps > self.skip and clock() - self.began >= self.fill_s:
            synchronize()
            self.counts = True
        return self.kind


def copied(batch: Any) -> tuple[Any, float]:
    """The batch in containers and memory of its own, which the loop may change, and the seconds to leave out, since no
    loop over a loader copies. Where a GPU trains none are left out, for it computes meanwhile. So there only its own
    memory is copied, which is quick; tensors in the host's memory stay, page-locked as they may be."""
    gpu, begin = on_gpu(), clock()
    batch = mapped(batch, lambda tensor: tensor if gpu and tensor.device.type == "cpu" else tensor.clone())
    return batch, 0.0 if gpu else clock() - begin
