"""pipesim.watch: measures a training loop from inside it, one line in the user's own code.

    for batch in pipesim.watch(loader):
        train(batch)

It notes when a batch was asked for, when it came and when the next was asked for, and the CPU time between:
a few microseconds a batch.
With probe=True blocks of a second are trained on batches that are kept, in turn with blocks as it is: the
ceiling that no loader can beat; and on one thread, where the CPU trains on several, or step by step, where a GPU
trains. The epoch then has more batches than len(loader), so that a scheduler with total_steps raises.
At the end of the first epoch it records the loader (pipesim.record), asks the program, and prints a report; later
epochs pass through.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

import torch
from torch.utils.data import DataLoader

from . import answers, program
from .apart import Progress
from .blocks import CACHED_BATCHES, WARM_UP_STEPS, Blocks, Kind, copied
from .costs import costs_of
from .errors import ConfigurationError, PipesimError
from .gpu import on_gpu
from .gpu_steps import GpuSteps
from .probes import RunQueue, queued_of_all_threads
from .ranks import is_first_rank, ranks_here, ranks_of_job
from .recorder import BUDGET_S, LIMIT_S, Recording, Surroundings, measure, warnings_of, written
from .source import place_in_program
from .step import CoreShare
from .watched import Totals, Watched, measured_text, step_of

clock = time.perf_counter
thread_cpu = time.thread_time

BUSY_STEPS = 0.2  # of a loop's time that its threads lacked a core: worth a word

# Of the files that no `out` names: no loader overwrites another one's.
FILE_NUMBERS = itertools.count(1)
# The loaders that were watched already, as long as their owners keep them.
WATCHED: weakref.WeakSet = weakref.WeakSet()
# The generators of watched epochs, as long as somebody may ask them for a batch.
EPOCHS: weakref.WeakSet = weakref.WeakSet()


@dataclass
class Spent:
    """In reports of this process: a loop inside another one's body reports there, which is no step of the outer."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


REPORTS = Spent()


@atexit.register
def report_at_exit() -> None:
    """Ends the epochs that nobody ended: a module that steps by next(it) keeps them until it is too late to report."""
    for epoch in list(EPOCHS):
        if not epoch.gi_running:
            epoch.close()


os.register_at_fork(after_in_child=EPOCHS.clear)  # a child that exits has no epoch of its own


