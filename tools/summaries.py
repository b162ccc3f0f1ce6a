"""Figures that sum up several measured ones."""

import math
import statistics


def percentile(values, share):
    """The smallest of the values that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def variation(rates):
    """Coefficient of variation; None of a single rate."""
    return statistics.stdev(rates) / statistics.mean(rates) if len(rates) > 1 else None
