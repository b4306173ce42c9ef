"""Puts the page together: one file, without any reference to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from . import paper
from .ceilings import roofline
from .changes import changes
from .collection import collection
from .expected import EXPECTED, is_missing, not_measured
from .figures import crossover, matrices
from .headline import headline
from .imbalance import imbalance
from .listing import listing
from .markup import paragraph, section, text
from .model_sections import host, models
from .models import READERS
from .results import NO_GPU, ResultFile
from .shared import Shared
from .sources import sources
from .tables import ablation, recurrent
from .verdicts import verdicts

FOLDER = Path(__file__).parent

# Errors are kept where a test, or a reader of the page's source, finds them.
WATCH = """addEventListener("error", (event) => {
  document.documentElement.dataset.errors = (document.documentElement.dataset.errors ?? "") + event.message + "; ";
});"""

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Vostok: what was measured</title>
<link rel="icon" href="data:,">
"""


def _shown(results: Sequence[ResultFile]) -> tuple[list[ResultFile], list[str]]:
    """The files of the GPU that most rows are of, first, then those of models, and what that GPU has none of from
    another: no comparison is made across GPUs. Also what the others stand in for."""
    rows = Counter[str]()
    for result in results:
        rows[result.gpu] += len(result.rows) if result.gpu != NO_GPU else 0
    first, *others = sorted(rows, key=lambda gpu: (-rows[gpu], gpu))
    shown = [result for result in results if result.gpu == first]
    shown += [result for result in results if result.benchmark in READERS and result.gpu not in (first, NO_GPU)]
    stand_ins = []
    for name, expected in EXPECTED.items():
        for gpu in others:
            found = [result for result in results if result.gpu == gpu != NO_GPU and expected.present([result])]
            if found and is_missing(name, shown):
                stand_ins.append(f"{expected.what} ({gpu})")
                shown += [result for result in found if result not in shown]
    return shown, stand_ins


def _intro(results: Sequence[ResultFile], shown: Sequence[ResultFile], stand_ins: Sequence[str]) -> str:
    days = sorted(result.day for result in results)
    rows = sum(len(result.rows) for result in results)
    words = (
        f"{len(results)} result files of {days[0]} to {days[-1]}, {rows:,} rows. Headline, figures and roofline are of "
        f"one GPU, {shown[0].gpu}"
    )
    if stand_ins:
        words += f", but for what it has no result of: {'; '.join(stand_ins)}"
    others = sorted({result.gpu for result in results} - {shown[0].gpu})
    if others:
        words += (
            f"; models (the newest run of each), the table of problems and the changes are also of {', '.join(others)}"
        )
    return f'<p class="intro">{text(words)}. Times are medians; a ratio is the other\'s time over ours.</p>'


def _paper(results: Sequence[ResultFile], shared: Shared) -> str:
    lead = paragraph(
        f"{paper.TITLE}: its tables and figures made of our results. A line of long dashes is the paper's value, "
        f"measured on {paper.MACHINE}."
    )
    parts = (
        verdicts(results),
        matrices(results),
        crossover(results, shared),
        imbalance(results, shared),
        collection(results),
        recurrent(results, shared),
        ablation(results),
    )
    return section("paper", "Beside the paper", lead, *parts)


def make_page(results: Sequence[ResultFile], folder: Path, shared: Path) -> str:
    """The whole page. It depends on nothing but the files: the same files make the same bytes."""
    shown, stand_ins = _shown(results)
    sections = (
        ("headline", "Headline", headline(shown)),
        ("paper", "The paper", _paper(shown, Shared(shared))),
        ("models", "Models", models(results)),
        ("roofline", "Roofline", roofline(shown)),
        ("host", "Host", host(results)),
        ("problems", "Problems", listing(results)),
        ("changes", "Changes", changes(results, folder)),
        ("missing", "Not measured", not_measured(shown)),
        ("sources", "Files", sources(results)),
    )
    links = "".join(f'<a href="#{name}">{text(title)}</a>' for name, title, _ in sections)
    style, script = ((FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    body = "\n".join(body for _, _, body in sections)
    switch = '<button type="button" id="theme">Theme</button>'
    return (
        f"{HEAD}<style>\n{style}</style>\n<script>{WATCH}</script>\n</head>\n<body>\n"
        f'<header><h1>Vostok</h1><nav aria-label="Sections">{links}</nav>{switch}</header>\n'
        f"<main>{_intro(results, shown, stand_ins)}\n{body}</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )
