"""How long another thread of a worker waits for the interpreter's lock (GIL) while the worker fetches.

The threads that send batches and hand over their memory need that lock. Code that sleeps, reads or runs long native
operations without it lets them in; Python code and short operations keep it for up to sys.getswitchinterval()."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from . import probes

PAUSE_S = 0.3e-3  # between two questions: they are at random places of a fetch
QUIET_S = 0.03  # for the lateness of a timer alone


class Asking:
    """A thread that asks for the lock again and again, while this lives, and notes how late it came."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.ends = False
        self.thread = threading.Thread(target=self.ask, daemon=True)

    def ask(self) -> None:
        queue = probes.RunQueue()
        while not self.ends:
            queued, due = queue.seconds(), probes.now() + PAUSE_S
            time.sleep(PAUSE_S)
            self.late.append(max(0.0, probes.now() - due - (queue.seconds() - queued)))

    def __enter__(self) -> Asking:
        self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.ends = True
        self.thread.join()


def waits_for_lock(fetch: Callable[[], Any], budget_s: float, least: int) -> float:
    """Mean seconds until another thread gets the lock while fetch() runs: at least `least` times, then until the
    budget is used or StopIteration."""
    with Asking() as quiet:
        time.sleep(QUIET_S)
    with Asking() as asking:
        begin, count = probes.now(), 0
        while count < least or probes.now() - begin < budget_s:
            try:
                fetch()
            except StopIteration:
                break
            count += 1
    if not asking.late or not quiet.late:
        return 0.0
    return max(0.0, sum(asking.late) / len(asking.late) - sorted(quiet.late)[len(quiet.late) // 2])
