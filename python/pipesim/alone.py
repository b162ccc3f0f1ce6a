"""Measures in isolation what a trial cannot separate: the probes' own cost, PyTorch's fetch loop, and how
collating depends on the number of samples."""

from __future__ import annotations

import multiprocessing
from typing import Callable

from torch.utils.data._utils.fetch import _MapDatasetFetcher

from . import probes

COLLATE_REPEATS = 7


def empty_call_s(repeats: int = 4000) -> tuple[float, float]:
    """What a timed sample costs beyond the sample: in all, and as seen by the sample's own clock."""
    figures = probes.Figures(multiprocessing.get_context("fork"))
    probe = probes.Probe([figures], each_sample=True)
    probe.own = figures
    items = list(range(repeats))

    class Nothing:
        def __getitem__(self, index: int) -> int:
            return index

    nothing = Nothing()
    timed = probes.MapProxy(nothing, probe)
    begin = probes.thread_cpu()
    for item in items:
        nothing[item]
    bare = probes.thread_cpu() - begin
    begin = probes.thread_cpu()
    for item in items:
        timed[item]
    total = probes.thread_cpu() - begin
    inner = sorted(row[probes.CPU] for row in figures.samples.read())
    # The median: a clock read may be interrupted.
    return max(0.0, total - bare) / repeats, inner[len(inner) // 2] if inner else 0.0


def fetch_loop_s(samples: int = 512, repeats: int = 40) -> float:
    """CPU time that PyTorch's fetch loop takes for each sample, by a data set that does nothing."""

    class Nothing:
        def __getitem__(self, index: int) -> int:
            return index

    fetcher = _MapDatasetFetcher(Nothing(), True, lambda samples: None, False)
    indices = list(range(samples))
    times = []
    for _ in range(repeats):
        begin = probes.thread_cpu()
        fetcher.fetch(indices)
        times.append(probes.thread_cpu() - begin)
    return sorted(times)[repeats // 2] / samples


def collate_points(collate: Callable, samples: list) -> list[tuple[int, float]]:
    """CPU time of collating some of the samples, the median of a few calls. A collate function that
    wants whole batches has no points."""
    points = []
    for count in sorted({1, max(1, len(samples) // 2), len(samples)}):
        times = []
        try:
            for _ in range(COLLATE_REPEATS):
                begin = probes.thread_cpu()
                collate(samples[:count])
                times.append(probes.thread_cpu() - begin)
        except Exception:  # noqa: BLE001 - the user's function
            return []
        points.append((count, sorted(times)[COLLATE_REPEATS // 2]))
    return points
