"""Reads result files, and says of one that it is none which field is wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMAS = (2, 3)
NO_GPU = "no GPU"
OPERATIONS = ("spmm", "sddmm", "softmax")

Row = dict[str, Any]


class ReportError(Exception):
    """What a user can mend: the message names the file."""


@dataclass(frozen=True)
class ResultFile:
    """One run of a benchmark."""

    name: str  # of the file, without its end
    data: dict[str, Any]

    @property
    def benchmark(self) -> str:
        return self.data["benchmark"]

    @property
    def gpu(self) -> str:
        return self.data.get("device", {}).get("name", NO_GPU)

    @property
    def date(self) -> str:
        return self.data["date"]

    @property
    def day(self) -> str:
        return self.date[:10]

    @property
    def commit(self) -> str:
        return self.data.get("commit") or "not known"

    @property
    def complete(self) -> bool:
        return self.data.get("complete", True)

    @property
    def problem(self) -> dict[str, Any]:
        return self.data.get("problem", {})

    @property
    def element(self) -> str:
        return self.problem.get("element", "")

    @property
    def rows(self) -> list[Row]:
        return self.data["rows"]

    @property
    def suite(self) -> str:
        """The set of problems. Problems that are made of baselines (`--synthetic`) go by their own names."""
        names = [row["file"] for row in self.rows if "file" in row]
        if any(name.endswith(".smtx") for name in names):
            return "dlmc"
        named = self.problem.get("set", "dlmc")
        return named if named != "dlmc" or not names else names[0].split("/")[0]

    @property
    def clocks(self) -> str:
        """SM clocks right after what was timed, else before and after the run: one number where they agree."""
        whole = self.data.get("clocks") or {}
        seen = [row["clocks"] for row in self.rows if row.get("clocks")]
        seen = seen or [state for state in (whole.get("before"), whole.get("after")) if state]
        values = sorted({state["sm_mhz"] for state in seen if state.get("sm_mhz")})
        if not values:
            return "not recorded"
        return f"{values[0]:g} MHz" if values[0] == values[-1] else f"{values[0]:g} to {values[-1]:g} MHz"

    @property
    def conditions(self) -> str:
        """What stands below every chart and table that is made of this file."""
        counted = f"{len(self.rows)} problem{'s' if len(self.rows) != 1 else ''}"
        cut = "" if self.complete else ", cut short"
        return f"{self.gpu}, {self.day}, commit {self.commit}, SM clock {self.clocks}, {counted}{cut} ({self.name})"


def _need(kind: type | tuple[type, ...], value: Any, where: str, what: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ReportError(f"{what} is {json.dumps(value)[:60]} in {where}")


NUMBER = (int, float)


def _check_times(times: Any, where: str) -> None:
    _need(dict, times, where, "what was timed")
    for field in ("median_us", "spread_us", "error", "tolerance"):
        if times.get(field) is not None:
            _need(NUMBER, times[field], where, f"'{field}'")


def _check_operation(row: Row, where: str) -> None:
    """A row of spmm, sddmm or softmax that was measured."""
    _need(str, row.get("file"), where, "'file'")
    if "skipped" in row or "failure" in row:
        return
    for field in ("n", "m", "k", "nonzeros", "sparsity", "row_variation"):
        _need(NUMBER, row.get(field), where, f"'{field}'")
    _check_times(row.get("ours"), f"{where}, 'ours'")
    _need(list, row.get("peers", []), where, "'peers'")
    for peer in row.get("peers", []):
        _check_times(peer, f"{where}, 'peers'")
        _need(str, peer.get("name"), f"{where}, 'peers'", "'name'")
    _need(dict, row.get("baseline", {}), where, "'baseline'")
    for name, us in row.get("baseline", {}).items():
        _need(NUMBER, us, f"{where}, 'baseline'", f"'{name}'")


def _check_decoder(row: Row, where: str) -> None:
    for field in ("sparsity", "batch"):
        _need(NUMBER, row.get(field), where, f"'{field}'")
    for side in ("dense", "sparse"):
        _check_times(row.get(side), f"{where}, '{side}'")


def _check_sides(row: Row, where: str) -> None:
    _need(dict, row.get("sides", {}), f"{where}, 'sides'", "what they are")
    for name, side in row.get("sides", {}).items():
        _check_times(side, f"{where}, 'sides'")
        _need(NUMBER, side.get("median_us"), f"{where}, 'sides'", f"'median_us' of '{name}'")


def _check_ablation(row: Row, where: str) -> None:
    _need(str, row.get("file"), where, "'file'")
    for without in row.get("without", []):
        _need(dict, without, where, "'without'")
        _need(str, without.get("technique"), f"{where}, 'without'", "'technique'")
        _need(NUMBER, without.get("slowdown", 1), f"{where}, 'without'", "'slowdown'")


# Benchmarks of whose rows the page knows more than that they are objects.
CHECKS = dict.fromkeys(OPERATIONS, _check_operation) | {"decoder": _check_decoder, "ablation": _check_ablation}


def _check(data: Any) -> None:
    _need(dict, data, "the whole file", "the outermost value")
    for field, kind in (("schema", int), ("benchmark", str), ("date", str), ("rows", list)):
        if field not in data:
            raise ReportError(f"it is no result file, for it has no field '{field}'")
        _need(kind, data[field], "the whole file", f"'{field}'")
    if data["schema"] not in SCHEMAS:
        raise ReportError(f"its schema is {data['schema']}, and only {' and '.join(map(str, SCHEMAS))} are known")
    for field in ("device", "problem"):
        _need(dict, data.get(field, {}), "the whole file", f"'{field}'")
    if "device" in data:
        _need(str, data["device"].get("name"), "'device'", "'name'")
    for index, row in enumerate(data["rows"]):
        where = f"row {index}"
        _need(dict, row, where, "the row")
        _check_sides(row, where)
        if data["benchmark"] in CHECKS:
            CHECKS[data["benchmark"]](row, where)


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def parse(name: str, text: str) -> ResultFile:
    """A result file's text. Errors: ReportError, without the file's name."""
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise ReportError(f"it is no JSON: {error}") from None
    _check(data)
    return ResultFile(name, data)


def read(path: Path) -> ResultFile:
    """Errors: ReportError, which names the file."""
    try:
        return parse(path.stem, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ReportError) as error:
        raise ReportError(f"cannot read {path}: {error}") from None


def read_folder(folder: Path) -> list[ResultFile]:
    """Every JSON file of a folder, by name. Errors: ReportError."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ReportError(f"cannot read {folder}: it has no *.json file")
    return [read(path) for path in paths]


def ablates(result: ResultFile, operation: str) -> bool:
    """Whether it switches off techniques of an operation's family. A run over families of all kinds tells what
    certificates cost, and belongs to no table of the paper."""
    problem = result.problem
    return (
        result.benchmark == "ablation"
        and problem.get("operation", "spmm") == operation
        and problem.get("family", operation) != ""
    )
