"""The paper's figures, made of our results, with the paper's values drawn in."""

from __future__ import annotations

from collections.abc import Sequence

from . import paper
from .axis import Axis
from .expected import missing_note
from .markup import (
    Content,
    beside,
    count,
    digits,
    number,
    paragraph,
    ratio,
    subsection,
    table,
)
from .problems import Problem, conditions_of, kind, newest, pairs
from .results import ResultFile
from .shared import SPMM_MADE, Shared
from .shared import number as read_number
from .svg import Chart, Point, Rule, Series, draw, grid, name_of


def time_tip(problem: Problem, key: str, us: float) -> str:
    return f"{name_of(key)}: {digits(us)} us, {problem.label}, {problem.zeros:.0f} % zeros"


# --- Section II ------------------------------------------------------------------------------------------------------


def _pruning(problem: Problem) -> str:
    return problem.matrix.split("/")[1].replace("_", " ")


def matrices(results: Sequence[ResultFile]) -> str:
    """The matrices that DLMC's results are over: how sparse they are, how long and how different their rows."""
    found = newest(results, kind("spmm", "dlmc", "f32"))
    unique = list({problem.matrix: problem for problem in found}.values())
    groups: dict[str, list[Problem]] = {}
    for problem in unique:
        groups.setdefault(_pruning(problem), []).append(problem)
    rows: list[list[Content]] = []
    for name, members in sorted(groups.items()) + [("all of ours", unique)] * bool(unique):
        mean_zeros = sum(problem.zeros for problem in members) / len(members)
        lengths = [problem.row["nonzeros"] / problem.row["m"] for problem in members]
        variations = [problem.row["row_variation"] for problem in members]
        rows.append(
            [
                name,
                count(len(members)),
                number(mean_zeros, unit=" %"),
                number(sum(lengths) / len(lengths)),
                number(sum(variations) / len(variations)),
                number(max(variations)),
            ]
        )
    series = [
        Series(
            name,
            [
                Point(p.zeros, p.row["row_variation"], f"{p.matrix}: CoV {digits(p.row['row_variation'])}")
                for p in members
            ],
            joined=False,
        )
        for name, members in sorted(groups.items())
    ]
    chart = Chart(
        "Row lengths differ most where pruning is learned",
        conditions_of(found),
        Axis("zeros (%)"),
        Axis("row-length CoV", logarithmic=True),
        series,
    )
    study = (
        f"The paper (section II) studied {paper.STUDIED_MATRICES.value:,.0f} matrices of "
        f"{paper.STUDIED_MODELS.value} models: on average {paper.LESS_SPARSE.value}x less sparse than scientific "
        f"ones, rows {paper.LONGER_ROWS.value}x as long, {paper.LESS_VARIATION.value}x less variation in row length. "
        "Ours below are those of the collection that the benchmarks run, with means over matrices; scientific "
        "matrices are not among them."
    )
    heads = ("Pruned by", "Matrices", "Zeros", "Row length", "Row CoV", "Most CoV")
    return subsection(
        "section-2",
        "Section II: what the matrices are like",
        paragraph(study),
        missing_note("matrices", results),
        beside(table(heads, rows), draw(chart)) if unique else "",
    )


# --- Fig. 1 ----------------------------------------------------------------------------------------------------------


def _tokens(results: Sequence[ResultFile]) -> list[Chart]:
    """The same question of today's use: few columns, weights in f16 that are not in the cache."""
    found = newest(results, kind("spmm", "llm_tokens", "f16"), "cublas_f16")
    groups: dict[int, list[Point]] = {}
    for pair in sorted(pairs(found, "cublas_f16"), key=lambda pair: pair.problem.zeros):
        problem = pair.problem
        tip = f"{ratio(pair.ratio)}: {digits(problem.ours.us)} us, dense {digits(pair.other.us)}; {problem.label}"
        groups.setdefault(problem.row["n"], []).append(Point(problem.zeros, pair.ratio, tip))
    if not groups:
        return []
    row = found[0].row
    return [
        Chart(
            f"SpMM f16, {row['m']}x{row['k']}, few columns, weights not in the cache",
            conditions_of(found),
            Axis("zeros (%)"),
            Axis("dense f16's time over ours", logarithmic=True),
            [Series(f"n = {n}", points) for n, points in sorted(groups.items())],
            rules=[Rule(1, "equal")],
        )
    ]


