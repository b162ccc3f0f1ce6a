"""The random streams of the caller, which no measurement may change."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import Iterator

import torch


@contextlib.contextmanager
def kept_random_streams() -> Iterator[None]:
    """Python's, torch's, numpy's and the GPUs' random streams go on as if nothing had been drawn."""
    python, cpu = random.getstate(), torch.get_rng_state()
    numpy = sys.modules.get("numpy")
    array = numpy.random.get_state() if numpy is not None else None
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(cpu)
        if array is not None:
            numpy.random.set_state(array)
        if gpus is not None:
            torch.cuda.set_rng_state_all(gpus)
