"""Points pipesim at a PyTorch program: `record` a data set or loader, `watch` a training loop.

    import pipesim
    recording = pipesim.record(loader)         # writes recorded.yaml
    print(recording, recording.answer())       # what costs what, and the DataLoader(...) line
"""

from __future__ import annotations

from typing import Any

from .errors import ConfigurationError, PipesimError, RecordingFailed, UsageError

__all__ = ["record", "watch", "PipesimError", "ConfigurationError", "RecordingFailed", "UsageError"]


def _needs_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(f"this Python has no PyTorch: {error}") from error


def record(target: Any, **settings: Any) -> Any:
    """See pipesim.recorder.record."""
    _needs_torch()
    from .recorder import record as run

    return run(target, **settings)


def watch(loader: Any, **settings: Any) -> Any:
    """See pipesim.watcher.watch."""
    _needs_torch()
    from .watcher import watch as run

    return run(loader, **settings)
