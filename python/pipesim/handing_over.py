"""A batch's way from its worker to the training process: what it costs each, from a loop's and its workers' rows."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import comb

from . import probes
from .arithmetic import changes, mean, surplus, typical
from .machine import processors
from .probes import Figures
from .walks import Loop

LEAST_AGAIN = 3  # batches of each worker after its first, where handing over is timed again
LEAST_LOCK_WAIT_S = 200e-6  # a shorter one is a scheduler's noise
# Times that a worker's serving thread waits for the trainer, and then for the lock, to hand over one tensor's memory:
# accept, and four messages (multiprocessing/connection.py, deliver_challenge and answer_challenge; resource_sharer.py).
LOCKS_OF_TENSOR = 5


@dataclass
class HandOver:
    """A batch's way from a worker, as in Costs."""

    share: float
    send: float
    serve: float
    receive: float
    receive_latency: float

    def scaled(self, factors: HandOver) -> HandOver:
        return HandOver(*(mine * theirs for mine, theirs in zip(astuple(self), astuple(factors))))

    def over(self, other: HandOver) -> HandOver:
        """How many times as much as the other; 1 of what costs it nothing."""
        pairs = zip(astuple(self), astuple(other))
        return HandOver(*(mine / theirs if theirs > 0 else 1.0 for mine, theirs in pairs))


@dataclass
class Plain:
    """CPU time of batches without workers."""

    wholes: list[float]
    collates: list[float]


def samples_of(rows: list[list[float]], otherwise: float) -> float:
    """Of a batch, on average: each trial has other batches, which a batch sampler may make of other sizes."""
    return mean([row[probes.SAMPLES] for row in rows]) or otherwise


def batches_of(figures: list[Figures]) -> list[list[list[float]]]:
    """The rows of each worker without its first batch, which warms up."""
    return [worker.batches.read()[1:] for worker in figures]


def flat(worker_rows: list[list[list[float]]]) -> list[list[float]]:
    return [row for rows in worker_rows for row in rows]


def serving(worker_rows: list[list[list[float]]]) -> float:
    """CPU time of the thread that hands over memory, for each batch."""
    return max(0.0, typical([spent for rows in worker_rows for spent in changes(rows, probes.SERVE_CPU)]))


def sending(worker_rows: list[list[list[float]]]) -> float:
    """The process's CPU time between two batches that neither the fetch nor serving took."""
    values = []
    for rows in worker_rows:
        values += [
            spent - served - row[probes.FETCH_CPU]
            for spent, served, row in zip(changes(rows, probes.PROCESS_CPU), changes(rows, probes.SERVE_CPU), rows[1:])
        ]
    return max(0.0, typical(values))


def rate(loop: Loop, samples: float, skip: int) -> float:
    """Samples a second after the first `skip` batches, which the workers make side by side."""
    takes = loop.takes[skip:]
    if len(takes) < 2 or takes[-1].got <= takes[0].got:
        return 0.0
    return samples * (len(takes) - 1) / (takes[-1].got - takes[0].got)


def receiving(flow: Loop) -> float:
    """The training process's CPU time for a batch beside workers that make others, that of freeing the batch before
    among it. The first batch waits for the workers to start."""
    return typical([take.cpu for take in flow.takes[1:]])


def opening(flow: Loop) -> float:
    """The time without a core in which the training process opens what a worker sent, for each batch: a thread of the
    worker serves it meanwhile, each wakes the other up, and both wait for cores and for the worker's lock."""
    return typical([max(0.0, take.opening - take.opening_cpu) for take in flow.takes[1:]])


def unused(flow: Loop, worker_rows: list[list[list[float]]], cores: int) -> float:
    """Core seconds of a batch that no thread used, of as many cores as threads wanted. Threads that wake each other up
    all the time leave cores idle beside others that wait for one: the kernel moves none that has just run. With fewer
    workers than cores nobody waits for one."""
    workers = len(worker_rows)
    per_s = rate(flow, 1.0, workers)
    if workers < cores or per_s <= 0:
        return 0.0
    fetch = typical([row[probes.FETCH_CPU] for row in flat(worker_rows)])
    used = fetch + sending(worker_rows) + serving(worker_rows) + receiving(flow)
    asleep = min(1.0, sleeping(worker_rows) * per_s / workers)
    taking = min(1.0, (receiving(flow) + opening(flow)) * per_s)
    return max(0.0, cores_wanted(cores, workers, asleep, taking) / per_s - used)


