#!/usr/bin/env python3
"""Measures what PyTorch's DataLoader costs with this Python: `pipesim calibrate --python` runs it.

Prints one JSON object: for each figure of a machine profile its values, one a round, in seconds,
bytes or bytes/s, and how it was obtained. Needs torch and nothing else. Measures the library alone,
with data sets that cost nothing.
"""

import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from multiprocessing import resource_sharer
from multiprocessing.reduction import ForkingPickler

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate, get_worker_info

ROUNDS = 5
WORKERS = 2  # the smallest number that shows what several processes cost
MANY_WORKERS = min(8, 2 * max(WORKERS, len(os.sched_getaffinity(0))))  # of which each rests for long
HANDED = 300  # batches of a measurement
WARM_UP = 6  # of each worker
# Of a worker for each batch: threads that only hand over batches stay on one core, which they do not beside work, and
# the parent of workers that take turns at it without rest has what it needs in its caches.
WORK_S = 2e-3
WORK_SIZE = 8  # elements of an operation: as with samples, others get Python's lock between two of them
FEW, MANY = 2, 8  # tensors of a batch: samples and their labels, against many
LARGE = 2 << 20  # elements of a float tensor: 8 MiB
SAMPLES = 64
# Whether the allocator maps a batch's memory anew depends on its size (glibc: on what was freed before, mallopt(3),
# M_MMAP_THRESHOLD): the figure is the mean of several sizes.
BATCHES_BYTES = (3 << 20, 8 << 20, 12 << 20, 16 << 20)
BATCHES = 40  # of each size, after as many
WAITS_S = (0.5e-3, 1e-3, 4e-3)  # as a sample waits for a service
WAITS = 30  # of each length
ASK_S = 0.3e-3  # between two questions for the lock
LOCK_S = 0.1
NOISE_S = 1e-6  # of the clock, between two times


class Ready(Dataset):
    """Samples that are there: tuples of the same tensors."""

    def __init__(self, batches, tensors, elements):
        self.batches = batches
        self.sample = tuple(torch.zeros(elements) for _ in range(tensors))

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        return self.sample


class Noting:
    """default_collate in a worker, after some work: notes its own CPU time, that of the process, and that of the thread
    which hands over the memory of batches."""

    def __init__(self, folder, batches):
        self.folder = folder
        self.batches = batches
        self.work_s = []
        self.collate_s = []
        self.process_s = []
        self.serve_s = []

    def __call__(self, samples):
        begin = time.thread_time()
        while time.thread_time() - begin < WORK_S:
            torch.zeros(WORK_SIZE)
        self.work_s.append(time.thread_time() - begin)
        begin = time.thread_time()
        batch = default_collate(samples)
        self.collate_s.append(time.thread_time() - begin)
        self.process_s.append(time.process_time())
        self.serve_s.append(serving_time())
        if len(self.process_s) == self.batches:
            with open(note_of(self.folder, get_worker_info().id), "w", encoding="utf-8") as out:
                json.dump([self.work_s, self.collate_s, self.process_s, self.serve_s], out)
        return batch


def note_of(folder, worker):
    return os.path.join(folder, f"worker_{worker}.json")


def serving_time():
    """CPU seconds of the thread of a worker that hands over memory (multiprocessing/resource_sharer.py)."""
    try:
        thread = resource_sharer._resource_sharer._thread
        if thread is None:
            return 0.0
        with open(f"/proc/self/task/{thread.native_id}/schedstat", encoding="utf-8") as file:
            return int(file.read().split()[0]) / 1e9
    except (AttributeError, OSError, IndexError, ValueError):
        return 0.0


class Opening:
    """Sums the seconds without a core in which this process opens what workers sent, while it is a context."""

    def __enter__(self):
        self.loads, self.waited_s = ForkingPickler.loads, 0.0
        ForkingPickler.loads = self.timed
        return self

    def __exit__(self, *_):
        ForkingPickler.loads = self.loads

    def timed(self, *arguments, **keywords):
        cpu, begin = time.thread_time(), time.perf_counter()
        try:
            return self.loads(*arguments, **keywords)
        finally:
            self.waited_s += max(0.0, time.perf_counter() - begin - (time.thread_time() - cpu))


