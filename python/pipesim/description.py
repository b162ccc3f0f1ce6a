"""From what was measured to the text of an experiment."""

from __future__ import annotations

import dataclasses
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.utils.data import DataLoader, RandomSampler

from . import experiment
from .arithmetic import line_to
from .costs import Costs
from .experiment import Section, bandwidth, drawn, duration, number, size
from .handing_over import HandOver
from .machine import processors
from .step import StepTimes
from .trials import WORKERS, Trials, is_iterable, many_workers

# An iterable that did not end while it was recorded: so long an epoch that its start does not matter.
UNKNOWN_EPOCH_BATCHES = 10_000


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
