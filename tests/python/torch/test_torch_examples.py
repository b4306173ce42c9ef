"""The examples for PyTorch, whole, with small sizes, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "src" / "python" / "examples"


@pytest.mark.parametrize("example", ["prune_and_run.py", "rigl.py", "decoder.py", "gnn.py"])
def test_an_example_runs(example, tmp_path):
    command = [sys.executable, str(FOLDER / example), "--tiny"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for line in done.stdout.splitlines():
        if line.startswith("left out"):
            print(f"skipped: {example}: {line}")
