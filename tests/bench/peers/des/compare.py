#!/usr/bin/env python3
"""The same closed queue in pipesim, SimPy and ns-3, one after the other, three rounds in one go:

    tests/bench/peers/des/compare.py build/release/tests/bench/virtual_bench

prints batches per second of CPU time (the best of three) and the ratios. SimPy comes from PyPI into
a folder of its own (kept in build/peers), ns-3 from Debian's libns3-dev; a peer that is not there is
said to be missing. pipesim keeps its whole trace meanwhile, the peers keep none.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE.parents[3] / "build" / "peers"
ROUNDS = 3


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True).stdout


def pipesim(bench):
    text = output_of(bench, "--benchmark_filter=ClosedQueue", "--benchmark_format=json")
    return json.loads(text)["benchmarks"][0]["items_per_second"]


def make_simpy():
    folder = KEPT / "venv"
    python = folder / "bin" / "python"
    if not (folder / "simpy-installed").exists():
        venv.create(folder, with_pip=True)
        output_of(python, "-m", "pip", "install", "-q", "simpy==4.1.1")
        (folder / "simpy-installed").touch()
    return lambda: float(output_of(python, HERE / "closed_queue.py", 50_000))


def make_ns3():
    include = pathlib.Path("/usr/include")
    headers = [*include.glob("ns3/core-module.h"), *include.glob("ns3*/ns3/core-module.h")]
    compiler = shutil.which("g++")
    if not headers or not compiler:
        return None
    library = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/libns3*-core*.so"))), None)
    if library is None:
        return None
    program = KEPT / "closed_queue_ns3"
    output_of(compiler, "-O2", "-std=c++17", "-I", headers[0].parents[1],
              HERE / "closed_queue_ns3.cc", library, "-o", program)
    return lambda: float(output_of(program, 1_000_000))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    KEPT.mkdir(parents=True, exist_ok=True)
    peers = {"pipesim": lambda: pipesim(sys.argv[1]), "SimPy": make_simpy(), "ns-3": make_ns3()}
    best = {}
    for _ in range(ROUNDS):
        for name, run in peers.items():
            if run is not None:
                best[name] = max(best.get(name, 0), run())
    for name in peers:
        if name not in best:
            print(f"{name:8} not there")
            continue
        print(f"{name:8} {best[name]:12,.0f} batches/s   pipesim x {best['pipesim'] / best[name]:.2f}")


if __name__ == "__main__":
    main()
