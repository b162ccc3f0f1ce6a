#!/usr/bin/env python3
"""pipesim's loader beside PyTorch's DataLoader and SPDL: the same items, one go, interleaved. README.md
says how to run it and what is compared. Prints a table; --json keeps every measurement."""

import argparse
import itertools
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ITEMWISE = {"trivial": ["dataloader:items", "spdl:items"]}  # what the ratio is taken against
PEERS = {
    "trivial": ["dataloader:items", "spdl:items", "dataloader:batched", "spdl:batched"],
    "jpeg": [
        "dataloader:pillow", "dataloader:torchvision", "dataloader:torchvision-antialias",
        "spdl:torchvision", "spdl:bilinear", "spdl:fast_bilinear",
    ],
}
TRIVIAL = "{samples: 1048576, sample_bytes: 64B, shape: [64], dtype: uint8, classes: 10}"
JPEG = "{shape: [3, 224, 224], dtype: uint8, classes: 1000}"


def ffmpeg_environment(folder):
    """PyAV's wheel holds FFmpeg's libraries under mangled names: links under the names SPDL asks for."""
    links = pathlib.Path(tempfile.mkdtemp(prefix="ffmpeg-"))
    folder = pathlib.Path(folder).resolve()
    for library in folder.glob("lib[as][vw]*-*.so.*"):
        name, _, version = library.name.partition(".so.")
        (links / f"{name.partition('-')[0]}.so.{version.partition('.')[0]}").symlink_to(library)
    return {"LD_LIBRARY_PATH": f"{links}:{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


class Peer:
    """One process for one loader, so that torch is imported once."""

    def __init__(self, loader, environment):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", HERE / "peer_loaders.py", loader], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | environment,
        )
        self.about = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[-1]} ended, see above")
        return json.loads(line)

    def measure(self, task):
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        return self.read()


def measure_pipesim(binary, task):
    if task["work"] == "trivial":
        what = ["--set", f"dataset={TRIVIAL}", "--prepare", "none", "--set", "storage=none", "--batch", "256"]
    else:
        what = ["--data", task["folder"], "--set", f"dataset={JPEG}", "--prepare", "decode", "--batch", "64"]
    command = [
        binary, "run", "--workers", str(task["workers"]), *what, "--model", "linear",
        "--set", "device={emulated: {base: 0}}", "--set", "loader.drop_last=true",
        "--set", f"run.warmup={task['warmup_s']}s", "--duration", f"{task['seconds']}s",
        "--quiet", "--no-save", "--export", "json=-",
    ]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    result = report["result"]
    return {
        "items": result["samples_per_s"] * result["measured_s"], "seconds": result["measured_s"],
        "cpu_s": report["resources"]["cores_used"] * result["measured_s"],
    }


def warm_page_cache(folder):
    for path in pathlib.Path(folder).rglob("*.jp*g"):
        path.read_bytes()


def measure_all(arguments, work, peers):
    """Loaders take turns at each number of workers, so that a noisy minute hits all of them."""
    rows = []
    for turn, workers in itertools.product(range(arguments.repeats), arguments.workers):
        task = {
            "work": work, "workers": workers, "warmup_s": arguments.warmup, "seconds": arguments.seconds,
            "folder": str(arguments.jpegs or ""),
        }
        for loader in ["pipesim", *peers]:
            if workers == 0 and loader.startswith("spdl"):
                continue  # its pipeline always runs on threads
            got = measure_pipesim(arguments.pipesim, task) if loader == "pipesim" else peers[loader].measure(task)
            rows.append({"work": work, "loader": loader, "workers": workers, "turn": turn, **got})
            if sys.stderr.isatty():
                print(f"\r{work}: turn {turn + 1} of {arguments.repeats}, {workers} workers, {loader:35}",
                      end="", file=sys.stderr, flush=True)
    return rows


