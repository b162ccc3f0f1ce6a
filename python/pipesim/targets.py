"""Finds what `module:factory` names on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from typing import Any

from .apart import where_raised
from .errors import ConfigurationError, UsageError


def load(target: str) -> Any:
    """The object that "module:name" or "path/file.py:name" names; dots reach into it."""
    module_name, separator, name = target.rpartition(":")
    if not separator or not module_name or not name:
        raise UsageError(f"'{target}' is not module:factory, such as train:make_loader")
    module = load_module(module_name)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [key for key, value in vars(module).items() if callable(value) and key[0] != "_"]
            raise ConfigurationError(
                f"{module_name} has no '{name}'; it has " + (", ".join(sorted(names)) or "no functions")
            )
        found = getattr(found, part)
    return found


def load_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    try:
        if not name.endswith(".py"):
            return importlib.import_module(name)
        if not os.path.exists(name):
            raise ConfigurationError(f"there is no file {name}")
        # Under its own name, so that workers that are spawned can import it.
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
        return importlib.import_module(os.path.basename(name)[: -len(".py")])
    except ConfigurationError:
        raise
    except ModuleNotFoundError as error:
        if error.name == name.partition(".")[0]:
            raise ConfigurationError(f"there is no module {name} here or on sys.path") from error
        raise ConfigurationError(f"{name} cannot be imported: {error}") from error
    except SystemExit as error:
        raise ConfigurationError(f"{name} ends the program (exit {error.code}) when it is imported") from error
    except Exception as error:
        raise ConfigurationError(
            f"{name} cannot be imported: {type(error).__name__}: {error}{where_raised(error)}"
        ) from error


def needs_an_argument(function: Any) -> bool:
    """It cannot be called without one: a training step itself, not what returns it."""
    if inspect.isclass(function) or not callable(function):
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(each.kind in positional and each.default is each.empty for each in parameters)


def made(factory: Any, target: str, workers: int | None, wanted: str = "Dataset or DataLoader") -> Any:
    """What the factory returns, which is not None; called with num_workers where it takes that and has no default.
    `workers`: None without --workers."""
    no_factory = not callable(factory) or hasattr(factory, "__getitem__") or hasattr(factory, "__iter__")
    is_made = no_factory and not inspect.isclass(factory)
    settings = {}
    try:
        parameter = None if is_made else inspect.signature(factory).parameters.get("num_workers")
    except (TypeError, ValueError):
        parameter = None
    if parameter is None and workers is not None:
        raise ConfigurationError(
            f"{target} takes no num_workers, so --workers would change nothing: give it that parameter, or leave "
            "--workers out"
        )
    if is_made:
        return factory
    if parameter is not None and (workers is not None or parameter.default is parameter.empty):
        settings["num_workers"] = 2 if workers is None else workers
    try:
        result = factory(**settings)
    except SystemExit as error:
        raise ConfigurationError(f"{target} ended the program (exit {error.code}) instead of returning") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = where_raised(error) if len(frames) > 1 else ""
        raise ConfigurationError(f"{target} failed: {type(error).__name__}: {error}{where}") from error
    if result is None:
        raise ConfigurationError(f"{target} returned None instead of a {wanted}")
    return result
