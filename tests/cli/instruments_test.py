#!/usr/bin/env python3
"""The instruments that judge pipesim's verdicts are themselves right: closed forms, drawn cases, sections of a document."""

import dataclasses
import pathlib
import random
import sys
import tempfile
import types

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/pytorch")]

import drawn_cases  # noqa: E402
import gpu_measured_case  # noqa: E402
import measured_runs  # noqa: E402
import pytorch_measure  # noqa: E402
import pytorch_predict  # noqa: E402
import pytorch_rows  # noqa: E402
import pytorch_table  # noqa: E402
import pytorch_watched  # noqa: E402
import real_cases  # noqa: E402
import sections  # noqa: E402
from closed_forms import Costs, gains, rate, truth, with_settings  # noqa: E402
from window import Window  # noqa: E402

STEP = Costs(workers=4, cores=8, step=10e-3)

# a pipeline by its costs in seconds of one batch, batches/s, and the verdict (None: no clear one)
CASES = [
    (dict(), 100, "compute-bound"),
    (dict(wait=80e-3), 4 / 80e-3, "loader-bound"),                    # W / load
    (dict(wait=42e-3), 4 / 42e-3, None),                              # 5 % behind the step: no margin
    (dict(wait=40e-3), 100, "balanced"),                              # both take 10 ms
    (dict(disk=20e-3, read=20e-3), 50, "io-bound"),
    (dict(disk=20e-3, read=20e-3, workers=1), 50, None),              # one reader: no margin beside the disk
    (dict(workers=16, cpu=160e-3, read=160e-3), 8 / 160e-3, None),    # in step, reading and preparing take turns
    (dict(workers=16, cpu=160e-3), 8 / 160e-3, "cpu-bound"),          # cores / cpu
    (dict(copy=20e-3), 50, "h2d-bound"),                              # overlapped: the longer of both
    (dict(copy=20e-3, overlap=False), 1 / 30e-3, "h2d-bound"),        # one after the other
    (dict(launch=20e-3), 50, "launch-bound"),
    (dict(workers=0, wait=10e-3, sync=True), 50, "loader-bound"),     # nothing overlaps
    (dict(workers=0, wait=10e-3), 100, "balanced"),                   # the device works while the host loads
    (dict(copy=8e-3, host=8e-3, step=12e-3, host_waits=True, sync=True), 1 / 28e-3, "sync-bound"),
    (dict(on_cpu=True, host=20e-3), 1 / 30e-3, "host-bound"),
    (dict(on_cpu=True, cores=2, cpu=10e-3, one_thread=12e-3), 1 / 20e-3, "cpu-contention"),  # s + q
]


def check_closed_forms(wrong):
    for changes, expected, verdict in CASES:
        costs = dataclasses.replace(STEP, **changes)
        if abs(rate(costs) / expected - 1) > 1e-9:
            wrong.append(f"{changes}: {rate(costs):.6g} batches/s, expected {expected:.6g}")
        if truth(costs) != verdict:
            wrong.append(f"{changes}: {truth(costs)}, expected {verdict}; {gains(costs)}")


def check_recommended_changes(wrong):
    slow = dataclasses.replace(STEP, read=40e-3, disk=20e-3)
    for settings, expected in [({"storage.latency": "1us", "storage.iops": "2000"}, 100), ({"loader.workers": "1"}, 25),
                               ({"prepare.cost": "1us"}, None), ({}, None)]:
        changed = with_settings(slow, settings)
        got = changed and rate(changed)
        if (got is None) != (expected is None) or (got and abs(got / expected - 1) > 1e-9):
            wrong.append(f"{settings}: {got}, expected {expected}")


def check_drawn_cases(wrong):
    with tempfile.TemporaryDirectory() as folder:
        for name in drawn_cases.CLASSES:
            drawn = list(drawn_cases.cases(name, 20, 3, folder))
            if len(drawn) != 20 or any(truth(case.costs) != name for case in drawn):
                wrong.append(f"drawn cases of {name}")
            if drawn[:5] != list(drawn_cases.cases(name, 5, 3, folder)):
                wrong.append(f"cases of {name} depend on how many are drawn")


def check_measured_truth(wrong):
    kinds = {"a": "loader-bound", "b": "io-bound", "c": "compute-bound", "d": "launch-bound"}
    for a, b, d, expected in [(0.5, 0.9, 0, ("loader-bound",)), (0.0, 0.9, 0, ("io-bound",)),
                              (0.06, 0.9, 0, ("loader-bound", "io-bound")),  # near the threshold
                              (0.0, 0.01, 0, ("balanced",)),
                              (0.0, 0.0, 0.9, ("launch-bound",)),
                              (0.13, 0.0, 6.7, ("loader-bound",))]:  # settings come first
        gain = {name: real_cases.Range.of([1 + g], [1]) for name, g in {"a": a, "b": b, "c": 0, "d": d}.items()}
        if real_cases.allowed(kinds, gain) != expected:
            wrong.append(f"measured gains {a, b, d}: {real_cases.allowed(kinds, gain)}, expected {expected}")


