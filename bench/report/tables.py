"""The paper's recurrent problems (Fig. 10) and its ablation (Table II), made of our results."""

from __future__ import annotations

from collections.abc import Sequence

from .axis import Axis
from .expected import missing_note
from .markup import (
    Cell,
    Content,
    beside,
    conditions,
    count,
    digits,
    paragraph,
    percent,
    ratio,
    ratio_cell,
    subsection,
    table,
)
from .problems import (
    BATCHES,
    BETTER_SPARSE,
    STORED,
    Pair,
    Problem,
    Time,
    conditions_of,
    kind,
    model_and_batch,
    newest,
    pairs,
)
from .ratios import geomean, summarize
from .results import ResultFile, Row, ablates
from .shared import RNN, Record, Shared
from .shared import number as read_number
from .svg import Chart, Point, Rule, Series, draw

# --- Fig. 10 ---------------------------------------------------------------------------------------------------------

ASIDE = 1.1  # how far the points of one library stand from another's, so that none hides another

RESEARCH = (("MergeSpmm", "mergespmm_us"), ("ASpT", "aspt_us"))


def _key(m: float, k: float, n: float, zeros: float) -> tuple[int, int, int, int]:
    return int(m), int(k), int(n), round(zeros)


def _research(records: Sequence[Record], operation: str, column: str) -> dict[tuple[int, int, int, int], float]:
    """Microseconds of a research library by the problem's sizes."""
    found = {}
    for record in records:
        values = [read_number(record, name, RNN) for name in ("m", "k", "n", "sparsity", column)]
        m, k, n, sparsity, us = values
        if record["op"] == operation and None not in values:
            found[_key(m or 0, k or 0, n or 0, 100 * (sparsity or 0))] = us or 0
    return found


def _place(problem: Problem) -> tuple[int, int, int, int]:
    row = problem.row
    return _key(row["m"], row["k"], row["n"], problem.zeros)


def _compared(operation: str, problems: Sequence[Problem], shared: Shared) -> list[tuple[str, list[Pair]]]:
    """With every peer that has times of these problems."""
    found = [
        (name, pairs(problems, key))
        for name, key in (("cuSPARSE", "cusparse"), ("Sputnik (stored)", "sputnik" + STORED))
    ]
    found.append(("cuSPARSE or Sputnik", pairs(problems, BETTER_SPARSE)))
    records = shared.records(RNN) or []
    for name, column in RESEARCH:
        times = _research(records, operation, column)
        known = [problem for problem in problems if _place(problem) in times]
        found.append((f"{name} (stored)", [Pair(problem, Time(times[_place(problem)])) for problem in known]))
    found += [("dense SGEMM", pairs(problems, "cublas_sgemm")), ("dense TF32", pairs(problems, "cublas_tf32"))]
    found += [
        (f"dense {name} (stored)", pairs(problems, key + STORED))
        for name, key in (("SGEMM", "cublas_sgemm"), ("TF32", "cublas_tf32"))
    ]
    return [(name, compared) for name, compared in found if compared]


def recurrent(results: Sequence[ResultFile], shared: Shared) -> str:
    rows: list[list[Content]] = []
    charts: list[Chart] = []
    used, notes = [], missing_note("rnn-spmm", results) + missing_note("rnn-sddmm", results)
    for operation in ("spmm", "sddmm"):
        problems = newest(results, kind(operation, None, "f32"), prefix="rnn/")
        if not problems:
            continue
        used.append(conditions_of(problems))
        compared = _compared(operation, problems, shared)
        for name, found in compared:
            summary = summarize(found)
            rows.append(
                [
                    f"{operation.replace('spmm', 'SpMM').replace('sddmm', 'SDDMM')} f32",
                    name,
                    ratio_cell(summary.geomean, strong=True),
                    Cell(f"{ratio(summary.low)} to {ratio(summary.high)}", summary.low),
                    ratio_cell(summary.worst.ratio),
                    Cell(percent(summary.wins), summary.wins),
                    count(summary.problems),
                ]
            )
        charts.append(_recurrent_chart(operation, compared, conditions_of(problems)))
    absent = (
        "" if shared.records(RNN) is not None else paragraph(f"MergeSpmm and ASpT are left out: {shared.reason(RNN)}.")
    )
    words = (
        "RNN, GRU and LSTM layers of 1,024 to 8,192 states, 70 to 90 % zeros, batches of 32 and 128, rows of equal "
        "length. MergeSpmm is the best of its four widths; ASpT's own reordering is not in its times. Stored times "
        "are of another run on such a GPU. The paper compares with the same two on a V100; its values are not drawn "
        "in."
    )
    heads = ("What", "Beside", "Ratio (geomean)", "10 % to 90 %", "Worst", "At least as fast", "Problems")
    return subsection(
        "fig-10",
        "Fig. 10: recurrent layers",
        notes,
        beside(paragraph(words) + absent, "".join(map(draw, charts))),
        (table(heads, rows) + conditions(used)) if rows else "",
    )


