"""Whole models beside their dense twins, and what the paper reports of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .markup import Cell, Content, ratio_cell
from .results import ResultFile
from .rows import speedup


@dataclass(frozen=True)
class ModelSpeedup:
    """Of one row of a model's result file: the dense twin's time over ours."""

    key: str
    title: str
    beside: str
    ratio: float
    noise: float | None
    result: ResultFile

    def cells(self, count: int) -> list[Content]:
        """As many as the headline's table has columns."""
        noise = Cell("not known") if self.noise is None else Cell(f"{100 * self.noise:.1f} %", self.noise)
        cells: list[Content] = [self.title, self.beside, ratio_cell(self.ratio, strong=True), "", noise]
        cells += [""] * (count - len(cells) - 1)
        return [*cells, self.result.name]


def newest_of(results: Sequence[ResultFile], benchmark: str) -> ResultFile | None:
    found = [result for result in results if result.benchmark == benchmark]
    return max(found, key=lambda result: result.date) if found else None


def _decoder(result: ResultFile) -> list[ModelSpeedup]:
    """Of one sequence."""
    found = []
    for row in result.rows:
        faster = speedup(row)
        if faster and row["batch"] == 1:
            zeros = round(100 * row["sparsity"])
            title, beside = f"decoder, batch 1, {zeros} % zeros", f"dense, {result.element}"
            found.append(ModelSpeedup(f"decoder-{zeros}-1", title, beside, *faster, result))
    return found


def _rigl(result: ResultFile) -> list[ModelSpeedup]:
    zeros = round(100 * result.problem.get("sparsity", 0))
    title, beside = f"RigL training step, {zeros} % zeros", f"masked dense, {result.element}"
    return [ModelSpeedup("rigl", title, beside, *faster, result) for row in result.rows if (faster := speedup(row))]


def model_speedups(results: Sequence[ResultFile]) -> list[ModelSpeedup]:
    """What the headline says of models."""
    found: list[ModelSpeedup] = []
    for benchmark, read in (("decoder", _decoder), ("rigl", _rigl)):
        result = newest_of(results, benchmark)
        found += read(result) if result else []
    return found
