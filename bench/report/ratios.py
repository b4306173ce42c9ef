"""Means and shares of ratios: the time of another over ours, so that above 1 ours is faster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .problems import Pair


def geomean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest of the values in order."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@dataclass(frozen=True)
class Summary:
    """What the ratios of many problems come to."""

    problems: int
    geomean: float
    low: float  # a tenth of the problems is below
    high: float  # a tenth is above
    worst: Pair
    best: Pair
    wins: float  # share of problems on which ours is at least as fast
    noise: float  # of the geometric mean, from the spread of every time in it


def summarize(pairs: Sequence[Pair]) -> Summary:
    """Of at least one pair."""
    ratios = [pair.ratio for pair in pairs]
    return Summary(
        problems=len(pairs),
        geomean=geomean(ratios),
        low=quantile(ratios, 0.1),
        high=quantile(ratios, 0.9),
        worst=min(pairs, key=lambda pair: pair.ratio),
        best=max(pairs, key=lambda pair: pair.ratio),
        wins=sum(ratio >= 1 for ratio in ratios) / len(ratios),
        noise=math.sqrt(sum(pair.relative_spread**2 for pair in pairs)) / len(pairs),
    )
