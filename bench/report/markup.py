"""Pieces of HTML: escaped text, tables, sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


def text(value: object) -> str:
    return escape(str(value), quote=True)


def breakable(words: str) -> str:
    """A long name may be broken where its parts meet."""
    return re.sub(r"([/_])(?=\w{3})", r"\1<wbr>", text(words)) if len(words) > 16 else text(words)


def digits(value: float, count: int = 3) -> str:
    """A number with so many digits that matter, never with an exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10 ** (count - 1):
        return f"{value:,.0f}"
    decimals = count - 1
    while size >= 10:
        size /= 10
        decimals -= 1
    while size < 1:
        size *= 10
        decimals += 1
    return f"{value:.{decimals}f}"


def ratio(value: float) -> str:
    return f"{value:.2f}x"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the number that it is sorted by."""

    shown: str
    value: float | None = None
    strong: bool = False
    bad: bool = False  # where ours is slower


Content = Cell | str


def number(value: float | None, count: int = 3, unit: str = "") -> Cell:
    if value is None:
        return Cell("-")
    return Cell(digits(value, count) + unit, value)


def count(value: float) -> Cell:
    return Cell(f"{value:,.0f}", value)


def ratio_cell(value: float | None, strong: bool = False) -> Cell:
    if value is None:
        return Cell("-")
    return Cell(ratio(value), value, strong=strong, bad=value < 1)


LONG = 60  # letters of a cell that is given room


def _cell(content: Content, head: bool, right: bool) -> str:
    cell = content if isinstance(content, Cell) else Cell(content)
    classes = [name for name, on in (("num", right), ("bad", cell.bad), ("long", len(cell.shown) > LONG)) if on]
    attributes = f' class="{" ".join(classes)}"' if classes else ""
    if cell.value is not None:
        attributes += f' data-v="{cell.value:.6g}"'
    shown = breakable(cell.shown)
    if cell.strong:
        shown = f"<b>{shown}</b>"
    return f'<th scope="row"{attributes}>{shown}</th>' if head else f"<td{attributes}>{shown}</td>"


def _is_number(content: Content) -> bool:
    return isinstance(content, Cell) and content.value is not None


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    name: str = "",
    filtered: bool = False,
    attributes: Sequence[str] = (),
) -> str:
    """A table that sorts by a click on a head; `attributes` of each row; `filtered`: with a field to search in."""
    rows = list(rows)
    extra = list(attributes) or [""] * len(rows)
    numeric = [any(_is_number(row[column]) for row in rows) for column in range(len(heads))]
    head = "".join(
        f'<th scope="col"{" class=num" if right else ""}><button type="button">{text(title)}</button></th>'
        for title, right in zip(heads, numeric)
    )
    body = ""
    for row, more in zip(rows, extra):
        cells = [_cell(cell, index == 0, right) for index, (cell, right) in enumerate(zip(row, numeric))]
        body += f"<tr{' ' + more if more else ''}>{''.join(cells)}</tr>"
    search = '<input type="search" class="search" placeholder="Filter" aria-label="Filter">' if filtered else ""
    identity = f' id="{name}"' if name else ""
    return (
        f'<div class="table"{identity}>{search}<div class="scroll"><table class="sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


MOST_OPEN = 12  # rows of a table that is not folded


def folded(title: str, made: str, rows: int) -> str:
    """A table that a click opens, where it is long; nothing where it has no row."""
    if rows <= MOST_OPEN:
        return made if rows else ""
    return f"<details><summary>{text(title)}</summary>{made}</details>"


def conditions(lines: Iterable[str]) -> str:
    """Of what was measured; each line once."""
    unique = list(dict.fromkeys(lines))
    return f'<p class="conditions">{"<br>".join(map(text, unique))}</p>' if unique else ""


def paragraph(words: str) -> str:
    return f"<p>{text(words)}</p>"


def beside(words: str, chart: str) -> str:
    """Words at the left of one chart, where there is room for both."""
    return f'<div class="beside"><div>{words}</div>{chart}</div>'


def missing(what: str, command: str) -> str:
    """Says what is not there, and what makes it."""
    return f'<p class="missing"><span>Not measured:</span> {text(what)}. Made by <code>{text(command)}</code></p>'


def section(name: str, title: str, *parts: str) -> str:
    return f'<section id="{name}"><h2>{text(title)}</h2>{"".join(parts)}</section>'


def subsection(name: str, title: str, *parts: str) -> str:
    return f'<section class="sub" id="{name}"><h3>{text(title)}</h3>{"".join(parts)}</section>'
