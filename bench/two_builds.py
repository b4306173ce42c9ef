"""Two builds of a benchmark in turns: on which problems the later one is slower.

    python bench/two_builds.py before/bin after/bin spmm --json turns.json -- --data ../shared/data/dlmc --dtype f16
    python bench/two_builds.py before/bin after/bin sddmm --seconds 300 -- --effort cached --set attention

The folders hold bench_spmm, bench_sddmm or bench_softmax; what follows -- is passed to both. They run some problems at
a time, without peers: before, after, after, before. A problem is slower where every time of the later build is above
every earlier one by more than both spreads; those are run again, and stay slower only if that is still so. The exit
status is 0 when none is, 1 when some are, 2 when a program fails or an output is wrong.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BUILDS = ("before", "after")
NONE_LEFT = "is left by"  # the programs' word for a choice without problems


class Failed(Exception):
    """A program that cannot be run, or whose output is wrong."""


class Program:
    """A build's program, with a cache of its own."""

    def __init__(self, build: str, folder: Path, name: str, arguments: list[str], scratch: Path, caches: Path) -> None:
        self.path, self.arguments = folder / f"bench_{name}", arguments
        self.out, self.cache = scratch / f"{build}.json", caches / build
        self.facts: dict[str, Any] = {}

    def run(self, *chosen: str) -> dict[str, dict[str, Any]]:
        """What it measures of the chosen problems, by their names; nothing of those that have nothing to compute."""
        self.out.unlink(missing_ok=True)
        options = ["--no-peers", "--cache", str(self.cache), "--out", str(self.out), *chosen]
        done = subprocess.run([self.path, *self.arguments, *options], capture_output=True, text=True)
        if not self.out.exists():
            if NONE_LEFT in done.stderr and "--skip" in chosen:
                return {}
            raise Failed(f"{self.path} wrote no result (exit status {done.returncode}): {done.stderr.strip()[-500:]}")
        result = json.loads(self.out.read_text())
        self.facts = {key: result.get(key) for key in ("commit", "device", "library_version", "clocks")}
        found = {}
        for row in result["rows"]:
            name = f"{row['file']} n={row['n']}"
            found[name] = row.get("ours", {})
            if found[name] and not found[name]["verified"]:
                raise Failed(f"{self.path}: {name} is wrong: {found[name].get('wrong')}")
        return found