def hand_over(workers, tensors, elements, folder):
    """Seconds of a batch in a loop with workers that work: by what it goes into, see parts_of."""
    each = HANDED // workers
    loader = DataLoader(
        Ready(workers * each, tensors, elements),
        batch_size=1,
        num_workers=workers,
        collate_fn=Noting(folder, each),
    )
    received_s, waited_s, came = [], [], []
    with Opening() as opening:
        batches = iter(loader)
        for _ in range(workers * each):
            waited_before_s, begin = opening.waited_s, time.process_time()
            batch = next(batches)  # and the one before is freed
            received_s.append(time.process_time() - begin)
            waited_s.append(opening.waited_s - waited_before_s)
            came.append(time.perf_counter())
        if next(batches, None) is not None:  # waits for the workers' end
            raise RuntimeError("the loader has more batches than its data set")
    del batch
    times = {name: [] for name in ("work", "collate", "serve", "worker")}
    for worker in range(workers):
        with open(note_of(folder, worker), encoding="utf-8") as written:
            work_s, collate_s, process_s, serve_s = json.load(written)
        times["work"] += work_s[WARM_UP:]
        times["collate"] += collate_s[WARM_UP:]
        times["serve"] += differences(serve_s[WARM_UP:])
        times["worker"] += differences(process_s[WARM_UP:])
    warm = workers * WARM_UP
    found = {name: typical(values) for name, values in times.items()}
    found["receive"], opens_s = typical(received_s[warm:]), typical(waited_s[warm:])
    cores = min(len(os.sched_getaffinity(0)), workers + 1)
    each_s = (came[-1] - came[warm]) / (len(came) - 1 - warm)
    # Collating into ordinary memory is not the hand-over's. A worker collates into shared memory, which it has to make
    # first.
    return {
        "share": found["collate"] - collate_time(1, tensors, elements, 30),
        "send": found["worker"] - found["work"] - found["collate"] - found["serve"],
        "serve": found["serve"],
        "receive": found["receive"],
        "latency": max(0.0, opens_s - found["serve"]),
        "idle": max(0.0, cores * each_s - found["worker"] - found["receive"]),
    }


def shares_blocked(rounds):
    """Of latency and of serving, what counts as work of the parent. What opening a batch waits for beyond serving needs
    no core, but as far as cores stayed idle meanwhile others could not use them. If they stayed idle longer, serving
    counts as the parent's, too, beside the worker's. One answer for all batches, whose tensors would else cost now one
    side, now the other."""
    sums = {name: sum(found[name] for found in rounds) for name in ("latency", "serve", "idle")}
    blocked = min(sums["idle"], sums["latency"])
    twice = min(sums["idle"] - blocked, sums["serve"])
    return (
        blocked / sums["latency"] if sums["latency"] > 0 else 0.0,
        twice / sums["serve"] if sums["serve"] > 0 else 0.0,
    )


def parts_of(found, blocked, twice):
    return {
        "share": found["share"],
        "send": found["send"] + twice * found["serve"],
        "serve": (1 - twice) * found["serve"],
        "receive": found["receive"] + blocked * found["latency"] + twice * found["serve"],
        "latency": (1 - blocked) * found["latency"],
    }


def differences(sums):
    return [after - before for before, after in zip(sums, sums[1:])]


def typical(times):
    """The mean without the largest and the smallest tenth: a shared machine is slow at times, for its programs, too."""
    kept = sorted(times)
    cut = len(kept) // 10
    return statistics.mean(kept[cut : len(kept) - cut])


