"""Charts as inline SVG. Colours come from the page's style, so that they differ in its two themes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .axis import Axis, Scale, short
from .markup import text

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 60, 12, 12, 44

# The colour and the shape of a series are its name's, in every chart.
LOOKS = {
    "ours": "circle",
    "cusparse": "square",
    "sputnik": "triangle",
    "better sparse peer": "square",
    "cublas_sgemm": "diamond",
    "cublas_tf32": "cross",
    "cublas_f16": "plus",
    "cublas_bf16": "plus",
    "cublas_f16x3": "down",
    "dense": "diamond",
    "MergeSpmm": "cross",
    "ASpT": "plus",
}
COLOURS = {
    "ours": "ours",
    "cusparse": "cusparse",
    "sputnik": "sputnik",
    "better sparse peer": "cusparse",
    "cublas_sgemm": "sgemm",
    "cublas_tf32": "tf32",
    "cublas_f16": "f16",
    "cublas_bf16": "f16",
    "cublas_f16x3": "f16x3",
    "dense": "sgemm",
    "MergeSpmm": "f16x3",
    "ASpT": "f16",
}
SHAPES = ("circle", "square", "triangle", "diamond", "plus", "cross", "down")
SPARE = ("ours", "cusparse", "f16", "sputnik", "tf32", "f16x3", "sgemm")
NAMES = {
    "ours": "Vostok",
    "cusparse": "cuSPARSE",
    "sputnik": "Sputnik",
    "better sparse peer": "the better of cuSPARSE and Sputnik",
    "cublas_sgemm": "cuBLAS SGEMM",
    "cublas_tf32": "cuBLAS TF32",
    "cublas_f16": "cuBLAS f16",
    "cublas_bf16": "cuBLAS bf16",
    "cublas_f16x3": "cuBLAS, three f16 products",
}


def name_of(key: str) -> str:
    base = key.removesuffix(" (stored)")
    return NAMES.get(base, base) + key[len(base) :]


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    tip: str = ""


@dataclass(frozen=True)
class Series:
    key: str  # of a library, which has its colour everywhere; else any name
    points: Sequence[Point]
    joined: bool = True
    marked: bool = True


@dataclass(frozen=True)
class Rule:
    """A line across the chart: the paper's value, or where two are equal."""

    value: float
    label: str
    across: bool = True  # at a height; else at a place of the horizontal axis
    paper: bool = False


@dataclass(frozen=True)
class Slope:
    """A line between two points: a ceiling. Its label stands along it."""

    start: tuple[float, float]
    end: tuple[float, float]
    label: str
    place: float = 0.5  # of the label, from the start on
    below: bool = False


@dataclass(frozen=True)
class Chart:
    title: str
    conditions: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    rules: Sequence[Rule] = ()
    slopes: Sequence[Slope] = ()


@dataclass(frozen=True)
class Look:
    colour: str
    shape: str


def looks(series: Sequence[Series]) -> list[Look]:
    """Known names look as they do everywhere; others in turn, none like another."""
    names = [one.key.removesuffix(" (stored)") for one in series]
    used = {COLOURS[name] for name in names if name in COLOURS}
    found = []
    for base in names:
        if base in COLOURS:
            look = Look(COLOURS[base], LOOKS[base])
        else:
            free = [(colour, shape) for colour, shape in zip(SPARE, SHAPES) if colour not in used]
            look = Look(*(free or list(zip(SPARE, SHAPES)))[0])
        used.add(look.colour)
        found.append(look)
    return found


def _shape(shape: str, x: float, y: float) -> str:
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>'
    paths = {
        "square": "m-3-3h6v6h-6z",
        "triangle": "m0-4l4 7h-8z",
        "down": "m0 4l4-7h-8z",
        "diamond": "m0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
        "plus": "m-1.2-4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z",
        "cross": "m-4-2.3l1.7-1.7l2.3 2.3l2.3-2.3l1.7 1.7l-2.3 2.3l2.3 2.3l-1.7 1.7l-2.3-2.3l-2.3 2.3l-1.7-1.7"
        "l2.3-2.3z",
    }
    return f'<path d="M{x:.1f} {y:.1f}{paths[shape]}"/>'


def mark(look: Look) -> str:
    """What stands in a legend."""
    return f'<svg class="key s-{look.colour}" viewBox="0 0 12 12" aria-hidden="true">{_shape(look.shape, 6, 6)}</svg>'


