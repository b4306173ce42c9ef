"""Problems of spmm, sddmm and softmax that were measured: our time, and those of the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .results import OPERATIONS, ResultFile, Row

OURS_TOO = ("heuristic", "row-major, no bias")  # peers that are ours: chosen otherwise, or laid out otherwise
BETTER_SPARSE = "better sparse peer"
STORED = " (stored)"  # measured elsewhere: of the baselines


@dataclass(frozen=True)
class Time:
    us: float
    spread: float | None = None  # half the distance between the 10th and the 90th percentile


@dataclass(frozen=True)
class Problem:
    """A row with a verified time of ours."""

    result: ResultFile
    row: Row
    ours: Time
    others: dict[str, Time] = field(default_factory=dict)

    @property
    def matrix(self) -> str:
        return self.row["file"]

    @property
    def label(self) -> str:
        return f"{self.matrix} n={self.row['n']}"

    @property
    def zeros(self) -> float:
        """In percent."""
        return 100 * self.row["sparsity"]

    @property
    def family(self) -> str:
        return self.row["ours"].get("family") or "-"

    @property
    def useful_flops(self) -> float:
        """Of the operations that nonzeros need: 2 n each, 5 each of a softmax."""
        return self.row["nonzeros"] * (5 if self.result.benchmark == "softmax" else 2 * self.row["n"])


BATCHES = ("Transformer, batch 1", "Transformer, batch 8", "ResNet-50, batch 1", "ResNet-50, batch 256")


def model_and_batch(matrix: str, n: float) -> str | None:
    """One of BATCHES for a matrix of the collection: n is 256 tokens a sequence, or the pixels of all images."""
    if matrix.startswith("transformer/"):
        return BATCHES[0] if n <= 256 else BATCHES[1]
    if matrix.startswith("rn50/"):
        return BATCHES[2] if n <= 3136 else BATCHES[3]
    return None


@dataclass(frozen=True)
class Pair:
    """One problem beside one other."""

    problem: Problem
    other: Time

    @property
    def ratio(self) -> float:
        return self.other.us / self.problem.ours.us

    @property
    def relative_spread(self) -> float:
        ours, other = self.problem.ours, self.other
        return ((ours.spread or 0) / ours.us) + ((other.spread or 0) / other.us)


def _time(measured: Row) -> Time | None:
    if not measured.get("verified") or not measured.get("median_us"):
        return None
    return Time(measured["median_us"], measured.get("spread_us"))


def _others(row: Row) -> dict[str, Time]:
    """Each peer's fastest verified way; of baselines those peers that did not run here."""
    others: dict[str, Time] = {}
    for peer in row.get("peers", []):
        time = _time(peer)
        if time and (peer["name"] not in others or time.us < others[peer["name"]].us):
            others[peer["name"]] = time
    measured = dict(others)
    for name, us in row.get("baseline", {}).items():
        if us > 0:
            others[name + STORED] = Time(us)
    sparse = [others[name] for name in ("cusparse", "sputnik" + STORED) if name in others]
    if "cusparse" not in measured and "cusparse" + STORED in others:
        sparse.append(others["cusparse" + STORED])
    if sparse:
        others[BETTER_SPARSE] = min(sparse, key=lambda time: time.us)
    return others


def problems_of(result: ResultFile) -> list[Problem]:
    """Those that were measured and right."""
    if result.benchmark not in OPERATIONS:
        return []
    found = []
    for row in result.rows:
        ours = _time(row.get("ours", {}))
        if ours:
            found.append(Problem(result, row, ours, _others(row)))
    return found


def pairs(problems: Iterable[Problem], other: str) -> list[Pair]:
    return [Pair(problem, problem.others[other]) for problem in problems if other in problem.others]


def _ran_here(problem: Problem) -> bool:
    return any(peer["name"] not in OURS_TOO for peer in problem.row.get("peers", []))


Condition = Callable[[ResultFile], bool]


def kind(benchmark: str, suite: str | None, element: str, *, math: str = "accurate", linear: bool = False) -> Condition:
    """Files of one operation, set (None: any) and type. Sums are `accurate` where a file does not say so."""

    def holds(result: ResultFile) -> bool:
        return (
            result.benchmark == benchmark
            and suite in (None, result.suite)
            and result.element == element
            and result.problem.get("math", "accurate") == math
            and bool(result.problem.get("linear")) == linear
        )

    return holds


def _parts(results: Iterable[ResultFile]) -> list[list[ResultFile]]:
    """Files of one run that went on in others: NAME, NAME_rest, NAME_rest2."""
    groups: dict[str, list[ResultFile]] = {}
    for result in results:
        groups.setdefault(re.sub(r"_rest\d*$", "", result.name), []).append(result)
    return list(groups.values())


def newest(
    results: Sequence[ResultFile], condition: Condition, other: str | None = None, prefix: str = ""
) -> list[Problem]:
    """Of one run, the problems that were measured beside `other`: of those runs that have nearly as many as any the
    newest, before others one in which a sparse or dense library ran itself, and for the better of two peers one that
    knows both. `prefix`: of the problems' names."""
    candidates = []
    for run in _parts(filter(condition, results)):
        parts = sorted(run, key=lambda result: result.date)
        last = {problem.label: problem for part in parts for problem in problems_of(part)}
        named = [problem for problem in last.values() if problem.matrix.startswith(prefix)]
        found = [problem for problem in named if other is None or other in problem.others]
        if found:
            knows_both = other == BETTER_SPARSE and any("sputnik" + STORED in problem.others for problem in found)
            candidates.append((any(_ran_here(problem) for problem in found), knows_both, parts[-1].date, found))
    most = max((len(candidate[-1]) for candidate in candidates), default=0)
    large = [candidate for candidate in candidates if len(candidate[-1]) >= 0.8 * most]
    return max(large, key=lambda candidate: candidate[:-1])[-1] if large else []


def files_of(problems: Iterable[Problem]) -> list[ResultFile]:
    """Each once."""
    return list({problem.result.name: problem.result for problem in problems}.values())


def conditions_of(problems: Iterable[Problem]) -> str:
    return "; ".join(result.conditions for result in files_of(problems))
