"""The ranks of a job: trainers that run the same loop side by side, on this host and on others."""

from __future__ import annotations

import os

from torch import distributed


def stated(variable: str) -> int:
    """A number of ranks in the environment, as torchrun and its like set it; 1 where there is none."""
    try:
        return max(1, int(os.environ.get(variable, "1")))
    except ValueError:
        return 1


def has_process_group() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def ranks_here() -> int:
    """Trainers on this host."""
    return stated("LOCAL_WORLD_SIZE")


def ranks_of_job() -> int:
    """Trainers on all hosts."""
    grouped = distributed.get_world_size() if has_process_group() else 1
    return max(stated("WORLD_SIZE"), ranks_here(), grouped)


def is_first_rank() -> bool:
    """The one that speaks: of this host, or of the job where no LOCAL_RANK is set."""
    if "LOCAL_RANK" in os.environ or not has_process_group():
        return os.environ.get("LOCAL_RANK", "0") == "0"
    return distributed.get_rank() == 0
