#!/usr/bin/env python3
"""Every program of tests/pytorch/programs yields its first batches, without workers and with two, and says what it is.
Exit code 77: no PyTorch here."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from pytorch_measure import HALVES, ON_GPU, Slice, program_names, python_with_torch  # noqa: E402
from pytorch_predict import constants  # noqa: E402

LEAST_PROGRAMS = 40
# Each worker imports torch, which takes seconds: one is enough.
SLOW_TO_START = {"fit.spawned", "held_out.forkserver_started"}


def check_description(program, batches, wrong):
    """The stated batch size is that of the batches, and no distribution is left half stated."""
    description = constants(program)["DESCRIPTION"]
    if description is None:
        return
    stated = description["loader"]["batch_size"]
    if program != "held_out.buckets" and any(size != stated for size in batches):
        wrong.append(f"{program}: batches of {batches}, described as {stated}")


def main():
    names, wrong = program_names(), []
    if len(names) < LEAST_PROGRAMS:
        wrong.append(f"{len(names)} programs, {LEAST_PROGRAMS} are needed")
    counts = {half: sum(name.startswith(half + ".") for name in names) for half in HALVES}
    if counts["fit"] > counts["held_out"]:
        wrong.append(f"fewer programs held out than not: {counts}")
    with tempfile.TemporaryDirectory() as scratch:
        place = Slice(python_with_torch(), None, scratch)
        for name in names + program_names(ON_GPU):
            for workers in [0, 1 if name in SLOW_TO_START else 2]:
                # Without a GPU a program that trains on one still loads.
                alone = name.split(".")[0] in ON_GPU
                answer = place.measure({"do": "first", "program": name, "workers": workers, "alone": alone})
                if answer.get("failed"):
                    wrong.append(f"{name}, {workers} workers: {answer['failed']}")
                else:
                    check_description(name, answer["samples"], wrong)
        place.close()
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
