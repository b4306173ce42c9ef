"""What sparsify_, prepare and tune tell: a row for each layer or plan."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Iterator


@dataclass
class Row:
    """A layer: `sparse` is whether it is sparse now; `reason` why it is not, or what is to be known of it. Times are
    predictions in microseconds for `tokens` tokens, bytes those of weights and indices."""

    name: str
    kind: str
    shape: tuple[int, int] = (0, 0)
    sparsity: float = 0.0
    bytes_before: int = 0
    bytes_after: int = 0
    dense_us: float = 0.0
    sparse_us: float = 0.0
    sparse: bool = False
    reason: str = ""


@dataclass
class PlanRow:
    """A plan: what for, and which choice was found where; `error` where it could not be made."""

    name: str
    operation: str
    tokens: int
    family: str = ""
    provenance: str = ""
    seconds: float = 0.0
    error: str = ""


@dataclass
class Report:
    """Rows, which print as a table."""

    rows: list[Any] = field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str | int) -> Any:
        """By number, or the first of that name."""
        if isinstance(name, int):
            return self.rows[name]
        return next(row for row in self.rows if row.name == name)

    def __str__(self) -> str:
        if not self.rows:
            return "nothing"
        names = [f.name for f in fields(self.rows[0])]
        lines = [names] + [[_text(getattr(row, name)) for name in names] for row in self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return str(value)
