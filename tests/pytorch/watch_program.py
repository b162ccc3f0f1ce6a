#!/usr/bin/env python3
"""What pipesim.watch says about a program of tests/pytorch/programs, and what is true, as JSON on stdout.

  watch_program.py programs.fit.train_mlp --workers 2 --seconds 12

The truth is measured after the watch, each figure in a process of its own and in turn with the others: the program as
it is, with the settings that watch promises, its steps on cached batches (data made free; NVIDIA's DALI documents it
for its Loader Evaluator, mode "replay"), and its loader without the steps (training made free).
"""

import argparse
import contextlib
import importlib
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import measure_program  # noqa: E402

TURNS = 5
RATE_S, FREE_S = 1.5, 1.0
WATCH_LIMIT_S = 150


def verdict(file):
    from pipesim import program

    words = ["predict", str(file), "--quiet", "--no-save", "--export", "json=-"]
    return json.loads(program.checked(words))["diagnosis"]["bottleneck"]


def promised(watch):
    """The settings that the report names; none where it says to keep the loader."""
    from pipesim import answers

    tuned = watch.watched.tuned
    if tuned is None or tuned.gain < answers.WORTHWHILE_GAIN:
        return None
    return {"workers": tuned.workers, "prefetch_factor": tuned.prefetch_factor, "threads": tuned.threads,
            "promised_gain": tuned.gain}


def watched(task):
    """What the watch of a loop of task["seconds"] says."""
    import pipesim

    program, workers = importlib.import_module(task["program"]), task["workers"]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        file, step = pathlib.Path(folder) / "watched.yaml", program.step()
        watch = pipesim.watch(program.loader(workers), probe=True, out=file, quiet=True)
        begun = time.perf_counter()
        while not watch.is_done:
            for batch in watch:
                step(batch)
                if time.perf_counter() - begun > task["seconds"]:
                    break
        found = watch.watched
        answer = {"workers": workers, "steps_per_s": found.as_it_is.steps_per_s,
                  "ceiling_steps_per_s": found.cached.steps_per_s,
                  "waiting_share": found.as_it_is.waiting_s / found.as_it_is.wall_s, "report": found.report}
        if file.exists():
            answer.update(yaml=file.read_text(), verdict=verdict(file), promise=promised(watch))
        return answer


def turns(program, workers, promise):
    """Every figure of the truth, once a turn: lists of batches/s."""
    base = {"program": program, "workers": workers, "seconds": RATE_S}
    tasks = {"now": {**base, "do": "rate"}, "replayed": {**base, "do": "replay", "seconds": FREE_S},
             "alone": {**base, "do": "rate", "alone": True, "seconds": FREE_S}}
    if promise:
        more = {"prefetch_factor": promise["prefetch_factor"]} if promise["workers"] else {}
        tasks["then"] = {**base, "do": "rate", "workers": promise["workers"], "overrides": more,
                         "threads": promise["threads"]}
    found = {name: [] for name in tasks}
    for _ in range(TURNS):
        for name, task in tasks.items():
            answer = measure_program.answer(task)
            if "failed" in answer:
                sys.exit(f"{program}, {name}: {answer['failed']}")
            rate = answer.get("steps_per_s") or answer["batches"] / answer["seconds"]
            found[name].append(rate)
    return found


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("program")
    parse.add_argument("--workers", type=int, required=True)
    parse.add_argument("--seconds", type=float, default=12, help="of the watched loop")
    arguments = parse.parse_args()
    # This process computes nothing itself: those that it forks could not use its threads.
    measure_program.KINDS["watch"] = watched
    answer = measure_program.answer({"do": "watch", "program": arguments.program, "workers": arguments.workers,
                                     "seconds": arguments.seconds, "limit_s": WATCH_LIMIT_S})
    if "failed" in answer:
        sys.exit(answer["failed"])
    found = turns(arguments.program, arguments.workers, answer.get("promise"))
    answer.update({name + "_steps_per_s": statistics.median(rates) for name, rates in found.items()}, turns=found)
    if answer.get("promise"):
        answer["promise"]["gain"] = statistics.median(found["then"]) / statistics.median(found["now"]) - 1
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
