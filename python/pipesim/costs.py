"""From the trials' figures to what a batch costs where. Plain arithmetic; all times in seconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from . import probes
from .arithmetic import changes, line_to, longest, mean, scaled_to, summary, typical
from .handing_over import (
    HandOver,
    Plain,
    arriving,
    batches_of,
    flat,
    handing_over,
    handing_over_again,
    rate,
    samples_of,
    unused,
    waiting_for_the_lock,
)
from .machine import processors
from .probes import Figures
from .reading import reads_files, waits_for_disk
from .trials import WORKERS, Trials
from .walks import Loop

# Waiting below this share of a sample's CPU time, or below this time, is a scheduler's noise.
LEAST_WAIT_SHARE, LEAST_WAIT_S = 0.02, 5e-6
# Where the probes cost more than this share of a sample, means come from the trial without them.
PROBE_MATTERS = 0.03
# A worker's first batch that takes so much longer than the others, of so many with itself, opens something.
LEAST_OPENING_S, LEAST_BATCHES_BESIDE = 5e-3, 4


@dataclass
class Costs:
    """Of one sample: prepare (CPU), wait; of one batch: the rest."""

    prepare: list[float]
    wait: list[float]
    waits_for_disk: bool
    turn: float  # in which what workers share serves a sample that waits for it; 0 where they share nothing
    python_sample: float
    collate_batch: float
    collate_sample: float
    share: float  # of the worker's main thread, beyond what fetching takes without workers
    send: float  # of the worker's other threads, but for serving
    serve: float  # handing over the memory, while the training process takes the batch; see as_work
    receive: float
    receive_latency: float  # without a core: until the two have woken each other up
    receive_wait: float  # at most, for the interpreter's lock of a worker that fetches
    of_one: HandOver | None  # with one worker; None where that was not tried
    of_many: HandOver | None  # with many_workers(); as of_one
    arrival: float  # from the end of collate in the worker until the training loop has it
    worker_startup: float  # CPU time, once an epoch
    worker_opening: float  # then, without a core: its data set opens files
    worker_launch: float  # of the training process, to start one worker
    worker_memory: float
    touch: float  # first use of a batch that came from a worker
    read_bytes: float  # of a sample, by read calls
    rates: dict[int, float]  # samples/s by workers, in the trials
    training: dict[int, float]  # the same with the step, where that was tried
    alone: float | None  # samples/s of the loader as it is, where that was tried
    queued: float  # share of the samples trial that lacked a core
    probe_share: float  # what the probe added to a sample

    def take_within(self, longest: float) -> None:
        """Taking a batch over that is there takes no longer."""
        takes = self.serve + self.receive + self.receive_latency
        if takes <= longest:
            return
        for of in filter(None, (self, self.of_one, self.of_many)):
            of.serve *= longest / takes
            of.receive *= longest / takes
            of.receive_latency *= longest / takes


def opening_files(figures: list[Figures]) -> tuple[float, float]:
    """How much longer the first batch of a worker takes than the others, if it is the longest, of the worker where that
    is the least: a data set may open its files with the first sample of each process. CPU time, and the rest."""
    least = (float("inf"), 0.0)
    for worker in figures:
        rows = worker.batches.read()
        if len(rows) < LEAST_BATCHES_BESIDE:
            return 0.0, 0.0
        walls, cpus = [row[probes.END] - row[probes.BEGIN] for row in rows], [row[probes.FETCH_CPU] for row in rows]
        first = walls[0] - (rows[0][probes.QUEUED] - worker.head[probes.QUEUED_BEFORE])  # without waiting for a core
        more = first - typical(walls[1:]) if first > max(walls[1:]) else 0.0
        least = min(least, (more, min(more, max(0.0, cpus[0] - typical(cpus[1:])))))
    wall, cpu = least
    return (cpu, wall - cpu) if wall > LEAST_OPENING_S else (0.0, 0.0)


def startup(loop: Loop, figures: list[Figures]) -> float:
    """Once an epoch: the CPU time of a worker until it was ready, and until all have ended. An epoch ends when no
    batch is in work."""
    made = [rows[-1][probes.END] for rows in batches_of(figures) if rows]
    ending = min([loop.shutdown, *(max(0.0, loop.gone - end) for end in made)])
    return max(worker.head[probes.STARTED] for worker in figures) + ending


def launching(loops: dict[str, Loop], figures: dict[str, list[Figures]]) -> float:
    """Of the process that trains, for each worker: in the trial where that took least, since each starts them once."""
    names = [name for name in ("workers", "many", "training", "training_many") if name in loops]
    return min((loops[name].started - loops[name].began) / len(figures[name]) for name in names)


def waits(rows: list[list[float]], given_up: int) -> list[float]:
    """Waiting seconds of each sample: without a core, and not in the run queue for one. `given_up`: how often
    the thread left its core in the whole trial; of short samples, whose own count is not known, the longest
    waits are real. Where most counts are known, samples are long and the first was not expected to be: it waits
    like the others."""
    known = [row for row in rows if row[probes.GAVE_UP] >= 0]
    short = [max(0.0, row[probes.WALL] - row[probes.CPU]) for row in rows if row[probes.GAVE_UP] < 0]
    waited = [
        max(0.0, row[probes.WALL] - row[probes.CPU] - row[probes.IN_QUEUE]) if row[probes.GAVE_UP] > 0 else 0.0
        for row in known
    ]
    if len(known) > len(short):
        return [mean(waited)] * len(short) + waited
    given_up -= int(sum(row[probes.GAVE_UP] for row in known))
    return longest(short, max(0, given_up)) + waited


def sample_costs(trials: Trials, figures: Figures) -> tuple[list[float], list[float], float]:
    """CPU seconds and waiting seconds of each sample, and the share of time without a core."""
    rows = figures.samples.read()
    cpu = [max(0.0, row[probes.CPU] - trials.inner_probe_s) for row in rows]
    wait = waits(rows, trials.reading.given_up)
    if mean(wait) < max(LEAST_WAIT_S, LEAST_WAIT_SHARE * mean(cpu)):
        wait = []
    batches = figures.batches.read()
    queued = batches[-1][probes.QUEUED] - batches[0][probes.QUEUED] if len(batches) > 1 else 0.0
    spent = batches[-1][probes.END] - batches[0][probes.END] if len(batches) > 1 else 0.0
    return cpu, wait, queued / spent if spent > 0 else 0.0


def costs_of(trials: Trials, figures: dict[str, list[Figures]], training: dict[str, Loop]) -> Costs:
    """`training`: loops with a step beside them, where that was tried. What loading costs then counts."""
    cpu, wait, queued = sample_costs(trials, figures["samples"][0])
    rows = batches_of(figures["batches"])[0] or figures["batches"][0].batches.read()
    samples = trials.batch_samples
    full = [row for row in rows if row[probes.SAMPLES] in (0, samples)] or rows
    collate = typical([row[probes.COLLATE_CPU] for row in full])
    # An epoch's last batch may have fewer samples.
    wholes = [
        spent for spent, row in zip(changes(rows, probes.PROCESS_CPU), rows[1:]) if row in full
    ]
    whole = typical(wholes)
    here = samples_of(full, samples)
    python_sample = trials.python_sample_s
    if trials.probe_s > PROBE_MATTERS * mean(cpu) and whole > 0:
        # Too short to be timed one by one: what is left of a batch is theirs.
        left = max(0.0, whole - collate) / here
        python_sample = min(python_sample, left)
        cpu = scaled_to(cpu, left - python_sample)
    elif whole > 0:
        # Both trials know the mean: together they saw twice the samples.
        cpu = scaled_to(cpu, max(0.0, mean([mean(cpu), (mean(wholes) - collate) / here - python_sample])))
    base, slope = line_to(trials.collate_points, here, collate)

    alone = trials.loops.get("alone")
    rest, rest_rows = trials.loops["workers"], batches_of(figures["workers"])
    plain = Plain(wholes, [row[probes.COLLATE_CPU] for row in full])
    idle = unused(rest, rest_rows, processors())
    hand_over = handing_over(rest, rest_rows, idle, plain)
    lock_wait = waiting_for_the_lock(trials.lock_s, trials.layout.tensors)
    others = {
        name: handing_over_again(trials.loops.get(name), figures[name], plain, lock_wait) for name in ("one", "many")
    }
    flow, at_work = rest, figures["workers"]
    if "training" in training:
        flow, at_work = training["training"], figures["training"]
        beside_steps = handing_over(flow, batches_of(at_work), idle, plain)
        factors = beside_steps.over(hand_over)
        others = {name: costs and costs.scaled(factors) for name, costs in others.items()}
        hand_over = beside_steps
    if "training_many" in training:
        idle = unused(trials.loops["many"], batches_of(figures["many"]), processors())
        beside_many = handing_over_again(training["training_many"], figures["training_many"], plain, lock_wait, idle)
        others["many"] = beside_many or others["many"]
    opening_cpu, opening_wait = opening_files(figures["workers"])
    reading = trials.reading
    read = reading.read_bytes / max(trials.samples_seen, 1) if reads_files(reading, trials.samples_seen) else 0.0
    return Costs(
        prepare=summary(cpu), wait=summary(wait) if wait else [],
        waits_for_disk=waits_for_disk(reading, trials.samples_seen),
        turn=trials.turn_s if wait else 0.0,
        python_sample=python_sample, collate_batch=base, collate_sample=slope,
        **asdict(hand_over), of_one=others["one"], of_many=others["many"],
        receive_wait=lock_wait,
        arrival=arriving(flow, at_work), worker_startup=startup(rest, figures["workers"]) + opening_cpu,
        worker_opening=opening_wait,
        worker_launch=launching(training or trials.loops, figures),
        worker_memory=max(worker.head[probes.MEMORY] for worker in figures["workers"]),
        touch=max(0.0, typical([first - again for first, again in rest.touches])),
        read_bytes=read,
        rates={
            0: rate(trials.loops["batches"], here, 1),
            WORKERS: rate(rest, samples_of(flat(rest_rows), samples), WORKERS),
        },
        training={
            len(figures[name]): rate(loop, samples_of(flat(batches_of(figures[name])), samples), len(figures[name]))
            for name, loop in training.items()
        },
        alone=rate(alone, samples, min(len(alone.takes) // 2, 2 * WORKERS)) if alone else None,
        queued=queued, probe_share=trials.probe_s / max(mean(cpu) + mean(wait), 1e-9),
    )  # fmt: skip
