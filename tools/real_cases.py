"""Real cases for tools/confusion --run: the truth is found by really making the changes.

Each case is run as it is and with every change of a list, interleaved, several times. The truth is the class of the
change that gains, in the order of docs/verdicts.md: loader settings first, then fewer threads, then each part made free
for real (storage none, prepare none, a free emulated device). A gain is known as well as its rounds agree: its slowest
round against the fastest as it is, and the other way round. What the first report promises is made, too: the
recommended settings, and every row of its what-ifs that a flag of this machine can make and that gains at least 5 %.
"""

import collections
import concurrent.futures
import dataclasses
import os
import queue
import random
import statistics
import subprocess
import sys
import threading
import time

from commands import Pipesim, changed, core_groups, recommended_settings, shell

COUNTS = 0.05        # a gain below this is none (docs/verdicts.md)
UNCLEAR = 0.03       # a measured gain this near to the threshold, or to another gain, decides nothing
POINTS, OF_RATE = 0.10, 0.10  # a promise holds within 10 points of gain, or its rate within 10 % of the measured one
MEDIAN_POINTS = 0.03          # and half of them within this
AIM_KEPT = 0.95
NAMED_WITHIN = 1.3            # a factor: the rate without a stranger
MOST_TRUTHS = 2      # a case whose measured gains allow more classes decides nothing
AIM_RIGHT = 57 / 60
# What a flag changes at no cost; limits.cpus is none: a case has no more.
FLAGS = ("loader.", "limits.compute_threads", "limits.omp_wait", "model.cuda_graph", "model.sync_every", "transfer.")

BURN = "while True: pass"


@dataclasses.dataclass
class Real:
    name: str
    words: list
    changes: dict        # {class: [words to append, ...]}
    stranger: str = ""   # "own": a busy program in a session of its own; "same": in this one
    truths: tuple = ()   # classes that the measured gains allow
    said: str = ""
    confidence: str = ""
    promises: list = dataclasses.field(default_factory=list)
    alone: tuple = ()    # samples/s without the stranger: predicted by the first report, measured
    gains: dict = dataclasses.field(default_factory=dict)  # {words of a change: its measured gain}
    rates: list = dataclasses.field(default_factory=list)  # samples/s as it is, of each round
    without_probes: float = 0                              # rate with run.probes=off / rate as it is - 1
    probes_share: float = 0                                # the most of the measured time that probes took
    failed: str = ""                                       # why there is no result


@dataclasses.dataclass
class Promise:
    """One row of a report's what-ifs, and what came of it."""

    change: str
    settings: dict
    gain: float
    rate: float      # samples/s
    confidence: str  # of the verdict
    recommended: bool
    measured: float = None
    measured_rate: float = None

    @property
    def off(self):
        return abs(self.gain - self.measured)

    @property
    def kept(self):
        return self.off <= POINTS or abs(self.rate / self.measured_rate - 1) <= OF_RATE


