"""Tuning: kernels measured for given problems, whose winners later plans find in the cache."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Iterable

from ._context import Context, default_context
from ._errors import VostokError
from ._planning import Progress, ProgressLine, progress_of
from ._problems import Problem
from ._topology import Topology

__all__ = ["Tuned", "prepare", "tune"]


@dataclass(frozen=True)
class Tuned:
    """What became of one problem. error: why it could not be planned; else the others are there."""

    problem: Problem[Any]
    family: str = ""
    provenance: str = ""
    seconds: float = 0.0
    error: VostokError | None = None


def tune(
    problems: Iterable[Problem[Any] | tuple[Problem[Any], Topology]],
    *,
    effort: str = "full",
    seconds: float = 600.0,
    policy: str = "warm",
    seed: int = 1,
    progress: Progress = None,
    context: Context | None = None,
) -> list[Tuned]:
    """Measures kernels for every problem, one after another, and keeps the winners in the cache: later plans are made
    with them. Problems with a sparse matrix come as (problem, topology).

    seconds: for all of them; what is left is shared equally by those to come. progress: a callable is given a line at a
    time; None: a bar on stderr where that is a terminal; True: also elsewhere; False: nothing. Ctrl-C ends it, keeps
    what was measured, and is raised. Problems that cannot be planned have their error in the result.
    """
    chosen = default_context() if context is None else context
    pairs = [pair if isinstance(pair, tuple) else (pair, None) for pair in problems]
    line = ProgressLine(len(pairs))
    shown = progress is True or (progress is None and line.is_terminal)
    tell = line if shown else progress_of("tune", None if progress is None else progress)
    end = time.monotonic() + seconds
    results = []
    for done, (problem, topology) in enumerate(pairs):
        began = time.monotonic()
        share = max(end - began, 0.0) / (len(pairs) - done)
        found = _tuned(
            chosen, problem, topology, effort=effort, budget_seconds=share, policy=policy, seed=seed, progress=tell
        )
        results.append(found)
        if shown:
            line.finish(f"{type(problem).__name__}: {found.error or f'{found.family} ({found.provenance})'}")
    return results


def _tuned(context: Context, problem: Problem[Any], topology: Topology | None, **options: Any) -> Tuned:
    began = time.monotonic()
    try:
        plan = context.plan(problem, topology, **options)
    except VostokError as error:
        return Tuned(problem, seconds=time.monotonic() - began, error=error)
    return Tuned(problem, plan.family, plan.provenance, time.monotonic() - began)


def prepare(
    problems: Iterable[Problem[Any] | tuple[Problem[Any], Topology]],
    *,
    effort: str = "cached",
    policy: str = "warm",
    progress: Progress = None,
    context: Context | None = None,
) -> list[VostokError | None]:
    """Context.prepare: decides, compiles and loads many problems in parallel, before a program serves or captures. For
    each None, or why it cannot be planned."""
    chosen = default_context() if context is None else context
    return chosen.prepare(problems, effort=effort, policy=policy, progress=progress)