def crossing(problems: Sequence[Problem], key: str) -> str:
    """From which share of zeros on ours is faster than the other."""
    compared = sorted(pairs(problems, key), key=lambda pair: pair.problem.zeros)
    slower = [pair.problem.zeros for pair in compared if pair.ratio < 1]
    if not slower:
        return f"faster than {name_of(key)} at every share of zeros"
    faster = [pair.problem.zeros for pair in compared if pair.problem.zeros > max(slower)]
    if faster:
        return f"faster than {name_of(key)} from {faster[0]:.0f} % zeros on (slower at {max(slower):.0f} %)"
    return f"slower than {name_of(key)} at {max(slower):.0f} % zeros still"


def _lines(problems: Sequence[Problem], keys: Sequence[str]) -> list[Series]:
    """Times against zeros, ours first."""
    ordered = sorted(problems, key=lambda problem: problem.zeros)
    series = [Series("ours", [Point(p.zeros, p.ours.us, time_tip(p, "ours", p.ours.us)) for p in ordered])]
    for key in keys:
        points = [
            Point(p.zeros, p.others[key].us, time_tip(p, key, p.others[key].us)) for p in ordered if key in p.others
        ]
        if points:
            series.append(Series(key, points))
    return series


def stored_line(
    records: list[dict[str, str]], made: str, x_column: str, scale: float, column: str
) -> list[tuple[float, float]]:
    """(x, us) of the stored times of a made set."""
    found = []
    for record in records:
        us = read_number(record, column, SPMM_MADE)
        x = read_number(record, x_column, SPMM_MADE)
        if record["set_or_file"] == made and us is not None and x is not None:
            found.append((scale * x, us))
    return sorted(found)


def crossover(results: Sequence[ResultFile], shared: Shared) -> str:
    found = newest(results, kind("spmm", "crossover", "f32"))
    note = missing_note("crossover", results)
    if not found:
        return subsection("fig-1", "Fig. 1: from which sparsity sparse is faster than dense", note)
    keys = ("cusparse", "cublas_sgemm", "cublas_tf32", "cublas_f16x3")
    series = _lines(found, keys)
    records = shared.records(SPMM_MADE)
    if records is not None:
        stored = stored_line(records, "crossover", "sparsity", 100, "sputnik_f32_us")
        tips = [Point(x, us, f"Sputnik: {digits(us)} us, {x:.0f} % zeros") for x, us in stored]
        series.insert(2, Series("sputnik (stored)", tips))
    row = found[0].row
    chart = Chart(
        f"SpMM f32, {row['m']}x{row['k']}, n = {row['n']}",
        conditions_of(found),
        Axis("zeros (%)"),
        Axis("time (us)", logarithmic=True),
        series,
        rules=[Rule(paper.CROSSOVER_ZEROS.value, f"paper: dense until {paper.CROSSOVER_ZEROS.value} %", False, True)],
    )
    ours = "; ".join(crossing(found, key) for key in keys[1:] if pairs(found, key))
    words = (
        f"In the paper sparse passes dense at {paper.CROSSOVER_ZEROS.value} % zeros ({paper.MACHINE}). Here ours is "
        f"{ours}. On Hopper the dense product to pass runs on tensor cores; ours unpacks sparse weights for them, so "
        "that zeros save memory traffic rather than multiplications."
    )
    absent = "" if records is not None else paragraph(f"Sputnik's line is left out: {shared.reason(SPMM_MADE)}.")
    return subsection(
        "fig-1",
        "Fig. 1: from which sparsity sparse is faster than dense",
        note,
        paragraph(words),
        absent,
        grid([chart, *_tokens(results)]),
    )
