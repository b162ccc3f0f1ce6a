"""pipesim.record: measures a data set or DataLoader and writes what it found as an experiment file."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from torch.utils.data import DataLoader

from . import answers, probes, shards
from .apart import Progress, run_apart
from .costs import Costs, costs_of
from .description import Surroundings, describe
from .errors import ConfigurationError, RecordingFailed
from .experiment import duration
from .given import as_loader, check_not_empty
from .ranks import ranks_here, ranks_of_job
from .source import Place
from .step import StepTimes, beside, time_step
from .trials import WORKERS, Recorder, Trials, many_workers
from .walks import Loop, mean_period

BUDGET_S = 2.0  # of each trial; slow data sets take as long as a few batches need
LIMIT_S = 60.0  # a sample that takes longer hangs
# Above this share of a core without one, or of a sample spent in the probes, the figures are doubtful.
BUSY_MACHINE, HEAVY_PROBE = 0.05, 0.5


@dataclass
class Recording:
    """What was measured, and the file that holds it."""

    file: Path
    text: str
    costs: Costs
    trials: Trials
    step: StepTimes | None
    loader: DataLoader
    warnings: list[str]
    place: Place | None = None

    def answer(self) -> str:
        """The DataLoader(...) line with its promised gain, by `pipesim tune --engine predict`."""
        return answers.answer(self)

    def __str__(self) -> str:
        return answers.summary(self)


def warnings_of(trials: Trials, costs: Costs, loader: DataLoader) -> list[str]:
    warnings = []
    if costs.queued > BUSY_MACHINE:
        warnings.append(
            f"the machine was busy: samples lacked a core for {costs.queued:.0%} of the time; record again "
            "when it is quiet"
        )
    if costs.probe_share > HEAVY_PROBE:
        warnings.append(
            f"timing a sample costs {trials.probe_s * 1e6:.1f} us, {costs.probe_share:.0%} of the sample: "
            "its mean is taken from whole batches, its distribution is not known"
        )
    if costs.read_bytes > 0 and not trials.reading.disk_bytes:
        warnings.append("files were read from the page cache: from a cold disk they take longer")
    if costs.turn > 0:
        warnings.append(
            f"workers wait for each other: something that they share, a lock or a device, serves one sample in "
            f"{duration(costs.turn)}, so all of them together load {1 / costs.turn:,.4g} samples/s at most"
        )
    if trials.mixed:
        warnings.append(
            f"the batch sampler's batches have {trials.mixed.least} to {trials.mixed.most} samples, "
            f"{trials.batch_samples:.4g} on average of {trials.mixed.batches}; an experiment has one batch_size: "
            "the mean is written, and waits that follow from large batches are left out"
        )
    if trials.repeats_stream:
        warnings.append(
            "workers do not share the stream: none asks which worker it is (torch.utils.data.get_worker_info), so with "
            "N workers an epoch has every sample N times; split the stream before you set num_workers above 1"
        )
    elif trials.served:
        warnings.append(shards.warning(*trials.served))
    if trials.keeps_samples:
        warnings.append(
            f"the data set keeps its samples: loading one again takes {trials.again:.1%} of the first time. The recording "
            "is of the first time, which later epochs without workers, or with persistent ones, spare"
        )
    if getattr(loader, "timeout", 0):
        warnings.append("the loader's timeout is left out")
    return warnings


def hang_message(recorder: Recorder, limit_s: float) -> Callable[[], str | None]:
    def look() -> str | None:
        held = recorder.in_hand()
        if held is None or probes.now() - held[0] <= limit_s:
            return None
        which = "a batch" if held[1] is None else f"index {held[1]}"
        return f"loading {which} takes longer than {limit_s:g} s: it hangs, or needs a higher limit"

    return look


def in_hand_text(recorder: Recorder) -> Callable[[], str]:
    def text() -> str:
        held = recorder.in_hand()
        return "" if held is None or held[1] is None else f" at index {held[1]}"

    return text


def measure(
    loader: DataLoader,
    budget_s: float,
    limit_s: float,
    progress: Progress,
    wants_batch: bool,
    alone: bool = False,
) -> tuple[Recorder, Trials, dict[str, Any]]:
    """The trials, in a process of their own, and one batch by value and the order of others if wanted. `alone`:
    the loader as it is, too, without training."""
    check_not_empty(loader)
    recorder = Recorder(loader, budget_s, alone)
    trials, reported = run_apart(
        lambda report: recorder.run(report, wants_batch), progress, hang_message(recorder, limit_s),
        in_hand_text(recorder),
    )  # fmt: skip
    return recorder, trials, reported


def training_loops(
    recorder: Recorder,
    trials: Trials,
    items: list | None,
    step: Callable[[Any], Any],
    limit_s: float,
    progress: Progress,
) -> dict[str, Loop]:
    """`items`: the order of all, which share it."""
    loops: dict[str, Loop] = {}
    batch_s = mean_period(trials.loops["batches"])
    first = recorder.batches_of_workers(batch_s)
    tried = [("training", WORKERS, slice(first))]
    if "many" in trials.loops:
        tried.append(("training_many", many_workers(), slice(first, None)))
    for name, workers, of in tried:
        progress.show(f"training: steps beside {workers} workers")
        try:
            loops[name] = recorder.training_trial(name, items and items[of], step, batch_s, limit_s)
        except Exception as error:
            raise RecordingFailed(
                f"training beside {workers} workers failed: {type(error).__name__}: {error}"
            ) from error
    return loops


def with_step(
    recorder: Recorder,
    trials: Trials,
    reported: dict[str, Any],
    step: Callable[[Any], Any],
    limit_s: float,
    progress: Progress,
) -> tuple[StepTimes, dict[str, Loop]]:
    """The step over a few batch sizes, then in loops over loaders with workers. Not if it computes on several
    threads: these compete with the workers for cores, which a prediction adds by itself."""
    progress.show("step: over a few batch sizes")
    batches, samples = pickle.loads(reported["batches"]), max(1, trials.first_samples)
    times, loops = time_step(step, batches, samples, recorder.loader.pin_memory), {}
    if times.device != "cpu" or times.threads == 1:
        loops = training_loops(recorder, trials, reported.get("items"), step, limit_s, progress)
    if times.device and loops:
        times.beside_workers = beside(times, loops["training"])
        if "training_many" in loops:
            times.beside_many = beside(times, loops["training_many"])
    progress.clear()
    return times, loops


def record(
    target: Any,
    *,
    batch_size: int | None = None,
    collate_fn: Callable | None = None,
    sampler: Any = None,
    step: Callable[[Any], Any] | None = None,
    start_method: str | None = None,
    out: str | Path = "recorded.yaml",
    name: str | None = None,
    budget_s: float = BUDGET_S,
    limit_s: float = LIMIT_S,
    quiet: bool = False,
    place: Place | None = None,
) -> Recording:
    """Measures `target`, a DataLoader, a Dataset or a callable that returns one of them, and writes an
    experiment file. Loading happens in a process of its own, so nothing of the caller's changes; `step`,
    called with a batch, is called here and trains.

    Raises ConfigurationError for what cannot be recorded, RecordingFailed where loading fails or hangs.
    """
    loader = as_loader(target, batch_size, collate_fn, sampler, start_method)
    if step is not None and (ranks := ranks_of_job()) > 1:
        raise ConfigurationError(
            f"each of the job's {ranks} ranks would take another number of steps, and they wait for each other: record "
            "without step, or in one process, or watch the loop (pipesim.watch)"
        )
    refuse_unwritable(Path(out))
    progress = Progress(quiet)
    recorder, trials, reported = measure(loader, budget_s, limit_s, progress, step is not None)
    times, training = None, {}
    if step is not None and trials.sendable:
        times, training = with_step(recorder, trials, reported, step, limit_s, progress)
    costs = costs_of(trials, recorder.figures, training)
    warnings = warnings_of(trials, costs, loader)
    if times is not None and times.queued > BUSY_MACHINE:
        warnings.append(
            f"the machine was busy: the threads of a training step lacked a core for {times.queued:.0%} of its time, "
            "which makes steps look longer than they are alone; record again when it is quiet"
        )
    if step is not None and not trials.sendable:
        warnings.append("a batch cannot be pickled, so the step was not timed")
    around = Surroundings(name or type(loader.dataset).__name__, ranks=ranks_here(), step=times)
    return written(out, loader, trials, costs, around, warnings, place)


def refuse_unwritable(file: Path) -> None:
    """Before anything is measured."""
    existed = file.exists()
    try:
        with file.open("a"):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error
    if not existed:
        file.unlink()


def written(
    out: str | Path,
    loader: DataLoader,
    trials: Trials,
    costs: Costs,
    around: Surroundings,
    warnings: list[str],
    place: Place | None,
) -> Recording:
    text = describe(loader, trials, costs, around)
    file = Path(out)
    try:
        file.write_text(text)
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error
    return Recording(file, text, costs, trials, around.step, loader, warnings, place)
