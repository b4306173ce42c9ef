"""What is said of a row of any benchmark: which problem it is, and how long others took for the same."""

from __future__ import annotations

from dataclasses import dataclass

from .results import Row

OURS = "vostok"  # of a row's `sides`; others of ours begin with it

# Fields that say which problem a row is, rather than what was measured.
NAMES = ("name", "model", "problem", "family", "cell", "layer", "mask", "numbers", "element", "math", "mode")
SIZES = ("m", "k", "n", "width", "sparse_width", "dense_width", "states", "sparsity", "batch", "train", "inputs")


def identity(row: Row) -> str:
    """The same in two runs of one benchmark."""
    if "file" in row:
        return f"{row['file']} n={row.get('n')}"
    names = [row[key] for key in NAMES if isinstance(row.get(key), str)]
    for key in SIZES:
        value = row.get(key)
        if isinstance(value, bool):
            names += [key] if value else []
        elif isinstance(value, (str, int, float)):
            names.append(f"{key.replace('_', ' ')}={value}")
    return " ".join(names)


def is_right(row: Row) -> bool:
    """Whether what a row timed was checked and right."""
    checked = [side for side in (row, row.get("sparse")) if isinstance(side, dict) and "verified" in side]
    return bool(checked) and all(side["verified"] for side in checked)


@dataclass(frozen=True)
class Twin:
    """Another way to compute the same: its time over ours."""

    name: str
    ratio: float
    noise: float | None  # of the ratio, from both spreads; None where one is not known


def _twin(name: str, other: Row, ours: Row) -> Twin | None:
    if not other.get("median_us") or not ours.get("median_us"):
        return None
    spreads = [side.get("spread_us") for side in (other, ours)]
    noise = None
    if None not in spreads:
        noise = sum(spread / side["median_us"] for spread, side in zip(spreads, (other, ours)))
    return Twin(name, other["median_us"] / ours["median_us"], noise)


def speedup(row: Row) -> Twin | None:
    """Of a row with `dense` and `sparse`; None where it has no such twin, or was wrong."""
    dense, sparse = row.get("dense"), row.get("sparse")
    if not isinstance(dense, dict) or not isinstance(sparse, dict) or not is_right(row):
        return None
    return _twin("dense", dense, sparse)


def twins(row: Row) -> list[Twin]:
    """Every other way that was right, if ours was."""
    sides = row.get("sides")
    if not isinstance(sides, dict):
        pair = speedup(row)
        return [pair] if pair else []
    ours = sides.get(OURS, {})
    if not ours.get("verified"):
        return []
    others = [(name, side) for name, side in sides.items() if not name.startswith(OURS) and side.get("verified")]
    return [twin for name, side in others if (twin := _twin(name, side, ours))]


def fastest(row: Row, *begin: str) -> Twin | None:
    """The fastest other way whose name begins so; of any name where none is given."""
    found = [twin for twin in twins(row) if not begin or twin.name.startswith(begin)]
    return min(found, key=lambda twin: twin.ratio) if found else None


def bytes_needed(side: Row) -> float | None:
    """Device memory at most during a call."""
    return side["peak_bytes"] + side.get("outside_bytes", 0) if "peak_bytes" in side else None
