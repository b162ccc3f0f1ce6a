"""Finds the user's DataLoader(...) call in its source and shows the tuned settings as a diff."""

from __future__ import annotations

import ast
import difflib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from torch.utils.data import DataLoader, RandomSampler, SequentialSampler

# PyTorch refuses these without workers.
NEEDS_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout", "in_order")
# By which a loader is told from others.
SETTINGS = ("batch_size", "shuffle", "num_workers", "pin_memory", "drop_last", "prefetch_factor", "persistent_workers")


@dataclass
class Place:
    """Where to look for the call: a file and, if known, the lines of a function in it."""

    path: str
    first: int = 1
    last: int = 1 << 30


def place_of(function: Callable) -> Place | None:
    try:
        lines, first = inspect.getsourcelines(function)
        path = inspect.getsourcefile(function)
    except (OSError, TypeError):
        return None
    return Place(path, first, first + len(lines) - 1) if path else None


def is_loader_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name == "DataLoader"


def find_call(text: str, place: Place, loader: DataLoader | None = None) -> ast.Call | None:
    """The only DataLoader(...) call of the function, else of the file, that may have made `loader`; None if there is
    a choice."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if is_loader_call(node) and may_make(node, loader)]
    except SyntaxError:
        return None
    inside = [call for call in calls if place.first <= call.lineno <= place.last]
    for candidates in (inside, calls):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            return None
    return None


def shuffle_of(loader: DataLoader) -> bool | None:
    """The `shuffle` that its sampler stands for; None for other samplers."""
    return {RandomSampler: True, SequentialSampler: False}.get(type(getattr(loader, "sampler", None)))


def has(loader: DataLoader, name: str, value: Any) -> bool:
    """Whether `value`, given for a parameter or left at its default, is what the loader has."""
    if name == "shuffle":
        plain = shuffle_of(loader)
        return plain is None or bool(value) == plain
    if name == "prefetch_factor" and value is None and loader.num_workers > 0:
        value = 2
    return getattr(loader, name, value) == value


def may_make(call: ast.Call, loader: DataLoader | None) -> bool:
    """What the call's text says of the loader's settings holds for it."""
    arguments = given(call)
    if loader is None or arguments is None:
        return True
    known = arguments[0] | arguments[1]
    parameters = inspect.signature(DataLoader).parameters
    for name in SETTINGS:
        hidden = name in ("batch_size", "shuffle", "drop_last") and "batch_sampler" in known
        if hidden or (name == "shuffle" and "sampler" in known):
            continue
        try:
            value = ast.literal_eval(known[name]) if name in known else parameters[name].default
        except (ValueError, TypeError):
            continue  # a variable
        if not has(loader, name, value):
            return False
    return True


def place_in_program(loader: DataLoader, caller: str) -> Place | None:
    """The caller's file or that of the data set's class, whichever has the one call that may have made `loader`."""
    of_class = place_of(type(getattr(loader, "dataset", None)))
    for path in (caller, of_class.path if of_class else ""):
        if not path or "site-packages" in path:
            continue
        text = text_of(path)
        if text is not None and find_call(text, Place(path), loader) is not None:
            return Place(path)
    return None


def text_of(path: str) -> str | None:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def offset(lines: list[str], line: int, column_bytes: int) -> int:
    """The position in the text; ast counts columns in UTF-8 bytes."""
    before = sum(len(text) for text in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column_bytes].decode())


def given(call: ast.Call) -> tuple[dict[str, ast.expr], dict[str, ast.expr]] | None:
    """What the call gives by position and by keyword; None where the text does not say it all."""
    names = list(inspect.signature(DataLoader).parameters)
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if starred or len(call.args) > len(names) or any(keyword.arg is None for keyword in call.keywords):
        return None
    return dict(zip(names, call.args)), {keyword.arg: keyword.value for keyword in call.keywords}


def end_of_arguments(text: str, last: int, end: int) -> int:
    """Behind the last argument, whose expression ends at `last`: parentheses around it belong to it. `end`: of
    the call, whose own parenthesis is the last one."""
    at = behind = last
    while at < end - 1:
        if text[at] == "#":
            at = text.index("\n", at)
        elif text[at] == ")":
            behind = at + 1
        at += 1
    return behind


def with_settings(text: str, call: ast.Call, settings: dict[str, Any]) -> str | None:
    """The text with the call's arguments changed or added. A value of None takes a keyword away. None: not possible."""
    arguments = given(call)
    if arguments is None:
        return None
    positional, keywords = arguments
    known = positional | keywords
    if any(value is None and name in positional for name, value in settings.items()):
        return None
    lines = text.splitlines(keepends=True)
    begin = offset(lines, call.lineno, call.col_offset)
    end = offset(lines, call.end_lineno, call.end_col_offset)
    if any(value is None and name in known for name, value in settings.items()):
        return text[:begin] + rewritten(call, list(positional), settings) + text[end:]
    edits = []
    added = []
    for name, value in settings.items():
        if name in known:
            node = known[name]
            edits.append(
                (offset(lines, node.lineno, node.col_offset),
                 offset(lines, node.end_lineno, node.end_col_offset), repr(value))
            )  # fmt: skip
        elif value is not None:
            added.append(f"{name}={value!r}")
    if added:
        last = max(offset(lines, node.end_lineno, node.end_col_offset) for node in known.values())
        last = end_of_arguments(text, last, end)
        edits.append((last, last, ", " + ", ".join(added)))
    for low, high, new in sorted(edits, reverse=True):
        text = text[:low] + new + text[high:]
    return text


def rewritten(call: ast.Call, positional: list[str], settings: dict[str, Any]) -> str:
    arguments = [
        ast.Constant(settings[name]) if name in settings else argument
        for name, argument in zip(positional, call.args)
    ]
    kept = [keyword for keyword in call.keywords if keyword.arg not in settings]
    new = [
        ast.keyword(name, ast.Constant(value))
        for name, value in settings.items()
        if value is not None and name not in positional
    ]
    return ast.unparse(ast.Call(call.func, arguments, kept + new))


def diff(place: Place | None, loader: DataLoader, settings: dict[str, Any]) -> str:
    """A unified diff of the call that made `loader` with these settings; empty where it is not known."""
    text = text_of(place.path) if place else None
    call = find_call(text, place, loader) if text is not None else None
    if call is None or not (call.args or call.keywords):
        return ""
    changed = with_settings(text, call, settings)
    if changed is None or changed == text:
        return ""
    name = Path(place.path).name
    lines = difflib.unified_diff(
        text.splitlines(keepends=True), changed.splitlines(keepends=True), name, name, n=1
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def loader_settings(workers: int, prefetch_factor: int, persistent: bool) -> dict[str, Any]:
    """The keywords of a DataLoader with these settings; None: must not be given."""
    if workers == 0:
        return {"num_workers": 0, **{name: None for name in NEEDS_WORKERS}}
    settings: dict[str, Any] = {"num_workers": workers, "prefetch_factor": prefetch_factor}
    if persistent:
        settings["persistent_workers"] = True
    return settings
