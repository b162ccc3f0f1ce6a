"""The true rates of the programs of tests/pytorch/programs, for tools/check_pytorch.

Several slices of the machine measure side by side, each on processors of its own: in each of them runs one
tests/pytorch/measure_program.py.
"""

import itertools
import json
import os
import pathlib
import platform
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from commands import core_groups

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests/pytorch"
WORKERS = [0, 1, 2, 3, 4, 6, 8]
HALVES = ["fit", "held_out"]
ON_GPU = ["gpu"]
RECORD_LIMIT_S = 120
WATCH_LIMIT_S = 240
STARTED_ANEW = {"fit.spawned", "held_out.forkserver_started"}  # their workers take seconds to start
MOST_SHARED_BYTES = 17 * (16 << 20)  # fit.large_files with 8 workers: 16 MiB batches, two ahead each, one in use
# Programs that train, and the worker counts at which pipesim.watch looks at them.
WATCHED = {"fit.train_mlp": 2, "fit.train_from_files": 0, "fit.train_on_words": 4, "fit.step_5ms": 1,
           "held_out.train_mlp_2_threads": 2, "held_out.train_cnn": 0, "held_out.train_augmented": 1,
           "held_out.train_table": 2, "held_out.step_20ms": 3, "held_out.bursts": 2}


def program_names(folders=HALVES):
    return [f"{each}.{file.stem}" for each in folders for file in sorted((TESTS / "programs" / each).glob("*.py"))]


def python_with_torch():
    own = ROOT / ".venv/bin/python3"
    return str(own) if own.exists() else sys.executable


def processors(slices, size):
    """`slices` lists of `size` processors; those of one slice are on different cores."""
    groups = core_groups(size)
    if slices > len(groups):
        rest = sorted(os.sched_getaffinity(0) - {cpu for group in groups for cpu in group})
        groups += [rest[i:i + size] for i in range(0, len(rest) - size + 1, size)]
    if slices > len(groups):
        here = len(os.sched_getaffinity(0))
        sys.exit(f"check_pytorch: {slices} slices need {slices * size} processors, here are {here}")
    return groups[:slices]


