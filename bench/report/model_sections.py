"""The page's models: what the paper reports of its own, and what ours and their dense twins reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import paper
from .axis import Axis
from .expected import missing_note
from .generic import generic_table
from .markup import Cell, Content, beside, conditions, count, number, paragraph, ratio_cell, section, subsection, table
from .models import newest_of
from .results import ResultFile, Row
from .rows import OURS, fastest, is_right, speedup
from .sides import has_sides, sides
from .svg import Chart, Point, Rule, Series, draw, grid, name_of

GIGABYTE = 1e9
MOST_POINTS = 120  # of a curve


def _with_results(results: Sequence[ResultFile], benchmarks: Sequence[str]) -> str:
    known = [result for result in results if result.benchmark in benchmarks]
    return "".join(sides(result) if has_sides(result) else generic_table(result) for result in known)


# --- The paper's -----------------------------------------------------------------------------------------------------


def transformer(results: Sequence[ResultFile]) -> str:
    dense, sparse = paper.TRANSFORMERS
    rows: list[list[Content]] = [
        [
            f"the paper, {model.name}",
            number(model.tokens_s, 5),
            Cell(f"{model.gigabytes:.2f} GB", model.gigabytes),
            number(model.bits_per_dimension),
            ratio_cell(model.tokens_s / dense.tokens_s),
            ratio_cell(dense.gigabytes / model.gigabytes),
        ]
        for model in (dense, sparse)
    ]
    words = (
        "3 layers, 8 heads, hidden 1024, filter 4096, 12,288 tokens; attention at a mask with a dense band of 256 "
        f"and 95 % zeros beyond. The paper measured it in f32 on {paper.MACHINE}, from the table of "
        f"{paper.TRANSFORMER_PLACE}."
    )
    heads = ("Model", "Tokens/s", "Memory", "Bits a dimension", "Tokens/s over dense", "Memory, dense over it")
    return subsection(
        "transformer",
        "Sparse Transformer",
        paragraph(words),
        table(heads, rows),
        missing_note("transformer", results),
        missing_note("transformer-train", results),
        _with_results(results, ("transformer",)),
    )


def _mobilenet_here(results: Sequence[ResultFile]) -> list[Series]:
    """Ours and the dense network of one image in f32, at the accuracy that the paper's of that width has."""
    result = newest_of(results, "mobilenet")
    accuracy = {(model.width, bool(model.zeros)): model.accuracy for model in paper.MOBILENETS}
    points: dict[str, dict[float, Point]] = {"ours": {}, "dense fp32, here": {}}
    for row in result.rows if result else ():
        if row.get("batch") != 1 or row.get("element") != "f32":
            continue
        twin = fastest(row, "fp32 ")
        for name, side, width, is_sparse in (
            ("ours", OURS, row["sparse_width"], True),
            ("dense fp32, here", twin.name if twin else "", row["dense_width"], False),
        ):
            frames = row.get("sides", {}).get(side, {}).get("frames_s")
            if frames and (width, is_sparse) in accuracy:
                tip = f"{name_of(name)}, width {width}: {frames:,.0f} frames/s"
                points[name][width] = Point(frames, accuracy[width, is_sparse], tip)
    return [Series(name, [found[width] for width in sorted(found)]) for name, found in points.items() if found]


