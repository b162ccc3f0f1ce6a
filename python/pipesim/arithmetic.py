"""Means, spreads and lines of measured values."""

from __future__ import annotations

# A distribution is stated by this many values of equal weight. Only equal values are a number alone:
# workers with the same costs would stay in step for ever, which real ones do not.
VALUES = 100
LEAST_SPREAD = 0.001


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def typical(values: list[float]) -> float:
    """The mean without the largest and the smallest tenth: costs vary, and interruptions are rare."""
    kept = sorted(values)
    cut = len(kept) // 10
    return mean(kept[cut : len(kept) - cut])


def spread(values: list[float]) -> float:
    """The standard deviation."""
    average = mean(values)
    return mean([(value - average) ** 2 for value in values]) ** 0.5


def summary(values: list[float]) -> list[float]:
    """The values as at most VALUES values of equal weight with the same mean; one if they are alike."""
    average = mean(values)
    if len(values) < 2 or spread(values) <= LEAST_SPREAD * average:
        return [average]
    ordered = sorted(values)
    groups = min(VALUES, len(ordered))
    edges = [round(index * len(ordered) / groups) for index in range(groups + 1)]
    return [mean(ordered[low:high]) for low, high in zip(edges, edges[1:])]


def scaled_to(values: list[float], wanted: float) -> list[float]:
    average = mean(values)
    return [value * wanted / average for value in values] if average > 0 else [wanted]


def line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Least squares through (n, seconds), base and slope both at least 0."""
    if not points:
        return 0.0, 0.0
    if len(points) == 1:
        return 0.0, points[0][1] / points[0][0]
    x, y = mean([float(n) for n, _ in points]), mean([time for _, time in points])
    square = sum((n - x) ** 2 for n, _ in points)
    slope = max(0.0, sum((n - x) * (time - y) for n, time in points) / square)
    if y < slope * x:
        slope = y / x
    return y - slope * x, slope


def line_to(points: list[tuple[int, float]], samples: float, seconds: float) -> tuple[float, float]:
    """What takes `seconds` for `samples`, split into base and slope as the points split."""
    base, slope = line(points)
    of_points = base + slope * samples
    if of_points <= 0:
        return seconds, 0.0
    return base * seconds / of_points, slope * seconds / of_points


def changes(rows: list[list[float]], column: int) -> list[float]:
    return [after[column] - before[column] for before, after in zip(rows, rows[1:])]


def surplus(there: list[float], here: list[float]) -> float:
    """How much larger the values are there on average; 0 where chance explains it (two standard errors)."""
    if len(there) < 2 or len(here) < 2:
        return 0.0
    error = (spread(there) ** 2 / len(there) + spread(here) ** 2 / len(here)) ** 0.5
    difference = mean(there) - mean(here)
    return difference if difference > 2 * error else 0.0


def longest(values: list[float], count: int) -> list[float]:
    """The `count` largest values as they are, the others 0."""
    if count >= len(values):
        return values
    least = sorted(values, reverse=True)[count]
    return [value if value > least else 0.0 for value in values]
