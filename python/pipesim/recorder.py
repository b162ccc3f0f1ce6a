"""pipesim.record: measures a data set or DataLoader and writes what it found as an experiment file."""

from __future__ import annotations

import dataclasses
import pickle
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import torch
from torch.utils.data import DataLoader, RandomSampler

from . import answers, experiment, probes, shards
from .apart import Progress, run_apart
from .costs import Costs, HandOver, costs_of, line_to
from .errors import ConfigurationError, RecordingFailed
from .experiment import Section, bandwidth, drawn, duration, number, size
from .given import as_loader, check_not_empty
from .machine import processors
from .ranks import ranks_here, ranks_of_job
from .source import Place
from .step import StepTimes, beside, time_step
from .trials import WORKERS, Recorder, Trials, is_iterable, many_workers
from .walks import Loop, mean_period

BUDGET_S = 2.0  # of each trial; slow data sets take as long as a few batches need
LIMIT_S = 60.0  # a sample that takes longer hangs
# An iterable that did not end while it was recorded: so long an epoch that its start does not matter.
UNKNOWN_EPOCH_BATCHES = 10_000
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


@dataclass
class Surroundings:
    """What a recording takes over from outside the loader."""

    name: str
    ranks: int = 1  # equal trainers on this host
    step: StepTimes | None = None
    comments: list[str] = field(default_factory=list)


def epoch_samples(loader: DataLoader, trials: Trials) -> tuple[int, str]:
    """Samples of an epoch of this rank, and a remark where they are not known."""
    batch = max(1, round(trials.batch_samples))
    if not is_iterable(loader):
        try:
            if loader.batch_sampler is not None and loader.batch_size is None:
                return round(len(loader.batch_sampler) * trials.batch_samples), ""
            return len(loader.sampler) * (batch if loader.batch_size is None else 1), ""
        except (TypeError, NotImplementedError):
            pass
    elif trials.epoch_samples is not None:
        return trials.epoch_samples, ""
    else:
        try:
            return len(loader.dataset), ""
        except (TypeError, NotImplementedError):
            pass
    return UNKNOWN_EPOCH_BATCHES * batch, "not known: an epoch so long that its start does not matter"


def context_comments(trials: Trials, costs: Costs) -> list[str]:
    cpu = platform.processor() or platform.machine()
    try:
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    except OSError:
        pass
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
    rates = ", ".join(f"{count} workers {rate:.4g}" for count, rate in costs.rates.items())
    for count, rate in costs.training.items():
        rates += f", {count} workers and the step {rate:.4g}"
    return [
        f"Recorded by pipesim on {time.strftime('%Y-%m-%d')}.",
        f"machine: {cpu}, {processors()} cores, GPU {gpu}; Python {platform.python_version()}, "
        f"PyTorch {torch.__version__}",
        f"samples/s measured meanwhile: {rates}",
    ]


def longer_step(step: StepTimes | None, costs: Costs, pinned: bool, many: bool = False) -> tuple[float, str]:
    """What a step on a batch from a worker takes beyond the step itself, and why. `many`: of many workers."""
    if step is None:
        return 0.0, ""
    # With a GPU the pin thread touches a pinned batch first, and the step has another one. Trials do without it.
    if step.beside_workers is None or (pinned and step.call is not None):
        # A step reads the batch, whose pages the trainer's process has not mapped yet.
        return costs.touch, f"{duration(costs.touch)} of it for its first touch"
    beside_them = step.beside_many if many and step.beside_many is not None else step.beside_workers
    more = max(0.0, beside_them - step.alone)
    return more, f"{duration(more)} of it is what the step takes longer beside workers"


def each_cost(of: HandOver, more: float) -> str:
    """`more`: of the step, which the process that takes the batch spends."""
    of = dataclasses.replace(of, receive=of.receive + more)
    return ", ".join(f"{name}: {duration(value)}" for name, value in dataclasses.asdict(of).items())


def loader_section(loader: DataLoader, trials: Trials, costs: Costs, step: StepTimes | None) -> Section:
    section = Section("loader")
    section.add("kind", "process")
    workers = loader.num_workers
    section.add("workers", str(workers))
    mixed = trials.mixed
    remark = f"the mean: batches have {mixed.least} to {mixed.most} samples" if mixed else ""
    section.add("batch_size", str(max(1, round(trials.batch_samples))), remark)
    sampler = getattr(loader.batch_sampler, "sampler", None) or getattr(loader, "sampler", None)
    shuffled = isinstance(sampler, RandomSampler) or getattr(sampler, "shuffle", False) is True
    section.add("shuffle", "true" if shuffled else "false")
    if loader.drop_last:
        section.add("drop_last", "true")
    if not getattr(loader, "in_order", True):
        section.add("in_order", "false")
    if workers > 0:
        section.add("prefetch_factor", str(loader.prefetch_factor or 2))
        if loader.persistent_workers:
            section.add("persistent_workers", "true")
    if loader.pin_memory:
        section.add("pin_memory", "true")
        if step is not None and step.pin_bandwidth is not None:
            section.add("pin_bandwidth", bandwidth(step.pin_bandwidth), "of one thread, a batch like the first")
    section.add("start_method", trials.start_method)
    section.add("worker_startup", duration(costs.worker_startup), "with its end, once an epoch")
    if costs.worker_opening > 0:
        section.add("worker_opening", duration(costs.worker_opening), "then, for files that its data set opens")
    section.add("worker_launch", duration(costs.worker_launch), "of this process, for each worker")
    section.add("python_sample", duration(costs.python_sample), "the fetch loop's own")
    section.add("share", duration(costs.share), "the worker's main thread: into shared memory")
    section.add("send", duration(costs.send), "its other threads")
    served = "handing over the memory, for which the trainer waits" if costs.serve > 0 else "in send and receive"
    section.add("serve", duration(costs.serve), served)
    more, why = longer_step(step, costs, loader.pin_memory)
    remarks = [f"a batch came {duration(costs.arrival)} after it was made"] if costs.arrival > 0 else []
    section.add("receive", duration(costs.receive + more), "; ".join(remarks + [why] * (more > 0)))
    woken = "until the two have woken each other up" if costs.receive_latency > 0 else "in receive"
    section.add("receive_latency", duration(costs.receive_latency), woken)
    if costs.receive_wait > 0:
        section.add("receive_wait", duration(costs.receive_wait), "at most, for Python's lock of a worker that fetches")
    if costs.of_one is not None:
        section.add("of_one", f"{{{each_cost(costs.of_one, more)}}}", "with one worker")
    if costs.of_many is not None:
        each = each_cost(costs.of_many, longer_step(step, costs, loader.pin_memory, many=True)[0])
        section.add("of_many", f"{{workers: {many_workers()}, {each}}}", "with so many workers and more")
    section.add("worker_memory", size(costs.worker_memory))
    return section


