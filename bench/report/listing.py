"""Every problem of every result file, for one table that sorts and filters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .markup import paragraph, section, text
from .problems import BETTER_SPARSE, Problem, problems_of
from .results import OPERATIONS, ResultFile, Row
from .roofline import bound_us, is_outlier, over_limit
from .rows import OURS, fastest, identity

# key, head, whether it is a number
COLUMNS = (
    ("matrix", "Problem", False),
    ("operation", "Operation", False),
    ("element", "Type", False),
    ("n", "n", True),
    ("zeros", "Zeros (%)", True),
    ("ours", "Ours (us)", True),
    ("spread", "Spread (us)", True),
    ("sparse", "Sparse peer over ours", True),
    ("dense", "Dense over ours", True),
    ("ceiling", "Of the ceiling (%)", True),
    ("alarm", "Alarm", False),
    ("family", "Family", False),
    ("m", "Rows", True),
    ("k", "Columns", True),
    ("variation", "Row CoV", True),
    ("gflops", "Useful GFLOP/s", True),
    ("provenance", "Choice", False),
    ("error", "Error", True),
    ("gpu", "GPU", False),
    ("date", "Day", False),
    ("result", "Result file", False),
)
DENSE = {"f32": ("cublas_tf32", "cublas_sgemm"), "f16": ("cublas_f16",), "bf16": ("cublas_bf16",)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _dense(problem: Problem) -> float | None:
    """The fastest dense product of the same type; of f32 that on TF32 counts, too."""
    times = [problem.others[name].us for name in DENSE.get(problem.result.element, ()) if name in problem.others]
    return min(times) if times else None


def _measured(problem: Problem) -> dict[str, Any]:
    row, ours = problem.row, problem.ours
    dense, sparse, bound = _dense(problem), problem.others.get(BETTER_SPARSE), bound_us(problem)
    return {
        "m": row["m"],
        "k": row["k"],
        "n": row["n"],
        "zeros": _rounded(problem.zeros),
        "variation": _rounded(row.get("row_variation")),
        "ours": _rounded(ours.us),
        "spread": _rounded(ours.spread),
        "gflops": _rounded(problem.useful_flops / ours.us / 1e3),
        "sparse": _rounded(sparse.us / ours.us) if sparse else None,
        "dense": _rounded(dense / ours.us) if dense else None,
        "ceiling": _rounded(100 * bound / ours.us) if bound else None,
        "alarm": f"{over_limit(problem):.1f}x its limit" if is_outlier(problem) else None,
        "family": problem.family,
        "provenance": row["ours"].get("provenance", ""),
        "error": _rounded(row["ours"].get("error")),
    }


def _other(row: Row) -> dict[str, Any]:
    """What a row of another benchmark has in common with these, and why a row has no time."""
    found: dict[str, Any] = {key: row[key] for key in ("m", "k", "n") if isinstance(row.get(key), (int, float))}
    if isinstance(row.get("sparsity"), (int, float)):
        found["zeros"] = _rounded(100 * row["sparsity"])
    ours = (row, row.get("sparse"), row.get("whole"), row.get("sides", {}).get(OURS))
    for side in (side for side in ours if isinstance(side, dict)):
        if isinstance(side.get("median_us"), (int, float)):
            found["ours"], found["spread"] = _rounded(side["median_us"]), _rounded(side.get("spread_us"))
            break
    twin = fastest(row)
    if twin:
        found["dense"] = _rounded(twin.ratio)
    for reason in ("skipped", "failure"):
        if reason in row:
            found["family"] = f"{reason}: {row[reason]}"
    if isinstance(row.get("family"), str):
        found["family"] = row["family"]
    return found


def records(results: Sequence[ResultFile]) -> list[list[Any]]:
    """One list a row of a result file, in the order of COLUMNS; operations come first, newer before older."""
    rows = []
    ranks = {name: rank for rank, name in enumerate(OPERATIONS)}
    by_day = sorted(results, key=lambda result: result.date, reverse=True)
    for result in sorted(by_day, key=lambda result: ranks.get(result.benchmark, len(ranks))):
        known = {id(problem.row): problem for problem in problems_of(result)}
        for index, row in enumerate(result.rows):
            problem = known.get(id(row))
            values = _measured(problem) if problem else _other(row)
            if result.benchmark in OPERATIONS and not problem and "family" not in values:
                values["family"] = f"wrong: {row.get('ours', {}).get('wrong') or 'not verified'}"
            values |= {
                "operation": result.benchmark,
                "element": result.element or row.get("element", ""),
                "matrix": row.get("file") or identity(row) or f"row {index}",
                "gpu": result.gpu,
                "date": result.day,
                "result": result.name,
            }
            rows.append([values.get(key) for key, _, _ in COLUMNS])
    return rows


def compact(rows: list[list[Any]]) -> str:
    """As JSON in which every word stands once: words are indices into `words`."""
    words: dict[str, int] = {}
    packed = [
        [words.setdefault(value, len(words)) if isinstance(value, str) else value for value in column]
        for column in (zip(*rows) if rows else ((),) * len(COLUMNS))
    ]
    numeric = [number for _, _, number in COLUMNS]
    data = {
        "keys": [key for key, _, _ in COLUMNS],
        "heads": [head for _, head, _ in COLUMNS],
        "numeric": numeric,
        "words": list(words),
        "columns": packed,
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def listing(results: Sequence[ResultFile]) -> str:
    rows = records(results)
    choices = "".join(
        f'<label>{text(head)} <select data-column="{key}"><option value="">all</option></select></label>'
        for key, head, _ in COLUMNS
        if key in ("operation", "element", "gpu", "result")
    )
    return section(
        "problems",
        "Every problem",
        paragraph(
            "Every row of every result file. A ratio is the other's time over ours. Of the ceiling, and alarms: see "
            "the roofline. A click on a head sorts, another turns the order; the filter looks for all its words in "
            "all columns."
        ),
        f'<div class="controls"><input type="search" id="problems-filter" placeholder="Filter: transformer 0.9 f16" '
        f'aria-label="Filter the problems">{choices}<span id="problems-count">{len(rows)} rows</span></div>',
        '<div class="table"><div class="scroll"><table id="problems-table">',
        "<thead></thead><tbody></tbody></table></div></div>",
        '<button type="button" id="problems-more">Show more</button>',
        "<noscript><p>This table needs scripts.</p></noscript>",
        f'<script type="application/json" id="problems-data">{compact(rows)}</script>',
    )
