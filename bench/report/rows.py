"""What is said of a row of any benchmark: which problem it is, and whether ours and a dense twin are in it."""

from __future__ import annotations

from .results import Row

# Fields that say which problem a row is, rather than what was measured.
NAMES = ("name", "model", "problem", "family", "cell", "layer", "mask", "attention", "mode", "math", "element", "dtype")
SIZES = ("m", "k", "n", "width", "states", "hidden", "sparsity", "zeros", "batch", "inputs", "classes")


def identity(row: Row) -> str:
    """The same in two runs of one benchmark."""
    if "file" in row:
        return f"{row['file']} n={row.get('n')}"
    names = [row[key] for key in NAMES if isinstance(row.get(key), str)]
    sizes = [f"{key}={row[key]}" for key in SIZES if isinstance(row.get(key), (str, int, float))]
    return " ".join(names + sizes)


def is_right(row: Row) -> bool:
    """Whether what a row timed was checked and right."""
    checked = [side for side in (row, row.get("sparse")) if isinstance(side, dict) and "verified" in side]
    return bool(checked) and all(side["verified"] for side in checked)


def speedup(row: Row) -> tuple[float, float | None] | None:
    """The dense twin's time over ours, and the noise of it; None where a row has no such twin or was wrong."""
    dense, sparse = row.get("dense"), row.get("sparse")
    if not isinstance(dense, dict) or not isinstance(sparse, dict) or not is_right(row):
        return None
    if not dense.get("median_us") or not sparse.get("median_us"):
        return None
    spreads = [side.get("spread_us") for side in (dense, sparse)]
    noise = None
    if None not in spreads:
        noise = sum(spread / side["median_us"] for spread, side in zip(spreads, (dense, sparse)))
    return dense["median_us"] / sparse["median_us"], noise
