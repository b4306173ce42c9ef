"""The page's roofline: what was reached beside what bytes and operations allow."""

from __future__ import annotations

from collections.abc import Sequence

from .axis import Axis
from .markup import Cell, Content, conditions, count, digits, paragraph, section, table
from .outliers import outliers
from .problems import Problem, conditions_of, kind, newest
from .ratios import geomean
from .results import ResultFile
from .roofline import (
    CEILINGS,
    MEASURED_GPU,
    bound_us,
    bytes_moved,
    compute_us,
    has_ceilings,
    memory_us,
)
from .svg import Chart, Point, Rule, Series, Slope, grid

SETS = (
    ("SpMM f32", kind("spmm", "dlmc", "f32")),
    ("SpMM f16", kind("spmm", "dlmc", "f16")),
    ("SDDMM f32", kind("sddmm", "dlmc", "f32")),
    ("SDDMM f16", kind("sddmm", "dlmc", "f16")),
)


def intensity(problem: Problem) -> float:
    """Useful operations a byte that must move."""
    return problem.useful_flops / bytes_moved(problem)


def _tip(problem: Problem, bound: float) -> str:
    which = "bytes" if memory_us(problem) >= compute_us(problem) else "operations"
    return f"{digits(problem.ours.us)} us, {digits(bound)} by {which}; {problem.family}; {problem.label}"


def _by_family(problems: Sequence[Problem]) -> list[tuple[str, list[Problem]]]:
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.family, []).append(problem)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _roofline(title: str, problems: Sequence[Problem], element: str) -> Chart:
    products = 3 if element == "f32" else 1
    tensor = CEILINGS.tensor / products / 1e6
    loads = CEILINGS.first_cache * 2 / (4 if element == "f32" else 2) / 1e6
    series = []
    for family, members in _by_family(problems):
        points = []
        for problem in members:
            reached = problem.useful_flops / problem.ours.us / 1e6
            place = f"{digits(reached)} TFLOP/s useful at {digits(intensity(problem))} a byte"
            points.append(Point(intensity(problem), reached, f"{place}; {_tip(problem, bound_us(problem) or 0)}"))
        series.append(Series(family, points, joined=False))
    xs = [point.x for one in series for point in one.points]
    low, high = min(xs), max(xs)
    memory = CEILINGS.memory / 1e6
    corner = min(max(tensor / memory, low), high * 2)
    name = "tensor cores, three products" if products == 3 else "tensor cores"
    slopes = [
        Slope((low, low * memory), (corner, corner * memory), f"memory: {memory:g} TB/s", 0.3),
        Slope((corner, corner * memory), (max(high, corner * 1.01), corner * memory), ""),
    ]
    rules = [Rule(tensor, f"{name}: {tensor:,.0f}"), Rule(loads, f"loads of B from L1: {loads:.1f}")]
    return Chart(
        f"{title}: roofline",
        conditions_of(problems),
        Axis("useful operations a byte", logarithmic=True),
        Axis("useful TFLOP/s", logarithmic=True),
        series,
        rules=rules,
        slopes=slopes,
    )


def _times(title: str, problems: Sequence[Problem]) -> Chart:
    series = []
    for family, members in _by_family(problems):
        points = [Point(bound, p.ours.us, _tip(p, bound)) for p in members if (bound := bound_us(p))]
        series.append(Series(family, points, joined=False))
    ends = [point.x for one in series for point in one.points]
    low, high = min(ends), max(ends)
    slopes = [
        Slope((low, low), (high, high), "the bound", 0.4, below=True),
        Slope((low, 2 * low), (high, 2 * high), "twice", 0.7),
    ]
    return Chart(
        f"{title}: time beside the bound",
        conditions_of(problems),
        Axis("bound by bytes and operations (us)", logarithmic=True),
        Axis("time (us)", logarithmic=True),
        series,
        rules=[Rule(CEILINGS.launch_us, f"a launch: {CEILINGS.launch_us:g} us")],
        slopes=slopes,
    )


def roofline(results: Sequence[ResultFile]) -> str:
    charts: list[Chart] = []
    every: list[Problem] = []
    shares: list[list[Content]] = []
    for title, condition in SETS:
        problems = [problem for problem in newest(results, condition) if has_ceilings(problem)]
        if not problems:
            continue
        every += problems
        charts += [_roofline(title, problems, problems[0].result.element), _times(title, problems)]
        for family, members in _by_family(problems):
            share = geomean([(bound_us(p) or 1) / p.ours.us for p in members])
            shares.append([f"{title}: {family}", count(len(members)), Cell(f"{100 * share:.0f} %", share)])
    words = (
        f"Ceilings are those of an {MEASURED_GPU}, measured: memory {CEILINGS.memory / 1e6:g} TB/s, L1 "
        f"{CEILINGS.first_cache / 1e6:g} TB/s, tensor cores {CEILINGS.tensor / 1e6:g} TFLOP/s in f16 "
        f"({CEILINGS.sparse_tensor / 1e6:,.0f} dense-equivalent where zeros are skipped). Bytes: every operand once, "
        "the matrix as the kernel reads it. Operations: on tensor cores those of the dense product (three of them "
        "in f32), else a load of B for each nonzero. Problems that fit in the cache can be below the bound by bytes."
    )
    if not every:
        return section(
            "roofline", "Roofline", paragraph(f"No result of an {MEASURED_GPU}, the one GPU whose ceilings are known.")
        )
    return section(
        "roofline",
        "Roofline",
        paragraph(words),
        grid(charts),
        "<h3>Outliers</h3>",
        outliers(every),
        "<h3>Share of the ceiling by family</h3>",
        table(("Family", "Problems", "Of the ceiling (geomean)"), shares),
        conditions(problem.result.conditions for problem in every),
    )
