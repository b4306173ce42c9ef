"""A table of any result file, whatever its rows hold."""

from __future__ import annotations

from typing import Any

from .markup import Cell, Content, conditions, folded, number, table, text
from .results import ResultFile, Row

MOST_COLUMNS = 12
HIDDEN = ("rounds", "launches", "tolerance", "samples", "batches", "calls_per_batch", "verified")
UNSHOWN = ("clocks", "config", "curves")


UNITS = {"_us": " (us)", "_ns": " (ns)", "_ms": " (ms)", "_s": "/s"}


def _head(name: str) -> str:
    for end, unit in UNITS.items():
        if name.endswith(end):
            return name.removesuffix(end).replace("_", " ") + unit
    return name.replace("_", " ")


def _flat(row: Row, prefix: str = "") -> dict[str, Any]:
    """A row's plain values, of inner objects by `outer inner`; a median takes its spread along."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and key not in UNSHOWN:
            found |= _flat(value, f"{prefix}{_head(key).split(' (')[0]} ")
        elif isinstance(value, (str, int, float)) and key not in HIDDEN and not key.startswith("spread_"):
            spread = row.get(key.replace("median_", "spread_")) if key.startswith("median_") else None
            name = (prefix + _head(key.removeprefix("median"))).replace("  ", " ")
            found[name] = (value, spread)
    return found


def _content(pair: tuple[Any, Any] | None) -> Content:
    if pair is None:
        return ""
    value, spread = pair
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if value == int(value):
        shown = Cell(f"{value:,.0f}", value)
    else:
        shown = number(value, 4)
    return Cell(f"{shown.shown} ± {number(spread, 2).shown}", value) if spread else shown


def generic_table(result: ResultFile) -> str:
    """Columns that are the same in every row stand above the table."""
    rows = [_flat(row) for row in result.rows]
    heads = list(dict.fromkeys(key for row in rows for key in row))
    same = [key for key in heads[1:] if len(rows) > 1 and all(row.get(key) == rows[0].get(key) for row in rows)]
    told = []
    for key in same:
        content = _content(rows[0][key])
        told.append(f"{key}: {content.shown if isinstance(content, Cell) else content}")
    shown = [key for key in heads if key not in same][:MOST_COLUMNS]
    made = table(shown, [[_content(row.get(key)) for key in shown] for row in rows])
    words = f'<p class="conditions">In every row: {text("; ".join(told))}</p>' if told else ""
    return words + folded(f"{len(rows)} rows of {result.name}", made, len(rows)) + conditions([result.conditions])