def check_promises_alone(wrong):
    """Only the run and, from the second round on, what its report promises."""
    row = {"change": "workers 1 to 2", "set": {"loader.workers": "2"}, "gain": 0.5, "samples_per_s": 150, "takes": "flag",
           "feasible_here": True}
    made = []

    def pipesim(words):
        made.append(words)
        return types.SimpleNamespace(
            rate=150 if "loader.workers=2" in words else 100, verdict="loader-bound", report={"result": {"measured_s": 1}},
            diagnosis={"confidence": "high", "recommendation": None, "what_if": [row]})

    arguments = types.SimpleNamespace(seconds=1, rounds=2, promises_only=True)
    case = real_cases.Real("", ["--workers", "1"], {"loader-bound": [["--workers", "4"]]})
    real_cases.run_all(pipesim, case, arguments, [])
    if len(made) != 3 or [promise.kept for promise in case.promises] != [True]:
        wrong.append(f"promises alone: {made}, {case.promises}")


def gpu_case(gains):
    """A case whose changes {class: gain} were measured against 100 samples/s."""
    case = gpu_measured_case.Case("", [])
    case.rates["base"] = [100, 100]
    for verdict, gain in gains.items():
        case.changes[verdict] = gpu_measured_case.Change(verdict, {"x": verdict})
        case.rates[verdict] = [100 * (1 + gain)]
    return case


def check_gpu_truth(wrong):
    """Settings first; a device of the step's time alone tells the step from launches, copies and reading."""
    for gains, turns, expected in [
            ({"loader-bound": 0.3, "cpu-bound": 2}, False, ("loader-bound",)),
            ({"loader-bound": 0, "cpu-contention": 0.5}, False, ("cpu-contention",)),
            ({"loader-bound": 0, "cpu-bound": 2, "device": 0, "not the step": 0}, False, ("cpu-bound",)),
            ({"device": 2, "not the step": 0}, False, ("compute-bound",)),
            ({"device": 9, "not the step": 4, "launch-bound": 3.9, "h2d-bound": 0}, False, ("launch-bound",)),
            # Nothing but the step gains 5 % give or take: launches limit, or the step does.
            ({"device": 9, "not the step": 0.05, "launch-bound": 0.08, "h2d-bound": 0}, False, ("launch-bound", "compute-bound")),
            ({"device": 9, "not the step": 4, "launch-bound": 0, "h2d-bound": 0.5}, False, ("h2d-bound",)),
            ({"device": 9, "not the step": 4, "sync-bound": 3, "h2d-bound": 0}, True, ("sync-bound",)),
            # In turns the step takes 1 / 1.25 of the cycle, so a free one gains 4.
            ({"device": 9, "not the step": 0.25, "sync-bound": 0.2}, True, ("sync-bound", "compute-bound")),
            ({"device": 0, "not the step": 0, "cpu-bound": 0}, False, ("balanced",))]:
        found = gpu_measured_case.truths_of(gpu_case(gains), turns)
        if found != expected:
            wrong.append(f"measured gains {gains}: {found}, expected {expected}")
    for settings, expected in [({"loader.workers": "8"}, "loader-bound"), ({"loader.workers": "2"}, "cpu-contention"),
                               ({"model.cuda_graph": "true"}, "launch-bound"), ({"loader.batch_size": "512"}, ""),
                               ({"loader.workers": "8", "model.cuda_graph": "true"}, "")]:
        if gpu_measured_case.class_of(settings, 4) != expected:
            wrong.append(f"class of {settings}: {gpu_measured_case.class_of(settings, 4)}")


def check_measured_runs(wrong):
    """A run is made once; an interrupted file, and one cut off within a line, go on."""
    calls = []

    def pipesim(words):
        calls.append(words)
        result = {"samples_per_s": 100.0} if "bad" not in words else None
        return measured_runs.Answer(words, 0 if result else 4, {"result": result}, 0.1, "" if result else "no memory")

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "runs.jsonl"
        runs = measured_runs.MeasuredRuns(pipesim, file)
        rates = [runs(words, number).rate for words, number in [(["a"], 0), (["a"], 0), (["a"], 1), (["bad"], 0), (["bad"], 0)]]
        file.write_text(file.read_text() + '{"words": ["b"')
        again = measured_runs.MeasuredRuns(pipesim, pathlib.Path(folder) / "more.jsonl", [file], limit_s=0)
        kept = [again(["a"], 1).rate, again.known(["bad"], 0)]
        if rates != [100, 100, 100, None, None] or kept != [100, False] or len(calls) != 3 or again.rates() != {("a",): [100, 100]}:
            wrong.append(f"measured runs: {rates}, {kept}, {calls}, {again.rates()}")
        try:
            again(["b"], 0)
            wrong.append("a run began after the limit")
        except measured_runs.OutOfTime:
            pass


