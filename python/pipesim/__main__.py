"""python -m pipesim record module:factory: the command line of `pipesim record`."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import re
import sys
from typing import Any, Callable

from . import targets
from .errors import ConfigurationError, PipesimError, UsageError

EXAMPLES = """examples:
  pipesim record train:make_loader
  pipesim record train.py:make_loader --step train:make_step --check
  pipesim record data:photos --batch 64 --out photos.yaml -- --root /data

The factory returns a DataLoader or a Dataset; one that takes num_workers is called with it. Words after
-- are the module's own arguments (sys.argv). Exit codes: 2 usage, 3 configuration, 4 loading failed,
5 the promise of --check did not come true.
"""

THRESHOLD_MISSED = 5
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        unknown = re.search(r"unrecognized arguments: (--[^\s=]+)", message)
        if unknown:
            message = f"unknown flag {unknown[1]} for `pipesim record`{self.meant(unknown[1])}"
        raise UsageError(f"{message}\n`pipesim record --help` lists the flags")

    def meant(self, flag: str) -> str:
        flags = [known for action in self._actions for known in action.option_strings if known.startswith("--")]
        # Longer names of other tools begin like ours: --batch-size, --workers-per-rank.
        near = [known for known in flags if flag.startswith(known)] or difflib.get_close_matches(flag, flags, 1)
        return f"; did you mean {near[0]}?" if near else ""


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="pipesim record", description="Measure a PyTorch loader and write an experiment file.",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES,
    )  # fmt: skip
    top.add_argument("target", metavar="module:factory", help="what returns the DataLoader or Dataset")
    top.add_argument("--step", metavar="module:name", help="the training step, or what returns it")
    top.add_argument("--out", metavar="FILE", default="recorded.yaml", help="the experiment file to write")
    top.add_argument("--name", help="name of the experiment; default: the target")
    top.add_argument("--workers", type=int, metavar="N", help="num_workers to call the factory with")
    top.add_argument("--batch", type=int, metavar="N", help="batch size for a Dataset")
    top.add_argument("--start-method", choices=("fork", "forkserver", "spawn"), help="for a Dataset")
    top.add_argument("--budget", type=float, default=2.0, metavar="SECONDS", help="time of each trial (2)")
    top.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="longest time of a sample (60)")
    top.add_argument("--check", action="store_true", help="run the tuned settings and compare with the promise")
    top.add_argument("--quiet", action="store_true", help="no progress")
    return top


def parsed(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    own, own_arguments = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    options = parser().parse_args(own)
    for name in ("budget", "limit"):
        if not getattr(options, name) > 0:
            raise UsageError(f"--{name} must be above 0")
    if options.workers is not None and options.workers < 0:
        raise UsageError("--workers must be at least 0")
    if options.batch is not None and options.batch < 1:
        raise UsageError("--batch must be at least 1")
    return options, own_arguments


def made_step(target: str | None) -> Callable[[Any], Any] | None:
    if target is None:
        return None
    found = targets.load(target)
    step = found if targets.needs_an_argument(found) else targets.made(found, target, None, "function of a batch")
    if not callable(step):
        raise ConfigurationError(f"{target} returned a {type(step).__name__}, not a function of a batch")
    return step


def run_record(words: list[str]) -> int:
    options, own_arguments = parsed(words)
    if importlib.util.find_spec("torch") is None:
        raise ConfigurationError(
            f"{sys.executable} has no PyTorch; activate the environment that has it, or name its Python with --python"
        )
    sys.argv = [options.target, *own_arguments]
    factory = targets.load(options.target)
    loader = targets.made(factory, options.target, options.workers)
    step = made_step(options.step)

    # They import torch, which takes seconds: mistakes come first.
    from . import answers
    from .recorder import record
    from .source import place_of

    recording = record(
        loader, batch_size=options.batch, start_method=options.start_method, step=step, out=options.out,
        name=options.name or options.target, budget_s=options.budget, limit_s=options.limit,
        quiet=options.quiet, place=place_of(factory) if callable(factory) else None,
    )  # fmt: skip
    for warning in recording.warnings:
        print(f"pipesim: warning: {warning}", file=sys.stderr)
    print(recording, end="")
    print(answers.or_why_not(recording.answer), end="")
    if options.check:
        return run_check(recording, step, options.quiet)
    print(f"Next  pipesim tune {recording.file} --engine predict")
    return 0


def run_check(recording: Any, step: Callable[[Any], Any] | None, quiet: bool) -> int:
    from . import answers, check, program
    from .apart import Progress

    tuned = program.tune(str(recording.file))
    if tuned.gain < answers.WORTHWHILE_GAIN:
        print("Nothing to check: no change is promised to gain")
        return 0
    checked = check.check(recording.loader, tuned, recording.trials.batch_samples, step, Progress(quiet))
    print(checked.text(), end="")
    return 0 if checked.kept else THRESHOLD_MISSED


def main(words: list[str]) -> int:
    try:
        if not words or words[0] in ("-h", "--help"):
            parser().print_help()
            return 0
        if words[0] != "record":
            raise UsageError(f"'{words[0]}' is no command of this package; it has `record`")
        return run_record(words[1:])
    except PipesimError as error:
        print(f"pipesim: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
