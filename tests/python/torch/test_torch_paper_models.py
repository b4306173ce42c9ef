"""The models of bench/models, whole, with small sizes, each in a process of its own."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import programs
import pytest
from programs import run

FOLDER = Path(__file__).resolve().parents[3] / "bench" / "models"
DATA = [parent.parent / "shared" / "data" / "mobilenetv1" for parent in FOLDER.parents]
MODELS = ("transformer", "mobilenet", "recurrent", "training_step", "attention")


def output_of(model, folder, *more):
    return programs.output_of(FOLDER / f"{model}.py", folder, *more)


def results_of(model, folder, *more):
    return programs.results_of(FOLDER / f"{model}.py", folder, *more)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of a model as it is, which runs once for all tests."""
    return functools.cache(lambda model: results_of(model, tmp_path_factory.mktemp(model)))


@pytest.mark.parametrize("model", MODELS)
def test_every_side_agrees_with_float64_and_says_how_near(model, results):
    results = results(model)
    assert results["benchmark"] == model and results["schema"] == 3 and results["commit"] == "abc123"
    assert results["complete"] and results["rows"]
    for row in results["rows"]:
        assert row["verified"] and "vostok" in row["sides"]
        assert row["speedups"].keys() == row["sides"].keys() - {"vostok"}
        assert all(reason for reason in row["left_out"].values())
        for side in row["sides"].values():
            assert 0 < side["error"] <= side["tolerance"] and side["verified"]
            assert side["median_us"] > 0 and side["spread_us"] >= 0 and side["rounds"]


@pytest.mark.parametrize("model", MODELS)
def test_help_teaches_what_the_sides_are(model, tmp_path):
    text = output_of(model, tmp_path, "--help")
    assert "--resume" in text and "vostok" in text and "float64" in text


STOPPING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import contest, importlib
model, rows = sys.argv.pop(1), int(sys.argv.pop(1))
step = contest.measured.Progress.step
def stopping(self, *words):
    step(self, *words)
    if self.done == rows:
        raise contest.measured.OutOfTime("as many rows as asked for")
contest.measured.Progress.step = stopping
importlib.import_module(model).main()
"""


@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_was_stopped_goes_on_where_it_was(model, results, tmp_path):
    whole = results(model)
    rest = ["--tiny", "--json", "results.json", "--commit", "abc123", "--resume"]
    done = run(["-c", STOPPING, str(FOLDER), model, "1", *rest], tmp_path)
    assert done.returncode == 0 and "stopped early" in done.stdout, done.stderr
    part = json.loads((tmp_path / "results.json").read_text())
    assert part["complete"] is False and len(part["rows"]) == 1
    done = run([str(FOLDER / f"{model}.py"), *rest], tmp_path)
    assert done.returncode == 0, done.stderr
    ended = json.loads((tmp_path / "results.json").read_text())
    assert ended["complete"] and ended["rows"][0] == part["rows"][0] and len(ended["rows"]) == len(whole["rows"])
    refused = run([str(FOLDER / f"{model}.py"), *rest, "--commit", "another"], tmp_path)
    assert refused.returncode != 0 and "cannot resume results.json: commit differ" in refused.stderr


@pytest.mark.parametrize("model", MODELS)
def test_a_model_without_time_stops_with_the_rows_that_it_has(model, tmp_path):
    results = results_of(model, tmp_path, "--seconds", "0")
    assert results["complete"] is False and len(results["rows"]) == 1


RESTING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import contest, attention
rests = []
contest.time.sleep = rests.append
attention.main()
print("rested", rests)
"""


