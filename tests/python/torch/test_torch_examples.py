"""The examples for PyTorch, whole, with small sizes, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "src" / "python" / "examples"


def output_of(example, folder):
    command = [sys.executable, str(FOLDER / example), "--tiny"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "example, last",
    [
        ("prune_and_run.py", "dense "),
        ("rigl.py", "end: loss "),
        ("decoder.py", "70% batch 2: "),
        ("gnn.py", "GCN by hand: "),
    ],
)
def test_an_example_runs(example, last, tmp_path):
    assert any(line.startswith(last) for line in output_of(example, tmp_path).splitlines())


def test_gcnconv_of_pytorch_geometric_aggregates_by_spmm(tmp_path):
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    assert "GCNConv of PyTorch Geometric: loss" in output_of("gnn.py", tmp_path)
