"""One table: what the paper reports, what is reached here, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence

from . import paper
from .collection import best_throughput, f32_peak
from .expected import EXPECTED, is_missing
from .figures import crossing
from .imbalance import kept
from .markup import Content, percent, ratio, subsection, table
from .models import mobilenet_pairs, newest_of, papers_transformer, transformer_memory
from .problems import STORED, kind, newest, pairs
from .ratios import geomean, summarize
from .results import ResultFile
from .rows import twins

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


def _elsewhere(result: ResultFile | None, results: Sequence[ResultFile]) -> str:
    """Names the GPU of a result that is not the page's."""
    return f" ({result.gpu})" if result and result.gpu != results[0].gpu else ""


def _crossover(results: Sequence[ResultFile]) -> Line:
    title = "Sparse passes dense, 8192x2048, n = 128, f32"
    problems = newest(results, kind("spmm", "crossover", "f32"))
    told = [crossing(problems, key) for key in ("cublas_sgemm", "cublas_tf32") if pairs(problems, key)]
    why = "A V100 has no TF32: there, dense f32 runs on f32 lanes alone, as SGEMM does." if told else ""
    here = "; ".join(told) or _absent("crossover", results) or "not known"
    return [title, f"from {paper.CROSSOVER_ZEROS.value} % zeros", here, why]


def _transformer(results: Sequence[ResultFile]) -> list[Line]:
    dense, sparse = paper.TRANSFORMERS
    reported = (ratio(sparse.tokens_s / dense.tokens_s), f"{dense.gigabytes / sparse.gigabytes:.1f}x less")
    titles = ("Sparse Transformer, tokens/s over dense, f32", "Sparse Transformer, memory under dense, f32")
    result = newest_of(results, "transformer")
    rows = papers_transformer(result) if result else []
    if not rows:
        absent = _absent("transformer", results) or "not measured: the paper's mask in fp32"
        return [[title, value, absent, ""] for title, value in zip(titles, reported)]
    where = _elsewhere(result, results)
    told = "; ".join(f"{ratio(twin.ratio)} beside {twin.name}" for twin in twins(rows[0])) or "wrong or failed"
    memory = transformer_memory(rows[0])
    less = f"{memory:.1f}x less than materialised" if memory else "not known"
    why = "Dense attention need not hold its scores in memory today: sdpa computes them in pieces."
    return [[titles[0], reported[0], told + where, why], [titles[1], reported[1], less + where, ""]]


def _mobilenet(results: Sequence[ResultFile]) -> Line:
    reported = ", ".join(ratio(paper.mobilenet_ratio(wide, narrow)) for wide, narrow in paper.MOBILENET_PAIRS)
    title = "Sparse MobileNetV1, frames/s over dense of like accuracy, f32"
    result = newest_of(results, "mobilenet")
    found = mobilenet_pairs(result) if result else {}
    told = ", ".join(f"{ratio(twin.ratio)} ({wide} / {narrow})" for (wide, narrow), twin in found.items())
    here = told + _elsewhere(result, results) if told else _absent("mobilenet", results) or "wrong or failed"
    return [title, reported, here, ""]


def verdicts(results: Sequence[ResultFile]) -> str:
    keeps = _absent("imbalance", results) or kept(results) or "see Fig. 6"
    lines: list[Line] = [
        _over_cusparse(results, "spmm", "SpMM f32 over cuSPARSE (Table I)", paper.SPMM_OVER_CUSPARSE),
        _over_cusparse(results, "sddmm", "SDDMM f32 over cuSPARSE (Table I)", paper.SDDMM_OVER_CUSPARSE),
        _peak(results),
        _crossover(results),
        ["Row swizzle keeps of a balanced matrix's speed", f"{paper.SWIZZLE_KEEPS.value} %", keeps, ""],
        *_transformer(results),
        _mobilenet(results),
    ]
    return subsection("verdicts", "In short", table(("What", "The paper", "Here", "Why they differ"), lines))