def _recurrent_chart(operation: str, compared: Sequence[tuple[str, list[Pair]]], lines: str) -> Chart:
    keys = {"cuSPARSE": "cusparse", "Sputnik (stored)": "sputnik (stored)", "MergeSpmm (stored)": "MergeSpmm (stored)"}
    keys["ASpT (stored)"] = "ASpT (stored)"
    series: list[Series] = []
    for name, found in compared:
        if name not in keys:
            continue
        aside = ASIDE ** len(series)
        points = []
        for pair in found:
            tip = f"{ratio(pair.ratio)} over {name}: ours {digits(pair.problem.ours.us)} us, {pair.problem.label}"
            points.append(Point(aside * pair.problem.row["m"] * pair.problem.row["k"], pair.ratio, tip))
        series.append(Series(keys[name], points, joined=False))
    return Chart(
        f"{'SpMM' if operation == 'spmm' else 'SDDMM'} f32, recurrent layers",
        lines,
        Axis("weights (rows x columns)", logarithmic=True),
        Axis("the other's time over ours", logarithmic=True),
        series,
        rules=[Rule(1, "equal")],
    )


NOTHING = 1.01  # a technique that saves less of the time

# --- Table II --------------------------------------------------------------------------------------------------------


def _slowdowns(results: Sequence[ResultFile], operation: str) -> dict[str, dict[str, list[float]]]:
    """By technique and column: a run's time without it over its time with it, of each problem's newest run."""
    newest_rows: dict[tuple[str, float], Row] = {}
    for result in sorted(results, key=lambda result: result.date):
        if ablates(result, operation):
            newest_rows |= {(row["file"], row["n"]): row for row in result.rows if "without" in row}
    found: dict[str, dict[str, list[float]]] = {}
    for (matrix, n), row in newest_rows.items():
        for without in row["without"]:
            columns = found.setdefault(without["technique"], {})
            column = model_and_batch(matrix, n)
            if column and "slowdown" in without:
                columns.setdefault(column, []).append(without["slowdown"])
    return found


def _ablation(results: Sequence[ResultFile], operation: str) -> str:
    found = _slowdowns(results, operation)
    rows: list[list[Content]] = []
    for technique, columns in found.items():
        every = [slowdown for column in columns.values() for slowdown in column]
        if not every:
            continue
        row: list[Content] = [technique, ratio_cell(geomean(every), strong=True), count(len(every))]
        for batch in BATCHES:
            row.append(ratio_cell(geomean(columns[batch])) if batch in columns else Cell("-"))
        rows.append(row)
    rows.sort(key=lambda row: -row[1].value if isinstance(row[1], Cell) and row[1].value else 0)
    used = [
        result.conditions
        for result in results
        if ablates(result, operation) and any(model_and_batch(row["file"], row["n"]) for row in result.rows)
    ]
    heads = (
        f"{operation.replace('spmm', 'SpMM').replace('sddmm', 'SDDMM')}, without",
        "Slowdown (geomean)",
        "Problems",
        *BATCHES,
    )
    return (table(heads, rows) + conditions(used)) if rows else ""


def _no_longer(results: Sequence[ResultFile]) -> str:
    """Which of the paper's own techniques are worth nothing here."""
    means = {}
    for technique, columns in _slowdowns(results, "spmm").items():
        every = [slowdown for column in columns.values() for slowdown in column]
        if every and "(V-" in technique:
            means[technique] = geomean(every)
    useless = [f"{name}: {ratio(mean)}" for name, mean in means.items() if mean < NOTHING]
    return f"Of the paper's own techniques these are worth nothing here: {'; '.join(useless)}." if useless else ""


def ablation(results: Sequence[ResultFile]) -> str:
    words = (
        "The time without a technique over the time with it, over those problems of DLMC whose choice uses it, of "
        "the family row_tile in f32: the paper's kernel and what was added. Roman numerals are sections of the "
        "paper. Its own table has the same four columns, on a V100; its values are not typed in. Above 1 the "
        "technique helps."
    )
    return subsection(
        "table-2",
        "Table II: what each technique is worth",
        paragraph(words),
        paragraph(_no_longer(results)) if _no_longer(results) else "",
        missing_note("ablation-spmm", results),
        missing_note("ablation-sddmm", results),
        _ablation(results, "spmm"),
        _ablation(results, "sddmm"),
    )
