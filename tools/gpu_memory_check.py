#!/usr/bin/env python3
"""Holds `pipesim memory` against what training really allocates: tools/gpu_memory_check.py [--device cuda:0]

Trains each shipped model for a few steps at two batches, in fp32 and bf16, with each optimizer once, and
compares the report's device_peak_bytes (LibTorch's max_memory_allocated) with total_bytes of `pipesim
memory`. Prints a table in Markdown; the exit code is 1 when an estimate misses by more than max(5 %, 64 MiB).

--program PATH  the pipesim to use (default: build/release/bin/pipesim)
"""

import argparse
import json
import pathlib
import subprocess
import sys

MIB = 1 << 20
CASES = [  # model, batches, further settings
    ("mlp", (64, 4096), []),
    ("cnn", (64, 1024), []),
    ("resnet18", (16, 128), []),
    ("resnet50", (16, 64), []),
    ("transformer", (16, 128), []),
    ("resnet18", (64,), ["--set", "model.precision=bf16"]),
    ("transformer", (64,), ["--set", "model.precision=bf16"]),
    ("transformer", (64,), ["--set", "model.optimizer=adam"]),
    ("resnet50", (32,), ["--set", "model.optimizer=momentum"]),
]
STEPS = 6  # the peak is that of every step after the first


def run_json(words):
    """The document that the command prints, or None with its message on stderr."""
    result = subprocess.run(words + ["--export", "json=-"], capture_output=True, text=True)
    if not result.stdout:
        print(" ".join(words), ":", result.stderr.strip(), file=sys.stderr)
        return None
    return json.loads(result.stdout)


def compare(program, device, model, batch, more):
    """Estimated and measured bytes of one case."""
    asked = ["--model", model, "--batch", str(batch), "--device", device] + more
    estimate = run_json([program, "memory"] + asked)
    run = run_json([program, "run", "--workers", "1", "--prepare", "none", "--storage", "ram", "--steps", str(STEPS),
                    "--set", "run.probes=off", "--warmup", "0", "--force", "--quiet", "--no-save"] + asked)
    if estimate is None or run is None:
        return None
    return estimate["total_bytes"], run["memory"]["device_peak_bytes"], estimate["parts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--program", default=str(root / "build/release/bin/pipesim"))
    parser.add_argument("--device", default="cuda:0")
    arguments = parser.parse_args()
    missed = 0
    print("| model | batch | settings | estimated MiB | measured MiB | error |\n|---|---:|---|---:|---:|---:|")
    for model, batches, more in CASES:
        for batch in batches:
            settings = " ".join(word for word in more if word != "--set")
            result = compare(arguments.program, arguments.device, model, batch, more)
            if result is None or not result[1]:
                print(f"| {model} | {batch} | {settings} | | | no result |")
                missed += 1
                continue
            estimated, measured, parts = result
            fits = abs(estimated - measured) <= max(0.05 * measured, 64 * MIB)
            missed += not fits
            print(f"| {model} | {batch} | {settings} | {estimated / MIB:,.1f} | {measured / MIB:,.1f} "
                  f"| {estimated / measured - 1:+.1%}{'' if fits else ' **missed**'} |")
            if not fits:
                print("  " + ", ".join(f"{part['what']} {part['bytes'] / MIB:.1f}" for part in parts), file=sys.stderr)
    print(f"\n{missed} missed by more than max(5 %, 64 MiB).")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
