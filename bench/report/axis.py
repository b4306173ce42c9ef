"""Where values lie on an axis, and which of them are marked."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_MARKS = 7


@dataclass(frozen=True)
class Axis:
    label: str  # with its unit: "time (us)"
    logarithmic: bool = False
    low: float | None = None  # where the axis begins, if not at the least value
    high: float | None = None


def _logarithmic_marks(low: float, high: float) -> list[float]:
    """Round numbers within [low, high], as dense as there is room."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        marks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        marks = [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(marks) <= MOST_MARKS:
            break
    return marks if len(marks) <= MOST_MARKS else marks[:: math.ceil(len(marks) / MOST_MARKS)]


def _linear_marks(low: float, high: float) -> list[float]:
    size = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(size * times for times in (1, 2, 2.5, 5, 10) if (high - low) / (size * times) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [step * index for index in range(first, math.floor(high / step + 1e-9) + 1)]


class Scale:
    """From values to places between `start` and `end`."""

    def __init__(self, axis: Axis, values: list[float], start: float, end: float) -> None:
        self.axis, self.start, self.end = axis, start, end
        low = min(values) if axis.low is None else axis.low
        high = max(values) if axis.high is None else axis.high
        if axis.logarithmic:
            room = (high / low) ** 0.04 if high > low else 1.5
            self.low = low / room if axis.low is None else low
            self.high = high * room if axis.high is None else high
            self.marks = _logarithmic_marks(self.low, self.high)
        else:
            room = 0.04 * (high - low) or max(abs(high), 1) / 2
            self.low = low - room if axis.low is None else low
            self.high = high + room if axis.high is None else high
            self.marks = _linear_marks(self.low, self.high)

    def _of(self, value: float) -> float:
        return math.log(value) if self.axis.logarithmic else value

    def at(self, value: float) -> float:
        low, high = self._of(self.low), self._of(self.high)
        return self.start + (self._of(value) - low) / (high - low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        return self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)

    def can_show(self, value: float) -> bool:
        return math.isfinite(value) and (value > 0 or not self.axis.logarithmic)


def short(value: float) -> str:
    """A mark's label: 20,000 is 20k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9999:
            return f"{value / size:g}{letter}"
    return f"{round(value, 12):g}"
