"""Small made result files, for the tests of the report."""

import json

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