def mobilenet(results: Sequence[ResultFile]) -> str:
    frames = {(model.width, model.zeros): model.frames_s for model in paper.MOBILENETS}
    twins = dict(paper.MOBILENET_PAIRS)
    rows: list[list[Content]] = []
    for model in paper.MOBILENETS:
        twin = twins.get(model.width) if model.zeros else None
        faster = model.frames_s / frames[(twin, 0)] if twin else None
        rows.append(
            [
                f"{'sparse' if model.zeros else 'dense'} {model.width}",
                Cell(f"{model.zeros:.0f} %", model.zeros),
                Cell(f"{model.accuracy} %", model.accuracy),
                number(model.frames_s, 4),
                Cell(f"{faster:.2f}x dense {twin}", faster) if faster else "",
            ]
        )
    series = []
    for name, is_sparse in (("the paper, sparse", True), ("the paper, dense", False)):
        models = [model for model in paper.MOBILENETS if bool(model.zeros) == is_sparse]
        tips = [f"{name}, width {m.width}: {m.frames_s:,.0f} frames/s, {m.accuracy} %" for m in models]
        series.append(Series(name, [Point(m.frames_s, m.accuracy, tip) for m, tip in zip(models, tips)]))
    here = _mobilenet_here(results)
    measured = newest_of(results, "mobilenet")
    here_conditions = [measured.conditions + ", accuracies of the paper's networks"] if measured and here else []
    chart = Chart(
        "MobileNetV1: speed and accuracy",
        "; ".join(
            [f"the paper: {paper.MACHINE}, batch 1, 224x224, {len(paper.MOBILENETS)} networks", *here_conditions]
        ),
        Axis("frames/s", logarithmic=bool(here)),
        Axis("top-1 accuracy (%)"),
        [*series, *here],
    )
    words = (
        "1x1 convolutions with 90 % zeros, the first layer dense, 224x224, batch 1. At about equal accuracy the "
        "paper's sparse networks of widths 1.3, 1.5 and 1.8 stand beside dense ones of 1.0, 1.2 and 1.4 "
        f"({paper.MACHINE})."
    )
    heads = ("The paper's", "Zeros", "Top-1", "Frames/s", "At like accuracy")
    return subsection(
        "mobilenet",
        "Sparse MobileNetV1",
        paragraph(words),
        missing_note("mobilenet", results),
        _with_results(results, ("mobilenet",)),
        beside(table(heads, rows), draw(chart)),
    )


# --- Ours ------------------------------------------------------------------------------------------------------------


def _zeros(row: Row) -> float:
    return 100 * row["sparsity"]


def _decoder_charts(result: ResultFile) -> list[Chart]:
    right = [row for row in result.rows if is_right(row)]
    speeds: dict[str, list[Point]] = {}
    memory: dict[str, list[Point]] = {}
    for row in sorted(right, key=_zeros):
        faster = speedup(row)
        if faster:
            tip = f"{faster.ratio:.2f}x at {_zeros(row):.0f} % zeros, batch {row['batch']}"
            speeds.setdefault(f"batch {row['batch']}", []).append(Point(_zeros(row), faster.ratio, tip))
        for side in ("sparse", "dense"):
            read = row[side].get("read_bytes", row[side].get("linear_bytes"))
            if read:
                name = f"sparse, batch {row['batch']}" if side == "sparse" else "dense"
                point = Point(
                    _zeros(row), read / GIGABYTE, f"{name}: {read / GIGABYTE:.2f} GB at {_zeros(row):.0f} % zeros"
                )
                if point not in memory.setdefault(name, []):
                    memory[name].append(point)
    problem = result.problem
    title = f"{problem.get('layers')} layers of {problem.get('hidden')}, {result.element}"
    zeros = Axis("zeros (%)")
    return [
        Chart(
            f"Decoder, {title}: tokens/s over the dense model's",
            result.conditions,
            zeros,
            Axis("tokens/s, dense = 1"),
            [Series(name, points) for name, points in speeds.items()],
            rules=[Rule(1, "dense")],
        ),
        Chart(
            f"Decoder, {title}: weights that a step reads",
            result.conditions,
            zeros,
            Axis("weights read (GB)", low=0),
            [Series(name, points) for name, points in memory.items()],
        ),
    ]


def _decoder_rows(result: ResultFile) -> list[list[Content]]:
    rows = []
    for row in result.rows:
        faster = speedup(row)
        rows.append(
            [
                Cell(f"{_zeros(row):.0f} %", _zeros(row)),
                count(row["batch"]),
                ratio_cell(faster.ratio if faster else None, strong=True),
                Cell("-") if not faster or faster.noise is None else Cell(f"{100 * faster.noise:.1f} %", faster.noise),
                number(row["sparse"].get("median_us"), 4),
                number(row["dense"].get("median_us"), 4),
                number(row["sparse"].get("tokens_s"), 4),
                "yes" if is_right(row) else "no",
            ]
        )
    return rows