def check_sections(wrong):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "doc.md"
        sections.write(file, "one", "first")
        sections.write(file, "two", "second")
        sections.write(file, "one", "first again\n")
        text = file.read_text()
        if "first again" not in text or "second" not in text or "first\n" in text or text.count("begin: one") != 1:
            wrong.append(f"sections: {text}")


def loop(window, epoch_batches, batch_s, border_s):
    """Fills the window by batches of 4 samples that take batch_s, with border_s more before each epoch."""
    now = 0.0
    while True:
        now += border_s
        for _ in range(epoch_batches):
            now += batch_s
            if window.batch_done(now, 4):
                return window
        if window.epoch_done():
            return window


def check_window(wrong):
    """Long epochs: the rate inside one, in whole cycles of the workers. Short ones: with what starting them costs."""
    for epoch_batches, border_s, expected in [(100_000, 1.0, 4 / 0.01), (20, 0.05, 4 / (0.01 + 0.05 / 20)),
                                              (200, 1.0, 4 / (0.01 + 1.0 / 200))]:
        window = loop(Window(2.0, 3, 12), epoch_batches, 0.01, border_s)
        cycle = epoch_batches if window.whole_epochs else 3
        if abs(window.rate() / expected - 1) > 1e-9 or window.elapsed() < 2 or window.batches() % cycle:
            wrong.append(f"window over epochs of {epoch_batches}: {window.rate()}, expected {expected}")


def check_table(wrong):
    """What was recorded is no prediction, and the best worker count may be a neighbour or as good."""
    def row(rates, predicted, basis="recording", cores=2):
        rounds = {workers: [each] for workers, each in rates.items()}
        return pytorch_rows.Row("fit.x", rounds, predicted, basis, pytorch_rows.recorded_at(cores))

    true = {0: 100, 1: 100, 2: 180, 4: 240, 8: 238}
    errors = row(true, {each: 1.1 * rate for each, rate in true.items()}).errors()
    if sorted(errors) != [8] or any(abs(error - 0.1) > 1e-9 for error in errors.values()):
        wrong.append(f"errors of a recording: {errors}")
    if sorted(row(true, true, cores=16).errors()) != [4]:
        wrong.append("a recording on 16 cores has seen 0, 1, 2 and 8 workers")
    for best, right in [(4, True), (8, True), (2, True), (1, False), (0, False)]:
        if row(true, {each: 1 + (each == best) for each in true}).best_is_right() != right:
            wrong.append(f"best worker count {best} should be {'right' if right else 'wrong'}")
    measured = {"context": {"cores": 2}, "programs": {"fit.x": {"rates": {"1": [{"samples_per_s": rate} for rate in (90, 100, 110)], "2": [
        {"failed": "late"}]}, "predicted": {"description": {"1": {"samples_per_s": 50}, "2": {"failed": "?"}}}}}}
    [only] = pytorch_rows.rows_of(measured, "description")
    [cv], [apart] = only.cvs(), only.rounds_apart()
    if (only.errors() != {1: -0.5} or abs(cv - 0.1) > 1e-9 or abs(apart - 20 / 110) > 1e-9
            or list(pytorch_rows.rows_of(measured, "recording"))):
        wrong.append(f"rows of measured rates: {only}")


def check_allowed(wrong):
    """Twice the variation of the rates excuses a recording, never a description."""
    for basis, allowed in [("recording", "20.0 %"), ("description", "10.0 %")]:
        noisy = pytorch_rows.Row("fit.x", {3: [90, 100, 110]}, {3: 100}, basis)
        text = pytorch_table.summary(basis, [noisy])
        if f"| 0.0 % | {allowed} |" not in text or "| 18.2 %, 18.2 %, 18.2 % |" not in text:
            wrong.append(f"what is allowed: {text}")


def check_order_of_measuring(wrong):
    """A recording lies between the rounds of its program's rates; after the deadline nothing is begun."""
    arguments = types.SimpleNamespace(workers=[0, 1], seconds=1, rounds=2, record=True, watch=False, pipesim=None)
    [tasks] = pytorch_measure.programs_of_tasks(["fit.burn_1ms"], arguments)
    done = [task.do for task in tasks]
    if done != ["first", "rate", "rate", "stopwatch", "record", "rate", "rate"]:
        wrong.append(f"order of measuring: {done}")
    kept = []
    place = types.SimpleNamespace(measure=lambda task: {}, record=lambda program: {})
    for deadline, left in [(float("inf"), 0), (0.0, len(tasks))]:
        if pytorch_measure.in_slices([place], [tasks], deadline, lambda *what: kept.append(what)) != left:
            wrong.append(f"{left} tasks should be left")
    if [last for _, _, last in kept] != [False] * (len(tasks) - 1) + [True]:
        wrong.append(f"kept: {kept}")


