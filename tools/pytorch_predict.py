"""Predicts the measured programs from their recordings and from their descriptions, for tools/check_pytorch."""

import ast
import json
import os
import pathlib
import tempfile

from commands import Pipesim, in_parallel
from pytorch_measure import TESTS

# What a description leaves out.
DEFAULTS = {"storage": "none", "prepare": "none", "device": {"emulated": {"base": 0}}}
# PyTorch refuses these without workers, and so does pipesim.
ONLY_WITH_WORKERS = ["loader.prefetch_factor", "loader.persistent_workers"]


def constants(program):
    """The program's own words about itself, read without importing it: {"DESCRIPTION": ..., "KNOWN_MISS": ...}."""
    tree = ast.parse((TESTS / "programs" / (program.replace(".", "/") + ".py")).read_text())
    found = {node.targets[0].id: node.value for node in tree.body
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
    return {name: eval(compile(ast.Expression(found[name]), program, "eval"), {"__builtins__": {}})
            for name in ("DESCRIPTION", "KNOWN_MISS") if name in found}


def with_times(value, stopwatch):
    """The description with $sample, $collate and $step replaced by what the stopwatch showed."""
    if isinstance(value, dict):
        return {key: with_times(each, stopwatch) for key, each in value.items()}
    if isinstance(value, str) and value.startswith("$"):
        return f"{round(1e9 * stopwatch[value[1:]])}ns"
    return value


def described(program, entry):
    """The experiment of its description as text (JSON is YAML), None where the code does not say enough."""
    description = constants(program)["DESCRIPTION"]
    if description is None:
        return None
    experiment = {"version": 1, "name": program, **DEFAULTS, **with_times(description, entry.get("stopwatch", {}))}
    experiment["loader"] = {"kind": "process", **experiment["loader"]}
    return json.dumps(experiment)


def recorded(_, entry):
    return (entry.get("record") or {}).get("yaml")


BASES = {"recording": recorded, "description": described}


def words(file, workers, cores, profile):
    flags = ["--workers", str(workers), "--cpus", str(cores)]
    if workers == 0:
        flags += [word for key in ONLY_WITH_WORKERS for word in ("--set", f"{key}=null")]
    return ["predict", str(file), *flags, *(["--profile", str(profile)] if profile else [])]


def predict(arguments):
    measured = json.loads(arguments.measured.read_text())
    pipesim, cores = Pipesim(arguments.pipesim, limit_s=60), measured["context"]["cores"]
    with tempfile.TemporaryDirectory() as folder:
        profile, asked = arguments.profile, []
        if profile is None and measured.get("profile"):
            profile = pathlib.Path(folder) / "profile.yaml"
            profile.write_text(measured["profile"])
        for program, entry in measured["programs"].items():
            entry["predicted"] = {}
            for basis, text_of in BASES.items():
                text = text_of(program, entry)
                if text is None:
                    continue
                file = pathlib.Path(folder) / f"{program}.{basis}.yaml"
                file.write_text(text)
                entry["predicted"][basis] = {}
                asked += [(entry["predicted"][basis], workers, words(file, int(workers), cores, profile))
                          for workers in entry["rates"]]
        answers = in_parallel(arguments.jobs or len(os.sched_getaffinity(0)), lambda each: pipesim(each[2]), asked)
        for (where, workers, _), answer in zip(asked, answers):
            where[workers] = {"samples_per_s": answer.rate, "verdict": answer.verdict} if answer.rate else {
                "failed": answer.errors.strip()[-1000:]}
    arguments.out.write_text(json.dumps(measured, indent=1))
