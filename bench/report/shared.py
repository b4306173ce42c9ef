"""Times that peers reached elsewhere: CSV files beside the repository, which a copy of it may lack."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from .results import ReportError

RNN = "rnn_mergespmm_aspt_h200.csv"
SPMM_MADE = "spmm_synthetic_h200.csv"

Record = dict[str, str]


@dataclass(frozen=True)
class Shared:
    """The folder `baselines/` of what is shared, if it is there."""

    folder: Path

    def reason(self, name: str) -> str:
        return f"{name} is not here (looked for in {self.folder.name}/baselines beside the repository)"

    def records(self, name: str) -> list[Record] | None:
        """A file's lines by their columns' names; None where it is not here. Errors: ReportError."""
        path = self.folder / "baselines" / name
        if not path.is_file():
            return None
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def number(record: Record, column: str, name: str) -> float | None:
    """None for -1, a peer that did not run. Errors: ReportError, which names the file."""
    try:
        value = float(record[column])
    except (KeyError, TypeError, ValueError):
        raise ReportError(f"cannot read {name}: '{column}' is {record.get(column)!r} in a line of it") from None
    return value if value >= 0 else None
