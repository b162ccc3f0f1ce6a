"""Whether a data set keeps what it has loaded: its samples then come much faster the second time."""

from __future__ import annotations

from typing import Any, Callable

from .probes import now

LEAST_S = 50e-6  # a sample that takes less is not worth keeping
KEPT_SHARE = 1 / 3  # of the first time


def share_again(load: Callable[[Any], Any], asked: list[Any], first_s: list[float], budget_s: float) -> float:
    """What the samples `asked` for take when they are loaded again, as a share of `first_s`. The first of all, for
    which a data set may open files, is left out, and so is the slowest of the others, which another program may have
    held up. 1 where that is not known."""
    again, begin = [], now()
    try:
        for argument in asked[1:]:
            at = now()
            load(argument)
            again.append(now() - at)
            if now() - begin > budget_s:
                break
    except Exception:  # noqa: BLE001 - a data set may give each sample once
        return 1.0
    pairs = sorted(zip(first_s[1:], again))[:-1]
    took = sum(first for first, _ in pairs)
    return sum(second for _, second in pairs) / took if took > LEAST_S * len(pairs) > 0 else 1.0
