"""What a recording answers, as text: where a batch's time goes, and the DataLoader(...) line."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Callable

from torch.utils.data import DataLoader, IterableDataset, default_collate, default_convert

from . import shards
from .arithmetic import mean
from .costs import Costs
from .errors import PipesimError
from .experiment import duration
from .program import Tuned, tune
from .source import diff, loader_settings, shuffle_of
from .trials import WORKERS

if TYPE_CHECKING:
    from .recorder import Recording

# A gain below this is not worth a change; `pipesim tune` stops there, too.
WORTHWHILE_GAIN = 0.02
# A prediction that is further off the measured loop is doubtful.
DOUBTFUL_MISS = 0.15
LONG_START_S = 5.0  # of workers: worth a word
MOST_LINES = 6  # of the program's own message where it predicts nothing


def rows(costs: Costs, samples: float) -> list[tuple[str, str, float]]:
    """What a batch asks for: name, where, seconds."""
    return [
        ("wait", "reads and sleeps, no core needed", mean(costs.wait) * samples),
        ("prepare", "CPU time of the samples", mean(costs.prepare) * samples),
        ("python", "the fetch loop's own", costs.python_sample * samples),
        ("collate", "makes the batch", costs.collate_batch + costs.collate_sample * samples),
        ("share", "worker process: into shared memory", costs.share),
        ("send", "its threads: pickle, hand over", costs.send + costs.serve),
        ("receive", "training process: unpickle, map", costs.receive + costs.serve + costs.receive_latency),
    ]


def summary(recording: Recording) -> str:
    samples = recording.trials.batch_samples
    lines = [f"Recorded {recording.file}: what a batch of {samples:.4g} samples asks for"]
    for name, gloss, seconds in rows(recording.costs, samples):
        lines.append(f"  {name:<8} {gloss:<38} {duration(seconds):>9}")
    if recording.step is not None:
        step = recording.step.points[-1][1]
        gloss = f"on {recording.step.device}" if recording.step.device else "waits, holds no core"
        lines.append(f"  {'step':<8} {gloss:<38} {duration(step):>9}")
    rates = recording.costs.rates
    lines.append(
        f"Loading alone ran at {rates[0]:,.4g} samples/s without workers, {rates[WORKERS]:,.4g} with {WORKERS}; "
        f"a worker starts in {duration(recording.costs.worker_startup)}"
    )
    return "\n".join(lines) + "\n"


def changes(recording: Recording, tuned: Tuned) -> dict:
    """The keywords that the tuned settings change; None takes one away."""
    loader = recording.loader
    wanted = loader_settings(tuned.workers, tuned.prefetch_factor, tuned.persistent)
    present = {
        "num_workers": loader.num_workers,
        "prefetch_factor": loader.prefetch_factor if loader.num_workers else 2,
        "persistent_workers": loader.persistent_workers,
    }
    return {name: value for name, value in wanted.items() if value != present.get(name, "absent")}


def beside_measured(predicted_per_s: float, measured_per_s: float, epoch_per_s: float) -> tuple[str, bool]:
    """How near the prediction comes to the loop as it was timed, and whether it misses it. `epoch_per_s`: of the whole epoch, in which workers start, which a prediction of short epochs counts; 0: not seen."""
    off, what = predicted_per_s / measured_per_s - 1, "the loop"
    if epoch_per_s > 0 and abs(predicted_per_s / epoch_per_s - 1) < abs(off):
        off, what = predicted_per_s / epoch_per_s - 1, f"the epoch with its start, {epoch_per_s:,.4g}"
    text = f"  model    as it is: {predicted_per_s:,.4g} samples/s predicted, {off:+.0%} off {what}\n"
    misses = abs(off) > DOUBTFUL_MISS
    if misses:
        text += (
            "Warning: the prediction misses the loop as it was timed, so take its verdict and gains with care: "
            "other programs\n  ran meanwhile, or something in the loop costs what neither its steps nor the "
            "loader show\n"
        )
    return text, misses


def doubted(verdict: str) -> str:
    """The text of a prediction that misses what it is of."""
    return verdict.replace("(confidence high)", "(confidence low)", 1)


def threads_line(tuned: Tuned) -> str:
    return f"  and torch.set_num_threads({tuned.threads}) in the training program\n" if tuned.threads else ""


def own_sampler(loader: DataLoader) -> bool:
    """One that shuffle=True or False doesn't stand for."""
    if isinstance(loader.dataset, IterableDataset):
        return False
    shuffle, sampler = shuffle_of(loader), loader.sampler
    if shuffle:
        return sampler.replacement or sampler.num_samples != len(loader.dataset)
    return shuffle is None


