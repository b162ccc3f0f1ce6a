"""Whether workers take turns with something that serves one sample at a time: a lock, or a device that reads for one.

The wait for it is part of a sample's own, but no number of workers gets more samples a second than it serves."""

from __future__ import annotations

import statistics

from . import probes

LEAST_BATCHES = 24  # of each worker: each begins at another moment, and few may lie apart by chance
LEAST_ENDS = 100
# Ends of independent samples lie anywhere: a tenth of them within 0.2 of the median, or less. With turns none are nearer
# than a turn.
APART = 0.5
# From here all ends are a turn apart: the two workers never leave it idle.
NEVER_IDLE = 0.8
# Of a sample's time. Samples that are equally long and began together end apart by less for ever.
LEAST_TURN = 0.2
# Samples that lack a core for more of their time may take turns with a core.
LACKING = 0.2


def distances(workers: list[list[list[float]]]) -> list[float]:
    """From the end of a sample to that of another worker's which was in work then, in seconds."""
    ends = sorted(
        (row[probes.ENDED], row[probes.ENDED] - row[probes.WALL], worker)
        for worker, rows in enumerate(workers)
        for row in rows
    )
    return [
        end - before
        for (before, _, other), (end, begin, worker) in zip(ends, ends[1:])
        if worker != other and begin < before
    ]


def time_of_turn(workers: list[list[list[float]]]) -> float:
    """Seconds in which what the workers share serves one sample; 0 where nothing shows that they share it. `workers`:
    the rows of each one's samples, loaded side by side."""
    apart = distances(workers)
    rows = [row for rows in workers for row in rows]
    queued, spent = sum(row[probes.IN_QUEUE] for row in rows), sum(row[probes.WALL] for row in rows)
    if len(apart) < LEAST_ENDS or queued > LACKING * spent:
        return 0.0
    near, *_, middle = statistics.quantiles(apart, n=10)[:5]  # a tenth, half of them
    if near < APART * middle or middle < LEAST_TURN * spent / len(rows):
        return 0.0
    if near > NEVER_IDLE * middle:
        return middle
    # Between two turns there is a pause of any length: a tenth of it at `near`, half of it at `middle`, after a turn each.
    return near - (middle - near) / 4
