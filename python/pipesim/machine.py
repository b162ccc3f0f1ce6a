"""What this process may use of the machine."""

from __future__ import annotations

import math
import os
from pathlib import Path

SHARED_MEMORY = "/dev/shm"


def processors() -> int:
    """Cores that this process may use, with the limit of its control group."""
    count = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(count, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):
        return count


def shared_memory_free() -> float:
    """Bytes; infinite where it is not known."""
    try:
        system = os.statvfs(SHARED_MEMORY)
    except OSError:
        return math.inf
    return float(system.f_bavail) * system.f_frsize
