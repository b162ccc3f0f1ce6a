"""What limits a pipeline, by closed forms that are independent of pipesim's engines and interventions.

`Costs` holds what one batch asks of each part; `rate` is the throughput of steady state:

  X = min(W / load, cores / cpu, 1 / disk, 1 / pin, 1 / cycle)

with `load` one worker alone (read + prepare + collate), `disk` the disk's time for a batch whatever the number of
readers (the largest of bytes / bandwidth, reads / IOPS and reads x latency / queue depth), and `cycle` the trainer's
time for a batch when data is always there. It is exact for stages of fixed length, any prefetch and any order, over
whole cycles of W batches (asymptotic bounds of closed networks: Muntz and Wong 1974), and is used here with a margin.
`gains` asks what X gains without each part; `truth` names the class where the answer has a margin, else None.
"""

import dataclasses
import math

MARGIN = 1.15       # the part that limits is this much slower than the next
NO_GAIN = 0.02      # what counts as "gains nothing"
BALANCED = 0.02     # two parts that limit alike lie within this

DEMANDS = ["io-bound", "cpu-bound", "h2d-bound", "launch-bound", "sync-bound", "host-bound", "compute-bound"]


@dataclasses.dataclass(frozen=True)
class Costs:
    """Seconds of one batch."""

    workers: int
    cores: int
    step: float
    read: float = 0.0       # one reader alone
    disk: float = 0.0       # the disk, all readers together
    cpu: float = 0.0        # prepare and collate on a core
    wait: float = 0.0       # prepare without a core
    copy: float = 0.0       # over the link, pageable memory at half its speed
    pin: float = 0.0        # into page-locked memory
    launch: float = 0.0
    host: float = 0.0       # the loop's own work
    sync: bool = False      # reads each step's result back
    overlap: bool = True    # copies run beside the step
    host_waits: bool = False  # the host waits for a copy (pageable or blocking)
    on_cpu: bool = False    # the CPU trains; the step is no device's
    # Several threads train: the step on one. A spinning pool as wide as the machine stops while a worker has one of
    # its cores, so loading adds to the step (measured on two cores: step + cpu within a few per cent).
    one_thread: float = None

    def load(self):
        return self.read + self.wait + self.cpu


def cycle(c):
    """The trainer alone."""
    if c.on_cpu:
        return c.host + c.step
    if c.sync:
        # Copy, then the step: nothing of the next batch is submitted before. Launching runs beside the step.
        before = c.copy + c.host if c.host_waits else max(c.copy, c.host)
        return before + max(c.launch, c.step)
    waits = c.copy if c.host_waits else 0
    if not c.overlap:
        return max(c.copy + (c.host if c.host_waits else 0) + c.step, waits + c.host + c.launch)
    return max(c.copy, c.step, waits + c.host + c.launch)


def rate(c):
    """Batches/s."""
    if c.workers == 0:
        busy = c.load() + c.pin
        if c.on_cpu or c.sync:
            time = busy + cycle(c)
        else:  # the device works on while the host loads
            waits = c.copy if c.host_waits else 0
            time = max(cycle(c), busy + waits + c.host + c.launch)
        return 1 / max(time, c.disk, 1e-12)
    if c.one_thread is not None:
        return 1 / max(c.step + c.cpu, c.load() / c.workers, c.disk)
    host_cpu = c.pin + c.host + c.launch + (c.step if c.on_cpu else 0)
    return 1 / max(c.load() / c.workers, (c.cpu + host_cpu) / c.cores, c.disk, c.pin, cycle(c), 1e-12)


def in_step(c):
    """Batches/s of workers that stay in step: all read, then all prepare on the shared cores. Processor sharing keeps
    them so, and then neither part is busy all the time: the lower bound where `rate` is the upper one. The reads of a
    batch take one reader no less than the disk's time for them: its pace need not run on while the reader prepares."""
    return c.workers / (max(c.read, c.disk) + c.wait + c.cpu * max(1, c.workers / c.cores) + 1e-12)


def is_reached(c, verdict):
    """Whether workers deliver `rate` in whatever order they work."""
    if c.workers == 0 or c.one_thread is not None:
        return True
    loading_limits = verdict in ("cpu-bound", "balanced")  # there the workers themselves take the whole time
    return in_step(c) >= (1 - NO_GAIN if loading_limits else MARGIN) * rate(c)


def on_one_thread(c):
    """The same pipeline when one thread trains and leaves the other cores to the workers."""
    return dataclasses.replace(c, step=c.one_thread, one_thread=None)


def with_settings(c, settings):
    """The pipeline after the program's recommendation, {key: value}; None where the closed forms do not know it."""
    known = {"loader.workers": lambda value: dataclasses.replace(c, workers=int(value)),
             "model.sync_every": lambda value: dataclasses.replace(c, sync=int(value) > 0),
             "limits.compute_threads": lambda value: on_one_thread(c) if value == "1" and c.one_thread else None}
    if len(settings) == 1 and (change := known.get(next(iter(settings)))):
        return change(next(iter(settings.values())))
    # "storage x2": latency halved, bandwidth and IOPS doubled.
    if settings and all(key.startswith("storage.") for key in settings):
        return dataclasses.replace(c, read=c.read / 2, disk=c.disk / 2)
    return None


def without(c, demand):
    """The part that the verdict names made free."""
    changes = {"io-bound": dict(read=0.0, disk=0.0), "cpu-bound": dict(cpu=0.0, wait=0.0),
               "h2d-bound": dict(copy=0.0, pin=0.0), "sync-bound": dict(sync=False),
               "launch-bound": {} if c.on_cpu else dict(launch=0.0, host=0.0),
               "host-bound": dict(host=0.0) if c.on_cpu else {}, "compute-bound": dict(step=0.0)}
    return dataclasses.replace(c, **changes[demand])


def gains(c):
    """{verdict: what X gains}: the best number of workers, fewer training threads, each part free."""
    now = rate(c)
    most = max(c.cores, 4 * c.workers)
    found = {"loader-bound": max(rate(dataclasses.replace(c, workers=w)) for w in range(c.workers, most + 1)) / now - 1,
             "cpu-contention": 0.0}
    if c.one_thread is not None:
        found["cpu-contention"] = max(0.0, rate(on_one_thread(c)) / now - 1)
    for demand in DEMANDS:
        found[demand] = rate(without(c, demand)) / now - 1
    return found


def best_pair(c):
    return max(rate(without(without(c, a), b)) for a in DEMANDS for b in DEMANDS if a != b) / rate(c) - 1


def truth(c):
    """The verdict by the order of design and docs/verdicts.md, where each decision has a margin; else None."""
    gain = gains(c)
    for setting in ["loader-bound", "cpu-contention"]:
        if gain[setting] >= MARGIN - 1:
            return setting
        if gain[setting] > NO_GAIN:
            return None
    ranked = sorted(DEMANDS, key=lambda demand: -gain[demand])
    best, second = ranked[0], ranked[1]
    if gain[best] <= NO_GAIN:
        return "balanced" if best_pair(c) >= MARGIN - 1 and is_reached(c, "balanced") else None
    # The step and the read-back that waits for it: taking either away leaves the same loop where the step is shorter
    # than the rest. Not reading back is the part that can be had, and the program's order agrees.
    if {best, second} == {"sync-bound", "compute-bound"} and math.isclose(gain[best], gain[second], rel_tol=1e-9):
        best, second = "sync-bound", ranked[2]
    clear = 1 + gain[best] >= MARGIN * (1 + gain[second])
    return best if clear and is_reached(c, best) else None
