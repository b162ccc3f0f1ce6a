"""How long the training process opens what its workers send: connects to a worker, gets each tensor's memory, maps it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any, Iterator

from . import probes


@dataclass
class Opened:
    """Sums over the messages of this process: seconds, and the thread's CPU seconds of them."""

    seconds: float = 0.0
    cpu: float = 0.0


@contextlib.contextmanager
def timed_opening() -> Iterator[Opened]:
    """Counts while it lasts. A queue of multiprocessing reads a message, and then opens it by this one function
    (multiprocessing/queues.py, Queue.get)."""
    opened, loads = Opened(), ForkingPickler.loads

    def timed(*arguments: Any, **keywords: Any) -> Any:
        cpu, begin = probes.thread_cpu(), probes.now()
        try:
            return loads(*arguments, **keywords)
        finally:
            opened.seconds += probes.now() - begin
            opened.cpu += probes.thread_cpu() - cpu

    ForkingPickler.loads = timed
    try:
        yield opened
    finally:
        ForkingPickler.loads = loads
