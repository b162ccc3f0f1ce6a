#!/usr/bin/env python3
"""What pipesim.watch says about a program of tests/pytorch/programs, and what is true, as JSON on stdout.

  watch_program.py programs.fit.train_mlp --workers 2 --seconds 12

The truth: the ceiling by replaying cached batches, as NVIDIA's DALI documents it for its Loader Evaluator
("replay": the first batches are kept, then a whole pass is trained on them), and the rate with the settings that watch
promises, in turn with the program as it is.
"""

import argparse
import contextlib
import importlib
import itertools
import json
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from measure_program import fill  # noqa: E402
from window import Window  # noqa: E402

CACHED_BATCHES = 4
WARM_UP_STEPS = 3
TURNS = 3


def watched(program, workers, seconds, folder):
    """(the Watch after its loop, its experiment file)."""
    import pipesim

    file, step = pathlib.Path(folder) / "watched.yaml", program.step()
    watch = pipesim.watch(program.loader(workers), probe=True, out=file, quiet=True)
    begun = time.perf_counter()
    while not watch.is_done:
        for batch in watch:
            step(batch)
            if time.perf_counter() - begun > seconds:
                break
    return watch, file


def replayed(program, seconds):
    """Steps/s on cached batches."""
    step, kept = program.step(), list(itertools.islice(program.loader(0), CACHED_BATCHES))
    for batch in kept[:WARM_UP_STEPS]:
        step(batch)
    begun, steps = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        step(kept[steps % CACHED_BATCHES])
        steps += 1
    return steps / (time.perf_counter() - begun)


def rate(program, workers, seconds, **overrides):
    loader = program.loader(workers, **overrides)
    window = Window(seconds, max(1, workers), 2 * workers * (loader.prefetch_factor or 0))
    fill(window, loader, program.step())
    return window.rate()


def promise(program, workers, file, seconds):
    """The tuned settings, and what they really bring in turn with the program as it is."""
    from pipesim import program as pipesim_program

    tuned = pipesim_program.tune(str(file))
    more = {"prefetch_factor": tuned.prefetch_factor} if tuned.workers else {}
    now, then = [], []
    for _ in range(TURNS):
        now.append(rate(program, workers, seconds))
        then.append(rate(program, tuned.workers, seconds, **more))
    return {"workers": tuned.workers, "prefetch_factor": tuned.prefetch_factor, "promised_gain": tuned.gain,
            "now_per_s": statistics.median(now), "then_per_s": statistics.median(then),
            "gain": statistics.median(then) / statistics.median(now) - 1}


def verdict(file):
    from pipesim import program as pipesim_program

    words = ["predict", str(file), "--quiet", "--no-save", "--export", "json=-"]
    return json.loads(pipesim_program.checked(words))["diagnosis"]["bottleneck"]


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("program")
    parse.add_argument("--workers", type=int, required=True)
    parse.add_argument("--seconds", type=float, default=12, help="of the watched loop")
    arguments = parse.parse_args()
    warnings.simplefilter("ignore")
    program = importlib.import_module(arguments.program)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        watch, file = watched(program, arguments.workers, arguments.seconds, folder)
        found = watch.watched
        answer = {"workers": arguments.workers, "steps_per_s": found.as_it_is.steps_per_s,
                  "ceiling_steps_per_s": found.cached.steps_per_s,
                  "waiting_share": found.as_it_is.waiting_s / found.as_it_is.wall_s,
                  "replayed_steps_per_s": replayed(program, 2.0), "report": found.report}
        if file.exists():
            answer.update(yaml=file.read_text(), verdict=verdict(file),
                          promise=promise(program, arguments.workers, file, 1.5))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
