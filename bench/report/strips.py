"""A chart of ratios, one below the other: a dot for the mean, a line for most of the problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .axis import Axis, Scale, short
from .markup import ratio, text

STEP, LINE, TOP, WIDTH, INSET = 34, 17, 8, 460, 14
BOTTOM = 40
MOST_LETTERS = 48  # of a line that leaves room for the value, in the letters of a narrow window


@dataclass(frozen=True)
class Strip:
    title: str
    beside: str
    mean: float
    low: float | None
    high: float | None
    paper: float | None = None
    tip: str = ""


def _words(strip: Strip, y: float, two_lines: bool) -> str:
    top, place = (y - LINE, f' x="{INSET}" dy="{LINE}"') if two_lines else (y, "")
    beside = f"<tspan{place}>{text(strip.beside)}</tspan>" if place else text(strip.beside)
    title = f'<tspan class="strong">{text(strip.title)}</tspan>'
    return f'<text class="halo" x="{INSET}" y="{top:.1f}">{title} {beside}</text>'


def _strip(strip: Strip, across: Scale, y: float, two_lines: bool) -> str:
    mean = across.at(strip.mean)
    body = ""
    if strip.low is not None and strip.high is not None:
        body += f'<path class="range" d="M{across.at(strip.low):.1f} {y:.1f}H{across.at(strip.high):.1f}"/>'
    body += f'<circle cx="{mean:.1f}" cy="{y:.1f}" r="4.5"/>'
    paper = ""
    if strip.paper is not None:
        x = across.at(strip.paper)
        way = f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z"
        paper = f'<path class="paper-mark" d="{way}"><title>the paper: {strip.paper}x</title></path>'
    words = _words(strip, y - 9, two_lines)
    value = f'<text class="end strong halo" x="{WIDTH - INSET}" y="{y - 9:.1f}">{ratio(strip.mean)}</text>'
    slower = " slower" if strip.mean < 1 else ""
    return f'<g class="strip{slower}"><title>{text(strip.tip)}</title>{body}</g>{paper}{words}{value}'


def draw_strips(title: str, strips: Sequence[Strip], axis: Axis, conditions: str) -> str:
    if not strips:
        return ""
    values = [value for strip in strips for value in (strip.mean, strip.low, strip.high, strip.paper) if value]
    across = Scale(axis, [*values, 1.0], INSET, WIDTH - INSET)
    two_lines = any(len(f"{strip.title} {strip.beside}") > MOST_LETTERS for strip in strips)
    step = STEP + LINE * two_lines
    bottom = TOP + step * len(strips)
    height = bottom + BOTTOM
    lines = "".join(f'<path d="M{across.at(mark):.1f} {TOP}V{bottom}"/>' for mark in across.marks)
    labels = "".join(
        f'<text class="mid" x="{across.at(mark):.1f}" y="{bottom + 16}">{short(mark)}</text>' for mark in across.marks
    )
    labels += f'<text class="mid title" x="{WIDTH / 2}" y="{height - 8}">{text(axis.label)}</text>'
    ends = [TOP + step * (index + 1) for index in range(len(strips))]
    body = "".join(_strip(strip, across, end - STEP / 4, two_lines) for strip, end in zip(strips, ends))
    has_paper = any(strip.paper is not None for strip in strips)
    legend = "<li><span class='dot'></span>Vostok is faster</li><li><span class='dot slower'></span>slower</li>"
    legend += "<li><span class='dot paper'></span>the paper, of its own kernels</li>" if has_paper else ""
    return (
        f'<figure class="chart strips"><figcaption>{text(title)}</figcaption><ul class="legend">{legend}</ul>'
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(title)}"><g class="grid">{lines}</g>'
        f'<path class="rule" d="M{across.at(1):.1f} {TOP}V{bottom}"/>{labels}{body}</svg>'
        f'<p class="conditions">{text(conditions)}</p></figure>'
    )