def step_sections(step: StepTimes | None) -> list[Section]:
    device = Section("device")
    if step is None:
        device.add("emulated", "{base: 0}", "no step was recorded: loading alone")
        return [device]
    # One point says nothing about other batch sizes: a fixed cost.
    full, seconds = step.points[-1]
    base, per_sample = line_to(step.points, full, seconds) if len(step.points) > 1 else (seconds, 0.0)
    more = f", threads: {step.threads}" if step.device == "cpu" and step.threads > 1 else ""
    if step.on_one_thread is not None:
        more += f", one_thread: {step.on_one_thread / seconds:.3g}"
    if step.call is not None:
        held = f", launch_cpu: {duration(step.call_cpu)}" if step.launch > 0.0 and step.call_cpu is not None else ""
        more = f", launch: {duration(step.launch)}{held}, with_copies: true"
    cost = f"{{base: {duration(base)}, per_sample: {duration(per_sample)}{more}}}"
    measured = "measured " + ", ".join(f"{samples}: {duration(took)}" for samples, took in step.points)
    if not step.device:
        device.add("emulated", cost, measured + "; it waits and holds no core")
        model = Section("model")
        model.add("sync_every", "1", "the loop waits for each step")
        return [model, device]
    if step.on_one_thread is not None:
        measured += f"; with 1 thread: {duration(step.on_one_thread)}"
    if step.copy_s is not None:
        ordinary, pinned = step.copy_s
        measured += f"; a batch's copy {duration(ordinary)}, from pinned memory {duration(pinned)}"
    device.add("name", f'"{step.device}"')
    device.add("step", cost, measured)
    if step.device != "cpu":
        model = Section("model")
        model.add("sync_every", "1", "the step waits for the GPU")
        return [model, device] if step.waits else [device]
    limits = Section("limits")
    limits.add("compute_threads", str(step.threads))
    return [limits, device]


def describe(loader: DataLoader, trials: Trials, costs: Costs, around: Surroundings) -> str:
    """The experiment file."""
    layout = trials.layout
    dataset = Section("dataset")
    samples, remark = epoch_samples(loader, trials)
    dataset.add("samples", str(max(1, samples) * around.ranks), remark)
    if costs.read_bytes >= 1:
        dataset.add("sample_bytes", size(costs.read_bytes), "read from files")
    dataset.add("shape", "[" + ", ".join(map(str, layout.shape)) + "]")
    dataset.add("dtype", layout.dtype)
    dataset.add("tensors", str(layout.tensors), f"{layout.batch_bytes} bytes a batch")

    storage, prepare = Section("storage"), Section("prepare")
    wait = costs.wait
    shared = costs.waits_for_disk or costs.turn > 0
    if wait and shared:
        whose = "of samples whose bytes came from the device" if costs.waits_for_disk else "for what workers share"
        storage.add("latency", drawn(wait), f"waiting {whose}")
        if costs.turn > 0:
            storage.add("iops", number(1 / costs.turn), f"{WORKERS} workers took turns of {duration(costs.turn)}")
    else:
        storage.add("kind", "none")
    prepare.add("kind", "burn")
    prepare.add("cost", drawn(costs.prepare))
    if wait and not shared:
        prepare.add("wait", drawn(wait), "without a core: reads and sleeps")
    collate = Section("collate")
    collate.add("batch", duration(costs.collate_batch))
    collate.add("sample", duration(costs.collate_sample))

    sections = [dataset, storage, prepare, collate, loader_section(loader, trials, costs, around.step)]
    cpus = Section("limits")
    cpus.add("cpus", str(processors()))
    sections.append(cpus)
    for section in step_sections(around.step):
        if section.name == "limits":
            cpus.keys += section.keys
        else:
            sections.append(section)
    if around.ranks > 1:
        run = Section("run")
        run.add("accelerators", str(around.ranks), "ranks on this host")
        sections.append(run)
    return experiment.document(around.name, context_comments(trials, costs) + around.comments, sections)


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
