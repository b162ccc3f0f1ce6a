"""The loader to record, from what the caller gives: a DataLoader, a Dataset or a callable that returns one of them.
Loads nothing."""

from __future__ import annotations

from typing import Any, Callable

from torch.utils.data import DataLoader, Dataset

from .errors import ConfigurationError
from .trials import WORKERS, is_iterable


def as_loader(
    target: Any, batch_size: int | None, collate_fn: Callable | None, sampler: Any, start_method: str | None
) -> DataLoader:
    """The loader to record; a Dataset alone gets PyTorch's with the given settings."""
    if isinstance(target, DataLoader):
        if (batch_size, collate_fn, sampler) != (None, None, None):
            raise ConfigurationError("a DataLoader brings its own batch_size, collate_fn and sampler")
        return target
    if target is None:
        raise ConfigurationError("there is nothing to record: None instead of a Dataset or DataLoader")
    if not isinstance(target, Dataset) and callable(target) and not hasattr(target, "__getitem__"):
        return as_loader(target(), batch_size, collate_fn, sampler, start_method)
    refuse_several(target)
    if not (isinstance(target, Dataset) or (hasattr(target, "__getitem__") and hasattr(target, "__len__"))):
        raise ConfigurationError(
            f"a {type(target).__name__} is neither a DataLoader nor a Dataset "
            "(with __getitem__ and __len__, or an IterableDataset)"
        )
    settings: dict[str, Any] = {"batch_size": batch_size or 1, "collate_fn": collate_fn, "sampler": sampler}
    if start_method:
        settings.update(num_workers=WORKERS, multiprocessing_context=start_method)
    try:
        return DataLoader(target, **settings)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"PyTorch makes no DataLoader of it: {error}") from error


def refuse_several(target: Any) -> None:
    """A tuple of loaders has an item for an index and a length, like a data set."""
    if not isinstance(target, (tuple, list, dict)):
        return
    items = target.values() if isinstance(target, dict) else target
    count = sum(isinstance(item, DataLoader) for item in items)
    if count > 0:
        raise ConfigurationError(
            f"a {type(target).__name__} of {count} DataLoader{'s' * (count > 1)} instead of one; name a factory that "
            "returns one, or pass one"
        )


def check_not_empty(loader: DataLoader) -> None:
    if is_iterable(loader):
        return
    try:
        samples = len(loader.dataset)
    except (TypeError, NotImplementedError):
        return
    except Exception as error:
        raise ConfigurationError(f"the data set has no length: {type(error).__name__}: {error}") from error
    if samples == 0:
        raise ConfigurationError("the data set is empty: its length is 0")
