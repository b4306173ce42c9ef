"""The ratios that come first: what a reader asks before anything else, with their spread and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import paper
from .axis import Axis
from .markup import Cell, conditions, count, paragraph, percent, ratio, ratio_cell, section, table, text
from .models import ModelSpeedup, model_speedups
from .problems import BETTER_SPARSE, STORED, Condition, Problem, files_of, kind, newest, pairs
from .ratios import Summary, summarize
from .results import ResultFile
from .strips import Strip, draw_strips

SPUTNIK = "sputnik" + STORED
TOKEN_ZEROS = (50, 70, 80, 90)


@dataclass(frozen=True)
class Claim:
    """A comparison that the page leads with."""

    key: str
    title: str
    beside: str
    condition: Condition
    other: str
    paper: paper.Fact | None = None
    zeros: int | None = None  # percent: only problems with so many
    tile: bool = False  # among the few that come first

    @property
    def dense(self) -> bool:
        return self.other.startswith("cublas")


def _claims() -> list[Claim]:
    spmm32, spmm16 = kind("spmm", "dlmc", "f32"), kind("spmm", "dlmc", "f16")
    strict = kind("spmm", "dlmc", "f32", math="strict")
    sddmm32, sddmm16 = kind("sddmm", "dlmc", "f32"), kind("sddmm", "dlmc", "f16")
    tokens = kind("spmm", "llm_tokens", "f16")
    sparse = "cuSPARSE or Sputnik"
    claims = [
        Claim("spmm-f32-sparse", "SpMM f32, DLMC", sparse, spmm32, BETTER_SPARSE, tile=True),
        Claim("spmm-f32-cusparse", "SpMM f32, DLMC", "cuSPARSE", spmm32, "cusparse", paper.SPMM_OVER_CUSPARSE),
        Claim("spmm-f32-strict", "SpMM f32 strict, DLMC", sparse, strict, BETTER_SPARSE),
        Claim("spmm-f16-sparse", "SpMM f16, DLMC", sparse, spmm16, BETTER_SPARSE, tile=True),
        Claim("sddmm-f32-sparse", "SDDMM f32, DLMC", sparse, sddmm32, BETTER_SPARSE, tile=True),
        Claim("sddmm-f32-cusparse", "SDDMM f32, DLMC", "cuSPARSE", sddmm32, "cusparse", paper.SDDMM_OVER_CUSPARSE),
        Claim("sddmm-f16-cusparse", "SDDMM f16, DLMC", "cuSPARSE", sddmm16, "cusparse"),
        Claim("softmax-f32-sputnik", "softmax f32, DLMC", "Sputnik", kind("softmax", "dlmc", "f32"), SPUTNIK),
        Claim("rnn-f32-sparse", "SpMM f32, recurrent layers", sparse, kind("spmm", "rnn", "f32"), BETTER_SPARSE),
        Claim("graphs-f32", "SpMM f32, power-law graphs", "cuSPARSE", kind("spmm", "power_law", "f32"), "cusparse"),
        Claim("spmm-f32-sgemm", "SpMM f32, DLMC", "dense SGEMM", spmm32, "cublas_sgemm"),
        Claim("spmm-f32-tf32", "SpMM f32, DLMC", "dense TF32", spmm32, "cublas_tf32", tile=True),
        Claim("spmm-f16-dense", "SpMM f16, DLMC", "dense f16", spmm16, "cublas_f16", tile=True),
        Claim("sddmm-f32-tf32", "SDDMM f32, DLMC", "dense TF32", sddmm32, "cublas_tf32"),
        Claim("sddmm-f16-dense", "SDDMM f16, DLMC", "dense f16", sddmm16, "cublas_f16"),
    ]
    claims += [
        Claim(
            f"tokens-{zeros}",
            f"SpMM f16, 1 to 64 tokens, {zeros} % zeros",
            "dense f16",
            tokens,
            "cublas_f16",
            zeros=zeros,
            tile=zeros == 90,
        )
        for zeros in TOKEN_ZEROS
    ]
    return claims


@dataclass(frozen=True)
class Answer:
    claim: Claim
    summary: Summary
    files: list[ResultFile]  # of the run, and of what went on with it


def _with_zeros(problems: Sequence[Problem], zeros: int | None) -> list[Problem]:
    return [problem for problem in problems if zeros is None or round(problem.zeros) == zeros]


def answers(results: Sequence[ResultFile]) -> list[Answer]:
    """Those claims that were measured."""
    found = []
    for claim in _claims():
        compared = pairs(_with_zeros(newest(results, claim.condition, claim.other), claim.zeros), claim.other)
        if compared:
            found.append(Answer(claim, summarize(compared), files_of(pair.problem for pair in compared)))
    return found


def _tile(answer: Answer) -> str:
    claim, summary = answer.claim, answer.summary
    slower = " slower" if summary.geomean < 1 else ""
    return (
        f'<div class="tile{slower}"><div class="value">{ratio(summary.geomean)}</div>'
        f'<div class="what">{text(claim.title)}</div><div class="rival">beside {text(claim.beside)}</div>'
        f'<div class="spread">{ratio(summary.low)} to {ratio(summary.high)}, {summary.problems} problems</div></div>'
    )


def _row(answer: Answer) -> list[Cell | str]:
    claim, summary = answer.claim, answer.summary
    fact = claim.paper
    return [
        claim.title,
        claim.beside,
        ratio_cell(summary.geomean, strong=True),
        Cell(f"{ratio(summary.low)} to {ratio(summary.high)}", summary.low),
        Cell(f"{100 * summary.noise:.1f} %", summary.noise),
        ratio_cell(summary.worst.ratio),
        ratio_cell(summary.best.ratio),
        Cell(percent(summary.wins), summary.wins),
        count(summary.problems),
        Cell(f"{ratio(fact.value)} ({fact.place})", fact.value) if fact else "",
        ", ".join(result.name for result in answer.files),
    ]


HEADS = (
    "What",
    "Beside",
    "Ratio (geomean)",
    "10 % to 90 %",
    "Noise",
    "Worst",
    "Best",
    "At least as fast",
    "Problems",
    "The paper",
    "Result file",
)


def _strip(answer: Answer) -> Strip:
    summary = answer.summary
    claim = answer.claim
    tip = f"{claim.title} beside {claim.beside}: {ratio(summary.geomean)}, worst {summary.worst.problem.label}"
    fact = claim.paper.value if claim.paper else None
    return Strip(claim.title, claim.beside, summary.geomean, summary.low, summary.high, paper=fact, tip=tip)


def _model_strip(model: ModelSpeedup) -> Strip:
    return Strip(model.title, model.beside, model.ratio, None, None, paper=model.paper, tip=model.title)


def _shared_conditions(used: Sequence[ResultFile]) -> str:
    """Of all lines of a chart; what differs between them stands below the table."""
    days = sorted({result.day for result in used})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    names = len({result.name for result in used})
    gpus = ", ".join(sorted({result.gpu for result in used}))
    return f"{gpus}, {when}, {names} runs: commits and clocks below the table"


def headline(results: Sequence[ResultFile]) -> str:
    """The first section of the page."""
    found = answers(results)
    models = model_speedups(results)
    if not found and not models:
        return section("headline", "Headline", paragraph("No result file holds a comparison that stands here."))
    tiles = "".join(_tile(answer) for answer in found if answer.claim.tile)
    rows = [_row(answer) for answer in found]
    attributes = [f'data-key="{answer.claim.key}" data-ratio="{answer.summary.geomean!r}"' for answer in found]
    for model in models:
        rows.append(model.cells(len(HEADS)))
        attributes.append(f'data-key="{text(model.key)}" data-ratio="{model.ratio!r}"')
    sparse = [_strip(answer) for answer in found if not answer.claim.dense]
    dense = [_strip(answer) for answer in found if answer.claim.dense]
    whole = [_model_strip(model) for model in models]
    axis = Axis("time of the other over ours", logarithmic=True)
    used = [result for answer in found for result in answer.files] + [model.result for model in models]
    shared = _shared_conditions(used)
    return section(
        "headline",
        "Headline",
        paragraph(
            "How many times as fast as the other: its time over ours, so that above 1 Vostok is faster. Geometric "
            "means over problems. Every output was checked in the run that timed it. Where two are named, the "
            "faster of both counts, for each problem. A line in a chart holds 80 % of the problems, from the 10th "
            "to the 90th percentile. Noise is what the spread of the times makes of the mean."
        ),
        f'<div class="tiles">{tiles}</div>' if tiles else "",
        '<div class="columns">',
        draw_strips("Products beside sparse libraries", sparse, axis, shared),
        draw_strips("Products beside dense ones", dense, axis, shared),
        draw_strips("Models beside dense ones", whole, axis, shared),
        "</div>",
        table(HEADS, rows, name="headline-table", attributes=attributes),
        conditions(result.conditions for result in used),
    )
