"""The examples, whole, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "src" / "python" / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("numpy_*.py"))


def test_there_are_examples():
    assert "numpy_spmm.py" in EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example, tmp_path):
    command = [sys.executable, str(FOLDER / example)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