def summarise(rows, work, workers):
    summary = {}
    for loader in dict.fromkeys(row["loader"] for row in rows):
        mine = [row for row in rows if (row["work"], row["loader"], row["workers"]) == (work, loader, workers)]
        if mine:
            rates = [row["items"] / row["seconds"] for row in mine]
            summary[loader] = {
                "items_per_s": statistics.median(rates), "least": min(rates), "most": max(rates),
                "cpu_s_per_s": statistics.median(row["cpu_s"] / row["seconds"] for row in mine),
                "items_per_cpu_s": statistics.median(row["items"] / max(row["cpu_s"], 1e-9) for row in mine),
            }
    return summary


def compare(summary, work):
    own = summary["pipesim"]
    peers = {loader: of for loader, of in summary.items() if loader != "pipesim"}
    itemwise = {loader: of for loader, of in peers.items() if loader in ITEMWISE.get(work, peers)}
    ratios = {}
    for name, among in (("better_peer", itemwise), ("any_peer", peers)):
        if among:
            best = max(among, key=lambda loader: among[loader]["items_per_s"])
            leanest = max(among, key=lambda loader: among[loader]["items_per_cpu_s"])
            ratios[name] = {
                "loader": best, "ratio": own["items_per_s"] / among[best]["items_per_s"],
                "leanest": leanest, "cpu_ratio": own["items_per_cpu_s"] / among[leanest]["items_per_cpu_s"],
            }
    return ratios


def print_table(results):
    for result in results:
        print(f"\n{result['work']}, {result['workers']} workers"
              f"\n  {'loader':34}{'items/s':>12}{'least':>12}{'most':>12}{'CPUs':>7}{'items/CPU-s':>14}")
        for loader, of in result["loaders"].items():
            print(f"  {loader:34}{of['items_per_s']:12,.0f}{of['least']:12,.0f}{of['most']:12,.0f}"
                  f"{of['cpu_s_per_s']:7.2f}{of['items_per_cpu_s']:14,.0f}")
        for name, of in result["ratios"].items():
            print(f"  pipesim / {name.replace('_', ' ')}: {of['ratio']:.2f} ({of['loader']}); "
                  f"items per CPU-second: {of['cpu_ratio']:.2f} ({of['leanest']})")


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--pipesim", required=True, help="the program, e.g. build/release/bin/pipesim")
    parse.add_argument("--jpegs", type=pathlib.Path, help="a folder of JPEGs; without it: trivial items only")
    parse.add_argument("--work", choices=PEERS, action="append", help="default: all that is possible")
    parse.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4, 8])
    parse.add_argument("--loaders", nargs="+", help="of the peers, e.g. dataloader:items spdl:bilinear")
    parse.add_argument("--repeats", type=int, default=7)
    parse.add_argument("--seconds", type=float, default=2, help="of each measurement, after the warm-up")
    parse.add_argument("--warmup", type=float, default=0.5, help="seconds")
    parse.add_argument("--ffmpeg", type=pathlib.Path, help="the folder av.libs of PyPI's av, if there is no other FFmpeg")
    parse.add_argument("--json", type=pathlib.Path, help="every measurement and the summary go here")
    arguments = parse.parse_args()
    environment = ffmpeg_environment(arguments.ffmpeg) if arguments.ffmpeg else {}

    rows, results, about = [], [], {}
    for work in arguments.work or (["trivial", "jpeg"] if arguments.jpegs else ["trivial"]):
        if work == "jpeg":
            warm_page_cache(arguments.jpegs)
        wanted = [loader for loader in PEERS[work] if not arguments.loaders or loader in arguments.loaders]
        peers = {loader: Peer(loader, environment) for loader in wanted}
        about = {"cpus": os.cpu_count(), "python": platform.python_version(),
                 **next(iter(peers.values()), argparse.Namespace(about={})).about}
        rows += measure_all(arguments, work, peers)
        for peer in peers.values():
            peer.process.stdin.close()
            peer.process.wait()
        for workers in arguments.workers:
            summary = summarise(rows, work, workers)
            results.append({"work": work, "workers": workers, "loaders": summary, "ratios": compare(summary, work)})
        if arguments.json:  # after each kind of work: what was measured is kept
            arguments.json.write_text(json.dumps({"about": about, "results": results, "rows": rows}, indent=1))
    print_table(results)


if __name__ == "__main__":
    main()
