"""One table: what the paper reports, what is reached here, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence

from . import paper
from .collection import best_throughput, f32_peak
from .expected import EXPECTED, is_missing
from .figures import crossing
from .markup import Content, percent, ratio, subsection, table
from .problems import STORED, kind, newest, pairs
from .ratios import geomean, summarize
from .results import ResultFile
from .rows import speedup

SPUTNIK = "sputnik" + STORED
Line = list[Content]


def _absent(name: str, results: Sequence[ResultFile]) -> str | None:
    return f"not measured: {EXPECTED[name].command}" if is_missing(name, results) else None


def _over_cusparse(results: Sequence[ResultFile], operation: str, title: str, fact: paper.Fact) -> Line:
    name = f"{operation}-f32"
    compared = pairs(newest(results, kind(operation, "dlmc", "f32"), "cusparse"), "cusparse")
    if not compared:
        return [title, ratio(fact.value), _absent(name, results) or "", ""]
    theirs = [pair.problem.others[SPUTNIK].us / pair.other.us for pair in compared if SPUTNIK in pair.problem.others]
    why = ""
    if theirs:
        mean = geomean(theirs)
        how = f"{ratio(mean)} as fast as" if mean >= 1 else f"{ratio(1 / mean)} slower than"
        why = f"cuSPARSE has become faster: on these problems it is {how} the paper's own kernels on such a GPU."
    return [title, ratio(fact.value), ratio(summarize(compared).geomean), why]


def _peak(results: Sequence[ResultFile]) -> Line:
    title = "Best share of the f32 peak, SpMM"
    problems = newest(results, kind("spmm", "dlmc", "f32"), "cusparse")
    peak = f32_peak(problems[0].result) if problems else None
    here = percent(best_throughput(problems) / peak) if peak else _absent("spmm-f32", results) or "not known"
    why = "f32 lanes do not limit: weights are unpacked for tensor cores, as three f16 products." if peak else ""
    return [title, f"{paper.SHARE_OF_PEAK.value} %", here, why]


def _crossover(results: Sequence[ResultFile]) -> Line:
    title = "Sparse passes dense, 8192x2048, n = 128, f32"
    problems = newest(results, kind("spmm", "crossover", "f32"))
    told = [crossing(problems, key) for key in ("cublas_sgemm", "cublas_tf32") if pairs(problems, key)]
    why = "A V100 has no TF32: there, dense f32 runs on f32 lanes alone, as SGEMM does." if told else ""
    here = "; ".join(told) or _absent("crossover", results) or "not known"
    return [title, f"from {paper.CROSSOVER_ZEROS.value} % zeros", here, why]


def _model(results: Sequence[ResultFile], name: str, benchmarks: Sequence[str], title: str, reported: str) -> Line:
    absent = _absent(name, results)
    if absent:
        return [title, reported, absent, ""]
    rows = [row for result in results if result.benchmark in benchmarks for row in result.rows]
    found = [faster[0] for row in rows if (faster := speedup(row))]
    here = f"{ratio(min(found))} to {ratio(max(found))} over {len(found)} rows" if found else "see Models"
    return [title, reported, here, ""]


def verdicts(results: Sequence[ResultFile]) -> str:
    dense, sparse = paper.TRANSFORMERS
    frames = {(model.width, bool(model.zeros)): model.frames_s for model in paper.MOBILENETS}
    over = [ratio(frames[wide, True] / frames[narrow, False]) for wide, narrow in paper.MOBILENET_PAIRS]
    memory = f"{dense.gigabytes / sparse.gigabytes:.1f}x less"
    kept = _absent("imbalance", results) or "see Fig. 6"
    lines: list[Line] = [
        _over_cusparse(results, "spmm", "SpMM f32 over cuSPARSE (Table I)", paper.SPMM_OVER_CUSPARSE),
        _over_cusparse(results, "sddmm", "SDDMM f32 over cuSPARSE (Table I)", paper.SDDMM_OVER_CUSPARSE),
        _peak(results),
        _crossover(results),
        ["Row swizzle keeps of a balanced matrix's speed", f"{paper.SWIZZLE_KEEPS.value} %", kept, ""],
        _model(
            results,
            "transformer",
            ("transformer",),
            "Sparse Transformer, tokens/s",
            ratio(sparse.tokens_s / dense.tokens_s),
        ),
        ["Sparse Transformer, memory", memory, _absent("transformer", results) or "see Models", ""],
        _model(
            results,
            "mobilenet",
            ("mobilenet", "mobilenetv1"),
            "Sparse MobileNetV1, frames/s at like accuracy",
            ", ".join(over),
        ),
    ]
    return subsection("verdicts", "In short", table(("What", "The paper", "Here", "Why they differ"), lines))
