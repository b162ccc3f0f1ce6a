"""Random pipelines whose bottleneck is known by construction: Costs of closed_forms.py, and the command that asks
pipesim about the same pipeline.

A case draws `t`, the time of a batch at the limiting part, and lets every other part take a smaller share of it. What
the program adds by itself (collating, the loop's own work, wake-ups) comes from a machine profile written here.
"""

import dataclasses
import math
import pathlib
import random

from closed_forms import MARGIN, Costs, truth

CLASSES = ["loader-bound", "cpu-contention", "io-bound", "cpu-bound", "h2d-bound", "launch-bound", "sync-bound",
           "host-bound", "compute-bound", "balanced"]

# The profile: of the order of configs/machines/default.yaml, and small beside any `t`.
HOST_STEP, WAKE_UP = 3e-6, 10e-6
COLLATE_BATCH, COLLATE_PER_S, PIN_PER_S = 1e-6, 10e9, 8e9
POOL_SPIN, BARRIER_SLICE = 5e-3, 4e-3  # as measured on Linux: libgomp's spinning, a slice of the scheduler

# Eager kernels of a step of `linear`: cast, scale and shift of the input; forward; log-softmax, likelihood and their
# gradients (5); gradient of the weights; update.
LAUNCHES = 11
FLOPS_PER_WEIGHT = 4  # forward and gradient of the weights, a multiplication and an addition each; no input gradient
EFFICIENCY = 0.01    # small, so that long steps stay above the least rate of a preset
CLASSES_OUT = 1000    # outputs of `linear`


@dataclasses.dataclass
class Case:
    truth: str
    costs: Costs
    words: list


def ns(seconds):
    return f"{max(1, round(seconds * 1e9))}ns"


def share(draw):
    """Of `t`: a part that does not limit."""
    return math.exp(draw.uniform(math.log(0.02), math.log(1 / (MARGIN + 0.03))))


