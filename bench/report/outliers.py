"""Choices that take much longer than any way of computing the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .markup import Cell, Content, folded, number, paragraph, table
from .problems import Problem
from .roofline import CEILINGS, MOST_OVER, dense_us, is_outlier, operands_us, over_limit

HEADS = (
    "Matrix",
    "Over its limit",
    "Operation",
    "Sizes",
    "Zeros",
    "Family",
    "Time (us)",
    "By bytes (us)",
    "Dense (us)",
)


def _kind(problem: Problem) -> str:
    return f"{problem.result.benchmark} {problem.result.element}"


def _row(problem: Problem) -> list[Content]:
    row = problem.row
    return [
        problem.matrix,
        Cell(f"{over_limit(problem):.1f}x", over_limit(problem), strong=True),
        _kind(problem),
        f"{row['m']} x {row['k']}, n = {row['n']}",
        Cell(f"{problem.zeros:.0f} %", problem.zeros),
        problem.family,
        number(problem.ours.us),
        number(operands_us(problem)),
        number(dense_us(problem)),
    ]


def outliers(problems: Sequence[Problem]) -> str:
    """A count for each operation and type, and the problems, the worst first."""
    found = sorted((problem for problem in problems if is_outlier(problem)), key=over_limit, reverse=True)
    slow, all_of = Counter(map(_kind, found)), Counter(map(_kind, problems))
    told = ", ".join(f"{title} {slow[title]} of {count}" for title, count in all_of.items())
    words = (
        f"A choice that takes more than {MOST_OVER} times its limit: {CEILINGS.launch_us:g} us for a launch, and the "
        f"longer of the bytes' time and the dense product's at {CEILINGS.dense / 1e6:g} TFLOP/s, three products in "
        f"f32. There are: {told}."
    )
    return paragraph(words) + folded(f"{len(found)} problems", table(HEADS, map(_row, found)), len(found))
