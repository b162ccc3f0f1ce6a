"""Running pipesim from the measuring tools: one command at a time, with its report and its CPU time."""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import threading


@dataclasses.dataclass
class Answer:
    """What one command said. `report` is None where it wrote none; `timed_out`: it was ended for its time."""

    words: list
    code: int
    report: dict
    cpu_s: float
    errors: str
    timed_out: bool = False

    @property
    def rate(self):
        return self.report["result"]["samples_per_s"] if self.report else None

    @property
    def diagnosis(self):
        return self.report["diagnosis"] if self.report else {}

    @property
    def verdict(self):
        return self.diagnosis.get("bottleneck")


def shell(words):
    return shlex.join(["pipesim", *words])


class Pipesim:
    """Starts the binary; every command ends after `limit_s`."""

    def __init__(self, binary, limit_s=120):
        self.binary, self.limit_s = str(binary), limit_s

    def __call__(self, words):
        save = ["--no-save"] if words[0] in ("run", "predict") else []
        command = [self.binary, *words, "--quiet", *save, "--export", "json=-"]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            # A group of its own to end it by, but the session of this program: schedulers share cores between sessions.
            process = subprocess.Popen(command, stdout=out, stderr=errors, process_group=0)
            late = threading.Event()

            def end():
                late.set()
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.killpg(process.pid, signal.SIGKILL)

            timer = threading.Timer(self.limit_s, end)
            timer.start()
            # wait4 gives the CPU time of this command alone, children included.
            _, status, used = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            errors.seek(0)
            return Answer(list(words), process.returncode, parsed(out.read()), used.ru_utime + used.ru_stime,
                          errors.read().decode(errors="replace"), late.is_set())


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def core_groups(size):
    """Groups of `size` processors of this program, each processor on a core of its own."""
    first = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        first.setdefault(siblings.read_text() if siblings.exists() else cpu, cpu)
    cpus = list(first.values())
    return [cpus[begin:begin + size] for begin in range(0, len(cpus) - size + 1, size)]


def in_parallel(jobs, work, items):
    """work(item) for each, `jobs` at a time; yields the results in the order of the items. An interrupt begins no more
    of them."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(work, items)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def changed(words, settings):
    """The command with the settings {key: value} on top; a later flag wins."""
    return [*words, *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]


def recommended_settings(answer):
    """The recommended change of the pipeline, {} without one: advice to measure longer is none."""
    recommended = answer.diagnosis.get("recommendation") or {}
    settings = recommended.get("set") or {}
    return {} if all(key.startswith("run.") for key in settings) else settings


def wilson(hits, of, z=1.96):
    """95 % interval of a share (Wilson 1927)."""
    if of == 0:
        return 0.0, 1.0
    share = hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5 / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)
