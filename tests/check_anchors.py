#!/usr/bin/env python3
"""Checks that what files cite of the notes is there: `bench/notes/<page>.md`, and a heading where `#<anchor>` follows.

Relative links between Markdown pages (`[text](page.md#anchor)`, `[text](#anchor)`) are checked too.
"""

import argparse
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

ENDINGS = {".cpp", ".hpp", ".h", ".md", ".py", ".sh", ".txt"}
CITATION = re.compile(r"\bbench/notes/([\w-]+\.md)(?:#([\w-]+))?")
LINK = re.compile(r"\]\(([^()\s:#]*\.md)?(?:#([\w-]+))?\)")


def anchor_of(heading: str) -> str:
    """The anchor that GitHub gives a heading: lower case, blanks as hyphens, no other punctuation."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w -]", "", text.strip().lower()).replace(" ", "-")


@lru_cache(maxsize=None)
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors of a page's headings; the second of one name ends in -1, and so on. Code blocks have none."""
    found: list[str] = []
    names: list[str] = []
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#{1,6} +(.*)$", prose, re.MULTILINE):
        name = anchor_of(heading)
        found.append(f"{name}-{names.count(name)}" if name in names else name)
        names.append(name)
    return frozenset(found)


def files_of(root: Path) -> list[Path]:
    """Files that git tracks, or would, of the kinds that cite pages."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return [root / name for name in names if Path(name).suffix in ENDINGS and (root / name).is_file()]


def faults_of(file: Path, root: Path) -> list[str]:
    """What a file cites that is not there, a sentence for each."""
    text = file.read_text(encoding="utf-8", errors="replace")
    cited = [(match, root / "bench" / "notes" / match[1]) for match in CITATION.finditer(text)]
    if file.suffix == ".md":
        links = (match for match in LINK.finditer(text) if match[1] or match[2])
        cited += [(match, (file.parent / match[1]).resolve() if match[1] else file) for match in links]
    faults = []
    for match, page in cited:
        if not page.is_file():
            faults.append((match, f"there is no page {match[1]}"))
        elif match[2] and match[2] not in anchors_of(page):
            faults.append((match, f"{page.name} has no heading #{match[2]}"))
    place = file.relative_to(root)
    return [f"{place}:{text.count(chr(10), 0, match.start()) + 1}: {fault}" for match, fault in faults]


def main() -> int:
    """Prints the faults of a tree; the status is 1 where it has any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the tree to check (this one)")
    root = parser.parse_args().root.resolve()
    faults = [fault for file in files_of(root) for fault in faults_of(file, root)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