def decoder(results: Sequence[ResultFile]) -> str:
    heads = (
        "Zeros",
        "Batch",
        "Tokens/s over dense",
        "Noise",
        "Step (us)",
        "Dense step (us)",
        "Tokens/s",
        "Output checked",
    )
    parts = [missing_note("decoder", results)]
    found = [result for result in results if result.benchmark == "decoder"]
    for result in sorted(found, key=lambda result: result.date, reverse=True):
        parts += [grid(_decoder_charts(result)), table(heads, _decoder_rows(result)), conditions([result.conditions])]
    words = "A step makes a token for each sequence, as a CUDA graph, beside the dense model with the same zeros."
    return subsection("decoder", "Decoder of a language model", paragraph(words), *parts)


def _thinned(curve: Sequence[Sequence[float]]) -> list[Point]:
    stride = max(1, len(curve) // MOST_POINTS)
    return [Point(step, loss, f"step {step}: {loss:.4g}") for step, loss in curve[::stride]]


def _losses(row: Row, lines: str) -> str:
    """Nothing where a row has no curves."""
    curves = row.get("curves", {})
    series = [Series("masked dense", _thinned(curves.get("masked dense", [])), marked=False)]
    series.append(Series("sparse", _thinned(curves.get("sparse", [])[::5]), joined=False))
    axis = Axis("loss", logarithmic=True)
    chart = Chart("RigL: losses of sparse and masked dense", lines, Axis("step"), axis, series)
    return grid([chart]) if any(one.points for one in series) else ""


def rigl(results: Sequence[ResultFile]) -> str:
    parts = [missing_note("rigl", results)]
    result = newest_of(results, "rigl")
    if result:
        parts += [_losses(row, result.conditions) for row in result.rows]
    return subsection("rigl", "Training with RigL", *parts, _with_results(results, ("rigl",)))


def _plain(name: str, title: str, words: str, expected: str, *benchmarks: str) -> Callable[[Sequence[ResultFile]], str]:
    def made(results: Sequence[ResultFile]) -> str:
        note = missing_note(expected, results)
        return subsection(name, title, paragraph(words) if words else "", note, _with_results(results, benchmarks))

    return made


recurrent = _plain(
    "recurrent",
    "Recurrent layers",
    "RNN, GRU and LSTM cells with sparse weights over 100 steps beside dense ones. The products alone: Fig. 10.",
    "recurrent",
    "recurrent",
)
gcn = _plain(
    "gcn",
    "Graph network (GCN)",
    "An epoch of training on Cora, as PyTorch Geometric has it and through Vostok.",
    "gnn",
    "gnn",
)
training = _plain("training", "A mask that changes while training", "", "training", "training", "sparse_mlp")
KNOWN = (
    "ablation",
    "compile_sweep",
    "shipped_kernels",
    "overhead",
    "plan",
    "matrices",
    "matrix_study",
    "spmm",
    "sddmm",
    "softmax",
    "two_builds",
)
SHOWN = (
    "transformer",
    "mobilenet",
    "mobilenetv1",
    "decoder",
    "rigl",
    "recurrent",
    "rnn",
    "gnn",
    "training",
    "sparse_mlp",
)


def _others(results: Sequence[ResultFile]) -> str:
    """Benchmarks that this page does not know by name."""
    names = sorted({result.benchmark for result in results} - {*KNOWN, *SHOWN})
    return "".join(subsection(f"other-{name}", name, _with_results(results, (name,))) for name in names)


def models(results: Sequence[ResultFile]) -> str:
    parts = (transformer, mobilenet, recurrent, decoder, rigl, gcn, training, _others)
    lead = paragraph(
        f"The paper's models are {paper.MODEL_SPEEDUP_LEAST.value} to {paper.MODEL_SPEEDUP_MOST.value} times as fast "
        f"as dense ones and take up to {paper.TRANSFORMERS[0].gigabytes / paper.TRANSFORMERS[1].gigabytes:.1f} times "
        f"less memory ({paper.MODEL_SPEEDUP_MOST.place})."
    )
    return section("models", "Models", lead, *(part(results) for part in parts))


def host(results: Sequence[ResultFile]) -> str:
    """What plans and calls cost the host."""
    parts = [
        _plain(
            "overhead",
            "What a call costs",
            "Nanoseconds of host time beside a raw driver launch.",
            "overhead",
            "overhead",
        ),
        _plain("plan", "What a plan costs", "Microseconds of host time, for each family.", "plan", "plan"),
    ]
    return section("host", "On the host", *(part(results) for part in parts))
