#!/usr/bin/env python3
"""The same sweep of 100 closed queues in pipesim, SimPy, ns-3 and SimGrid, in turn, three rounds:

    tests/bench/peers/des/compare.py build/release/bin/pipesim

prints the CPU time of each one's whole process (user and system, the best of three), how many times
pipesim's it is, and the largest difference between the rates. 10 numbers of workers by 10 prefetch
factors, 10,000 batches each; once with constant costs, which pipesim need not simulate period by
period, and once with exponential ones. pipesim also keeps its trace, finds the bottleneck of each
point and writes its report; the others count batches.

SimPy comes from PyPI into build/peers, ns-3 and SimGrid from Debian (libns3-dev, libsimgrid-dev); one
that is not there is said to be missing.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE.parents[3] / "build" / "peers"
ROUNDS = 3
BATCHES = 10_000
WORKERS = [2, 4, 6, 8, 10, 12, 14, 18, 24, 32]
PREFETCH = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16]

EXPERIMENT = """
version: 1
name: closed-queue
dataset: {samples: 1M, sample_bytes: 1B, shape: [1], dtype: uint8}
storage: none
prepare: {kind: wait, cost: COST}
loader: {batch_size: 1, shuffle: false}
model: {sync_every: 1}
device: {emulated: {base: 1ms}}
run: {steps: STEPS}
"""
COSTS = {"constant": "16ms", "exponential": "{distribution: exponential, mean: 16ms}"}


def words_of(numbers):
    return ",".join(map(str, numbers))


def timed(*command):
    """CPU seconds of a process with its children, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


def rates_of_lines(text):
    rates = {}
    for line in text.splitlines():
        workers, prefetch, rate = line.split()
        rates[int(workers), int(prefetch)] = float(rate)
    return rates


def peer(*program):
    def run(costs):
        used, text = timed(*program, BATCHES, costs, words_of(WORKERS), words_of(PREFETCH))
        return used, rates_of_lines(text)
    return run


def pipesim(program):
    def run(costs):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(EXPERIMENT.replace("COST", COSTS[costs]).replace("STEPS", str(BATCHES)))
            file.flush()
            used, text = timed(program, "sweep", file.name, "--engine", "predict", "--quiet",
                               "--no-save", "--export", "json=-",
                               "--axis", "workers=" + words_of(WORKERS),
                               "--axis", "prefetch=" + words_of(PREFETCH))
        return used, {
            (WORKERS[point["position"][0]], PREFETCH[point["position"][1]]):
                point["predicted"]["samples_per_s"]
            for point in json.loads(text)["points"]}
    return run


def make_simpy():
    folder = KEPT / "venv"
    python = folder / "bin" / "python"
    if not (folder / "simpy-installed").exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "simpy==4.1.1"], check=True)
        (folder / "simpy-installed").touch()
    return peer(python, HERE / "closed_queue.py")


def make_compiled(source, header, libraries):
    include = pathlib.Path("/usr/include")
    found = [*include.glob(header), *include.glob("*/" + header)]
    library = next(iter(sorted(pathlib.Path("/usr/lib").glob(libraries))), None)
    if not found or library is None:
        return None
    program = KEPT / pathlib.Path(source).stem
    folder = str(found[0])[: -len(header)]
    subprocess.run(["g++", "-O2", "-std=c++17", "-I", folder, HERE / source, library, "-o", program],
                   check=True)
    return peer(program)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    KEPT.mkdir(parents=True, exist_ok=True)
    sides = {
        "pipesim": pipesim(sys.argv[1]),
        "SimPy": make_simpy(),
        "ns-3": make_compiled("closed_queue_ns3.cc", "ns3/core-module.h", "*/libns3*-core*.so"),
        "SimGrid": make_compiled("closed_queue_simgrid.cc", "simgrid/s4u.hpp", "*/libsimgrid.so"),
    }
    for costs in COSTS:
        best, rates = {}, {}
        for _ in range(ROUNDS):
            for name, run in sides.items():
                if run is None:
                    continue
                used, rates[name] = run(costs)
                best[name] = min(best.get(name, used), used)
        print(f"{costs} costs")
        for name in sides:
            if name not in best:
                print(f"  {name:8} not there")
                continue
            apart = max(abs(rates[name][at] / rate - 1) for at, rate in rates["pipesim"].items())
            print(f"  {name:8} {best[name]:8.3f} s   pipesim x {best[name] / best['pipesim']:6.1f}"
                  f"   rates apart by at most {apart:.2%}")


if __name__ == "__main__":
    main()