def typical_time(call, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return typical(times)


def collate_time(samples, tensors, elements, repeats):
    made = [tuple(torch.zeros(elements) for _ in range(tensors)) for _ in range(samples)]
    return typical_time(lambda: default_collate(made), repeats)


def own_batch_time(size, sends):
    """CPU seconds of a batch of 16 samples in a loop without workers, which holds a batch until it has the next,
    beyond collating into the same memory again and again."""
    elements = size // 4
    loader = DataLoader(Ready(16 * 2 * BATCHES, 1, elements // 16), batch_size=16)
    for number, _ in enumerate(loader):
        if number == BATCHES - 1:
            begin = time.process_time()
    in_loop_s = (time.process_time() - begin) / BATCHES
    sends.send(in_loop_s - collate_time(16, 1, elements // 16, 15))


def in_fresh_process(work, *arguments):
    """What work(*arguments, connection) sends: earlier allocations change how memory is mapped."""
    context = multiprocessing.get_context("fork")
    receives, sends = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(*arguments, sends))
    process.start()
    sends.close()
    answer = receives.recv()
    process.join()
    return answer


def start_times(method, workers):
    """Seconds: iter() of the loader, then until the first batch, then the workers' end after the last one."""
    batches = 4 * workers
    loader = DataLoader(
        Ready(batches, 1, 1), batch_size=1, num_workers=workers, multiprocessing_context=method
    )
    begin = time.perf_counter()
    batch_iterator = iter(loader)
    started = time.perf_counter()
    next(batch_iterator)
    first = time.perf_counter()
    memory = private_bytes(batch_iterator._workers[0].pid)
    for _ in range(batches - 1):
        next(batch_iterator)
    asked = time.perf_counter()
    if next(batch_iterator, None) is not None:  # waits for the workers' end
        raise RuntimeError("the loader has more batches than its data set")
    return started - begin, first - started, time.perf_counter() - asked, memory


def private_bytes(pid):
    """Memory that a process shares with no other, in bytes; its whole where that is not told."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as rollup:
            lines = [line.split() for line in rollup if line.startswith("Private_")]
        return 1024 * sum(int(fields[1]) for fields in lines)
    except OSError:
        with open(f"/proc/{pid}/statm", encoding="utf-8") as statm:
            return os.sysconf("SC_PAGE_SIZE") * int(statm.read().split()[1])


def bandwidth(size_bytes, more_s):
    """Bytes/s of what takes `more_s` longer; 0 where that is no more than the clock's noise."""
    return size_bytes / more_s if more_s > NOISE_S else 0.0


class Figures:
    def __init__(self):
        self.asked = {}  # how often, by key
        self.measured = {}

    def add(self, key, value, how):
        self.asked[key] = self.asked.get(key, 0) + 1
        if value > 0:
            entry = self.measured.setdefault(key, {"values": [], "how": how})
            entry["values"].append(value)

    def found(self):
        """Those that most rounds could tell from nothing; the others cost nothing that is known."""
        return {key: entry for key, entry in self.measured.items() if 2 * len(entry["values"]) > self.asked[key]}


BATCHES_OF = {  # workers, tensors, elements of each
    "one": (WORKERS, 1, 1),
    "few": (WORKERS, FEW, 1),
    "many": (WORKERS, MANY, 1),
    "large": (WORKERS, 1, LARGE),
    "of one": (1, FEW, 1),
    "of many": (MANY_WORKERS, FEW, 1),
}


def hand_overs(folder):
    return {name: hand_over(*batch, folder) for name, batch in BATCHES_OF.items()}


def add_hand_overs(figures, rounds):
    """`rounds`: what hand_overs() found in each."""
    blocked, twice = shares_blocked([found[name] for found in rounds for name in ("few", "many")])
    for found in rounds:
        parts = {name: parts_of(of_batch, blocked, twice) for name, of_batch in found.items()}
        add_parts(figures, parts)
        add_other_workers(figures, parts)


def add_parts(figures, parts):
    for side, what in (
        ("share", "CPU time of collating in a worker beyond that in the parent"),
        ("send", "CPU time of a worker beyond collating and serving"),
        ("serve", "CPU time of a worker's thread that hands over a batch's memory"),
        ("receive", "CPU time of the parent for a batch, to free the one before, and core time lost meanwhile"),
        ("latency", "time without a core in which the parent opens a batch, beyond serving"),
    ):
        times = {name: of_batch[side] for name, of_batch in parts.items()}
        how = f"measured: {what}, {WORKERS} workers"
        tensor_s = max((times["many"] - times["few"]) / (MANY - FEW), 0)
        figures.add(f"process_{side}_batch", times["few"] - FEW * tensor_s, f"{how}, {FEW} tensors")
        figures.add(f"process_{side}_tensor", tensor_s, f"{how}, {MANY} tensors against {FEW}")
        if side in ("share", "send", "receive"):
            figures.add(
                f"process_{side}_bandwidth",
                bandwidth(4 * LARGE, times["large"] - times["one"]),
                f"{how}, a tensor of 8 MiB against one of 4 bytes",
            )


def add_other_workers(figures, parts):
    """How many times as much as with two workers both ends spend with one, for which the parent waits, and with
    many."""
    for end, sides in (("worker", ("share", "send", "serve")), ("trainer", ("serve", "receive", "latency"))):
        sums = {name: sum(of_batch[side] for side in sides) for name, of_batch in parts.items()}
        for name, workers in (("one", 1), ("many", MANY_WORKERS)):
            figures.add(
                f"process_{end}_of_{name}",
                sums[f"of {name}"] / sums["few"],
                f"measured: a batch of {FEW} tensors in the {end}'s process, {workers} workers against {WORKERS}",
            )
    figures.add("process_many_workers", MANY_WORKERS, "workers of process_worker_of_many and process_trainer_of_many")


class Asking(threading.Thread):
    """Asks for Python's lock again and again, and notes how late it came."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late_s = []
        self.ends = False

    def run(self):
        while not self.ends:
            begin = time.perf_counter()
            time.sleep(ASK_S)
            self.late_s.append(max(0.0, time.perf_counter() - begin - ASK_S))


def lateness(work):
    """Mean seconds that another thread comes late to the lock while work() goes on."""
    asking = Asking()
    asking.start()
    end = time.perf_counter() + LOCK_S
    while time.perf_counter() < end:
        work()
    asking.ends = True
    asking.join()
    return statistics.mean(asking.late_s)


def measure_lock(figures):
    rows = torch.zeros(1024, 8)
    numbers = list(range(SAMPLES))
    busy_s = lateness(lambda: default_collate([rows[number] for number in numbers]))
    figures.add(
        "process_lock_wait",
        busy_s - lateness(lambda: time.sleep(0.01)),
        "measured: wait of a thread for the lock beside fetching and collating rows of a tensor",
    )


def fetch_time(data):
    """Of one sample: batches are fetched one after another, so that Python frees and collects as it does then."""
    batches = [range(first, first + SAMPLES) for first in range(0, len(data), SAMPLES)]
    return typical_time(lambda: [[data[index] for index in batch] for batch in batches], 30) / len(data)


def measure_python(figures):
    sample_s = fetch_time(Ready(1024, 2, 1))
    figures.add("python_sample", sample_s, "measured: a call of __getitem__ in the fetcher's loop")
    rows = TensorDataset(torch.zeros(1024, 8), torch.zeros(1024, dtype=torch.int64))
    figures.add(
        "python_tensor",
        (fetch_time(rows) - sample_s) / 2,
        "measured: a sample of a TensorDataset of two tensors, for each of them, beyond the call",
    )
    one = collate_time(1, 1, 1, 200)
    tensors = collate_time(1, MANY, 1, 200)
    samples = collate_time(SAMPLES, 1, 1, 100)
    large = collate_time(16, 1, LARGE // 16, 15)
    small = collate_time(16, 1, 1, 100)
    sample_s = max((samples - one) / (SAMPLES - 1), 0)
    tensor_s = max((tensors - one) / (MANY - 1) - sample_s, 0)
    how = "measured: default_collate of tuples of tensors"
    figures.add("python_collate_sample", sample_s, how + f", {SAMPLES} samples against one")
    figures.add("python_collate_tensor", tensor_s, how + f", {MANY} tensors against one")
    figures.add("python_collate_batch", one - tensor_s - sample_s, how + ", one of one sample")
    figures.add(
        "python_collate_bandwidth",
        bandwidth(4 * LARGE, large - small),
        how + ", 16 samples, 8 MiB against 64 bytes",
    )


def measure_waits(figures):
    begin, begin_cpu = time.perf_counter(), time.thread_time()
    for asked_s in WAITS_S:
        for _ in range(WAITS):
            time.sleep(asked_s)
    count = WAITS * len(WAITS_S)
    cpu_s = (time.thread_time() - begin_cpu) / count
    late_s = (time.perf_counter() - begin) / count - statistics.mean(WAITS_S)
    how = "measured: time.sleep() of 0.5 to 4 ms"
    figures.add("python_wait", late_s - cpu_s, how + ", how much later than asked, beyond its CPU time")
    figures.add("python_wait_cpu", cpu_s, how + ", its CPU time")


def measure_fresh_memory(figures):
    more_s = sum(in_fresh_process(own_batch_time, size) for size in BATCHES_BYTES)
    figures.add(
        "python_fault_bandwidth",
        bandwidth(sum(BATCHES_BYTES), more_s),
        "measured: batches of 3 to 16 MiB in a loop without workers, beyond collating into the same memory",
    )


def measure_starts(figures):
    # What 3 more workers cost the parent: the first also makes queues and imports modules.
    more = 4
    launch_s = (start_times("fork", more)[0] - start_times("fork", 1)[0]) / (more - 1)
    figures.add("process_launch", launch_s, f"measured: iter() with {more} workers against one, fork")
    for method in ("fork", "forkserver", "spawn"):
        _, ready_s, end_s, memory = start_times(method, 1)
        figures.add(
            f"process_startup_{method}",
            ready_s + end_s,
            "measured: from iter() to the first batch, and the worker's end",
        )
        if method == "fork":
            figures.add("process_memory", memory, "measured: private memory of a forked worker")


def main():
    silent = sys.argv[1:] == ["--quiet"]
    torch.set_num_threads(1)
    figures = Figures()
    for _ in range(ROUNDS):  # before anything else is allocated
        measure_fresh_memory(figures)
    handed = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            if not silent:
                print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
            measure_python(figures)
            measure_waits(figures)
            measure_lock(figures)
            handed.append(hand_overs(folder))
            if number < 3:
                measure_starts(figures)
    add_hand_overs(figures, handed)
    if not silent:
        print("\r" + " " * 16 + "\r", end="", file=sys.stderr)
    version = f"Python {sys.version.split()[0]}, torch {torch.__version__}"
    json.dump({"source": version, "figures": figures.found()}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
