"""Runs a function in a forked process, so that nothing it does to data sets, random streams, audit
hooks or threads reaches the caller, and so that a hang or crash ends in a message."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import sys
import traceback
from typing import Any, Callable

from .errors import ConfigurationError, PipesimError, RecordingFailed

PR_SET_PDEATHSIG = 1
LOOK_S = 0.1  # between two looks whether the work hangs
OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))

Report = Callable[[str, Any], None]


class Progress:
    """One line on stderr, rewritten on a terminal, and only where somebody looks."""

    def __init__(self, quiet: bool):
        self.quiet = quiet
        self.rewrites = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self.quiet:
            return
        end = "" if self.rewrites else "\n"
        print(f"{chr(13) if self.rewrites else ''}pipesim: {text:<70}", end=end, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.rewrites and not self.quiet:
            print("\r" + " " * 79 + "\r", end="", file=sys.stderr, flush=True)


def _die_with_parent() -> None:
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        pass  # not Linux: the parent kills the group in all other cases


def place(file: str, line: int | str) -> str:
    """Empty where pipesim itself raised: it says what is wrong."""
    return "" if os.path.dirname(os.path.abspath(file)) == OWN_FOLDER else f" ({file}:{line})"


def where_raised(error: BaseException) -> str:
    """The user's line that raised, which is the last one."""
    frames = traceback.extract_tb(error.__traceback__)
    return place(frames[-1].filename, frames[-1].lineno) if frames else ""


def what_raised(error: BaseException) -> str:
    """The error and where. What a worker process raised PyTorch raises anew, with its traceback as the text."""
    text = str(error)
    lines = re.findall(r'^  File "(.+)", line (\d+)', text, re.MULTILINE)
    if lines and "Original Traceback" in text:
        (file, line), what = lines[-1], text.strip().splitlines()[-1]
        return what + place(file, line) + ", in a worker process"
    return f"{type(error).__name__}: {error}{where_raised(error)}"


class FailedBelow(Exception):
    """What a process of this process reported instead of a result."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind, self.text = kind, text


def _answer(connection: Any, work: Callable[[], Any]) -> None:
    """Sends ("done", result) or what went wrong."""
    _die_with_parent()
    try:
        connection.send(("done", work()))
    except FailedBelow as error:
        connection.send((error.kind, error.text))
    except PipesimError as error:
        connection.send((type(error).__name__, str(error)))
    except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
        connection.send(("raised", what_raised(error)))


def _child(connection: Any, work: Callable[[Report], Any]) -> None:
    os.setpgid(0, 0)
    _answer(connection, lambda: work(lambda kind, value: connection.send((kind, value))))


def in_own_process(work: Callable[[], Any]) -> Any:
    """work() in a process forked from this one, which is one of run_apart: nothing that it allocates changes
    this process's heap. Fails, or dies, as that process does."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, work))
    process.start()
    theirs.close()
    try:
        kind, result = mine.recv()
    except EOFError:
        process.join()
        if (code := process.exitcode or 0) < 0:
            if -code not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)
    process.join()
    if kind != "done":
        raise FailedBelow(kind, result)
    return result


def _end(process: multiprocessing.Process) -> None:
    """Kills the child with all the workers that it started; they are its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.join()


def _crash(process: multiprocessing.Process, hint: str) -> RecordingFailed:
    process.join()
    code = process.exitcode or 0
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return RecordingFailed(f"the process that loads trial batches {how}{hint}")


def run_apart(
    work: Callable[[Report], Any],
    progress: Progress,
    hangs: Callable[[], str | None],
    in_hand: Callable[[], str],
) -> tuple[Any, dict[str, Any]]:
    """The result of work(report) and what it reported besides phases, by name. `hangs` says what takes
    too long, `in_hand` which sample was being loaded: both look into shared memory."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, work))
    sys.stdout.flush(), sys.stderr.flush()
    try:
        process.start()
    except RuntimeError as error:  # Python 3.12 and later, at exit
        raise RecordingFailed(f"{error}; let the loop end before the program does") from error
    theirs.close()
    reported: dict[str, Any] = {}
    try:
        while True:
            if not mine.poll(LOOK_S):
                if (what := hangs()) is not None:
                    raise RecordingFailed(what)
                continue
            try:
                kind, value = mine.recv()
            except EOFError:
                raise _crash(process, in_hand()) from None
            if kind == "done":
                return value, reported
            if kind == "phase":
                progress.show(value)
            elif kind == "raised":
                raise RecordingFailed(f"loading a batch failed{in_hand()}: {value}")
            elif kind == "ConfigurationError":
                raise ConfigurationError(value)
            elif kind == "RecordingFailed":
                raise RecordingFailed(value)
            else:
                reported[kind] = value
    finally:
        progress.clear()
        mine.close()
        _end(process)
