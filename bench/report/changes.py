"""What changed since the result files before: problem by problem, beside the spread of both times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .history import Earlier, earlier, why_no_history
from .in_turns import in_turns
from .markup import Cell, Content, count, digits, number, paragraph, ratio, section, table
from .problems import Time
from .ratios import geomean
from .results import OPERATIONS, ResultFile, Row
from .rows import identity

MOST_LISTED = 40


def _times(row: Row, prefix: str = "") -> dict[str, Time]:
    """Every time of a row that is in microseconds, by where it stands."""
    found = {}
    if isinstance(row.get("median_us"), (int, float)):
        found[prefix] = Time(row["median_us"], row.get("spread_us"))
    for key, value in row.items():
        if isinstance(value, dict):
            found |= _times(value, f"{prefix} {key}".strip())
    return found


def times_of(result: ResultFile) -> dict[str, Time]:
    """Of an operation ours alone; of others whatever is timed. A problem that stands there twice counts once."""
    found: dict[str, Time] = {}
    for row in result.rows:
        times = _times(row.get("ours", {})) if result.benchmark in OPERATIONS else _times(row)
        for place, time in times.items():
            found.setdefault(f"{identity(row)} {place}".strip(), time)
    return found


@dataclass(frozen=True)
class Change:
    label: str
    before: Time
    after: Time

    @property
    def ratio(self) -> float:
        """Above 1: faster than before."""
        return self.before.us / self.after.us

    @property
    def beyond_spread(self) -> bool:
        """False where a spread is not known."""
        if self.before.spread is None or self.after.spread is None:
            return False
        return abs(self.before.us - self.after.us) > self.before.spread + self.after.spread


def compare(before: ResultFile, after: ResultFile) -> list[Change]:
    """Of the problems that both have."""
    old, new = times_of(before), times_of(after)
    return [Change(label, old[label], new[label]) for label in new if label in old and old[label].us and new[label].us]


def _differing(before: ResultFile, after: ResultFile) -> str:
    """Conditions that are not the same in both."""
    keys = sorted({*before.problem, *after.problem})
    told = [f"{key}: {before.problem.get(key, '-')}, now {after.problem.get(key, '-')}" for key in keys]
    return "; ".join(words for key, words in zip(keys, told) if before.problem.get(key) != after.problem.get(key))


def _summary(current: ResultFile, old: Earlier, found: Sequence[Change]) -> list[Content]:
    faster = sum(change.beyond_spread and change.ratio > 1 for change in found)
    slower = sum(change.beyond_spread and change.ratio < 1 for change in found)
    mean = geomean([change.ratio for change in found]) if found else None
    return [
        current.name,
        f"{old.result.day}, {old.result.commit}" + (f" ({old.result.name})" if old.result.name != current.name else ""),
        f"{current.day}, {current.commit}",
        count(len(found)),
        Cell("-") if mean is None else Cell(ratio(mean), mean, strong=True, bad=mean < 1),
        count(faster),
        count(slower),
        _differing(old.result, current),
    ]


def _details(listed: Sequence[tuple[ResultFile, Change]]) -> str:
    rows: list[list[Content]] = [
        [
            change.label,
            result.name,
            Cell(digits(change.before.us, 4), change.before.us),
            Cell(digits(change.after.us, 4), change.after.us),
            number((change.before.spread or 0) + (change.after.spread or 0)),
            Cell(ratio(change.ratio), change.ratio, strong=True, bad=change.ratio < 1),
        ]
        for result, change in listed
    ]
    heads = ("Problem", "Result file", "Before (us)", "Now (us)", "Both spreads (us)", "Before over now")
    return table(heads, rows, filtered=True)


def changes(results: Sequence[ResultFile], folder: Path) -> str:
    title = "What changed"
    reason = why_no_history(folder)
    if reason:
        return section("changes", title, paragraph(f"Left out: {reason}."), in_turns(results))
    rows, listed, fresh = [], [], []
    for current in results:
        old = earlier(current, folder)
        if old is None:
            fresh.append(current.name)
            continue
        found = compare(old.result, current)
        rows.append(_summary(current, old, found))
        listed += [(current, change) for change in found if change.beyond_spread]
    listed.sort(key=lambda item: item[1].ratio)
    shown = listed if len(listed) <= 2 * MOST_LISTED else listed[:MOST_LISTED] + listed[-MOST_LISTED:]
    heads = (
        "Result file",
        "Before",
        "Now",
        "Problems in both",
        "Before over now",
        "Faster",
        "Slower",
        "Conditions that differ",
    )
    parts = [
        paragraph(
            "Each file beside its version before of the same benchmark, type and GPU, as git has it. Above 1: "
            "faster than before. Faster and slower count problems that changed by more than both spreads together."
        ),
        table(heads, rows) if rows else paragraph("No file has an earlier version."),
    ]
    if listed:
        parts += [
            "<h3>Problems that changed beyond their spread</h3>",
            paragraph(f"{len(shown)} of {len(listed)}: those that changed most in both directions."),
            _details(shown),
        ]
    if fresh:
        parts.append(paragraph(f"Without an earlier version: {', '.join(fresh)}."))
    return section("changes", title, *parts, in_turns(results))
