"""What a whole set of results has, and the command that makes what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .markup import count, missing, paragraph, section, table
from .problems import kind, newest, pairs
from .results import ResultFile, ablates


def _piece(name: str) -> str:
    """Of the command that measures everything of the paper."""
    return f"./run bench --paper --only {name}"


Present = Callable[[Sequence[ResultFile]], bool]


@dataclass(frozen=True)
class Expected:
    what: str
    command: str
    present: Present


def _benchmark(*names: str) -> Present:
    return lambda results: any(result.benchmark in names for result in results)


def _compared(operation: str, suite: str | None, element: str, other: str, prefix: str = "") -> Present:
    condition = kind(operation, suite, element)
    return lambda results: bool(pairs(newest(results, condition, other, prefix), other))


def _of_set(operation: str, suite: str, element: str) -> Present:
    return lambda results: bool(newest(results, kind(operation, suite, element)))


def _measured(operation: str, prefix: str) -> Present:
    return lambda results: bool(newest(results, kind(operation, None, "f32"), prefix=prefix))


def _ablated(operation: str, begin: str = "") -> Present:
    """Of an operation, over matrices whose names begin so."""
    return lambda results: any(
        ablates(result, operation) and any(row["file"].startswith(begin) for row in result.rows) for result in results
    )


def _trained(results: Sequence[ResultFile]) -> bool:
    return any(row.get("train") for result in results if result.benchmark == "transformer" for row in result.rows)


def _over(operation: str, element: str) -> str:
    end = f"--dtype {element} --out bench/results/{operation}_GPU_dlmc_{element}.json"
    return f"./run bench {operation} {end}"


def _set(name: str) -> str:
    return f"./run bench spmm --set {name} --out bench/results/spmm_GPU_{name}.json"


def _example(name: str) -> str:
    return f"python3 src/python/examples/{name}.py --json bench/results/{name}_GPU.json"


EXPECTED = {
    "matrices": Expected(
        "the matrix study of section II over the whole collection, of which 80 matrices are here",
        "vostok study FOLDER",
        _benchmark("matrices", "matrix_study"),
    ),
    "crossover": Expected("Fig. 1, from full to sparse", _piece("spmm_crossover"), _measured("spmm", "crossover/")),
    "imbalance": Expected(
        "Fig. 6, throughput against row-length CoV",
        _piece("ablation_row_variation"),
        _ablated("spmm", "row_variation/"),
    ),
    "spmm-f32": Expected(
        "Fig. 9 and Table I, SpMM f32", _piece("spmm_dlmc_f32"), _compared("spmm", "dlmc", "f32", "cusparse")
    ),
    "spmm-f16": Expected("Table I, SpMM f16", _piece("spmm_dlmc_f16"), _compared("spmm", "dlmc", "f16", "cusparse")),
    "spmm-bf16": Expected("SpMM bf16 over DLMC", _over("spmm", "bf16"), _compared("spmm", "dlmc", "bf16", "cusparse")),
    "sddmm-f32": Expected(
        "Fig. 9 and Table I, SDDMM f32", _piece("sddmm_dlmc_f32"), _compared("sddmm", "dlmc", "f32", "cusparse")
    ),
    "sddmm-f16": Expected("Table I, SDDMM f16", _over("sddmm", "f16"), _compared("sddmm", "dlmc", "f16", "cusparse")),
    "softmax": Expected("sparse softmax f32", _over("softmax", "f32"), _of_set("softmax", "dlmc", "f32")),
    "rnn-spmm": Expected("Fig. 10, SpMM of recurrent layers", _piece("spmm_rnn"), _measured("spmm", "rnn/")),
    "rnn-sddmm": Expected("Fig. 10, SDDMM of recurrent layers", _piece("sddmm_rnn"), _measured("sddmm", "rnn/")),
    "ablation-spmm": Expected("Table II, techniques of SpMM", _piece("ablation"), _ablated("spmm", "transformer/")),
    "ablation-sddmm": Expected("Table II, techniques of SDDMM", _piece("ablation_sddmm"), _ablated("sddmm")),
    "transformer": Expected("the sparse Transformer", _piece("transformer"), _benchmark("transformer")),
    "transformer-train": Expected("a training step of the Transformer", _piece("transformer_train"), _trained),
    "mobilenet": Expected("sparse MobileNetV1", _piece("mobilenet"), _benchmark("mobilenet")),
    "recurrent": Expected("RNN, GRU and LSTM cells", _piece("recurrent"), _benchmark("recurrent")),
    "decoder": Expected("a decoder of a language model", _example("decoder"), _benchmark("decoder")),
    "rigl": Expected("training with RigL", _example("rigl"), _benchmark("rigl")),
    "gnn": Expected("a graph network (GCN)", _example("gnn"), _benchmark("gnn")),
    "tokens": Expected(
        "few tokens, weights not in the cache", _set("llm_tokens"), _of_set("spmm", "llm_tokens", "f16")
    ),
    "graphs": Expected("power-law graphs", _set("power_law"), _measured("spmm", "power_law/")),
    "training": Expected(
        "a mask that is replaced while training",
        "./run bench training --out bench/results/training_GPU.json",
        _benchmark("training"),
    ),
    "plan": Expected("what a plan costs", "./run bench plan --out bench/results/plan_GPU.json", _benchmark("plan")),
    "overhead": Expected(
        "what a call costs on the host",
        "./run bench overhead --out bench/results/overhead_GPU.json",
        _benchmark("overhead"),
    ),
}


def is_missing(name: str, results: Sequence[ResultFile]) -> bool:
    return not EXPECTED[name].present(results)


def missing_note(name: str, results: Sequence[ResultFile]) -> str:
    """Nothing where it was measured."""
    expected = EXPECTED[name]
    return missing(expected.what, expected.command) if is_missing(name, results) else ""


def not_measured(results: Sequence[ResultFile]) -> str:
    """What no result file holds, and what was cut short."""
    lacking = [EXPECTED[name] for name in EXPECTED if is_missing(name, results)]
    cut = [result for result in results if not result.complete]
    parts = [paragraph(f"{len(EXPECTED) - len(lacking)} of {len(EXPECTED)} expected parts have a result file.")]
    parts += [missing(expected.what, expected.command) for expected in lacking]
    if cut:
        rows = [[r.name, r.benchmark, count(len(r.rows)), r.day, r.data.get("command", "")] for r in cut]
        parts += [
            paragraph("These runs were cut short, by a deadline or from outside; the rows that they have are whole:"),
            table(("Result file", "Benchmark", "Rows", "Day", "Command"), rows),
        ]
    return section("missing", "Not measured", *parts)
