"""Seed corpora of the fuzzers, made from the project's own files: experiments, models, presets, broken files, golden
documents, and the commands of the docs and the tests. write_seeds(folder) puts those of TARGET into folder/TARGET, and
the words that occur in them into folder/TARGET.dict."""

import collections
import gzip
import hashlib
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_WORDS = 400


def files(*patterns):
    return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def lines(words):
    return "\n".join(words).encode()


def texts_of(pattern, *where):
    """What `pattern` finds in files of the project."""
    found = (re.findall(pattern, path.read_text()) for glob in where for path in sorted(ROOT.glob(glob)))
    return sorted({text for texts in found for text in texts})


def experiments():
    return files("configs/experiments/*.yaml", "configs/scenarios/*.yaml", "configs/sweeps/*.yaml",
                 "tests/unit/spec/broken/*.yaml")


def settings():
    return texts_of(r'"--set",\s*"([^"\\]+=[^"\\]+)"', "tests/cli/*.cc") + texts_of(r"--set '([^']+)'", "docs/*.md")


def commands():
    typed = texts_of(r'"pipesim ([^"\\]+)"', "src/app/commands.cc") + texts_of(r"(?m)^pipesim (.+?)(?:  .*)?$", "docs/*.md")
    split = []
    for text in typed:
        try:
            split.append(shlex.split(text))
        except ValueError:
            continue
    return [lines(words) for words in split]


def units():
    return [text.encode() for text in texts_of(r'"([^"\\\n]{1,24})"', "tests/unit/spec/units_text_test.cc")]


def sweeps():
    axes = texts_of(r'"--axis",\s*"([^"\\]+)"', "tests/cli/*.cc") + texts_of(r'"([a-z_.+]+=[^"\\ ]+)"', "tests/unit/spec/sweep_test.cc")
    return files("configs/sweeps/*.yaml") + [text.encode() for text in axes] + [lines(axes[:4])]


def documents():
    compact = (json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).encode()
               for text in files("tests/golden/*.json", "tests/golden/documents/*.json"))
    return list(compact)


def journals():
    records = [json.dumps({"sweep": {"version": "1", "axis 1": "loader.workers=0,1,2", "shard": "1/1"}})]
    for text in files("tests/golden/documents/sweep_*.json"):
        records += [json.dumps(point, separators=(",", ":")) for point in json.loads(text)["points"]]
    whole = [f'{{"crc32":"{zlib.crc32(record.encode()):08x}","record":{record}}}\n' for record in records]
    return [record.encode() for record in records] + ["".join(whole[:5]).encode(), "".join(whole)[:700].encode()]


IMAGE_FOLDERS = [
    ["cat/1.jpg", "cat/2.JPEG", "dog/a/b/3.jpeg", "readme.txt"],
    ["1.jpg"],
    ["class/1.jpg", "class/loop@", "linked@"],
    ["empty/", "class/no.png"],
]

MACHINES = [
    {"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
     "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/b/memory.max": "1073741824\n",
     "sys/fs/cgroup/a/b/memory.current": "4096000\n", "sys/fs/cgroup/a/b/memory.stat": "active_file 4096\ninactive_file 8192\n",
     "sys/fs/cgroup/a/b/memory.events": "low 0\noom_kill 3\n", "sys/fs/cgroup/a/b/cpu.stat": "nr_throttled 5\nthrottled_usec 70\n",
     "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n", "proc/cpuinfo": "model name\t: A CPU @ 3.00GHz\n"},
    {"proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/c\n",
     "proc/self/mountinfo": "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                            "32 24 0:28 /c /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
     "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
     "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "9223372036854771712\n",
     "sys/fs/cgroup/memory/m/memory.usage_in_bytes": "100\n",
     "sys/fs/cgroup/memory/m/memory.oom_control": "oom_kill_disable 0\noom_kill 1\n", "proc/vmstat": "oom_kill 2\n"},
    {"proc/1/stat": "1 (a b) S 0 1 1 0 -1 4194560 1 2 3 4 50 60 7 8 20 0 1 0 5 9 1 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0\n",
     "proc/1/cgroup": "0::/\n", "proc/1/autogroup": "/autogroup-7 nice 0\n", "proc/sys/kernel/sched_autogroup_enabled": "1\n"},
]


def machines():
    disk = b"  100 2 3000 40 5 6 70 8 0 90 100 0 0 0 0 0 0"
    return [lines(f"== {path}\n{text}" for path, text in machine.items()) for machine in MACHINES] + [disk]


def traces():
    def event(name, category, begin_us, time_us):
        return {"ph": "X", "cat": category, "name": name, "ts": begin_us, "dur": time_us, "args": {"bytes": 4096}}

    events = []
    for step in range(3):
        begin = 1000 * step
        events += [event(f"ProfilerStep#{step}", "user_annotation", begin, 1000),
                   event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "user_annotation", begin, 300),
                   event("gemm", "kernel", begin + 400, 200), event("cudaStreamSynchronize", "cuda_runtime", begin + 400, 300),
                   event("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", begin + 300, 50)]
    whole = json.dumps({"schemaVersion": 1, "deviceProperties": [{"name": "GPU"}], "traceEvents": events}).encode()
    return [whole, whole[:500], gzip.compress(whole)]


SEEDS = {
    "command_line": commands,
    "dlio": lambda: files("configs/dlio/*.yaml"),
    "document": documents,
    "experiment": experiments,
    "image_folder": lambda: [lines(names) for names in IMAGE_FOLDERS],
    "jpeg": lambda: [],  # written by jpeg_seeds
    "journal": journals,
    "machine_files": machines,
    "model": lambda: files("models/*.yaml"),
    "prediction": experiments,
    "preset": lambda: files("configs/storage/*.yaml", "configs/devices/*.yaml"),
    "profile": lambda: files("configs/machines/*.yaml"),
    "profiler_trace": traces,
    "report": documents,
    "scenario": lambda: files("configs/scenarios/*.yaml"),
    "set": lambda: [text.encode() for text in settings()] + [lines(settings()[:12])],
    "sweep": sweeps,
    "units": units,
}


def write_dictionary(path, seeds):
    """The keys and words of the seeds: most readers compare with words of a table."""
    counted = collections.Counter(word for seed in seeds for word in re.findall(rb"[A-Za-z_][A-Za-z0-9_.-]{2,39}", seed))
    words = sorted(word.decode() for word, _ in counted.most_common(MOST_WORDS))
    path.write_text("".join(f'"{word}"\n' for word in words))


def write_seeds(folder, target, binaries):
    own = folder / target
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    seeds = SEEDS[target]()
    for seed in seeds:
        (own / hashlib.sha1(seed).hexdigest()[:16]).write_bytes(seed)
    if target == "jpeg":
        subprocess.run([binaries / "jpeg_seeds", own], check=True)
    write_dictionary(folder / f"{target}.dict", seeds)