def kept_arguments(loader: DataLoader, workers: int) -> list[str]:
    """What the loader was given besides what the program knows of, by name."""
    names = []
    if loader.collate_fn not in (default_collate, default_convert):
        names.append("collate_fn")
    if workers > 0 and loader.worker_init_fn is not None:
        names.append("worker_init_fn")
    if loader.generator is not None:
        names.append("generator")
    kept = [f"{name}={name}" for name in names]
    if workers > 0 and loader.multiprocessing_context is not None:
        kept.append(f'multiprocessing_context="{loader.multiprocessing_context.get_start_method()}"')
    if workers > 0 and loader.timeout > 0:
        kept.append(f"timeout={loader.timeout:g}")
    return kept


def line_for(loader: DataLoader, tuned: Tuned) -> str:
    """The program's line with what only the loader knows: its samplers, functions and contexts."""
    line = re.sub(r", timeout=[\d.]+", "", tuned.line)
    sampler = r", (?:shuffle=\w+|sampler=DistributedSampler\([^)]*\))"
    if loader.batch_size is None:
        batches = "batch_size=None" if loader.batch_sampler is None else "batch_sampler=batch_sampler"
        line = re.sub(r"batch_size=\d+", batches, line)
        line = re.sub(sampler + r"|, drop_last=\w+", "", line)
    elif own_sampler(loader):
        line = re.sub(sampler, "", line)
        line = re.sub(r"(batch_size=\d+)", r"\1, sampler=sampler", line)
    kept = kept_arguments(loader, tuned.workers)
    return ", ".join([line.removesuffix(")"), *kept]) + ")"


def many_workers(tuned: Tuned, costs: Costs) -> str:
    """What somebody who pastes the line is to expect of many workers."""
    cores = len(os.sched_getaffinity(0))
    text = ""
    if tuned.persistent:
        starting_s = tuned.workers * (costs.worker_launch + costs.worker_startup / cores)
        if starting_s > LONG_START_S:
            text += f"  The first epoch begins {starting_s:.0f} s later: so long {tuned.workers} workers take to start\n"
    if tuned.workers > cores:
        text += f"  PyTorch will warn that {tuned.workers} workers are more than the {cores} cores here\n"
    return text


def answer(recording: Recording) -> str:
    return advice(recording, tune(str(recording.file)))


def advice(recording: Recording, tuned: Tuned) -> str:
    """The DataLoader(...) line of `tuned`, its gain, and the diff of the user's call."""
    if recording.trials.keeps_samples:
        return (
            "No advice on workers: the data set keeps its samples. Each worker would load and keep its own, and lose them\n"
            "  at the end of each epoch unless it is persistent: time several epochs without workers and with persistent "
            "ones\n"
        )
    if tuned.gain < WORTHWHILE_GAIN:
        return (
            f"Keep the loader as it is: no settings are predicted to gain {WORTHWHILE_GAIN:.0%} "
            f"({tuned.now_per_s:,.4g} samples/s)\n"
        )
    text = (
        f"In PyTorch: {line_for(recording.loader, tuned)}\n{threads_line(tuned)}"
        f"  predicted {tuned.tuned_per_s:,.4g} samples/s, {tuned.gain:+.0%} over {tuned.now_per_s:,.4g} as it is\n"
    )
    if tuned.workers > 1 and recording.trials.repeats_stream:
        text += f"  Split the stream by get_worker_info() first: now {tuned.workers} workers repeat it as many times\n"
    if recording.trials.served is not None:
        text += shards.advice(tuned.workers, *recording.trials.served)
    text += many_workers(tuned, recording.costs)
    if recording.step is None:
        text += "  This is for loading alone: with a step, fewer workers may keep up with it\n"
    shown = diff(recording.place, recording.loader, changes(recording, tuned))
    return text + (f"\n{shown}" if shown else "")


def without_next(verdict: str) -> str:
    """The text of a prediction without what it says comes next, where something else does."""
    return re.sub(r"(?m)^Next .*\n(?:^ .*\n)*", "", verdict)


def or_why_not(text: Callable[[], str]) -> str:
    """The text, or why the program gives none: the recording itself stands."""
    try:
        return text()
    except PipesimError as error:
        return no_prediction(error)


def no_prediction(error: PipesimError) -> str:
    return "No prediction: " + "\n".join(str(error).splitlines()[:MOST_LINES]) + "\n"
