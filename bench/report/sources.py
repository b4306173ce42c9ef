"""The result files themselves: which run made them, on what."""

from __future__ import annotations

from collections.abc import Sequence

from .markup import count, section, table
from .results import ResultFile

HEADS = (
    "Result file",
    "Benchmark",
    "GPU",
    "Started (UTC)",
    "Commit",
    "SM clock",
    "Driver",
    "Rows",
    "Whole",
    "Command",
)


def sources(results: Sequence[ResultFile]) -> str:
    rows = [
        [
            result.name,
            result.benchmark,
            result.gpu,
            result.date.replace("T", " ").removesuffix("Z"),
            result.commit,
            result.clocks,
            result.data.get("device", {}).get("driver", "-"),
            count(len(result.rows)),
            "yes" if result.complete else "cut short",
            result.data.get("command") or "-",
        ]
        for result in results
    ]
    return section("sources", "Result files", table(HEADS, rows, filtered=True))