def check_watched(wrong):
    """Verdicts that measured gains allow, and a table of them."""
    data = {"cpu-bound", "io-bound", "host-bound"}
    for more, fewer, free_data, free_steps, expected in [
            (0.5, 0, 2, 0, {"loader-bound"}), (0, 0.5, 0.6, 0, {"cpu-contention"}), (0, 0, 2, 0, data),
            (0, 0, 0, 1, {"compute-bound"}), (0, 0, 0, 0, {"compute-bound", "balanced"}),
            (0.05, 0, 0, 1, {"loader-bound", "compute-bound"}), (0, 0, 0.05, 0.02, data | {"compute-bound", "balanced"}),
            # On shared cores both help; the larger gain names the class, equal ones either.
            (0, 0, 0.3, 0.8, {"compute-bound"}), (0, 0, 0.8, 0.3, data), (0, 0, 0.4, 0.42, data | {"compute-bound"})]:
        allowed = pytorch_watched.true_verdicts(more, fewer, free_data, free_steps)
        if allowed != expected:
            wrong.append(f"gains {more, fewer, free_data, free_steps}: {allowed}")
    rates = {str(workers): [{"samples_per_s": rate}] for workers, rate in {0: 100, 1: 150, 2: 400}.items()}
    watch = {"workers": 1, "verdict": "loader-bound", "steps_per_s": 15, "ceiling_steps_per_s": 41,
             "now_steps_per_s": 15, "replayed_steps_per_s": 40, "alone_steps_per_s": 18,
             "turns": {"replayed": [39, 40, 42]},
             "promise": {"workers": 2, "prefetch_factor": 2, "promised_gain": 1.7, "gain": 1.5}}
    text = pytorch_watched.table({"programs": {"fit.x": {"rates": rates, "watch": watch}}})
    expected = "| right | +167 % | -33 % | +167 % | +20 % | 41.0 | 40.0 (39.0 to 42.0) | +2.5 % | 2, 2 | +170 % | +150 % |"
    if expected not in text or "% of the rate 1." not in text:
        wrong.append(f"table of watched programs: {text}")
    kept = {**watch, "promise": None, "verdict": "loader-bound"}
    if "| keep | +0 % | +167 % |" not in pytorch_watched.table({"programs": {"fit.x": {"rates": rates, "watch": kept}}}):
        wrong.append("a report that says to keep the loader is held against the best other worker count")
    measured = {"context": {**dict.fromkeys(["torch", "processors", "cpu", "slices", "date"], "?"), "cores": 2},
                "programs": {"fit.burn_1ms": {"rates": rates, "predicted": {"description": {"0": {"samples_per_s": 200}}}}}}
    rows = {"description": list(pytorch_rows.rows_of(measured, "description"))}
    if "| fit.burn_1ms | 100.0 % |" not in pytorch_table.document(measured, rows):
        wrong.append(pytorch_table.document(measured, rows))
    on_gpu = {"context": {**measured["context"], "gpu": "G1"},
              "programs": {"gpu.words": {"rates": {**rates, "8": rates["1"]},
                                         "predicted": {"recording": {"8": {"samples_per_s": 180}}}}}}
    rows = {"recording": list(pytorch_rows.rows_of(on_gpu, "recording"))}
    text = pytorch_table.document(on_gpu, rows)
    if "| gpu.words | 20.0 % |" not in text or "| a recording, on a GPU | 1 | 1 | 20.0 % |" not in text or "(G1," not in text:
        wrong.append(text)


def check_descriptions(wrong):
    """Each program says what it is, in keys that need only a stopwatch's times."""
    times = {"sample": 2e-3, "collate": 3e-6, "step": 1e-2}
    for program in pytorch_measure.program_names():
        text = pytorch_predict.described(program, {"stopwatch": times})
        if text is not None and ("$" in text or '"kind": "process"' not in text):
            wrong.append(f"{program}: {text}")
    if pytorch_predict.with_times({"a": {"b": "$sample", "c": 1}}, times) != {"a": {"b": "2000000ns", "c": 1}}:
        wrong.append("times of the stopwatch")


def main():
    wrong = []
    for check in [check_closed_forms, check_recommended_changes, check_drawn_cases, check_measured_truth,
                  check_promises_alone, check_gpu_truth, check_measured_runs, check_sections, check_window, check_table,
                  check_allowed, check_order_of_measuring, check_watched, check_descriptions]:
        check(wrong)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
