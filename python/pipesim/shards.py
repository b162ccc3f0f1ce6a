"""Whether each worker gets samples of a stream, which its own code splits among them."""

from __future__ import annotations

from .probes import Figures


def workers_served(figures: dict[str, list[Figures]]) -> tuple[int, int]:
    """Workers that got samples, and all, in the trial with most of them."""
    for trial in ("many", "workers"):
        made = [worker.batches.count.value for worker in figures[trial]]
        if any(made):
            return sum(count > 0 for count in made), len(made)
    return 0, 0


def advice(wanted: int, served: int, workers: int) -> str:
    """What somebody who sets num_workers to `wanted` is to know; of `workers` tried `served` got samples."""
    if wanted <= served:
        return ""
    if served < workers:
        return f"  But only {served} workers get samples of this stream: more add nothing until it has more parts\n"
    return f"  If the stream has parts for {wanted} workers: it was seen to have some for {served}\n"


def warning(served: int, workers: int) -> str:
    if served < workers:
        return (
            f"of {workers} workers {served} got samples of the stream: until it is split into more parts more than "
            f"{served} add nothing, whatever a prediction says"
        )
    return (
        f"the stream is split by its own code, among {workers} workers at least: a prediction with more supposes that "
        "each of them gets as much"
    )