class Builder:
    """Draws one pipeline for the class `wanted`; `build` returns None where it has another truth or none."""

    def __init__(self, wanted, draw, folder, number):
        self.wanted, self.draw = wanted, draw
        self.folder, self.stem = pathlib.Path(folder), f"{wanted}-{number}"
        # A spinning pool was measured with steps of this length; longer ones outlast the spinning.
        longest = 6e-3 if wanted == "cpu-contention" else 3
        self.t = math.exp(draw.uniform(math.log(2e-3), math.log(longest)))
        self.batch = draw.choice([16, 32, 64, 128, 256])
        self.side = draw.choice([16, 32, 64])
        self.cores = draw.choice([1, 2, 2, 4, 8, 16, 32])
        self.workers = draw.choice([1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 32, 64])
        self.limits = self.limiting_parts()
        self.words, self.figures, self.steps, self.fields = [], {}, [], {}

    def limiting_parts(self):
        """The parts that take the whole of `t`."""
        if self.wanted == "balanced":
            return self.draw.choice([{"step", "disk"}, {"step", "load"}, {"step", "cpu"}, {"disk", "cpu"},
                                     {"step", "copy"}])
        return {{"io-bound": "disk", "cpu-bound": "cpu", "loader-bound": "load", "h2d-bound": "copy",
                 "launch-bound": "launch"}.get(self.wanted, "step")}

    def part(self, name):
        if name not in self.limits:
            return self.t * share(self.draw)
        # Two that limit alike differ by up to 1 %.
        return self.t * (self.draw.uniform(0.99, 1) if self.wanted == "balanced" else 1)

    def set(self, key, value):
        self.words += ["--set", f"{key}={value}"]

    def build(self):
        self.draw_trainer()
        self.draw_storage()
        self.draw_prepare()
        self.draw_loader()
        costs = Costs(cores=self.cores, workers=self.workers, **self.fields)
        if truth(costs) != self.wanted or self.host_contends(costs):
            return None
        self.write_profile()
        # Each epoch begins with empty queues: long against the first batches of all workers.
        epoch = self.batch * max(4, self.workers) * self.draw.choice([100, 1000])
        words = ["predict", "--model", "linear", "--batch", str(self.batch), "--workers", str(self.workers), "--cpus",
                 str(self.cores), "--profile", str(self.folder / f"{self.stem}.profile.yaml"), "--set",
                 f"dataset={{samples: {epoch}, sample_bytes: {self.sample_bytes}B, shape: [3, {self.side}, {self.side}], "
                 f"dtype: uint8, classes: {CLASSES_OUT}}}", *self.words]
        return Case(self.wanted, costs, words)

    def host_contends(self, costs):
        """The closed forms leave out that burning workers slow the training thread's own work: then it needs a core of
        its own. A step of several threads is the exception, whose closed form is made for that."""
        serial = costs.launch + costs.host + (costs.step if costs.on_cpu else 0)
        return (costs.one_thread is None and costs.cpu > 0.01 * self.t and serial > 0.02 * self.t and
                self.workers >= self.cores)

    # The trainer: a stated device, a preset's roofline, or the CPU.

    def draw_trainer(self):
        on_cpu = self.wanted in ("host-bound", "cpu-contention") or (
            self.wanted == "compute-bound" and self.draw.random() < 0.3)
        self.fields["host"] = HOST_STEP
        if on_cpu:
            self.draw_cpu()
        elif self.wanted in ("h2d-bound", "launch-bound", "sync-bound") or "copy" in self.limits or (
                self.draw.random() < 0.3):
            self.draw_preset()
        else:
            self.draw_stated()

    def draw_stated(self):
        step = self.fields["step"] = self.part("step")
        fixed = self.draw.uniform(0, 1) * step
        self.set("device", f"{{emulated: {{base: {ns(fixed)}, per_sample: {ns((step - fixed) / self.batch)}}}}}")

    def draw_preset(self):
        fields, draw = self.fields, self.draw
        pinned, blocking = draw.random() < 0.6, draw.random() < 0.2
        fields["overlap"] = self.wanted == "balanced" or draw.random() < 0.7
        fields["sync"] = self.wanted == "sync-bound"
        fields["step"], fields["launch"] = self.part("step"), self.part("launch")
        fields["copy"] = self.part("copy")
        if self.wanted == "sync-bound":
            # Only what the host does one after another makes it wait: a blocking copy, its own work, the step.
            pinned = draw.random() < 0.5
            blocking, fields["overlap"] = True, True
            fields["host"], fields["copy"] = self.t * draw.uniform(0.3, 0.9), self.t * draw.uniform(0.3, 0.9)
            fields["launch"] = self.t * draw.uniform(0.01, 0.3)
        fields["host_waits"] = blocking or not pinned
        batch_bytes = self.batch * 3 * self.side * self.side
        if pinned:
            fields["pin"] = batch_bytes / PIN_PER_S
            self.set("loader.pin_memory", "true")
        for key, value in [("transfer.non_blocking", "false" if blocking else "true"),
                           ("transfer.overlap", str(fields["overlap"]).lower()),
                           ("model.sync_every", "1" if fields["sync"] else "0")]:
            self.set(key, value)
        weights = 3 * self.side * self.side * CLASSES_OUT
        flops_per_s = self.batch * FLOPS_PER_WEIGHT * weights / fields["step"] / EFFICIENCY
        link = batch_bytes / fields["copy"] * (1 if pinned else 2)
        file = self.folder / f"{self.stem}.device.yaml"
        file.write_text(f"source: drawn by tools/confusion\nfp32_tflops: {flops_per_s / 1e12:.9f}\n"
                        f"bf16_tflops: {flops_per_s / 1e12:.9f}\nmemory_bandwidth: 1000TB/s\nmemory: 64GB\n"
                        f"h2d_bandwidth: {round(link)}B/s\nlaunch: {ns(fields['launch'] / LAUNCHES)}\n"
                        f"efficiency: {EFFICIENCY}\n")
        self.set("device", f"{{emulated: {{preset: {file}}}}}")

    def draw_cpu(self):
        fields, draw = self.fields, self.draw
        fields["on_cpu"] = True
        fields["step"] = self.part("step")
        self.words += ["--device", "cpu"]
        threads = 1
        if self.wanted == "host-bound":
            fields["host"], fields["step"] = self.t, self.t * share(draw)
        if self.wanted == "cpu-contention":
            # Two threads on two cores beside burning workers; one thread takes 1.1 to 1.9 times as long.
            threads = self.cores = 2
            fields["one_thread"] = fields["step"] * draw.uniform(1.1, 1.9)
            self.figures |= {"pool_spin": ns(POOL_SPIN), "barrier_slice": ns(BARRIER_SLICE)}
            self.steps.append((1, fields["one_thread"]))
        self.words += ["--threads", str(threads)]
        self.steps.append((threads, fields["step"]))

    # Loading.

    def draw_storage(self):
        draw, fields = self.draw, self.fields
        self.sample_bytes = round(math.exp(draw.uniform(math.log(1e3), math.log(300e3))))
        if "disk" not in self.limits and draw.random() < 0.5:
            return self.set("storage", "none")
        disk = fields["disk"] = self.part("disk")
        kind = draw.choice(["bandwidth", "iops", "depth"])
        latency = min(draw.choice([0, 20e-6, 100e-6]), disk / self.batch)
        if kind == "bandwidth":
            fields["read"] = self.batch * latency + disk
            stated = f"bandwidth: {round(self.batch * self.sample_bytes / disk)}B/s, latency: {ns(latency)}"
        elif kind == "iops":
            fields["read"] = self.batch * latency  # the pace of the disk runs on while a worker prepares
            stated = f"iops: {max(1, round(self.batch / disk))}, latency: {ns(latency)}"
        else:
            depth = draw.choice([1, 2, 4, 8])
            fields["read"] = disk * depth  # latency of each read, one after another
            stated = f"latency: {ns(disk * depth / self.batch)}, queue_depth: {depth}"
        self.set("storage", f"{{{stated}}}")

    def draw_prepare(self):
        draw, fields = self.draw, self.fields
        collate = fields["cpu"] = COLLATE_BATCH + self.batch * 3 * self.side * self.side / COLLATE_PER_S
        kind = draw.choice(["burn", "wait", "none"])
        if "cpu" in self.limits or self.wanted == "cpu-contention":
            kind = "burn"
        if "load" in self.limits and not fields.get("read"):
            kind = draw.choice(["burn", "wait"])
        if kind == "none":
            return self.set("prepare", "{kind: none}")
        if "cpu" in self.limits:
            batch_s = self.part("cpu") * self.cores
        elif "load" in self.limits:
            batch_s = self.part("load") * self.workers - fields.get("read", 0)
        elif self.wanted == "cpu-contention":
            batch_s = fields["step"] * draw.uniform(0.2, 1.2)
        else:
            batch_s = self.t * share(draw) * draw.choice([1, self.workers if kind == "wait" else self.cores])
        cost = max(1e-7, (batch_s - collate) / self.batch)
        varies = self.wanted != "balanced" and self.batch >= 32 and draw.random() < 0.25
        spread = f"{{distribution: lognormal, mean: {ns(cost)}, stdev: {ns(cost * draw.uniform(0.1, 0.3))}}}"
        self.set("prepare", f"{{kind: {kind}, cost: {spread if varies else ns(cost)}}}")
        fields["cpu" if kind == "burn" else "wait"] = self.batch * cost + (collate if kind == "burn" else 0)

    def draw_loader(self):
        draw = self.draw
        if self.wanted == "loader-bound" and draw.random() < 0.25:
            self.workers = 0
            return
        self.words += ["--prefetch", str(draw.choice([2, 2, 2, 4, 8]))]
        self.set("loader.dispatch", draw.choice(["round_robin", "round_robin", "shared"]))
        self.set("loader.in_order", draw.choice(["true", "true", "false"]))

    def write_profile(self):
        figures = {"host_step": ns(self.fields["host"]), "wake_up": ns(WAKE_UP), "collate_batch": ns(COLLATE_BATCH),
                   "collate_bandwidth": f"{COLLATE_PER_S / 1e6:.0f}MB/s", "pin_bandwidth": f"{PIN_PER_S / 1e6:.0f}MB/s",
                   "memory": "1TB", **self.figures}
        text = (f"version: 1\nsource: drawn by tools/confusion\ncontext: {{cores: {self.cores}}}\nfigures:\n" +
                "".join(f"  {name}: {{value: {value}, how: stated}}\n" for name, value in figures.items()))
        if self.steps:
            text += "steps:\n" + "".join(
                f"  - {{model: linear, shape: [3, {self.side}, {self.side}], device: cpu, threads: {threads}, precision: "
                f"fp32, optimizer: sgd, batch: {self.batch}, time: {ns(time)}, how: stated}}\n"
                for threads, time in self.steps)
        (self.folder / f"{self.stem}.profile.yaml").write_text(text)


def cases(wanted, count, seed, folder):
    """`count` cases of the class, each from a stream of its own."""
    for number in range(count):
        draw = random.Random(f"{wanted} {seed} {number}")
        for _ in range(10000):
            case = Builder(wanted, draw, folder, number).build()
            if case:
                yield case
                break
        else:
            raise RuntimeError(f"no case of {wanted} in 10,000 draws: its construction contradicts its truth")
