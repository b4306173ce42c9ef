"""The examples for PyTorch, whole, with small sizes, each in a process of its own."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import programs
import pytest
from programs import run

FOLDER = Path(__file__).resolve().parents[3] / "src" / "python" / "examples"


def output_of(example, folder, *more):
    return programs.output_of(FOLDER / example, folder, *more)


def results_of(example, folder, *more):
    return programs.results_of(FOLDER / example, folder, *more)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of an example as it is, which runs once for all tests."""
    return functools.cache(lambda example: results_of(example, tmp_path_factory.mktemp("example")))


def test_prune_and_run_runs(tmp_path):
    assert any(line.startswith("dense ") for line in output_of("prune_and_run.py", tmp_path).splitlines())


@pytest.mark.parametrize("example", ["decoder.py", "rigl.py", "gnn.py"])
def test_results_say_under_which_conditions_they_were_measured(example, results):
    results = results(example)
    assert results["benchmark"] == example.removesuffix(".py")
    assert results["complete"] and results["commit"] == "abc123" and results["schema"] == 3
    assert results["command"] == f"{example} --tiny --json results.json --commit abc123", "folders are not named"
    assert str(FOLDER) not in json.dumps(results) and sys.executable not in json.dumps(results)
    assert {"name", "gpu"} <= results["device"].keys() and results["versions"]["torch"]
    assert results["rows"]
    for row in results["rows"]:
        sides = [row[side] for side in ("sparse", "dense") if side in row] or [row]
        assert all(side["median_us"] > 0 and side["spread_us"] >= 0 and side["rounds"] for side in sides)


def test_the_decoder_is_as_near_to_float32_as_the_dense_one(results):
    rows = results("decoder.py")["rows"]
    assert [row["batch"] for row in rows] == [1, 2]
    assert all(row["max_tokens"] == 2 for row in rows), "one format serves all batches"
    for row in rows:
        assert 0 < row["dense"]["error"] < 0.05
        assert row["sparse"]["verified"] and row["sparse"]["error"] <= 1.5 * row["dense"]["error"]


def test_each_batch_of_the_decoder_may_have_a_format_of_its_own(tmp_path):
    rows = results_of("decoder.py", tmp_path, "--formats", "each", "--distinct", "1")["rows"]
    assert [(row["batch"], row["max_tokens"]) for row in rows] == [(1, 1), (2, 2)]


def test_what_is_between_the_decoders_products_may_be_compiled(tmp_path):
    results = results_of("decoder.py", tmp_path, "--glue", "aot_eager")
    assert results["problem"]["glue"] == "aot_eager"
    assert len(results["rows"]) == 2 and all(row["sparse"]["verified"] for row in results["rows"])


def test_a_decoder_without_time_stops_with_the_rows_that_it_has(tmp_path):
    results = results_of("decoder.py", tmp_path, "--seconds", "0")
    assert results["complete"] is False and results["rows"] == []


DAMAGED = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import decoder, decoder_model, torch
from torch import nn
whole = decoder_model.Decoder.freeze
def damaged(self, indices, *tokens):
    with torch.no_grad():
        for index in indices:
            self.layers[index].down.weight[::4] = 0
    whole(self, indices, *tokens)
decoder_model.Decoder.freeze = damaged
decoder.main()
"""


def test_a_decoder_with_wrong_weights_is_told(tmp_path):
    done = run(["-c", DAMAGED, str(FOLDER), "--tiny", "--json", "results.json"], tmp_path)
    assert done.returncode != 0 and "logits are wrong in 2 rows" in done.stderr, done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert not any(row["sparse"]["verified"] for row in rows)


def test_results_hold_null_for_what_is_no_number(tmp_path):
    code = "import measured, sys; print(measured._finite({'a': [float('nan'), 1.5], 'b': (float('inf'), 'x', None)}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER, timeout=600)
    assert done.stdout.strip() == "{'a': [None, 1.5], 'b': [None, 'x', None]}", done.stderr


def test_rigl_trains_like_its_masked_dense_twin(results):
    (row,) = results("rigl.py")["rows"]
    assert row["verified"] and row["error"] < 1e-4
    assert row["steps_done"] == 20 and row["move"]["rounds"] == 3
    assert [step for step, _ in row["curves"]["sparse"]] == list(range(1, 21))
    assert len(row["curves"]["masked dense"]) == 20


def test_the_graph_network_by_hand_learns(results):
    rows = {row["name"]: row for row in results("gnn.py")["rows"]}
    assert rows["GCN by hand"]["verified"] and rows["GCN by hand"]["accuracy"] > 0.25


def test_gcnconv_of_pytorch_geometric_learns_the_same_through_spmm(results):
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    results = results("gnn.py")
    first, *others = results["rows"]
    assert first["name"] == "GCNConv of PyTorch Geometric" and results["versions"]["torch_geometric"]
    assert "GCNConv through vt.spmm" in [row["name"] for row in others]
    assert all(row["loss"] == pytest.approx(first["loss"], rel=1e-3) for row in others)
    assert all(row["verified"] for row in others)
