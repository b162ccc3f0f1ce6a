"""From the trials' figures to what a batch costs where. Plain arithmetic; all times in seconds."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from math import comb

from . import probes
from .machine import processors
from .probes import Figures
from .trials import WORKERS, Reading, Trials
from .walks import Loop

# A distribution is stated by this many values of equal weight. Only equal values are a number alone:
# workers with the same costs would stay in step for ever, which real ones do not.
VALUES = 100
LEAST_SPREAD = 0.001
# Waiting below this share of a sample's CPU time, or below this time, is a scheduler's noise.
LEAST_WAIT_SHARE, LEAST_WAIT_S = 0.02, 5e-6
# Where the probes cost more than this share of a sample, means come from the trial without them.
PROBE_MATTERS = 0.03
# Samples whose bytes come from the device at least to this share wait for it and not otherwise. Each brings a sector
# then: a few bytes may be the process's own, such as a page of a library.
FROM_DISK, SECTOR = 0.5, 512
OPENS_EACH = 0.5  # files, of samples that read some
# A worker's first batch that takes so much longer than the others, of so many with itself, opens something.
LEAST_OPENING_S, LEAST_BATCHES_BESIDE = 5e-3, 4
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


@dataclass
class Plain:
    """CPU time of batches without workers."""

    wholes: list[float]
    collates: list[float]


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def typical(values: list[float]) -> float:
    """The mean without the largest and the smallest tenth: costs vary, and interruptions are rare."""
    kept = sorted(values)
    cut = len(kept) // 10
    return mean(kept[cut : len(kept) - cut])


def spread(values: list[float]) -> float:
    """The standard deviation."""
    average = mean(values)
    return mean([(value - average) ** 2 for value in values]) ** 0.5


def summary(values: list[float]) -> list[float]:
    """The values as at most VALUES values of equal weight with the same mean; one if they are alike."""
    average = mean(values)
    if len(values) < 2 or spread(values) <= LEAST_SPREAD * average:
        return [average]
    ordered = sorted(values)
    groups = min(VALUES, len(ordered))
    edges = [round(index * len(ordered) / groups) for index in range(groups + 1)]
    return [mean(ordered[low:high]) for low, high in zip(edges, edges[1:])]


def scaled_to(values: list[float], wanted: float) -> list[float]:
    average = mean(values)
    return [value * wanted / average for value in values] if average > 0 else [wanted]


def line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Least squares through (n, seconds), base and slope both at least 0."""
    if not points:
        return 0.0, 0.0
    if len(points) == 1:
        return 0.0, points[0][1] / points[0][0]
    x, y = mean([float(n) for n, _ in points]), mean([time for _, time in points])
    square = sum((n - x) ** 2 for n, _ in points)
    slope = max(0.0, sum((n - x) * (time - y) for n, time in points) / square)
    if y < slope * x:
        slope = y / x
    return y - slope * x, slope


def line_to(points: list[tuple[int, float]], samples: float, seconds: float) -> tuple[float, float]:
    """What takes `seconds` for `samples`, split into base and slope as the points split."""
    base, slope = line(points)
    of_points = base + slope * samples
    if of_points <= 0:
        return seconds, 0.0
    return base * seconds / of_points, slope * seconds / of_points


def changes(rows: list[list[float]], column: int) -> list[float]:
    return [after[column] - before[column] for before, after in zip(rows, rows[1:])]


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


def surplus(there: list[float], here: list[float]) -> float:
    """How much larger the values are there on average; 0 where chance explains it (two standard errors)."""
    if len(there) < 2 or len(here) < 2:
        return 0.0
    error = (spread(there) ** 2 / len(there) + spread(here) ** 2 / len(here)) ** 0.5
    difference = mean(there) - mean(here)
    return difference if difference > 2 * error else 0.0


def longest(values: list[float], count: int) -> list[float]:
    """The `count` largest values as they are, the others 0."""
    if count >= len(values):
        return values
    least = sorted(values, reverse=True)[count]
    return [value if value > least else 0.0 for value in values]


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


def reads_files(reading: Reading, samples: int) -> bool:
    """As samples do; modules that the first one imports, and a few bytes of randomness, are no files of theirs."""
    each = max(1, samples)
    return reading.opens > 0 and (reading.opens >= OPENS_EACH * each or reading.read_bytes >= SECTOR * each)


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
        waits_for_disk=reading.disk_bytes > max(FROM_DISK * reading.read_bytes, SECTOR * trials.samples_seen) > 0,
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
