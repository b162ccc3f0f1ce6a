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

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate, get_worker_info

ROUNDS = 5
WINDOW = 24  # batches made ahead, so that taking them waits for nobody
MANY = 8  # tensors of a batch, against one
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
    """default_collate; in a worker it notes its own CPU time, and that of the process."""

    def __init__(self, file, batches):
        self.file = file
        self.batches = batches
        self.collate_s = []
        self.process_s = []

    def __call__(self, samples):
        begin = time.thread_time()
        batch = default_collate(samples)
        if get_worker_info() is not None:
            self.collate_s.append(time.thread_time() - begin)
            self.process_s.append(time.process_time())
            if len(self.process_s) == self.batches:
                with open(self.file, "w", encoding="utf-8") as out:
                    json.dump([self.collate_s, self.process_s], out)
        return batch


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def await_idle(pid, longest_s=20.0):
    """Until the worker has used no CPU time for a while: its window is full."""
    end = time.perf_counter() + longest_s
    last, since = cpu_ticks(pid), time.perf_counter()
    while time.perf_counter() < end:
        time.sleep(0.05)
        now = cpu_ticks(pid)
        if now != last:
            last, since = now, time.perf_counter()
        elif time.perf_counter() - since > 0.25:
            return


def hand_over(tensors, elements, folder):
    """Seconds of a batch: for the parent to take it, of the worker's collate, and of its CPU time in all."""
    batches = 3 * WINDOW
    file = os.path.join(folder, "worker.json")
    loader = DataLoader(
        Ready(batches, tensors, elements),
        batch_size=1,
        num_workers=1,
        prefetch_factor=WINDOW,
        collate_fn=Noting(file, batches),
    )
    batch_iterator = iter(loader)
    await_idle(batch_iterator._workers[0].pid)
    taken_s = []
    for _ in range(WINDOW // 2):
        begin = time.perf_counter()
        batch = next(batch_iterator)
        taken_s.append(time.perf_counter() - begin)
    for batch in batch_iterator:
        pass
    del batch, batch_iterator
    with open(file, encoding="utf-8") as written:
        collate_s, process_s = json.load(written)
    # Beyond the window the worker makes a batch for each that is taken.
    worker_s = (process_s[-1] - process_s[WINDOW]) / (len(process_s) - 1 - WINDOW)
    return quiet(taken_s), typical(collate_s[WINDOW:]), worker_s


def quiet(times):
    """The first quartile: of a batch that nothing else delayed."""
    return statistics.quantiles(times, n=4)[0]


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


def measure_hand_over(figures, folder):
    shapes = {"one": (1, 1), "many": (MANY, 1), "large": (1, LARGE)}
    taken_s, shared_s, sent_s = {}, {}, {}
    for name, (tensors, elements) in shapes.items():
        taken_s[name], collate_s, worker_s = hand_over(tensors, elements, folder)
        # Collating into ordinary memory is not the hand-over's. A worker collates into shared
        # memory, which it has to make first.
        shared_s[name] = collate_s - collate_time(1, tensors, elements, 30)
        sent_s[name] = worker_s - collate_s
    for side, times, what in (
        ("receive", taken_s, "wall time of next() of a batch that is ready"),
        ("share", shared_s, "CPU time of collating in a worker beyond that in the parent"),
        ("send", sent_s, "CPU time of a worker beyond collating"),
    ):
        tensor_s = max((times["many"] - times["one"]) / (MANY - 1), 0)
        beyond_s = times["large"] - times["one"]
        figures.add(f"process_{side}_batch", times["one"] - tensor_s, f"measured: {what}")
        figures.add(f"process_{side}_tensor", tensor_s, f"measured: the same, {MANY} tensors against one")
        figures.add(
            f"process_{side}_bandwidth",
            bandwidth(4 * LARGE, beyond_s),
            "measured: the same, a tensor of 8 MiB against one of 4 bytes",
        )


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
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            if not silent:
                print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
            measure_python(figures)
            measure_waits(figures)
            measure_lock(figures)
            measure_hand_over(figures, folder)
            if number < 3:
                measure_starts(figures)
    if not silent:
        print("\r" + " " * 16 + "\r", end="", file=sys.stderr)
    version = f"Python {sys.version.split()[0]}, torch {torch.__version__}"
    json.dump({"source": version, "figures": figures.found()}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