class Watch:
    """Iterates over a loader like the loader itself, and has its attributes."""

    def __init__(
        self, loader: Any, probe: bool, out: str | Path | None, quiet: bool, caller: str, name: str | None
    ):
        self.loader, self.probe, self.out, self.quiet = loader, probe, out, quiet
        self.caller, self.name = caller, name  # the file that watches
        self.watched: Watched | None = None
        self.is_done = self.broke_off = False
        self.to_skip = WARM_UP_STEPS

    def __len__(self) -> int:
        return len(self.loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["loader"], name)

    def __iter__(self) -> Iterator[Any]:
        if self.is_done:
            return iter(self.loader)
        begun = clock()
        iterator = iter(self.loader)  # now, as without watch: it draws a random number
        epoch = self._watched_epoch(iterator, clock() - begun)
        EPOCHS.add(epoch)
        return epoch

    def _refuse_probe(self) -> None:
        """Ranks that end blocks by their own clocks take different numbers of steps, and wait for each other."""
        ranks = ranks_of_job()
        if not self.probe or ranks == 1:
            return
        self.probe = False
        if is_first_rank():
            print(
                f"pipesim: not probed: each of the job's {ranks} ranks would take another number of steps",
                file=sys.stderr, flush=True,
            )  # fmt: skip

    def _watched_epoch(self, iterator: Iterator[Any], starting_s: float) -> Iterator[Any]:
        self._refuse_probe()
        self.watched = Watched(self.probe)
        share, lacked, reports_s = CoreShare(), queued_of_all_threads(), REPORTS.wall_s
        try:
            yield from self._probed(iterator) if self.probe else self._timed(iterator, starting_s)
        except GeneratorExit:  # by break, an error or Ctrl-C, which a generator cannot tell apart
            self.broke_off = True
            raise
        finally:
            self.watched.wall_s += share.spent()[1] - (REPORTS.wall_s - reports_s)
            self.watched.lacked_s = max(0.0, queued_of_all_threads() - lacked)
            if not self.is_done and not sys.is_finalizing():
                self.is_done = self.watched.as_it_is.steps > 0
                began, began_cpu = clock(), thread_cpu()
                self._report() if self.is_done else self._say_too_few()
                REPORTS.wall_s += clock() - began
                REPORTS.cpu_s += thread_cpu() - began_cpu

    def _say_too_few(self) -> None:
        """Nothing was counted: a short epoch, after which the next one counts."""
        if self.quiet or not is_first_rank():
            return
        if self.probe:
            why = "blocks as it is and on kept batches need some seconds of steps"
        else:
            why = f"the first {WARM_UP_STEPS} steps of a loop are its start; the next epoch counts"
        print(f"pipesim: too few batches to report on: {why}", file=sys.stderr, flush=True)

    def _timed(self, iterator: Iterator[Any], starting_s: float) -> Iterator[Any]:
        """The plain loop: two reads of the clock, of the thread's CPU time and of its run queue a batch. Totals are kept
        in locals."""
        watched, skipped, reports, queue = self.watched, self.to_skip, REPORTS, RunQueue()
        waiting_s = step_s = cpu_s = queued_s = 0.0
        steps = all_steps = 0
        begun = asked = clock() - starting_s
        try:
            for batch in iterator:
                got = clock()
                began, reports_s, reports_cpu_s = thread_cpu(), reports.wall_s, reports.cpu_s
                queued = queue.seconds()
                yield batch
                queued = queue.seconds() - queued
                cpu_s += thread_cpu() - began - (reports.cpu_s - reports_cpu_s)
                after, reported_s = clock(), reports.wall_s - reports_s
                begun += reported_s
                all_steps += 1
                if skipped > 0:
                    skipped -= 1
                else:
                    steps += 1
                    waiting_s += got - asked
                    step_s += after - got - reported_s
                    queued_s += queued
                asked = after
            watched.whole_epoch = Totals(all_steps, step_s=asked - begun)
        finally:
            self.to_skip = skipped
            watched.as_it_is = Totals(steps, waiting_s, step_s, queued_s)
            watched.cpu_s = cpu_s

    def _probed(self, iterator: Iterator[Any]) -> Iterator[Any]:
        kept: list[Any] = []
        workers = getattr(self.loader, "num_workers", 0)
        threads = torch.get_num_threads()
        third = Kind.ONE_BY_ONE if on_gpu() else Kind.ONE_THREAD if threads > 1 else None
        blocks = Blocks(workers * (getattr(self.loader, "prefetch_factor", None) or 2), third)
        totals = {
            Kind.AS_IT_IS: self.watched.as_it_is,
            Kind.CACHED: self.watched.cached,
            Kind.ONE_THREAD: self.watched.one_thread,
            Kind.ONE_BY_ONE: Totals(),
        }
        gpu = self.watched.gpu = GpuSteps() if third is Kind.ONE_BY_ONE else None
        queue, asked = RunQueue(), clock()
        try:
            while True:
                before, counted = blocks.kind, blocks.counts
                kind = blocks.next(len(kept))
                totals[before].step_s += blocks.rest_s
                if Kind.ONE_THREAD in (before, kind) and before is not kind:
                    torch.set_num_threads(1 if kind is Kind.ONE_THREAD else threads)
                if blocks.steps == 1 or blocks.counts is not counted:
                    asked = clock()  # what was between is no waiting
                try:
                    batch = next(iterator) if kind is Kind.AS_IT_IS else kept[blocks.steps % len(kept)]
                except StopIteration:
                    return
                copying_s = 0.0
                if kind is not Kind.AS_IT_IS:
                    batch, copying_s = copied(batch)
                elif len(kept) < CACHED_BATCHES:
                    copy, copying_s = copied(batch)  # before the loop changes it
                    kept.append(copy)
                self.watched.wall_s -= copying_s
                got = clock()
                if kind is Kind.ONE_BY_ONE:
                    gpu.begin(behind_sleep=len(gpu.calls) > len(gpu.behind))
                began, queued = thread_cpu(), queue.seconds()
                yield batch
                queued = queue.seconds() - queued
                self.watched.cpu_s += thread_cpu() - began
                if kind is Kind.ONE_BY_ONE:
                    gpu.end()
                after = clock()
                if blocks.counts:
                    totals[kind].add(got - copying_s - asked, after - got, queued)
                asked = after
        finally:  # also where the user's loop breaks off
            if blocks.kind is Kind.ONE_THREAD:
                torch.set_num_threads(threads)

    def _report(self) -> None:
        if not is_first_rank():
            return
        watched = self.watched
        watched.report = measured_text(watched, self._batch_size())
        advice = "This loader is no DataLoader: there is nothing to record and no advice\n"
        if isinstance(self.loader, DataLoader):
            advice = self._advice()
        watched.report += advice
        print(watched.report, end="", file=sys.stderr if self.quiet else sys.stdout, flush=True)

    def _batch_size(self) -> int | None:
        """None where it is not known. With a batch sampler, as Hugging Face's Trainer has it, that knows."""
        sampler = getattr(self.loader, "batch_sampler", None)
        return getattr(self.loader, "batch_size", None) or getattr(sampler, "batch_size", None)

    def _advice(self) -> str:
        if self.broke_off and not self.quiet:
            print(
                "pipesim: the watched loop ended early; recording its loader, for about ten seconds (Ctrl-C ends that)",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        try:
            self.watched.recording = record_watched(self)
        except PipesimError as error:
            return f"No advice, since the loader cannot be recorded: {error}\n"
        recording = self.watched.recording
        file, alone = recording.file, recording.costs.alone
        line = "" if alone is None else f"  loader   alone, without training: {alone:,.4g} samples/s\n"
        verdict = answers.or_why_not(lambda: program.brief(str(file)))
        try:
            model, misses, settings = self._tuned(recording)
            if misses:
                verdict = answers.doubted(verdict)
            if self.watched.tuned.gain >= answers.WORTHWHILE_GAIN or recording.step.queued > BUSY_STEPS:
                verdict = answers.without_next(verdict)
        except PipesimError as error:
            model, settings = "", answers.no_prediction(error)
        warnings = "".join(f"Warning: {warning}\n" for warning in recording.warnings)
        return f"{line}{model}{warnings}\n{verdict}\n{settings}Recorded {file}\n"

    def _tuned(self, recording: Recording) -> tuple[str, bool, str]:
        """How near the prediction comes to this loop, whether it misses it, and the settings with a gain that the
        ceiling allows."""
        watched, samples = self.watched, recording.trials.batch_samples
        tuned = program.tune(str(recording.file))
        now, ceiling = watched.as_it_is.steps_per_s, watched.cached.steps_per_s
        if tuned.threads == 1 and ceiling > 0:
            ceiling = watched.one_thread.steps_per_s
        # With several ranks the prediction is of all, the loop is one's.
        each = samples * ranks_here()
        model, misses = answers.beside_measured(tuned.now_per_s, now * each, watched.whole_epoch.steps_per_s * each)
        watched.tuned = tuned.at_most(ceiling / now) if ceiling > 0 else tuned
        return model, misses, answers.advice(recording, watched.tuned)


def record_watched(watch: Watch) -> Recording:
    loader, watched = watch.loader, watch.watched
    recorder, trials, _ = measure(
        loader, BUDGET_S, LIMIT_S, Progress(watch.quiet), wants_batch=False, alone=watch.probe
    )
    costs = costs_of(trials, recorder.figures, training={})
    if loader.num_workers > 0:
        # A batch that is there takes no longer than batches took to come.
        costs.take_within(watched.as_it_is.waiting_s / watched.as_it_is.steps)
    around = Surroundings(
        name=watch.name or type(loader.dataset).__name__, ranks=ranks_here(),
        step=step_of(watched, trials.batch_samples, torch.get_num_threads(), loader.num_workers),
        comments=[line.strip() for line in watched.report.splitlines()],
    )  # fmt: skip
    warnings = warnings_of(trials, costs, loader)
    if around.step.queued > BUSY_STEPS:
        warnings.append(
            f"the threads of the loop lacked a core for {around.step.queued:.0%} of its time, which other programs or "
            "workers took: threads that wait for\n  each other are then many times slower, and the verdict below takes "
            "that for the step's own time. Try torch.set_num_threads(1);\n  pipesim.watch(loader, probe=True) tries it"
        )
    file = default_file() if watch.out is None else watch.out
    return written(file, loader, trials, costs, around, warnings, place_in_program(loader, watch.caller))


def file_of_caller() -> str:
    """Of whoever called pipesim.watch: the first frame outside this package."""
    frame = sys._getframe(1)
    own = os.path.dirname(__file__)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == own:
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


def default_file() -> Path:
    """watched.yaml for the first recording of this process, watched-2.yaml for the next."""
    number = next(FILE_NUMBERS)
    return Path(f"watched-{number}.yaml" if number > 1 else "watched.yaml")


def watch(
    loader: Any,
    *,
    probe: bool = False,
    out: str | Path | None = None,
    name: str | None = None,
    quiet: bool = False,
) -> Watch:
    """Iterates over `loader` and reports on it at the end of the first epoch, or where the loop breaks off.

    probe=True also trains on kept batches, for about three seconds, and three more on one thread where the CPU
    trains on several, whose number is put back: that changes training. The epoch then has more batches than
    len(loader), so that a scheduler with total_steps raises. A job of several ranks is not probed. The report goes
    to stdout (`quiet`: to stderr, without progress), the experiment to `out` (watched.yaml, and watched-2.yaml for the
    second loader that is recorded). In a job of several ranks on a host the first one reports.
    Watching one loader again, as in a loop over epochs, only iterates.
    """
    if isinstance(loader, Watch):
        return loader  # it reports already
    if not hasattr(loader, "__iter__"):
        raise ConfigurationError(f"a {type(loader).__name__} cannot be iterated over")
    watch = Watch(loader, probe, out, quiet, file_of_caller(), name)
    try:
        watch.is_done = loader in WATCHED
        WATCHED.add(loader)
    except TypeError:
        pass  # cannot be remembered, such as a list: each loop over it reports
    return watch
