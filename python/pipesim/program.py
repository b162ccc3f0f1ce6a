"""Finds and calls the `pipesim` program, which predicts; this package only measures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import ConfigurationError


def find_program() -> str | None:
    """PIPESIM_PROGRAM, else beside this Python, else on PATH, else in a build of this source tree."""
    if named := os.environ.get("PIPESIM_PROGRAM"):
        return named
    beside = Path(sysconfig.get_path("scripts")) / "pipesim"
    if os.access(beside, os.X_OK):
        return str(beside)
    if found := shutil.which("pipesim"):
        return found
    builds = Path(__file__).resolve().parents[2].glob("build/*/bin/pipesim")
    return max(map(str, builds), key=os.path.getmtime, default=None)


def call(words: list[str]) -> subprocess.CompletedProcess:
    program = find_program()
    if program is None:
        raise ConfigurationError(
            "the program `pipesim` is neither beside this Python nor on PATH\n"
            "install it with `pip install .` or set PIPESIM_PROGRAM"
        )
    try:
        return subprocess.run([program, *words], capture_output=True, text=True)
    except OSError as error:
        raise ConfigurationError(f"cannot start {program}: {error}") from error


def checked(words: list[str]) -> str:
    result = call(words)
    if result.returncode != 0:
        reason = result.stderr.strip() or result.stdout.strip() or f"exit code {result.returncode}"
        raise ConfigurationError(f"`pipesim {' '.join(words)}` failed:\n{reason}")
    return result.stdout


@dataclass
class Tuned:
    """What `pipesim tune --engine predict` names."""

    now_per_s: float
    tuned_per_s: float
    workers: int
    prefetch_factor: int
    line: str
    threads: int | None = None  # for torch.set_num_threads, where it is to change
    persistent: bool = False

    @property
    def gain(self) -> float:
        return self.tuned_per_s / self.now_per_s - 1 if self.now_per_s > 0 else 0.0

    def at_most(self, factor: float) -> Tuned:
        """The same settings with a gain that a measured ceiling allows."""
        return replace(self, tuned_per_s=min(self.tuned_per_s, self.now_per_s * max(1.0, factor)))


def tune(experiment: str) -> Tuned:
    """The settings that predictions find best. Every step is in virtual time: about a second."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "tune.json"
        checked(["tune", experiment, "--engine", "predict", "--quiet", "--export", f"json={answer}"])
        document = json.loads(answer.read_text())
    tuned = document["tuned"]
    if tuned is None:
        raise ConfigurationError(f"`pipesim tune {experiment}` predicts nothing")
    settings, asked = tuned["settings"], document["steps"][0]["settings"]
    threads = settings["compute_threads"]
    return Tuned(
        now_per_s=document["steps"][0]["samples_per_s"],
        tuned_per_s=tuned["samples_per_s"],
        workers=settings["workers"],
        prefetch_factor=settings["prefetch_factor"],
        line=tuned["pytorch"],
        threads=threads if threads != asked["compute_threads"] else None,
        persistent=settings["persistent_workers"],
    )  # fmt: skip


def brief(experiment: str) -> str:
    return checked(["predict", experiment, "--brief", "--quiet", "--no-save"])
