"""Looks into samples and batches, whatever they are nested in: tensors, arrays, dicts, tuples."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch

# As experiment files name them; other element types become plain bytes (uint8).
DTYPES = {
    torch.uint8: "uint8",
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
}
# The largest tensor stands for a sample if it holds at least this share of its bytes; the rest are
# labels and the like. Else a sample is described as so many bytes.
MAIN_SHARE = 0.9


def leaves(value: Any) -> Iterator[Any]:
    """Everything in `value` that is not a container."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from leaves(item)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from leaves(getattr(value, name))
    else:
        yield value


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]


def bytes_of(value: Any) -> int:
    """Bytes of tensors, arrays and strings; a number counts as 8."""
    total = 0
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            total += leaf.nelement() * leaf.element_size()
        elif hasattr(leaf, "nbytes"):
            total += int(leaf.nbytes)
        elif isinstance(leaf, (str, bytes)):
            total += len(leaf)
        elif isinstance(leaf, (int, float)):
            total += 8
    return total


@dataclass(frozen=True)
class Layout:
    """What a batch looks like, in the words of an experiment file."""

    tensors: int
    batch_bytes: int
    shape: list[int]  # of one sample
    dtype: str


def layout_of(batch: Any, samples: int) -> Layout:
    tensors = tensors_of(batch)
    total = bytes_of(batch)
    # The program transports what has a shape; a batch without tensors still is bytes.
    flat = Layout(max(len(tensors), 1), total, [max(1, round(total / samples))], "uint8")
    if not tensors:
        return flat
    main = max(tensors, key=bytes_of)
    is_batched = main.dim() > 0 and main.shape[0] == samples
    if main.dtype not in DTYPES or not is_batched or bytes_of(main) < MAIN_SHARE * total:
        return flat
    return Layout(len(tensors), total, list(main.shape[1:]) or [1], DTYPES[main.dtype])


def like(value: Mapping, items: dict) -> Mapping:
    """A mapping of the same type with these items, where it can be made: a plain dict has no attributes."""
    try:
        if isinstance(value, MutableMapping):
            made = copy.copy(value)
            made.update(items)
            return made
        return type(value)(items)
    except Exception:  # noqa: BLE001 - the user's type may be made differently
        return items


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same nesting with every tensor changed; anything else stays."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return like(value, {key: mapped(item, change) for key, item in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(item, change) for item in value)
    return value


def first_samples(batch: Any, samples: int, of: int) -> Any:
    """The first `samples` of a batch of `of`: its tensors are cut along the first dimension."""
    return mapped(batch, lambda t: t[:samples] if t.dim() > 0 and t.shape[0] == of else t)


def touch(batch: Any) -> None:
    """Reads one byte of each page, as the first use of a batch that came through shared memory does."""
    for tensor in tensors_of(batch):
        is_plain = tensor.device.type == "cpu" and tensor.layout == torch.strided
        if is_plain and tensor.is_contiguous() and tensor.nelement() > 0:
            tensor.view(-1).view(torch.uint8)[::4096].sum()
