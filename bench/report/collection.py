"""Fig. 9 and Table I: the collection of matrices, beside cuSPARSE."""

from __future__ import annotations

from collections.abc import Sequence

from . import paper
from .axis import Axis
from .expected import missing_note
from .imbalance import throughput
from .markup import (
    Cell,
    Content,
    conditions,
    count,
    digits,
    number,
    paragraph,
    percent,
    ratio,
    ratio_cell,
    subsection,
    table,
)
from .problems import Pair, Problem, conditions_of, kind, newest, pairs
from .ratios import geomean, summarize
from .results import ResultFile
from .svg import Chart, Point, Rule, Series, grid

LANES = 128  # of f32 in a multiprocessor

TABLE_1 = (
    ("SpMM f32", "spmm", "f32", "spmm-f32", paper.SPMM_OVER_CUSPARSE),
    ("SpMM f16, sums in f32", "spmm", "f16", "spmm-f16", None),
    ("SDDMM f32", "sddmm", "f32", "sddmm-f32", paper.SDDMM_OVER_CUSPARSE),
    ("SDDMM f16, sums in f32", "sddmm", "f16", "sddmm-f16", None),
)


def f32_peak(result: ResultFile) -> float | None:
    """In TFLOP/s: two operations a lane and clock."""
    device = result.data.get("device", {})
    if not device.get("multiprocessors") or not device.get("clock_mhz"):
        return None
    return device["multiprocessors"] * LANES * 2 * device["clock_mhz"] / 1e6


def best_throughput(problems: Sequence[Problem]) -> float:
    """In useful TFLOP/s."""
    return max(throughput(problem.useful_flops, problem.ours.us) for problem in problems)


def _ratios_chart(title: str, compared: Sequence[Pair], fact: paper.Fact | None) -> Chart:
    groups: dict[str, list[Point]] = {}
    for pair in compared:
        problem = pair.problem
        tip = f"{ratio(pair.ratio)}: {digits(problem.ours.us)} us, cuSPARSE {digits(pair.other.us)}; {problem.label}"
        model = "Transformer" if problem.matrix.startswith("transformer/") else "ResNet-50"
        groups.setdefault(model, []).append(Point(problem.zeros, pair.ratio, tip))
    rules = [Rule(1, "equal")]
    if fact:
        rules.append(Rule(fact.value, f"paper: {ratio(fact.value)}", paper=True))
    rules.append(
        Rule(geomean([pair.ratio for pair in compared]), f"ours: {ratio(geomean([p.ratio for p in compared]))}")
    )
    return Chart(
        title,
        conditions_of(pair.problem for pair in compared),
        Axis("zeros (%)"),
        Axis("cuSPARSE's time over ours", logarithmic=True),
        [Series(name, points, joined=False) for name, points in sorted(groups.items())],
        rules=rules,
    )


def collection(results: Sequence[ResultFile]) -> str:
    charts: list[Chart] = []
    rows: list[list[Content]] = []
    notes, used = "", []
    for title, operation, element, expected, fact in TABLE_1:
        notes += missing_note(expected, results)
        compared = pairs(newest(results, kind(operation, "dlmc", element), "cusparse"), "cusparse")
        if not compared:
            continue
        summary = summarize(compared)
        result = compared[0].problem.result
        used.append(conditions_of(pair.problem for pair in compared))
        best = best_throughput([pair.problem for pair in compared])
        peak = f32_peak(result) if element == "f32" else None
        charts.append(_ratios_chart(f"{title} beside cuSPARSE", compared, fact))
        rows.append(
            [
                title,
                ratio_cell(summary.geomean, strong=True),
                Cell(ratio(fact.value), fact.value) if fact else "",
                ratio_cell(summary.best.ratio),
                Cell(percent(summary.wins), summary.wins),
                count(summary.problems),
                number(best),
                Cell(percent(best / peak), best / peak) if peak else "",
                Cell(f"{paper.SHARE_OF_PEAK.value} %", paper.SHARE_OF_PEAK.value / 100)
                if expected == "spmm-f32"
                else "",
            ]
        )
    heads = (
        "Over DLMC, beside cuSPARSE",
        "Here, geomean",
        "Paper, geomean",
        "Here, best",
        "At least as fast",
        "Problems",
        "Best useful TFLOP/s",
        "Of the f32 peak",
        "Paper, of its peak",
    )
    words = (
        "The paper's ratios are over the cuSPARSE of CUDA 10.1 on a V100, these over cuSPARSE 12 on the GPU named "
        "below, which has become faster. Products on tensor cores keep f32's accuracy with three f16 products, so "
        "that useful operations can pass what f32 lanes alone allow. The f32 peak is two operations for each of 128 "
        "lanes of a multiprocessor and clock."
    )
    return subsection(
        "fig-9",
        "Fig. 9 and Table I: the collection",
        paragraph(words),
        notes,
        (table(heads, rows) + conditions(used)) if rows else "",
        grid(charts),
    )
