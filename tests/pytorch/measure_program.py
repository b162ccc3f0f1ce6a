#!/usr/bin/env python3
"""Measures programs of tests/pytorch/programs, for tools/check_pytorch: one task a line on stdin, one answer a line on
stdout, both JSON.

  {"do": "rate", "program": "programs.fit.burn_1ms", "workers": 2, "seconds": 2}
  {"do": "stopwatch", "program": ..., "seconds": 0.5}
  {"do": "first", "program": ..., "workers": 2}            the first batches only
  {"do": "rate", ..., "overrides": {"prefetch_factor": 2}, "threads": 1, "alone": true}   other settings; no step
  {"do": "replay", "program": ..., "workers": 2, "seconds": 1}   steps on cached batches

Each task runs in a process of its own, forked from this one after torch's import and before any of its work, and ends
after "limit_s" with all its workers. Exit code 77: no PyTorch here.
"""

import importlib
import itertools
import json
import os
import pathlib
import select
import signal
import sys
import time
import warnings

try:
    import torch
    from torch.utils.data import default_collate
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

from pipesim.gpu import FewBehind  # noqa: E402
from window import Window  # noqa: E402

FIRST_BATCHES = 3
CACHED_BATCHES = 4
WARM_UP_STEPS = 3


def samples_of(loader, batch):
    """The samples of a batch: the first size of the first tensor in it. A loader that does not batch yields samples."""
    if loader.batch_sampler is None:
        return 1
    while not isinstance(batch, torch.Tensor):
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    return batch.shape[0]


def step_of(program):
    return program.step() if hasattr(program, "step") else None


def fill(window, loader, step):
    """Iterates until the window is complete; returns the time of the first iter() and that of the first batch."""
    gpu, begun = FewBehind(), time.perf_counter()
    started = first = None
    while True:
        iterator = iter(loader)
        started = started or time.perf_counter() - begun
        for batch in iterator:
            first = first or time.perf_counter() - begun
            if step:
                step(batch)
                gpu.step_done()
            if window.batch_done(time.perf_counter(), samples_of(loader, batch)):
                return started, first
        if window.epoch_done():
            return started, first


def rate(task):
    program = importlib.import_module(task["program"])
    step = None if task.get("alone") else step_of(program)
    if task.get("threads"):
        torch.set_num_threads(task["threads"])  # after the program has set its own
    loader = program.loader(task["workers"], **task.get("overrides", {}))
    workers = loader.num_workers
    window = Window(task["seconds"], max(1, workers), 2 * workers * (loader.prefetch_factor or 0))
    started, first = fill(window, loader, step)
    return {"samples_per_s": window.rate(), "batches": window.batches(), "seconds": window.elapsed(),
            "whole_epochs": max(0, window.whole_epochs - 1), "iter_s": started, "first_batch_s": first}


def replay(task):
    """NVIDIA's DALI documents this mode of its Loader Evaluator: the first batches are kept, then trained on again and
    again, as if the loader took no time."""
    program = importlib.import_module(task["program"])
    step, kept = program.step(), list(itertools.islice(program.loader(task["workers"]), CACHED_BATCHES))
    for batch in kept[:WARM_UP_STEPS]:
        step(batch)
    gpu, begun, steps = FewBehind(), time.perf_counter(), 0
    while (elapsed := time.perf_counter() - begun) < task["seconds"]:
        step(kept[steps % len(kept)])
        gpu.step_done()
        steps += 1
    return {"steps_per_s": steps / elapsed}


def seconds_each(work, seconds):
    """The mean time of work(i), i = 0, 1, ...; the first calls are left out."""
    for i in range(3):
        work(i)
    begun, count = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - begun) < seconds or count < 5:
        work(count)
        count += 1
    return elapsed / count


def stopwatch(task):
    """What an engineer times by hand; which of it a program's description uses, it says itself."""
    program = importlib.import_module(task["program"])
    wanted = json.dumps(program.DESCRIPTION)
    times = {}
    if "$sample" in wanted:
        data = program.dataset()
        times["sample"] = seconds_each(lambda i: data[i * 7919 % len(data)], task["seconds"])
    if "$collate" in wanted:
        data, loader = program.dataset(), program.loader(0)
        batch = [data[i * 7919 % len(data)] for i in range(loader.batch_size)]
        times["collate"] = seconds_each(lambda _: (loader.collate_fn or default_collate)(batch), task["seconds"])
    if "$step" in wanted:
        step, batch = step_of(program), next(iter(program.loader(0)))
        times["step"] = seconds_each(lambda _: step(batch), task["seconds"])
    return times


def first(task):
    program = importlib.import_module(task["program"])
    step = None if task.get("alone") else step_of(program)
    loader, sizes = program.loader(task["workers"]), []
    for batch in loader:
        if step:
            step(batch)
        sizes.append(samples_of(loader, batch))
        if len(sizes) == FIRST_BATCHES:
            break
    return {"samples": sizes}


KINDS = {"rate": rate, "replay": replay, "stopwatch": stopwatch, "first": first}


def answer_in_child(task, pipe):
    """Does the task; never returns."""
    os.setpgid(0, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")  # of more workers than processors
    try:
        answer = KINDS[task["do"]](task)
    except Exception as error:  # any failure of a program is an answer
        answer = {"failed": f"{type(error).__name__}: {error}"}
    os.write(pipe, json.dumps(answer).encode())
    os._exit(0)


def answer(task):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        answer_in_child(task, write)
    os.close(write)
    limit = task.get("limit_s", 60)
    text = os.read(read, 65536) if select.select([read], [], [], limit)[0] else None
    os.close(read)
    try:
        os.killpg(child, signal.SIGKILL)  # its workers, too
    except ProcessLookupError:
        pass
    os.waitpid(child, 0)
    if text is None:
        return {"failed": f"no answer within {limit} s"}
    return json.loads(text) if text else {"failed": "the process ended without an answer"}


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