class Slice:
    """One part of the machine, all of it without `cpus`; its methods block until the answer is there."""

    def __init__(self, python, cpus, scratch, pipesim=None):
        self.python, self.cpus, self.pipesim = python, cpus, pipesim
        path = os.pathsep.join([str(ROOT / "python"), str(TESTS), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        self.surroundings = {**os.environ, "PIPESIM_SCRATCH": str(scratch), "PYTHONPATH": path,
                             "PYTHONWARNINGS": "ignore"}
        if pipesim:
            self.surroundings["PIPESIM_PROGRAM"] = str(pathlib.Path(pipesim).resolve())
        self.server = self.started([python, str(TESTS / "measure_program.py")], subprocess.Popen, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def started(self, command, start, **more):
        def pin():
            if self.cpus:
                os.sched_setaffinity(0, self.cpus)

        return start(command, env=self.surroundings, preexec_fn=pin, **more)

    def measure(self, task):
        try:
            self.server.stdin.write(json.dumps({**task, "program": "programs." + task["program"]}) + "\n")
            self.server.stdin.flush()
            line = self.server.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            sys.exit(self.server.wait() or 1)  # it has said why; 77: no PyTorch
        return json.loads(line)

    def record(self, program):
        """A recording as `python -m pipesim record` writes it."""
        with tempfile.TemporaryDirectory() as folder:
            out, begun = pathlib.Path(folder) / "recorded.yaml", time.monotonic()
            command = [self.python, "-m", "pipesim", "record", f"programs.{program}:loader", "--out", str(out)]
            if (TESTS / "programs" / (program.replace(".", "/") + ".py")).read_text().count("\ndef step("):
                command += ["--step", f"programs.{program}:step"]
            try:
                done = self.started(command, subprocess.run, capture_output=True, text=True, timeout=RECORD_LIMIT_S)
            except subprocess.TimeoutExpired:
                return {"failed": f"no recording within {RECORD_LIMIT_S} s"}
            if done.returncode != 0 or not out.exists():
                return {"failed": f"record: exit {done.returncode}: {done.stderr[-1000:]}"}
            return {"seconds": time.monotonic() - begun, "messages": done.stderr[-2000:], "yaml": out.read_text()}

    def watch(self, program):
        """What pipesim.watch says, and what is true: tests/pytorch/watch_program.py."""
        command = [self.python, str(TESTS / "watch_program.py"), f"programs.{program}", "--workers",
                   str(WATCHED[program])]
        try:
            done = self.started(command, subprocess.run, capture_output=True, text=True, timeout=WATCH_LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"failed": f"no answer within {WATCH_LIMIT_S} s"}
        return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr[-1000:]}

    def calibrate(self):
        """The profile of this slice's processors."""
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "profile.yaml"
            for what in (["--device", "emulated"], ["--python", self.python]):
                command = [self.pipesim, "calibrate", *what, "--out", str(out)]
                done = self.started(command, subprocess.run, capture_output=True, text=True)
                if done.returncode != 0:
                    return {"failed": f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-1000:]}"}
            return {"yaml": out.read_text()}

    def close(self):
        self.server.stdin.close()
        self.server.wait()


class Task:
    """What to do in a slice, and where its answer goes."""

    def __init__(self, do, program=None, workers=None, seconds=None):
        self.do, self.program, self.workers, self.seconds = do, program, workers, seconds

    def answer_in(self, place):
        if self.do == "calibrate":
            return place.calibrate()
        if self.do == "record":
            return place.record(self.program)
        if self.do == "watch":
            return place.watch(self.program)
        task = {"do": self.do, "program": self.program, "workers": self.workers, "seconds": self.seconds}
        return place.measure(task)

    def keep(self, answer, result):
        if self.do == "calibrate":
            result["profile"] = answer.get("yaml")
            return
        entry = result["programs"].setdefault(self.program, {"rates": {}})
        if self.do == "rate":
            entry["rates"].setdefault(str(self.workers), []).append(answer)
        else:
            entry[self.do] = answer


def tasks_of(program, arguments):
    """A program's tasks, one after another in one slice: what is seen once lies between the rounds of its rates, since
    a shared machine's pace changes within minutes. The first brings files and the page cache into their state."""
    rates = [Task("rate", program, each, arguments.seconds) for each in arguments.workers]
    once = [Task("stopwatch", program, seconds=0.3)]
    once += [Task("record", program)] if arguments.record else []
    once += [Task("watch", program)] if arguments.watch and program in WATCHED else []
    order, tasks = random.Random(program), [Task("first", program, 0)]
    for number in range(arguments.rounds):
        order.shuffle(rates)
        tasks += rates + (once if number == (arguments.rounds - 1) // 2 else [])
    return tasks


def programs_of_tasks(names, arguments):
    """The lists of tasks that slices take, what takes longest first."""
    programs = [tasks_of(name, arguments) for name in sorted(names, key=lambda name: name not in STARTED_ANEW)]
    return ([[Task("calibrate")]] if arguments.pipesim else []) + programs


def in_slices(places, programs, deadline, keep):
    """Every slice takes the next program when it is free; after `deadline` no task is begun. Returns how many were
    not."""
    waiting, lock, left = queue.Queue(), threading.Lock(), [0]
    for tasks in programs:
        waiting.put(tasks)

    def serve(place):
        while True:
            try:
                tasks = waiting.get_nowait()
            except queue.Empty:
                return
            for number, task in enumerate(tasks):
                if time.monotonic() >= deadline:
                    with lock:
                        left[0] += len(tasks) - number
                    break
                answer = task.answer_in(place)
                with lock:
                    keep(task, answer, number + 1 == len(tasks))

    threads = [threading.Thread(target=serve, args=[place]) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return left[0]


def gpu_of(python):
    """Its name; empty without one."""
    question = "import torch; print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else '')"
    return subprocess.run([python, "-c", question], capture_output=True, text=True).stdout.strip()


def context(python, cpus):
    model = [line.split(": ")[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    torch = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    return {"cpu": model[0] if model else platform.processor(), "processors": os.cpu_count(),
            "slices": len(cpus), "cores": len(cpus[0]), "torch": torch.stdout.strip(),
            "date": time.strftime("%Y-%m-%d"), "load_before": os.getloadavg()[0]}


def warn_of_little_shared_memory(slices):
    """Batches travel through /dev/shm; a worker that finds it full dies of a bus error."""
    free = shutil.disk_usage("/dev/shm").free
    needed = slices * MOST_SHARED_BYTES
    if free < needed:
        print(f"/dev/shm has {free >> 20} MiB free, {slices} slices may need {needed >> 20}: as root "
              f"mount -o remount,size={needed >> 20}m /dev/shm", file=sys.stderr)


def measure(arguments):
    begun = time.monotonic()
    programs = program_names(ON_GPU if arguments.gpu else HALVES)
    names = [name for name in programs if not arguments.only or name in arguments.only]
    python, cpus = arguments.python or python_with_torch(), processors(arguments.slices, arguments.cores)
    warn_of_little_shared_memory(len(cpus))
    result = {"context": context(python, cpus), "programs": {}}
    if arguments.gpu:
        result["context"]["gpu"] = gpu_of(python)
        if not result["context"]["gpu"]:
            sys.exit("check_pytorch: PyTorch finds no GPU, which --gpu needs")
    programs, done = programs_of_tasks(names, arguments), itertools.count(1)

    def keep(task, answer, last):
        task.keep(answer, result)
        if answer.get("failed"):
            print(f"{task.program}, {task.do}, {task.workers} workers: {answer['failed']}", file=sys.stderr)
        if last:
            print(f"{time.monotonic() - begun:.0f} s: {next(done)} of {len(programs)}: {task.program or task.do}",
                  file=sys.stderr, flush=True)
            arguments.out.write_text(json.dumps(result, indent=1))

    places = [Slice(python, each, arguments.scratch, arguments.pipesim) for each in cpus]
    try:
        if left := in_slices(places, programs, begun + 60 * arguments.minutes, keep):
            print(f"{left} tasks were not begun within {arguments.minutes:g} minutes", file=sys.stderr)
        arguments.out.write_text(json.dumps(result, indent=1))
    finally:
        for place in places:
            place.close()
