"""Whole models beside their dense twins: what the headline says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import paper
from .markup import Cell, Content, count, ratio, ratio_cell
from .ratios import geomean
from .results import ResultFile, Row
from .rows import OURS, Twin, bytes_needed, fastest, speedup, twins

PAPER_ROW = {"mask": "paper", "numbers": "fp32", "batch": 1, "train": False}  # of the Transformer: as the paper has it


@dataclass(frozen=True)
class ModelSpeedup:
    """The dense twin's time over ours: of a row, or a mean over rows."""

    key: str
    title: str
    beside: str
    ratio: float
    noise: float | None
    result: ResultFile
    paper: float | None = None
    rows: int = 1

    def cells(self, columns: int) -> list[Content]:
        """As many as the headline's table has columns."""
        noise = Cell("not known") if self.noise is None else Cell(f"{100 * self.noise:.1f} %", self.noise)
        cells: list[Content] = [self.title, self.beside, ratio_cell(self.ratio, strong=True), "", noise]
        cells += [""] * (columns - len(cells) - 3)
        reported = Cell(ratio(self.paper), self.paper) if self.paper else ""
        return [*cells, count(self.rows), reported, self.result.name]


def newest_of(results: Sequence[ResultFile], benchmark: str) -> ResultFile | None:
    """Of those files with a row for the headline, where there are any: a training step is no forward pass."""
    found = [result for result in results if result.benchmark == benchmark]
    return max(found, key=lambda result: (bool(READERS[benchmark](result)), result.date)) if found else None


def papers_transformer(result: ResultFile) -> list[Row]:
    """Rows of the paper's own case."""
    return [row for row in result.rows if all(row.get(key) == value for key, value in PAPER_ROW.items())]


def transformer_memory(row: Row) -> float | None:
    """The materialised twin's memory over ours."""
    sides = row.get("sides", {})
    theirs, ours = (bytes_needed(sides.get(name, {})) for name in ("materialised", OURS))
    return theirs / ours if theirs and ours else None


def _transformer(result: ResultFile) -> list[ModelSpeedup]:
    dense, sparse = paper.TRANSFORMERS
    reported = {"materialised": sparse.tokens_s / dense.tokens_s}
    found = []
    for row in papers_transformer(result):
        for twin in twins(row):
            if twin.name in ("materialised", "sdpa dense"):
                key, beside = f"transformer-{twin.name.replace(' ', '-')}", f"dense, {twin.name.removesuffix(' dense')}"
                title = "Transformer f32, the paper's mask"
                found.append(ModelSpeedup(key, title, beside, twin.ratio, twin.noise, result, reported.get(twin.name)))
    return found


def mobilenet_pairs(result: ResultFile) -> dict[tuple[float, float], Twin]:
    """Of the paper's pairs of widths, one image, f32: the fastest dense network in fp32 over ours."""
    found = {}
    for row in result.rows:
        widths = (row.get("sparse_width"), row.get("dense_width"))
        twin = fastest(row, "fp32 ") if row.get("batch") == 1 and row.get("element") == "f32" else None
        if twin and widths in paper.MOBILENET_PAIRS:
            found[widths] = twin
    return found


def _mobilenet(result: ResultFile) -> list[ModelSpeedup]:
    found = []
    for (wide, narrow), twin in mobilenet_pairs(result).items():
        title, beside = f"MobileNetV1 f32, width {wide}", f"dense fp32, {narrow}"
        reported = paper.mobilenet_ratio(wide, narrow)
        found.append(ModelSpeedup(f"mobilenet-{wide}", title, beside, twin.ratio, twin.noise, result, reported))
    return found


def _recurrent(result: ResultFile) -> list[ModelSpeedup]:
    """A mean for each share of zeros."""
    measured: dict[int, list[tuple[Row, float]]] = {}
    for row in result.rows:
        twin = fastest(row, "cublas fp32", "cudnn fp32") if row.get("element") == "f32" else None
        if twin:
            measured.setdefault(round(100 * row["sparsity"]), []).append((row, twin.ratio))
    found = []
    for zeros, pairs in sorted(measured.items()):
        cells = sorted({row["cell"] for row, _ in pairs})
        states = sorted({row["states"] for row, _ in pairs})
        sizes = f"{states[0]} to {states[-1]}" if len(states) > 1 else f"{states[0]}"
        key = "-".join(["recurrent", "+".join(cells), sizes.replace(" to ", "+"), f"{zeros}"])
        title = f"{', '.join(cells).upper()} f32, {sizes} states, {zeros} % zeros"
        mean = geomean([ratio for _, ratio in pairs])
        found.append(ModelSpeedup(key, title, "dense fp32", mean, None, result, rows=len(pairs)))
    return found


def _decoder(result: ResultFile) -> list[ModelSpeedup]:
    """Of one sequence."""
    found = []
    for row in result.rows:
        twin = speedup(row)
        if twin and row["batch"] == 1:
            zeros = round(100 * row["sparsity"])
            title, beside = f"decoder, batch 1, {zeros} % zeros", f"dense, {result.element}"
            found.append(ModelSpeedup(f"decoder-{zeros}-1", title, beside, twin.ratio, twin.noise, result))
    return found


def _rigl(result: ResultFile) -> list[ModelSpeedup]:
    zeros = round(100 * result.problem.get("sparsity", 0))
    title, beside = f"RigL training step, {zeros} % zeros", f"masked dense, {result.element}"
    found = [twin for row in result.rows if (twin := speedup(row))]
    return [ModelSpeedup("rigl", title, beside, twin.ratio, twin.noise, result) for twin in found]


READERS = {
    "transformer": _transformer,
    "mobilenet": _mobilenet,
    "recurrent": _recurrent,
    "decoder": _decoder,
    "rigl": _rigl,
}


def model_speedups(results: Sequence[ResultFile]) -> list[ModelSpeedup]:
    """Each as it was measured last, on the GPU of its model's newest file."""
    found: dict[str, ModelSpeedup] = {}
    for benchmark, read in READERS.items():
        newest = newest_of(results, benchmark)
        files = [result for result in results if newest and (result.benchmark, result.gpu) == (benchmark, newest.gpu)]
        for result in sorted(files, key=lambda result: result.date):
            found |= {made.key: made for made in read(result)}
    return list(found.values())