def test_every_sample_is_taken_after_a_rest_where_one_is_asked_for(tmp_path):
    words = ["--tiny", "--json", "results.json", "--mask", "paper", "--numbers", "fp32", "--rest", "0.25"]
    done = run(["-c", RESTING, str(FOLDER), *words], tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert f"rested {[0.25] * len(row['sides'])}\n" in done.stdout
    for wrong in ("-1", "inf", "nan", "soon"):
        refused = run([str(FOLDER / "attention.py"), "--tiny", "--rest", wrong], tmp_path)
        assert refused.returncode == 2 and f"--rest: '{wrong}' is no number of seconds" in refused.stderr


DAMAGED_ATTENTION = """
import attentions
whole = attentions.vt.attention
def damaged(q, k, v, *rest, **options):
    v = v.clone()
    v[-1, -1, -1] += {by}  # one value of one token of one head
    return whole(q, k, v, *rest, **options)
attentions.vt.attention = damaged
"""
DAMAGE = {
    "transformer": DAMAGED_ATTENTION.format(by=0.1),
    "attention": DAMAGED_ATTENTION.format(by=10),
    "mobilenet": """
import layers
whole = layers.Pointwise.__init__
def damaged(self, weight, *rest, **options):
    weight = weight.clone()
    weight[tuple(weight.nonzero()[0])] *= 2  # one weight of a layer
    whole(self, weight, *rest, **options)
layers.Pointwise.__init__ = damaged
""",
    "recurrent": """
import recurrent
whole = recurrent.frozen
def damaged(weight, bias, tokens):
    weight = weight.clone()
    weight[tuple(weight.nonzero()[0])] *= 2
    return whole(weight, bias, tokens)
recurrent.frozen = damaged
""",
    "training_step": """
import training_step
whole = training_step.vt.csr
def damaged(weight):
    a = whole(weight)
    values = a.values.clone()
    values[0] *= 2
    return a.with_values(values)
training_step.vt.csr = damaged
""",
}
DAMAGED = """
import importlib, sys
sys.path.insert(0, sys.argv.pop(1))
model = importlib.import_module(sys.argv.pop(1))
{damage}
model.main()
"""


@pytest.mark.parametrize("model", MODELS)
def test_one_wrong_value_is_told(model, tmp_path):
    code = DAMAGED.format(damage=DAMAGE[model])
    words = ["--tiny", "--json", "results.json", "--seconds", "0"]  # the first row alone
    done = run(["-c", code, str(FOLDER), model, *words], tmp_path)
    assert done.returncode != 0 and "1 rows are wrong or failed" in done.stderr, done.stderr
    (row,) = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert not row["verified"] and not row["sides"]["vostok"]["verified"]
    assert all(side["verified"] for name, side in row["sides"].items() if not name.startswith("vostok"))


FAILING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import recurrent
whole = recurrent.frozen
def failing(weight, bias, tokens):
    if weight.shape[0] == 3 * weight.shape[1]:
        raise RuntimeError("cannot pack a GRU today")
    return whole(weight, bias, tokens)
recurrent.frozen = failing
recurrent.main()
"""


def test_a_row_that_fails_is_told_and_measured_again(tmp_path):
    rest = [
        "--tiny",
        "--json",
        "results.json",
        "--resume",
    ]
    done = run(["-c", FAILING, str(FOLDER), *rest], tmp_path)
    assert done.returncode != 0 and "1 rows are wrong or failed" in done.stderr, done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row.get("failure") for row in rows] == [None, "RuntimeError: cannot pack a GRU today", None]
    assert run([str(FOLDER / "recurrent.py"), *rest], tmp_path).returncode == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["cell"] for row in rows] == ["lstm", "rnn", "gru"] and all(row["verified"] for row in rows)


def test_gradients_of_the_transformer_are_those_of_its_masked_twin(tmp_path):
    (row,) = results_of("transformer", tmp_path, "--train", "--mask", "paper", "--numbers", "fp32", "--batch", "1")[
        "rows"
    ]
    assert row["train"] and row["verified"] and row["sides"]["vostok"]["error"] < 1e-5


def test_cells_may_be_compiled(tmp_path):
    words = ["--glue", "aot_eager", "--cell", "lstm", "--sparsity", "0.8", "--element", "f32"]
    results = results_of("recurrent", tmp_path, *words)
    assert results["problem"]["glue"] == "aot_eager" and results["rows"][0]["verified"]


def test_trained_weights_are_read_and_what_was_made_is_named(tmp_path):
    folder = next((path for path in DATA if path.is_dir()), None)
    if folder is None:
        pytest.skip("shared/data/mobilenetv1 is not beside this checkout")
    (row,) = results_of("mobilenet", tmp_path, "--weights", str(folder), "--batch", "1", "--element", "f32")["rows"]
    assert row["verified"] and row["zeros"] == pytest.approx(0.9, abs=1e-3)
    assert row["made"] == ["first layer", "classifier"] and row["sparse_width"] == 1.0


def test_what_does_not_fit_is_left_out_with_the_bytes_it_would_take():
    code = """
import torch, attentions, contest
torch.cuda.mem_get_info = lambda: (80e9, 80e9)
torch.cuda.memory_reserved = torch.cuda.memory_allocated = lambda: 0
need = attentions.materialised_bytes(8, 8, 12288, torch.float32)
try:
    attentions.materialised(None, torch.float32, need, "cuda")
except contest.LeftOut as reason:
    print(reason)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER, timeout=600)
    assert done.stdout.strip() == "its scores and probabilities take 77.3 GB, and 80.0 GB are free", done.stderr
