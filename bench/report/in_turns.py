"""Two builds in turns: how much faster the later one is, and which problems are slower (bench/two_builds.py)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from .markup import Cell, Content, conditions, count, number, paragraph, subsection, table
from .results import ResultFile, Row

BENCHMARK = "two_builds"


class Race:
    """A set of problems, whose result may lie in several files: what one did not reach is in `*_rest` files."""

    def __init__(self, files: Sequence[ResultFile]) -> None:
        self.files = sorted(files, key=lambda file: file.date)
        problems = {row["problem"]: row for file in self.files for row in file.rows}
        self.rows: list[Row] = list(problems.values())

    def summary(self) -> list[Content]:
        last, ratios = self.files[-1], [row["ratio"] for row in self.rows]
        known = [statistics.geometric_mean(ratios), min(ratios), max(ratios)] if ratios else [None] * 3
        return [
            race_of(last),
            last.data.get("before") or "not known",
            last.commit,
            count(len(self.rows)),
            *map(number, known),
            count(len(self.slower())),
            "yes" if last.complete else "no",
        ]

    def slower(self) -> list[Row]:
        return [row for row in self.rows if row["slower"]]

    def slower_lines(self) -> list[list[Content]]:
        return [
            [race_of(self.files[-1]), row["problem"], number(row["ratio"]), _times(row, "before"), _times(row, "after")]
            for row in self.slower()
        ]


def race_of(file: ResultFile) -> str:
    """What the files of one race have in common."""
    return re.sub(r"_rest(_\d+)?$", "", file.name)


def _times(row: Row, build: str) -> Cell:
    times = row[f"{build}_us"]
    return Cell(", ".join(number(us).shown for us in times), min(times))


def in_turns(results: Sequence[ResultFile]) -> str:
    """Nothing where no such file is there."""
    found = [result for result in results if result.benchmark == BENCHMARK]
    if not found:
        return ""
    races = [Race([file for file in found if race_of(file) == name]) for name in dict.fromkeys(map(race_of, found))]
    heads = ("Result files", "Before", "Now", "Problems", "Now over before", "Least", "Most", "Slower", "Complete")
    slower = [line for race in races for line in race.slower_lines()]
    lead = "Below 1: faster than before. Slower are problems all of whose times are beyond both spreads in every turn."
    return subsection(
        "in-turns",
        "Two builds in turns",
        paragraph(lead),
        table(heads, [race.summary() for race in races]),
        table(("Result files", "Problem", "Now over before", "Before (us)", "Now (us)"), slower) if slower else "",
        conditions(result.conditions for result in found),
    )
