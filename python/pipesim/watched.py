"""What a watched loop showed: its totals, its step, its part of the report."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from . import program
from .experiment import duration
from .gpu import on_gpu
from .gpu_steps import GpuSteps
from .machine import processors
from .ranks import ranks_here
from .recorder import Recording
from .step import StepTimes, holds_a_core

BAR_COLUMNS = 20


@dataclass
class Totals:
    """Sums over the counted steps of one kind."""

    steps: int = 0
    waiting_s: float = 0.0
    step_s: float = 0.0
    queued_s: float = 0.0  # of them, that the thread which trains was runnable without a core

    def add(self, waiting_s: float, step_s: float, queued_s: float) -> None:
        self.steps += 1
        self.waiting_s += waiting_s
        self.step_s += step_s
        self.queued_s += queued_s

    @property
    def wall_s(self) -> float:
        return self.waiting_s + self.step_s

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.wall_s if self.wall_s > 0 else 0.0

    def step_alone_s(self) -> float:
        """Of one step, but for waiting for a core."""
        return max(0.0, self.step_s - self.queued_s) / self.steps


@dataclass
class Watched:
    """What one epoch showed."""

    probed: bool = False
    as_it_is: Totals = field(default_factory=Totals)
    cached: Totals = field(default_factory=Totals)
    one_thread: Totals = field(default_factory=Totals)  # cached, too
    gpu: GpuSteps | None = None  # cached, too, where a GPU trains
    whole_epoch: Totals = field(default_factory=Totals)  # with its start; none where the loop broke off
    cpu_s: float = 0.0  # of the thread that trains, in the loop's body
    lacked_s: float = 0.0  # that threads of this process were runnable without a core
    wall_s: float = 0.0  # without its time in the run queue, and without copying
    report: str = ""
    recording: Recording | None = None
    tuned: program.Tuned | None = None  # the settings that the report names, with their promise


def step_of(watched: Watched, samples: float, threads: int, workers: int) -> StepTimes:
    """The step as it was timed: free of the loader's interference where it was probed. What a thread waits for a core
    beside workers, a prediction adds by itself; several threads wait for each other, too."""

    def of_one(totals: Totals) -> float:
        return totals.step_alone_s() if threads == 1 else totals.step_s / totals.steps

    seconds = of_one(watched.cached if watched.cached.steps > 0 else watched.as_it_is)
    stepping_s = watched.wall_s * (1 - watched.as_it_is.waiting_s / watched.as_it_is.wall_s)
    if on_gpu():
        device = f"cuda:{torch.cuda.current_device()}"
    else:
        device = "cpu" if holds_a_core(watched.cpu_s, stepping_s) else ""
    count = max(1, round(samples))
    one = watched.one_thread
    on_one = one.step_alone_s() if device == "cpu" and one.steps > 0 else None
    times = StepTimes(device, threads, [(count, seconds)], on_one, None)
    shows_workers = device == "cpu" and threads == 1
    if on_gpu():
        if watched.gpu is not None and watched.gpu.calls:
            times.tell_apart(watched.gpu)
        else:
            times.call = seconds  # not told apart: the loop waits while the GPU computes
        # A step that finds the GPU at work waits for it, too.
        waiting_s = watched.as_it_is.waiting_s / watched.as_it_is.steps
        shows_workers = times.waits or waiting_s >= times.points[-1][1] - times.call
    if device == "cpu" and 1 < threads <= processors() and watched.one_thread.steps == 0:
        # More threads than cores lack them by themselves; one thread was not tried.
        times.queued = watched.lacked_s / (watched.as_it_is.wall_s + watched.cached.wall_s)
    if workers > 0 and shows_workers:
        times.beside_workers = of_one(watched.as_it_is)
    return times


def bar(share: float) -> str:
    columns = round(share * BAR_COLUMNS)
    return "#" * columns if columns else "." if share > 0 else ""


def measured_text(watched: Watched, batch_size: int | None) -> str:
    totals = watched.as_it_is
    rate = totals.steps_per_s
    samples = f", {rate * batch_size:,.4g} samples/s" if batch_size else ""
    ranks = f" on each of {ranks_here()} ranks" if ranks_here() > 1 else ""
    share = totals.waiting_s / totals.wall_s if totals.wall_s > 0 else 0.0
    lines = [
        f"pipesim watched {totals.steps} steps in {totals.wall_s:.3g} s: {rate:,.4g} steps/s{samples}{ranks}",
        f"  waiting  for the next batch  {duration(totals.waiting_s / totals.steps):>9} {share:5.0%}  {bar(share)}",
        f"  step     the loop's body     {duration(totals.step_s / totals.steps):>9} {1 - share:5.0%}  "
        f"{bar(1 - share)}",
    ]
    if watched.cached.steps > 0:
        ceiling = watched.cached.steps_per_s
        lines.append(
            f"  ceiling  on cached batches: {ceiling:,.4g} steps/s, {ceiling / rate - 1:+.0%}: no loader gains more"
        )
    elif watched.probed:
        lines.append("  ceiling  not known: the epoch ended before a block on kept batches began to count")
    if watched.one_thread.steps > 0:
        one = watched.one_thread.steps_per_s
        lines.append(f"  thread   the same with torch.set_num_threads(1): {one:,.4g} steps/s, {one / rate - 1:+.0%}")
    return "\n".join(lines) + "\n"