def flags(**settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def loader_changes(workers):
    more = [["--workers", str(count)] for count in ([1, 2, 4] if workers == 0 else [2 * workers, 4 * workers])]
    return more + ([["--prefetch", "8"]] if workers else [])


def emulated_case(draw, cores):
    """Emulated storage and device; loading burns or waits for real."""
    workers, batch = draw.choice([0, 1, 2, 4, 8]), draw.choice([16, 32, 64])
    step = draw.choice([1, 2, 5, 10, 20]) * 1e-3
    kind, cost = draw.choice(["burn", "wait"]), step / batch * draw.choice([0.1, 0.5, 2, 8])
    disk = step / batch * draw.choice([0.1, 0.3, 3])
    words = ["--workers", str(workers), "--batch", str(batch), "--sample-bytes", "20kB", *flags(
        device=f"{{emulated: {{base: {round(step * 1e9)}ns}}}}", storage=f"{{iops: {max(1, round(1 / disk))}}}",
        prepare=f"{{kind: {kind}, cost: {max(1000, round(cost * 1e9))}ns}}")]
    changes = {"loader-bound": loader_changes(workers),
               "cpu-contention": [["--workers", str(workers // 2)]] if workers > cores else [],
               "io-bound": [["--storage", "none"]], "cpu-bound": [["--prepare", "none"]],
               "compute-bound": [flags(device="{emulated: {base: 1us}}")]}
    return Real(f"emulated: {workers} workers {kind} {1e6 * cost:.0f} us, disk {1 / disk:.0f}/s, step {1e3 * step:.0f} ms",
                words, changes)


def training_case(draw, cores):
    """LibTorch on the CPU beside burning workers or a stranger."""
    workers, threads = draw.choice([0, 1, 2, 4]), draw.choice([1, cores])
    cost, stranger = draw.choice([2, 10, 50, 200]), draw.choice(["", "", "own", "same"])
    words = ["--model", "mlp", "--device", "cpu", "--batch", str(draw.choice([64, 256])), "--workers", str(workers),
             "--threads", str(threads), "--prepare", f"{cost}us"]
    fewer = [["--threads", "1"], flags(limits__omp_wait="passive")] if threads > 1 else []
    fewer += [["--workers", "1"]] if workers > 1 else []
    changes = {"loader-bound": loader_changes(workers), "cpu-contention": fewer,
               "cpu-bound": [["--prepare", "none"]], "compute-bound": [flags(device="{emulated: {base: 1us}}")]}
    beside = {"": "", "own": ", a stranger in a session of its own", "same": ", a stranger in this session"}[stranger]
    return Real(f"mlp on {threads} threads, {workers} workers burn {cost} us{beside}", words, changes, stranger)


def gpu_case(draw, cores):
    """LibTorch on a GPU beside burning workers; run_all appends the device."""
    model, batch = draw.choice(["mlp", "mlp", "cnn", "resnet18"]), draw.choice([64, 128, 256])
    workers, cost = draw.choice([0, 1, 2, 4, 8]), draw.choice([0, 5, 50, 500])
    pinned, every = draw.choice(["true", "false"]), draw.choice([0, 0, 1])
    prepare = f"{cost}us" if cost else "none"
    words = ["--model", model, "--batch", str(batch), "--workers", str(workers), "--prepare", prepare,
             *flags(loader__pin_memory=pinned, model__sync_every=every)]
    changes = {"loader-bound": loader_changes(workers),
               "cpu-contention": [["--workers", str(workers // 2)]] if workers > cores else [],
               "cpu-bound": [["--prepare", "none"]] if cost else [],
               "io-bound": [["--storage", "none"]],
               "h2d-bound": [flags(loader__pin_memory="true")] if pinned == "false" else [],
               "launch-bound": [flags(model__cuda_graph="true")],
               "sync-bound": [flags(model__sync_every=0)] if every else [],
               "compute-bound": [flags(device="{emulated: {base: 1us}}")]}
    return Real(f"{model} on a GPU, {workers} workers burn {cost} us, pinned {pinned}, sync every {every}", words, changes)


class Stranger:
    """A program that keeps one of the case's cores busy while the block lasts."""

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        self.process = self.kind and subprocess.Popen([sys.executable, "-c", BURN], start_new_session=self.kind == "own")

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()


def run_all(pipesim, case, arguments, device):
    """Fills the case in; returns it."""
    length = ["--duration", f"{arguments.seconds}s"]
    case.words += device
    base = ["run", *case.words, *length]
    commands, kinds = {"base": base}, {}
    if arguments.promises_only:
        case.changes = {}
    else:
        commands["no probes"] = changed(base, {"run.probes": "off"})
    for verdict, changes in case.changes.items():
        for words in changes:
            commands[shell(words)] = ["run", *case.words, *words, *length]
            kinds[shell(words)] = verdict
    rates = collections.defaultdict(list)
    verdicts = []
    with Stranger(case.stranger):
        for number in range(arguments.rounds):
            for name, words in list(commands.items()):
                answer = pipesim(words)
                if answer.rate is None:
                    raise RuntimeError(f"{shell(words)}: exit {answer.code}\n{answer.errors}")
                rates[name].append(answer.rate)
                if name != "base":
                    continue
                verdicts.append((answer.verdict, answer.diagnosis["confidence"]))
                probes_s = answer.diagnosis.get("probes_s") or 0
                case.probes_share = max(case.probes_share, probes_s / answer.report["result"]["measured_s"])
                if number == 0:
                    case.promises, alone = promises_of(answer), rate_alone(answer)
                    commands.update({f"promise {p.change}": changed(base, p.settings) for p in case.promises})
    if case.stranger and alone and not arguments.promises_only:
        case.alone = alone, statistics.median(pipesim(base).rate for _ in range(arguments.rounds))
    as_it_is = rates["base"] + rates.get("no probes", [])
    middle = {name: statistics.median(values) for name, values in rates.items()}
    gain = {name: rate / middle["base"] - 1 for name, rate in middle.items()}
    case.said, case.confidence = collections.Counter(verdicts).most_common(1)[0][0]
    for promise in case.promises:
        promise.measured, promise.measured_rate = gain[f"promise {promise.change}"], middle[f"promise {promise.change}"]
    case.rates = rates["base"]
    case.without_probes = gain.get("no probes", 0)
    case.gains = {name: gain[name] for name in kinds}
    if kinds:
        case.truths = allowed(kinds, {name: Range.of(rates[name], as_it_is) for name in kinds})
    return case


def rate_alone(answer):
    """What the report says of training without the other programs."""
    return next((row["samples_per_s"] for row in answer.diagnosis["what_if"]
                 if row["change"] == "without the other programs"), None)


def promises_of(answer):
    """What the report says that flags gain here, the recommendation first."""
    confidence, found = answer.diagnosis["confidence"], []
    recommended = answer.diagnosis.get("recommendation") or {}
    settings = recommended_settings(answer)
    if settings and all(key.startswith(FLAGS) for key in settings) and recommended["gain"] is not None:
        found.append(Promise(recommended["text"], settings, recommended["gain"], recommended["samples_per_s"], confidence,
                             True))
    for row in answer.diagnosis["what_if"]:
        if row["takes"] == "flag" and row["set"] and row["feasible_here"] and row["gain"] >= COUNTS:
            if all(row["set"] != promise.settings for promise in found):
                found.append(Promise(row["change"], row["set"], row["gain"], row["samples_per_s"], confidence, False))
    return found


@dataclasses.dataclass
class Range:
    """What a change gains at least and at most, by its rounds."""

    low: float = 0.0
    high: float = 0.0

    @staticmethod
    def of(changed_rates, as_it_is):
        return Range(min(changed_rates) / max(as_it_is) - 1 - UNCLEAR, max(changed_rates) / min(as_it_is) - 1 + UNCLEAR)

    def or_more(self, other):
        return Range(max(self.low, other.low), max(self.high, other.high))


def allowed(kinds, gain):
    """The classes that the measured gains allow: more than one where a gain is not known well or two tie."""
    best = {verdict: Range() for verdict in ["loader-bound", "cpu-contention", *kinds.values()]}
    for name, verdict in kinds.items():
        best[verdict] = best[verdict].or_more(gain[name])
    settings = {verdict: best.pop(verdict) for verdict in ["loader-bound", "cpu-contention"]}
    # Of the settings that gain, the one that gains more (docs/verdicts.md).
    surely = max(each.low for each in settings.values())
    found = [verdict for verdict, each in settings.items() if each.high >= max(COUNTS, surely)]
    if surely >= COUNTS:
        return tuple(found)
    if best.get("launch-bound", Range()).high >= COUNTS:
        del best["compute-bound"]  # an emulated device frees the launches with the step
    surely = max(each.low for each in best.values())
    if surely < COUNTS:
        found.append("balanced")
    return tuple(found + [verdict for verdict, each in best.items() if each.high >= max(COUNTS, surely)])


def trains_here(pipesim):
    return pipesim(["run", "--model", "linear", "--device", "cpu", "--steps", "3"]).rate is not None


def drawn(arguments, cores):
    """The cases: every second one trains, where LibTorch is there; or all of them, on GPUs."""
    if arguments.gpus:
        for number in range(arguments.run):
            yield gpu_case(random.Random(f"gpu {arguments.seed} {number}"), cores)
        return
    with_torch = trains_here(Pipesim(arguments.pipesim))
    if not with_torch:
        print("No LibTorch here: emulated devices only.", file=sys.stderr)
    for number in range(arguments.run):
        draw = random.Random(f"real {arguments.seed} {number}")
        yield (training_case if with_torch and number % 2 else emulated_case)(draw, cores)


def on_own_cores(work, items, cores, gpus):
    """work(item, device) for each, on `cores` processors and, where `gpus` are used, a GPU that no other item has;
    yields the results as they come."""
    free = queue.SimpleQueue()
    sets = core_groups(cores) or [sorted(os.sched_getaffinity(0))]
    if gpus:
        sets = sets[:gpus]
    for lane in enumerate(sets):
        free.put(lane)

    def held(item):
        lane = free.get()
        try:
            number, processors = lane
            os.sched_setaffinity(threading.get_native_id(), processors)  # children inherit it
            return work(item, ["--device", f"cuda:{number}"] if gpus else [])
        finally:
            free.put(lane)

    with concurrent.futures.ThreadPoolExecutor(len(sets)) as pool:
        for done in concurrent.futures.as_completed([pool.submit(held, item) for item in items]):
            yield done.result()


def measured(case, arguments, device):
    """The case, filled in or failed: the others go on."""
    try:
        return run_all(Pipesim(arguments.pipesim), case, arguments, device)
    except RuntimeError as error:
        case.failed = str(error)
        return case


def measure(arguments):
    """Runs the cases, prints them, and returns the missed aims."""
    cores = arguments.cores or len(os.sched_getaffinity(0))
    done, failed = [], []
    for case in on_own_cores(lambda case, device: measured(case, arguments, device), list(drawn(arguments, cores)), cores,
                             arguments.gpus):
        (failed if case.failed else done).append(case)
        told = f"FAILED {case.name}: {case.failed}" if case.failed else line(case)
        print(f"{time.strftime('%H:%M:%S')} {told}", flush=True)
    missed = [f"{len(failed)} cases failed"] if failed else []
    if not done:
        return missed
    promises = [promise for case in done for promise in case.promises]
    if arguments.promises_only:
        return missed + judged_promises(promises)
    print(probes_line(done))
    print(alone_line([case.alone[0] / case.alone[1] for case in done if case.alone]))
    decided = [case for case in done if len(case.truths) <= MOST_TRUTHS]
    right = sum(case.said in case.truths for case in decided)
    wrong_high = [case for case in decided if case.said not in case.truths and case.confidence == "high"]
    print(f"\n{len(decided)} of {len(done)} decided by measurement, {right} of them right, "
          f"{len(wrong_high)} of the wrong ones with high confidence")
    missed += ["too few verdicts of real cases are right"] if right < AIM_RIGHT * len(decided) else []
    missed += ["wrong with high confidence"] if wrong_high else []
    return missed + judged_promises(promises)


def probes_line(done):
    """What probes do to the rate of the runs that they follow."""
    change = [case.without_probes for case in done]
    error = statistics.stdev(change) / len(change) ** 0.5 if len(change) > 1 else float("nan")
    return (f"\nwithout probes the rate differs by {statistics.mean(change):+.2%} ± {1.96 * error:.2%} (mean of {len(change)} "
            f"cases, 95 % interval), median {statistics.median(change):+.2%}; probes took at most "
            f"{max(case.probes_share for case in done):.0%} of the measured time")


def alone_line(ratios):
    """How well reports know what the stranger takes."""
    if not ratios:
        return "no case ran beside another program"
    near = sum(1 / NAMED_WITHIN <= ratio <= NAMED_WITHIN for ratio in ratios)
    return (f"without the other programs: {near} of {len(ratios)} predicted within a factor of {NAMED_WITHIN}, median "
            f"{statistics.median(ratios):.2f} of the measured rate")


def judged_promises(promises):
    """Prints how far promised and measured gains lie apart; returns the missed aims."""
    if not promises:
        return []
    for name, some in (("all", promises), ("recommended", [p for p in promises if p.recommended]),
                       ("high confidence", [p for p in promises if p.confidence == "high"])):
        if some:
            print(f"promises, {name}: {sum(p.kept for p in some)} of {len(some)} kept, median "
                  f"{100 * statistics.median(p.off for p in some):.1f} points off")
    missed = []
    if statistics.median(p.off for p in promises) > MEDIAN_POINTS:
        missed.append(f"promises are more than {100 * MEDIAN_POINTS:.0f} points off in the median")
    if sum(p.kept for p in promises) < AIM_KEPT * len(promises):
        missed.append(f"fewer than {AIM_KEPT:.0%} of the promises are kept")
    return missed


def line(case):
    said = f"{case.said} ({case.confidence})"
    if case.changes:
        mark = ("undecided" if len(case.truths) > MOST_TRUTHS else "right" if case.said in case.truths else "WRONG")
        said = f"{mark} {said}, true: {' or '.join(case.truths)}"
    text = f"{said}; {case.name}\n  {shell(case.words)}"
    text += f"\n    as it is: {', '.join(f'{rate:.5g}' for rate in case.rates)} samples/s"
    made = ", ".join(f"{shell(words)[8:]} {case.gains[shell(words)]:+.1%}" for each in case.changes.values() for words in each)
    text += f"; measured: {made}" if made else ""
    if case.alone:
        text += f"\n    without the stranger: predicted {case.alone[0]:.5g}, measured {case.alone[1]:.5g} samples/s"
    for promise in case.promises:
        text += (f"\n    {'kept' if promise.kept else 'NOT KEPT'}: promised {promise.gain:+.1%}, measured "
                 f"{promise.measured:+.1%} ({promise.rate:.5g}, {promise.measured_rate:.5g} samples/s): "
                 f"{'recommended, ' if promise.recommended else ''}{promise.change}")
    return text
