"""Models whose rows have several sides: every way that a case was computed, beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix

from .axis import Axis
from .markup import Cell, Content, conditions, digits, folded, number, paragraph, table, text
from .results import ResultFile, Row
from .rows import OURS, bytes_needed, fastest, identity
from .strips import Strip, draw_strips

MOST_STRIPS = 24
MOST_IN_ONE = 8  # strips of a chart; more are drawn as two
# Fields of a side, their heads, and by how much they are multiplied.
FACTS = (
    ("tokens_s", "Tokens/s", 1),
    ("frames_s", "Frames/s", 1),
    ("step_us", "Step (us)", 1),
    ("attention_share", "Attention (%)", 100),
)


def has_sides(result: ResultFile) -> bool:
    return any(isinstance(row.get("sides"), dict) for row in result.rows)


def _row(case: str, name: str, side: Row, ours_us: float, facts: Sequence[tuple[str, str, int]]) -> list[Content]:
    us, spread, memory = side["median_us"], side.get("spread_us") or 0, bytes_needed(side)
    over = us / ours_us
    row: list[Content] = [case, name, Cell(f"{digits(us / 1e3, 4)} ± {digits(spread / 1e3, 2)}", us)]
    row += [number(factor * side[field] if field in side else None, 4) for field, _, factor in facts]
    row += [
        number(memory / 1e9 if memory else None),
        Cell(f"{over:.2f}x", over, strong=True, bad=over < 1),
        Cell(f"{side['error']:.1e}", side["error"]) if "error" in side else "",
        "yes" if side.get("verified") else "no",
    ]
    return row


def _table(result: ResultFile) -> str:
    rows: list[list[Content]] = []
    measured = [row for row in result.rows if OURS in row.get("sides", {})]
    present = {field for row in measured for side in row["sides"].values() for field in side}
    facts = [fact for fact in FACTS if fact[0] in present]
    for row in measured:
        ours_us = row["sides"][OURS]["median_us"]
        for name, side in sorted(row["sides"].items(), key=lambda item: item[1]["median_us"]):
            rows.append(_row(identity(row), name, side, ours_us, facts))
    heads = ("Case", "Side", "Time (ms)", *(head for _, head, _ in facts), "Memory (GB)", "Over ours", "Error", "Right")
    return folded(f"{len(rows)} sides of {len(measured)} cases", table(heads, rows, filtered=True), len(rows))


def _shared(cases: Sequence[str]) -> int:
    """How many letters of whole words all cases begin with: one case begins with none."""
    shared = commonprefix(cases) if len(cases) > 1 else ""
    return shared.rfind(" ") + 1


def _strips(result: ResultFile) -> str:
    """The fastest other way of each case; of many cases those of the smallest batch."""
    rows = [row for row in result.rows if fastest(row)]
    if len(rows) > MOST_STRIPS:
        least = min(row.get("batch", 0) for row in rows)
        rows = [row for row in rows if row.get("batch", 0) == least]
    rows = rows[:MOST_STRIPS]
    strips = []
    shared = _shared([identity(row) for row in rows])
    for row in rows:
        twin = fastest(row)
        if twin:
            tip = f"{identity(row)}: {twin.name} takes {twin.ratio:.2f} of ours"
            strips.append(Strip(identity(row)[shared:], twin.name, twin.ratio, None, None, tip=tip))
    title = f"{result.name}: the fastest other way, {len(strips)} of {len(result.rows)} cases"
    axis = Axis("its time over ours", logarithmic=True)
    half = (len(strips) + 1) // 2 if len(strips) > MOST_IN_ONE else len(strips)
    charts = [draw_strips(title, part, axis, result.conditions) for part in (strips[:half], strips[half:])]
    return f'<div class="charts">{"".join(charts)}</div>' if strips else ""


def _left_out(result: ResultFile) -> str:
    """Which sides were not measured, and why."""
    reasons: dict[str, int] = {}
    for row in result.rows:
        for name, reason in row.get("left_out", {}).items():
            line = f"{name}: {reason}"
            reasons[line] = reasons.get(line, 0) + 1
        if "failure" in row:
            reasons[f"{identity(row)} failed: {row['failure']}"] = 1
    if not reasons:
        return ""
    lines = "".join(f"<li>{text(line)} ({cases} cases)</li>" for line, cases in reasons.items())
    return paragraph("Left out:") + f'<ul class="reasons">{lines}</ul>'


def sides(result: ResultFile) -> str:
    return _strips(result) + _table(result) + _left_out(result) + conditions([result.conditions])