def sleeping(worker_rows: list[list[list[float]]]) -> float:
    """Seconds of a fetch without a core for which nobody but its samples is to blame."""
    values = []
    for rows in worker_rows:
        values += [
            max(0.0, row[probes.END] - row[probes.BEGIN] - row[probes.FETCH_CPU] - queued)
            for queued, row in zip(changes(rows, probes.QUEUED), rows[1:])
        ]
    return typical(values)


def cores_wanted(cores: int, workers: int, asleep: float, taking: float) -> float:
    """The mean number of cores wanted by workers of which each is `asleep` for that share of its time, and by the
    training process, which is `taking` a batch for that share."""
    return sum(
        (taking * min(cores, awake + 1) + (1 - taking) * min(cores, awake))
        * comb(workers, awake) * (1 - asleep) ** awake * asleep ** (workers - awake)
        for awake in range(workers + 1)
    )  # fmt: skip


def as_work(send: float, serve: float, receive: float, opens: float, idle: float) -> tuple[float, float, float, float]:
    """(send, serve, receive, latency) of a batch. What opening waits for beyond serving needs no core, but as far as
    cores stayed `idle` meanwhile, others could not use them: it counts as work of the training process. If they stayed
    idle longer, serving does, too, beside that of the worker."""
    latency = max(0.0, opens - serve)
    blocked = min(idle, latency)
    twice = min(idle - blocked, serve)
    return send + twice, serve - twice, receive + blocked + twice, latency - blocked


def handing_over(flow: Loop, rows: list[list[list[float]]], idle: float, plain: Plain) -> HandOver:
    """`rows` of each worker, `idle` core seconds of a batch."""
    made = flat(rows)
    # In a worker collate writes into fresh shared memory, and samples come from memory that the worker has just begun
    # to use.
    share = max(
        surplus([row[probes.FETCH_CPU] for row in made], plain.wholes),
        surplus([row[probes.COLLATE_CPU] for row in made], plain.collates),
    )
    return HandOver(share, *as_work(sending(rows), serving(rows), receiving(flow), opening(flow), idle))


def handing_over_again(
    flow: Loop | None, figures: list[Figures], plain: Plain, lock_wait: float, idle: float | None = None
) -> HandOver | None:
    """With other workers than the two; None where that was not tried. `lock_wait`: waiting_for_the_lock; `idle`: core
    seconds of a batch, where the loop itself does not show them."""
    rows = batches_of(figures)
    if flow is None or min(map(len, rows)) < LEAST_AGAIN:
        return None
    again = handing_over(flow, rows, unused(flow, rows, processors()) if idle is None else idle, plain)
    if len(rows) == 1:
        # As long as the only worker fetches it keeps the lock; see receive_wait.
        fetch = typical([row[probes.END] - row[probes.BEGIN] for row in flat(rows)])
        again.receive_latency = max(0.0, again.receive_latency - min(lock_wait, fetch))
    return again


def arriving(flow: Loop, figures: list[Figures]) -> float:
    """How long a batch takes from its worker to the loop that waits for it, whose GIL is needed once more for each
    tensor: beside Python code that waits for its turn. Batch k is made by worker k mod W; the first of each worker
    come with its start."""
    made = [worker.batches.read() for worker in figures]
    late = []
    for position, take in enumerate(flow.takes):
        rows, row = made[position % len(made)], position // len(made)
        if 1 <= row < len(rows) and rows[row][probes.END] >= take.asked:
            late.append(take.got - rows[row][probes.END])
    return typical(late)


def waiting_for_the_lock(lock_s: float, tensors: int) -> float:
    """What handing over a batch takes longer, at most, while its worker fetches another one."""
    longer = LOCKS_OF_TENSOR * tensors * lock_s
    return longer if longer > LEAST_LOCK_WAIT_S else 0.0
