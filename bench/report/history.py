"""Earlier versions of result files, out of git's history."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .results import ReportError, ResultFile, parse

MOST_VERSIONS = 8  # of a file that are looked at


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None where it is not here, or fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout


def why_no_history(folder: Path) -> str | None:
    """None where there is a history to look into."""
    if _git(folder, "--version") is None:
        return "git is not here"
    if not (_git(folder, "log", "-n", "1", "--format=%H", "--", ".") or "").strip():
        return f"{folder.name} is not in a git repository that has committed it"
    return None


@dataclass(frozen=True)
class Earlier:
    result: ResultFile
    commit: str  # that had it, shortened


def earlier(current: ResultFile, folder: Path) -> Earlier | None:
    """The version before of the same benchmark, type and GPU, from another run; its file may have had another name."""
    path = f"{current.name}.json"
    log = _git(folder, "log", "--follow", "-n", str(MOST_VERSIONS), "--format=%H", "--name-only", "--", path)
    words = (log or "").split()
    for commit, name in zip(words[::2], words[1::2]):
        text = _git(folder, "show", f"{commit}:{name}")
        if text is None:
            continue
        try:
            found = parse(Path(name).stem, text)
        except ReportError:
            continue
        same = (found.benchmark, found.gpu, found.element) == (current.benchmark, current.gpu, current.element)
        if same and found.date < current.date:
            return Earlier(found, commit[:7])
    return None
