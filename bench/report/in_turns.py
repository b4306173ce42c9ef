"""Two builds in turns: how much faster the later one is, and which problems are slower (bench/two_builds.py)."""

from __future__ import annotations

from collections.abc import Sequence

from .markup import Cell, Content, conditions, count, number, paragraph, subsection, table
from .results import ResultFile, Row

BENCHMARK = "two_builds"


def _summary(result: ResultFile) -> list[Content]:
    found = result.data["summary"]
    return [
        result.name,
        result.data.get("before") or "not known",
        result.commit,
        count(found["problems"]),
        *(number(found.get(name)) for name in ("ratio", "least_ratio", "most_ratio")),
        count(found.get("slower", 0)),
        "yes" if result.complete else "no",
    ]


def _times(row: Row, build: str) -> Cell:
    times = row[f"{build}_us"]
    return Cell(", ".join(number(us).shown for us in times), min(times))


def _slower(result: ResultFile) -> list[list[Content]]:
    return [
        [result.name, row["problem"], number(row["ratio"]), _times(row, "before"), _times(row, "after")]
        for row in result.rows
        if row["slower"]
    ]


def in_turns(results: Sequence[ResultFile]) -> str:
    """Nothing where no such file is there."""
    found = [result for result in results if result.benchmark == BENCHMARK]
    if not found:
        return ""
    heads = ("Result file", "Before", "Now", "Problems", "Now over before", "Least", "Most", "Slower", "Complete")
    slower = [line for result in found for line in _slower(result)]
    lead = "Below 1: faster than before. Slower are problems all of whose times are beyond both spreads in every turn."
    return subsection(
        "in-turns",
        "Two builds in turns",
        paragraph(lead),
        table(heads, [_summary(result) for result in found]),
        table(("Result file", "Problem", "Now over before", "Before (us)", "Now (us)"), slower) if slower else "",
        conditions(result.conditions for result in found),
    )