class Problem:
    """The times of one problem in microseconds, in the order they were taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.times: dict[str, list[float]] = {build: [] for build in BUILDS}
        self.spread = 0.0
        self.taken: dict[str, dict[str, Any]] = {}

    def note(self, build: str, ours: dict[str, Any]) -> None:
        self.times[build].append(ours["median_us"])
        self.spread = max(self.spread, ours["spread_us"])
        self.taken[build] = {key: ours.get(key) for key in ("family", "config", "provenance")}

    @property
    def complete(self) -> bool:
        return all(self.times.values())

    @property
    def ratio(self) -> float:
        before, after = (statistics.median(self.times[build]) for build in BUILDS)
        return after / before

    @property
    def slower(self) -> bool:
        return min(self.times["after"]) > max(self.times["before"]) + 2 * self.spread

    def row(self) -> dict[str, Any]:
        times = {f"{build}_us": self.times[build] for build in BUILDS}
        return {
            "problem": self.name,
            **times,
            "spread_us": self.spread,
            "ratio": self.ratio,
            "slower": self.slower,
            **self.taken,
        }


def take_turns(programs: dict[str, Program], problems: dict[str, Problem], *chosen: str) -> int:
    """Both there and back, unless there is nothing; how many problems the last run had."""
    found: dict[str, dict[str, Any]] = {}
    for build in (*BUILDS, *reversed(BUILDS)):
        found = programs[build].run(*chosen)
        if not found:
            break
        for name, ours in found.items():
            if ours:
                problems.setdefault(name, Problem(name)).note(build, ours)
    return len(found)


def race(
    options: argparse.Namespace,
    programs: dict[str, Program],
    problems: dict[str, Problem],
    save: Callable[[], None],
) -> bool:
    """Whether every problem was reached. Saves whenever problems were measured, so that an end loses nothing."""
    end = time.monotonic() + options.seconds if options.seconds else math.inf
    at, found = options.skip, options.chunk
    while found == options.chunk:
        if time.monotonic() > end:
            return False
        found = take_turns(programs, problems, "--skip", str(at), "--max-problems", str(options.chunk))
        at += found
        save()
        seem = sum(problem.slower for problem in in_both(problems))
        print(f"{at} problems, {seem} seem slower", file=sys.stderr)
    for _ in range(options.again):
        for problem in [p for p in in_both(problems) if p.slower]:
            if time.monotonic() > end:
                return False
            take_turns(programs, problems, "--filter", problem.name)
            save()
    return True


def in_both(problems: dict[str, Problem]) -> list[Problem]:
    return [problem for problem in problems.values() if problem.complete]


def summary(problems: list[Problem]) -> dict[str, Any]:
    if not problems:
        return {"problems": 0}
    ratios = [problem.ratio for problem in problems]
    return {
        "problems": len(problems),
        "ratio": statistics.geometric_mean(ratios),
        "least_ratio": min(ratios),
        "most_ratio": max(ratios),
        "slower": sum(problem.slower for problem in problems),
    }


def report(problems: list[Problem]) -> str:
    found = summary(problems)
    if not problems:
        return "no problem was measured by both"
    lines = [
        f"{found['problems']} problems, time after by time before: {found['ratio']:.3f} (geometric mean), "
        f"{found['least_ratio']:.3f} to {found['most_ratio']:.3f}; {found['slower']} slower"
    ]
    for problem in sorted(problems, key=lambda p: -p.ratio):
        if problem.slower:
            before, after = (" ".join(f"{us:.2f}" for us in problem.times[build]) for build in BUILDS)
            lines.append(f"  {problem.ratio:.3f}  {problem.name}: {before} us before, {after} after")
    return "\n".join(lines)


def result_of(
    options: argparse.Namespace,
    programs: dict[str, Program],
    problems: dict[str, Problem],
    seconds: float,
    complete: bool,
) -> dict[str, Any]:
    both = in_both(problems)
    return {
        "schema": 3,
        "benchmark": "two_builds",
        "complete": complete,
        "command": " ".join(["two_builds.py", options.program, *options.arguments]),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 3),
        **programs["after"].facts,
        "before": programs["before"].facts.get("commit"),
        "summary": summary(both),
        "rows": [problem.row() for problem in both],
    }


def parse() -> argparse.Namespace:
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="folder of the earlier build's programs")
    parser.add_argument("after", type=Path, help="of the later one's")
    parser.add_argument("program", choices=["spmm", "sddmm", "softmax"])
    parser.add_argument("--chunk", type=int, default=16, help="problems of a run (16)")
    parser.add_argument("--skip", type=int, default=0, help="problems to pass over at the start, raced before (0)")
    parser.add_argument("--again", type=int, default=2, help="how often what seems slower is run again (2)")
    parser.add_argument("--seconds", type=float, default=0, help="start nothing after these; 0: no end")
    parser.add_argument("--json", type=Path, help="result file")
    parser.add_argument("--caches", type=Path, help="folder that keeps each build's compiled kernels for the next run")
    options = parser.parse_args(own)
    options.arguments = rest
    return options


def main() -> int:
    options = parse()
    start = time.monotonic()
    problems: dict[str, Problem] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folders = {"before": options.before, "after": options.after}
        caches = options.caches or Path(scratch)
        programs = {
            b: Program(b, folders[b], options.program, options.arguments, Path(scratch), caches) for b in BUILDS
        }

        def save(complete: bool = False) -> None:
            if options.json:
                seconds = time.monotonic() - start
                options.json.write_text(
                    json.dumps(result_of(options, programs, problems, seconds, complete), indent=1) + "\n"
                )

        try:
            complete = race(options, programs, problems, save)
        except (Failed, OSError) as error:
            print(f"two_builds.py: {error}", file=sys.stderr)
            return 2
        save(complete)
    both = in_both(problems)
    print(report(both) + ("" if complete else "\ntime ended before every problem was reached"))
    return 1 if any(problem.slower for problem in both) else 0


if __name__ == "__main__":
    sys.exit(main())
