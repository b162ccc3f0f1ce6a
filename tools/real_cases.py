"""Real cases for tools/confusion --run: the truth is found by really making the changes.

Each case is run as it is and with every change of a list, interleaved, ROUNDS times. The truth is the class of the
change that gains, in the order of docs/verdicts.md: loader settings first, then fewer threads, then each part made free
for real (storage none, prepare none, a free emulated device). The recommended command is one more change: its measured
gain is compared with the promised one.
"""

import collections
import dataclasses
import os
import random
import statistics
import subprocess
import sys
import time

from commands import Pipesim, changed, recommended_settings, shell

ROUNDS = 3
COUNTS = 0.05        # a gain below this is none (docs/verdicts.md)
UNCLEAR = 0.03       # a measured gain this near to the threshold decides nothing
POINTS, OF_RATE = 0.10, 0.10  # a promise holds within 10 points of gain or 10 % of the rate
MOST_TRUTHS = 2      # a case whose measured gains allow more classes decides nothing
AIM_RIGHT = 57 / 60

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
    promised: float = None
    measured: float = None


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


class Stranger:
    """A program that keeps one core busy while the block lasts."""

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        self.process = self.kind and subprocess.Popen([sys.executable, "-c", BURN], start_new_session=self.kind == "own")

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()


def run_all(pipesim, case, seconds):
    """Fills the case in; returns it."""
    length = ["--duration", f"{seconds}s"]
    commands = {"base": ["run", *case.words, *length]}
    kinds = {}
    for verdict, changes in case.changes.items():
        for words in changes:
            commands[shell(words)] = ["run", *case.words, *words, *length]
            kinds[shell(words)] = verdict
    rates = collections.defaultdict(list)
    verdicts = []
    with Stranger(case.stranger):
        for _ in range(ROUNDS):
            for name, words in list(commands.items()):
                answer = pipesim(words)
                if answer.rate is None:
                    raise RuntimeError(f"{shell(words)}: exit {answer.code}\n{answer.errors}")
                rates[name].append(answer.rate)
                if name != "base":
                    continue
                verdicts.append((answer.verdict, answer.diagnosis["confidence"]))
                settings = recommended_settings(answer)
                if settings and "recommended" not in commands:
                    commands["recommended"] = changed(commands["base"], settings)
                    case.promised = answer.diagnosis["recommendation"]["gain"]
        while "recommended" in commands and len(rates["recommended"]) < ROUNDS:
            rates["recommended"].append(pipesim(commands["recommended"]).rate)
    middle = {name: statistics.median(values) for name, values in rates.items()}
    gain = {name: rate / middle["base"] - 1 for name, rate in middle.items()}
    case.said, case.confidence = collections.Counter(verdicts).most_common(1)[0][0]
    case.measured = gain.get("recommended")
    case.truths = allowed(kinds, gain)
    return case


def allowed(kinds, gain):
    """The classes that the measured gains allow: more than one where a gain lies near the threshold or two tie."""
    best = collections.defaultdict(float)
    for name, verdict in kinds.items():
        best[verdict] = max(best[verdict], gain[name])
    found = []
    for setting in ["loader-bound", "cpu-contention"]:
        if best[setting] >= COUNTS - UNCLEAR:
            found.append(setting)
        if best[setting] >= COUNTS + UNCLEAR:
            return tuple(found)
    parts = {verdict: g for verdict, g in best.items() if verdict not in ("loader-bound", "cpu-contention")}
    most = max(parts.values())
    if most < COUNTS + UNCLEAR:
        found.append("balanced")
    if most >= COUNTS - UNCLEAR:
        found += [verdict for verdict, g in parts.items() if g >= most - 2 * UNCLEAR]
    return tuple(found)


def kept(case):
    """Whether the promise came true; None without one."""
    if case.promised is None or case.measured is None:
        return None
    miss = abs(case.promised - case.measured)
    return miss <= POINTS or miss / (1 + case.promised) <= OF_RATE


def trains_here(pipesim):
    return pipesim(["run", "--model", "linear", "--device", "cpu", "--steps", "3"]).rate is not None


def measure(arguments):
    """Runs the cases, prints them, and returns the missed aims."""
    pipesim, cores = Pipesim(arguments.pipesim), len(os.sched_getaffinity(0))
    with_torch = trains_here(pipesim)
    if not with_torch:
        print("No LibTorch here: emulated devices only.", file=sys.stderr)
    done = []
    for number in range(arguments.run):
        draw = random.Random(f"real {arguments.seed} {number}")
        case = (training_case if with_torch and number % 2 else emulated_case)(draw, cores)
        done.append(run_all(pipesim, case, arguments.seconds))
        print(f"{time.strftime('%H:%M:%S')} {line(case)}", flush=True)
    decided = [case for case in done if len(case.truths) <= MOST_TRUTHS]
    right = sum(case.said in case.truths for case in decided)
    wrong_high = [case for case in decided if case.said not in case.truths and case.confidence == "high"]
    promises = [kept(case) for case in done if kept(case) is not None]
    print(f"\n{len(decided)} of {len(done)} decided by measurement, {right} of them right, {len(wrong_high)} of the wrong ones with high confidence; "
          f"{sum(promises)} of {len(promises)} promises kept")
    missed = ["too few verdicts of real cases are right"] if right < AIM_RIGHT * len(decided) else []
    return missed + (["wrong with high confidence"] if wrong_high else [])


def line(case):
    mark = ("undecided" if len(case.truths) > MOST_TRUTHS else "right" if case.said in case.truths else "WRONG")
    promise = "" if kept(case) is None else (f"; promised {case.promised:+.0%}, measured {case.measured:+.0%}"
                                             f"{'' if kept(case) else ' NOT KEPT'}")
    return f"{mark} {case.said} ({case.confidence}), true: {' or '.join(case.truths)}{promise}; {case.name}\n  {shell(case.words)}"
