"""Fig. 6: what rows of different lengths cost, with row swizzle and without."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import paper
from .axis import Axis
from .expected import missing_note
from .figures import stored_line
from .markup import beside, paragraph, percent, subsection
from .problems import conditions_of, kind, newest
from .results import ResultFile, ablates
from .shared import SPMM_MADE, Shared
from .svg import Chart, Point, Rule, Series, draw, name_of

SWIZZLE = "row swizzle"  # how the ablation's technique begins
MADE = "row_variation/"
Line = list[tuple[float, float]]  # (variation of row lengths, microseconds) of products of like size


def throughput(flops: float, us: float) -> float:
    """In TFLOP/s."""
    return flops / us / 1e6


def _variation(matrix: str) -> float:
    """As a made matrix is named."""
    found = re.search(r"cov=([\d.]+)", matrix)
    return float(found[1]) if found else 0.0


def _ablated(results: Sequence[ResultFile]) -> tuple[Line, Line, list[str]]:
    """The paper's own kernel, with row swizzle and without, and the conditions."""
    whole: dict[float, float] = {}
    without: dict[float, float] = {}
    used = []
    for result in sorted(results, key=lambda result: result.date):
        rows = [row for row in result.rows if str(row.get("file", "")).startswith(MADE) and "without" in row]
        if not ablates(result, "spmm") or not rows:
            continue
        used.append(result.conditions)
        for row in rows:
            variation = _variation(row["file"])
            whole[variation] = row["whole"]["median_us"]
            for other in row["without"]:
                if other["technique"].startswith(SWIZZLE) and other.get("median_us"):
                    without[variation] = other["median_us"]
    return sorted(whole.items()), sorted(without.items()), used


def _relative(key: str, line: Line) -> Series:
    """In percent of what equal rows reach."""
    points = []
    for variation, us in line:
        share = 100 * line[0][1] / us
        points.append(Point(variation, share, f"{name_of(key)}: {share:.0f} % at a CoV of {variation:g}"))
    return Series(key, points)


def kept(results: Sequence[ResultFile]) -> str:
    """What the most different rows reach of equal ones', with row swizzle and without; empty where none is measured."""
    shares = []
    for line, how in zip(_ablated(results), ("with it", "without")):
        if len(line) > 1:
            shares.append(f"{percent(line[0][1] / line[-1][1])} {how}")
    return ", ".join(shares)


def imbalance(results: Sequence[ResultFile], shared: Shared) -> str:
    with_swizzle, without, used = _ablated(results)
    found = newest(results, kind("spmm", None, "f32"), prefix="imbalance/") or newest(
        results, kind("spmm", None, "f32"), prefix=MADE
    )
    chosen = sorted((problem.row["row_variation"], problem.ours.us) for problem in found)
    lines = [("ours", chosen), ("row_tile", with_swizzle), ("row_tile without row swizzle", without)]
    records = shared.records(SPMM_MADE)
    for key, column in (("sputnik (stored)", "sputnik_f32_us"), ("cusparse (stored)", "cusparse_f32_us")):
        lines.append((key, stored_line(records or [], "imbalance", "row_cov", 1, column)))
    series = [_relative(key, line) for key, line in lines if line]
    if found:
        used.append(conditions_of(found))
    if any(key.endswith("(stored)") and line for key, line in lines):
        used.append(f"stored: one H200, {SPMM_MADE}")
    words = (
        f"The paper: row swizzle keeps {paper.SWIZZLE_KEEPS.value} % of the throughput that rows of equal length have. "
        "row_tile is the paper's kernel here."
    )
    ends = [(name_of(one.key), one.points[-1]) for one in series]
    words += "".join(f" {name} keeps {end.y:.0f} % at a CoV of {end.x:g}." for name, end in ends)
    chart = Chart(
        "Throughput as row lengths differ more",
        "; ".join(used),
        Axis("row-length CoV"),
        Axis("of that with equal rows (%)"),
        series,
        rules=[Rule(paper.SWIZZLE_KEEPS.value, f"paper: {paper.SWIZZLE_KEEPS.value} %", paper=True)],
    )
    absent = "" if records is not None else paragraph(f"Stored times are left out: {shared.reason(SPMM_MADE)}.")
    return subsection(
        "fig-6",
        "Fig. 6: throughput against the variation of row lengths",
        missing_note("imbalance", results),
        beside(paragraph(words) + absent, draw(chart) if series else ""),
    )
