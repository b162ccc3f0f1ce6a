"""What a recording answers, as text: where a batch's time goes, and the DataLoader(...) line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable

from torch.utils.data import DataLoader

from .costs import Costs, mean
from .errors import PipesimError
from .experiment import duration
from .program import Tuned, tune
from .source import diff, loader_settings
from .trials import WORKERS

if TYPE_CHECKING:
    from .recorder import Recording

# A gain below this is not worth a change; `pipesim tune` stops there, too.
WORTHWHILE_GAIN = 0.02
# A prediction that is further off the measured loop is doubtful.
DOUBTFUL_MISS = 0.15
MOST_LINES = 6  # of the program's own message where it predicts nothing


def rows(costs: Costs, samples: float) -> list[tuple[str, str, float]]:
    """What a batch asks for: name, where, seconds."""
    return [
        ("wait", "reads and sleeps, no core needed", mean(costs.wait) * samples),
        ("prepare", "CPU time of the samples", mean(costs.prepare) * samples),
        ("python", "the fetch loop's own", costs.python_sample * samples),
        ("collate", "makes the batch", costs.collate_batch + costs.collate_sample * samples),
        ("share", "worker process: into shared memory", costs.share),
        ("send", "its threads: pickle, hand over", costs.send),
        ("receive", "training process: unpickle, map", costs.receive),
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


def beside_measured(predicted_per_s: float, measured_per_s: float) -> str:
    """How near the prediction comes to the loop as it was timed, and what follows where it does not."""
    off = predicted_per_s / measured_per_s - 1
    text = f"  model    as it is: {predicted_per_s:,.4g} samples/s predicted, {off:+.0%} off the loop\n"
    if abs(off) > DOUBTFUL_MISS:
        text += (
            "Warning: the prediction misses the loop as it was timed, so take its verdict and gains with care: "
            "other programs\n  ran meanwhile, or something in the loop costs what neither its steps nor the "
            "loader show\n"
        )
    return text


def threads_line(tuned: Tuned) -> str:
    return f"  and torch.set_num_threads({tuned.threads}) in the training program\n" if tuned.threads else ""


def line_for(loader: DataLoader, tuned: Tuned) -> str:
    """The program knows no loader without a batch size: one of samples, or whose batch sampler makes the batches."""
    if loader.batch_size is not None:
        return tuned.line
    batches = "batch_size=None" if loader.batch_sampler is None else "batch_sampler=batch_sampler"
    line = re.sub(r"batch_size=\d+", batches, tuned.line)
    return re.sub(r", (shuffle|drop_last)=\w+", "", line)


def answer(recording: Recording) -> str:
    return advice(recording, tune(str(recording.file)))


def advice(recording: Recording, tuned: Tuned) -> str:
    """The DataLoader(...) line of `tuned`, its gain, and the diff of the user's call."""
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
    if recording.step is None:
        text += "  This is for loading alone: with a step, fewer workers may keep up with it\n"
    shown = diff(recording.place, recording.loader, changes(recording, tuned))
    return text + (f"\n{shown}" if shown else "")


def or_why_not(text: Callable[[], str]) -> str:
    """The text, or why the program gives none: the recording itself stands."""
    try:
        return text()
    except PipesimError as error:
        return no_prediction(error)


def no_prediction(error: PipesimError) -> str:
    return "No prediction: " + "\n".join(str(error).splitlines()[:MOST_LINES]) + "\n"
