"""Tuning of a model's sparse layers, alone or over the ranks of a process group."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import nn

from .._errors import VostokError
from .._planning import ProgressLine
from ._devices import _contexts
from ._lookup import LOOKUP
from ._prepare import Work, make_plan, work_of
from ._report import PlanRow, Report


def tune(
    model: nn.Module,
    tokens: Sequence[int] = (1, 8, 64, 512),
    effort: str = "full",
    seconds: float = 600.0,
    group: Any = None,
    *,
    training: bool | None = None,
    dtype: torch.dtype | None = None,
    progress: bool = True,
) -> Report:
    """Measures kernels for the model's sparse layers, `seconds` in all, and keeps the winners in the cache.

    Layers of the same shape and nearly the same structure are measured once. group: a torch.distributed process group
    (or True: the default one) over whose ranks the plans are dealt; all ranks then have all choices. What fails on a
    rank is an entry with an error in the report of every rank; no rank waits for ever.
    """
    work = _distinct(work_of(model, tokens, training, dtype))
    rank, size = _place(group)
    mine = [part for i, part in enumerate(work) if i % size == rank]
    options = {"effort": effort, "budget_seconds": seconds / max(len(mine), 1)}
    bar = ProgressLine(len(mine)) if progress and mine else None
    rows: list[PlanRow] = []
    for part in mine:
        rows.append(make_plan(part, options))
        if bar is not None:
            bar.finish(f"{part.name} {part.operation} {part.tokens}")
    if size > 1:
        rows = _exchange(rows, group)
    for entry in LOOKUP.entries.values():  # plans of before do not know what was measured
        if not entry.captured:
            entry.plans.clear()
    return Report(rows)


def _distinct(work: list[Work]) -> list[Work]:
    """Plans that have another key in the cache: shape, nonzeros, operation and tokens."""
    seen: dict[Any, Work] = {}
    for part in work:
        topology = part.entry().topology
        seen.setdefault((topology.shape, topology.nonzeros, part.operation, part.tokens), part)
    return list(seen.values())


def _place(group: Any) -> tuple[int, int]:
    if group is None or group is False:
        return 0, 1
    chosen = None if group is True else group
    return torch.distributed.get_rank(chosen), torch.distributed.get_world_size(chosen)


def _exchange(rows: list[PlanRow], group: Any) -> list[PlanRow]:
    """Every rank's rows, and its choices in every cache. Each rank takes part, whatever failed on it."""
    chosen = None if group is True else group
    caches: list[bytes] = []
    try:
        caches = [context.export_cache() for context in _contexts.values()]
    except VostokError as error:
        rows = [*rows, PlanRow("", "export of the cache", 0, error=str(error))]
    everyone: list[Any] = [None] * torch.distributed.get_world_size(chosen)
    torch.distributed.all_gather_object(everyone, (rows, caches), group=chosen)
    found: list[PlanRow] = []
    for others_rows, others_caches in everyone:
        found += others_rows
        for data in others_caches:
            for context in _contexts.values():
                try:
                    context.import_cache(data)
                except VostokError as error:
                    found.append(PlanRow("", "import of a cache", 0, error=str(error)))
    return found
