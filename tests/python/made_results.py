"""Small made result files, and pages of the report, for its tests."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GPU = {"name": "NVIDIA H200", "architecture": "sm_90", "gpu": True, "multiprocessors": 132, "clock_mhz": 1980}


def measured(us, spread=0.01, **more):
    """What was timed, and was right."""
    return {"median_us": us, "spread_us": spread, "error": 1e-7, "tolerance": 1e-6, "verified": True, **more}


def row(matrix, us, *, n=128, zeros=0.9, m=1024, k=512, peers=(), baseline=None, **ours):
    """A problem of spmm: `peers` are (name, microseconds)."""
    return {
        "file": matrix,
        "n": n,
        "m": m,
        "k": k,
        "nonzeros": round(m * k * (1 - zeros)),
        "sparsity": zeros,
        "row_variation": 0.3,
        "longest_row": 80,
        "clocks": {"sm_mhz": 1980, "memory_mhz": 3201},
        "ours": measured(us, family="row_tile", **ours),
        "peers": [measured(time, name=name, variant="only") for name, time in peers],
        "baseline": baseline or {},
    }


def result(rows, *, benchmark="spmm", date="2026-11-24T10:00:00Z", gpu=None, **problem):
    """A whole file."""
    return {
        "schema": 3,
        "benchmark": benchmark,
        "complete": True,
        "command": f"bench_{benchmark}",
        "date": date,
        "commit": "0123456789ab",
        "device": GPU | ({"name": gpu} if gpu else {}),
        "clocks": {"before": {"sm_mhz": 1980}, "after": {"sm_mhz": 1980}},
        "problem": {"element": "f32", "set": "dlmc", "math": "accurate"} | problem,
        "rows": rows,
    }


def matrix(number, model="transformer"):
    return f"{model}/magnitude_pruning/0.9/layer_{number}.smtx"


def write(folder, name, data):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data, indent=1))
    return path


def report(*arguments):
    """Runs the command without its shell script; shared files are those that the arguments name."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "bench"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "report", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def page_of(tmp_path, results, *more):
    out = tmp_path / "page.html"
    done = report("--out", out, "--results", results, "--shared", tmp_path / "nothing", *more)
    assert done.returncode == 0, done.stderr
    return out.read_text()


class Tables(HTMLParser):
    """Rows of the tables below an element: (attributes of the row, words of its cells)."""

    def __init__(self, identity):
        super().__init__()
        self.identity, self.inside, self.rows, self.cell = identity, 0, [], None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if self.inside or attributes.get("id") == self.identity:
            self.inside += tag == "div"
            if tag == "tr":
                self.rows.append((attributes, []))
            if tag in ("td", "th"):
                self.cell = ""

    def handle_endtag(self, tag):
        if self.inside and tag in ("td", "th") and self.cell is not None:
            self.rows[-1][1].append(self.cell)
            self.cell = None
        self.inside -= bool(self.inside) and tag == "div"

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data


def rows_of(page, identity):
    reader = Tables(identity)
    reader.feed(page)
    return reader.rows


def headline_of(page):
    return {attributes["data-key"]: (attributes, cells) for attributes, cells in rows_of(page, "headline-table")[1:]}