def _label(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{text(words)}</text>'


def _frame(chart: Chart, across: Scale, up: Scale) -> str:
    bottom = HEIGHT - BOTTOM
    lines = "".join(f'<path d="M{across.at(mark):.1f} {TOP}V{bottom}"/>' for mark in across.marks)
    lines += "".join(f'<path d="M{LEFT} {up.at(mark):.1f}H{WIDTH - RIGHT}"/>' for mark in up.marks)
    labels = "".join(_label(across.at(mark), bottom + 16, short(mark), ' class="mid"') for mark in across.marks)
    labels += "".join(_label(LEFT - 6, up.at(mark) + 4, short(mark), ' class="end"') for mark in up.marks)
    labels += _label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, chart.x.label, ' class="mid title"')
    middle = (TOP + bottom) / 2
    labels += _label(12, middle, chart.y.label, f' class="mid title" transform="rotate(-90 12 {middle:.1f})"')
    return f'<g class="grid">{lines}</g>{labels}'


def _rules(chart: Chart, across: Scale, up: Scale) -> str:
    drawn = ""
    for rule in chart.rules:
        if not (up if rule.across else across).holds(rule.value):
            continue
        classes = f' class="rule{" paper" if rule.paper else ""}"'
        if rule.across:
            y = up.at(rule.value)
            drawn += f'<path{classes} d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            drawn += _label(WIDTH - RIGHT - 4, y - 5, rule.label, ' class="end halo"')
        else:
            x = across.at(rule.value)
            side, place = (' class="end halo"', x - 5) if x > (LEFT + WIDTH) / 2 else (' class="halo"', x + 5)
            drawn += f'<path{classes} d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
            drawn += _label(place, TOP + 12, rule.label, side)
    return drawn


def _slopes(chart: Chart, across: Scale, up: Scale) -> str:
    drawn = ""
    for slope in chart.slopes:
        (x1, y1), (x2, y2) = ((across.at(x), up.at(y)) for x, y in (slope.start, slope.end))
        drawn += f'<path class="rule" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'
        x, y = x1 + slope.place * (x2 - x1), y1 + slope.place * (y2 - y1)
        turn = f' transform="rotate({math.degrees(math.atan2(y2 - y1, x2 - x1)):.1f} {x:.1f} {y:.1f})"'
        drawn += (
            _label(x, y + (14 if slope.below else -5), slope.label, f' class="mid halo"{turn}') if slope.label else ""
        )
    return drawn


def _series(series: Series, look: Look, across: Scale, up: Scale) -> str:
    shown = [point for point in series.points if across.can_show(point.x) and up.can_show(point.y)]
    shown = [point for point in shown if across.holds(point.x) and up.holds(point.y)]
    drawn = ""
    if series.joined and len(shown) > 1:
        way = "L".join(f"{across.at(point.x):.1f} {up.at(point.y):.1f}" for point in shown)
        drawn += f'<path class="line" d="M{way}"/>'
    if series.marked:
        for point in shown:
            shape = _shape(look.shape, across.at(point.x), up.at(point.y))
            tip = f"<title>{text(point.tip)}</title>" if point.tip else ""
            drawn += shape.replace("/>", f">{tip}</{'circle' if look.shape == 'circle' else 'path'}>") if tip else shape
    loose = "" if series.joined else " loose"
    return f'<g class="s-{look.colour}{loose}">{drawn}</g>'


def draw(chart: Chart) -> str:
    """A figure with its legend and its conditions; words where there is nothing to draw."""
    points = [point for series in chart.series for point in series.points]
    if not points:
        return f'<figure class="chart"><figcaption>{text(chart.title)}</figcaption><p>nothing to draw</p></figure>'
    kept = [p for p in points if (p.x > 0 or not chart.x.logarithmic) and (p.y > 0 or not chart.y.logarithmic)]
    heights = [p.y for p in kept] + [rule.value for rule in chart.rules if rule.across]
    places = [p.x for p in kept] + [rule.value for rule in chart.rules if not rule.across]
    for slope in chart.slopes:
        heights += [slope.start[1], slope.end[1]]
        places += [slope.start[0], slope.end[0]]
    across = Scale(chart.x, places, LEFT, WIDTH - RIGHT)
    up = Scale(chart.y, heights, HEIGHT - BOTTOM, TOP)
    drawn = looks(chart.series)
    body = "".join(_series(series, look, across, up) for series, look in zip(chart.series, drawn))
    legend = "".join(f"<li>{mark(look)}{text(name_of(one.key))}</li>" for one, look in zip(chart.series, drawn))
    return (
        f'<figure class="chart"><figcaption>{text(chart.title)}</figcaption>'
        f'<ul class="legend">{legend}</ul>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(chart.title)}">'
        f"{_frame(chart, across, up)}{_slopes(chart, across, up)}{body}{_rules(chart, across, up)}</svg>"
        f'<p class="conditions">{text(chart.conditions)}</p></figure>'
    )


def grid(charts: Sequence[Chart]) -> str:
    return f'<div class="charts">{"".join(map(draw, charts))}</div>' if charts else ""
