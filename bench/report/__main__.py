"""Makes the page of all results: `./run report`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .page import make_page
from .results import ReportError, read_folder

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./run report", description="One HTML page of everything that result files say."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build/report.html", help="the page (build/report.html)")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results", help="folder of *.json (bench/results)")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="folder of baselines/ (../shared)")
    options = parser.parse_args(arguments)
    try:
        page = make_page(read_folder(options.results), options.results, options.shared)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        size = options.out.write_bytes(page.encode())
    except ReportError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"report: cannot write {options.out}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{options.out}: {size / 1000:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
