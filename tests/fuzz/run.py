#!/usr/bin/env python3
"""Runs fuzzers, each from its seeds and from what earlier runs found, and prints executions, coverage and crashes. Ends
with 1 if one crashed, ran out of memory or took too long for an input; that input is kept in WORK/crashes. Needs no
compiler: the programs, this folder and the project's files suffice."""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import time

import seeds

TIMEOUT_S = 25        # for one input, under sanitizers
LONGER_S = {"prediction": 60}  # may take 2 s, and thirty times as long under sanitizers
MEMORY_MB = 2560
LONGEST_INPUT = {"document": 40_000, "report": 40_000, "journal": 8_000, "command_line": 1_000, "set": 1_000, "units": 60,
                 "image_folder": 500}
LONGEST_OTHER = 4_000


def command(program, target, work, seconds, jobs):
    timeout_s = LONGER_S.get(target, TIMEOUT_S)
    words = [program, f"-max_total_time={seconds}", f"-timeout={timeout_s}", f"-report_slow_units={timeout_s}",
             f"-rss_limit_mb={MEMORY_MB}", f"-max_len={LONGEST_INPUT.get(target, LONGEST_OTHER)}", "-print_final_stats=1",
             f"-artifact_prefix={work}/crashes/{target}."]
    if (dictionary := work / "seeds" / f"{target}.dict").stat().st_size > 0:
        words.append(f"-dict={dictionary}")
    if jobs > 1:
        words += [f"-fork={jobs}", "-ignore_crashes=1"]
    return [str(word) for word in words + [work / "corpus" / target, work / "seeds" / target]]


def last(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(target, binaries, work, seconds, jobs):
    """The row of the table; nothing of the output but a crash is shown."""
    for folder in ("corpus", "crashes", "logs"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "corpus" / target).mkdir(exist_ok=True)
    seeds.write_seeds(work / "seeds", target, binaries)
    before = set((work / "crashes").glob(f"{target}.*"))
    began = time.monotonic()
    with open(work / "logs" / f"{target}.log", "w+", errors="replace") as log:
        code = subprocess.run(command(binaries / f"fuzz_{target}", target, work, seconds, jobs), stdout=log,
                              stderr=subprocess.STDOUT).returncode
        log.seek(0)
        text = log.read()
    crashes = sorted(set((work / "crashes").glob(f"{target}.*")) - before)
    if code != 0 and not crashes:
        sys.exit(f"fuzz_{target} ended with {code}; see {work}/logs/{target}.log")
    return {"target": target, "seconds": round(time.monotonic() - began), "crashes": crashes,
            "executions": last(r"stat::number_of_executed_units: +(\d+)", text) or last(r"(?m)^#(\d+)", text),
            "edges": last(r"\bcov: (\d+)", text), "features": last(r"\bft: (\d+)", text),
            "corpus": last(r"\bcorp: (\d+)", text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, prog="tools/fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(sorted(seeds.SEEDS))}; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target; default 60")
    parser.add_argument("--jobs", type=int, default=1, help="processes for a target; default 1")
    parser.add_argument("--side-by-side", type=int, default=1, metavar="N", help="targets at a time; default 1")
    parser.add_argument("--binaries", type=pathlib.Path, default=seeds.ROOT / "build/fuzz/tests/fuzz")
    parser.add_argument("--work", type=pathlib.Path, default=seeds.ROOT / "build/fuzz/work",
                        help="where seeds, corpora and crashes are kept")
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(seeds.SEEDS):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(sorted(seeds.SEEDS))}")
    print(f"{'target':<14}{'executions':>12}{'edges':>8}{'features':>10}{'corpus':>8}{'crashes':>9}{'seconds':>9}", flush=True)
    crashes = []
    targets = arguments.targets or sorted(seeds.SEEDS)
    with concurrent.futures.ThreadPoolExecutor(arguments.side_by_side) as pool:
        for row in pool.map(lambda target: fuzz(target, arguments.binaries, arguments.work, arguments.seconds,
                                                arguments.jobs), targets):
            print(f"{row['target']:<14}{row['executions']:>12,}{row['edges']:>8,}{row['features']:>10,}{row['corpus']:>8,}"
                  f"{len(row['crashes']):>9}{row['seconds']:>9}", flush=True)
            crashes += row["crashes"]
    for crash in crashes:
        print(f"{crash}  again: {arguments.binaries}/fuzz_{crash.name.split('.')[0]} {crash}")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
