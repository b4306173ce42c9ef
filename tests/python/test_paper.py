"""bench/paper: what it measures again, what it goes on with, and every benchmark of it at toy size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "paper"))

from pieces import MORE, PIECES  # noqa: E402

# In place of a benchmark: three problems, of which a run that is given less than 50 seconds reaches one.
FAKE = """#!{python}
import json, sys
options = dict(zip(sys.argv[1:], sys.argv[2:]))
skipped, most = int(options.get("--skip", 0)), 3 if float(options["--deadline"]) >= 50 else 1
rows = [{{"n": n}} for n in range(skipped, min(3, skipped + most))]
whole = skipped + len(rows) == 3
json.dump({{"complete": whole, "rows": rows, "arguments": sys.argv[1:]}}, open(options["--out"], "w"))
sys.exit({status} if whole else 1)
"""


def paper(*arguments, **options):
    return subprocess.run(
        [sys.executable, str(ROOT / "bench" / "paper"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=1200,
        **options,
    )


@pytest.fixture
def programs(tmp_path):
    """Makes the executables; they end with this status where they are whole."""

    def make(status=0):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in {piece.program for piece in PIECES if not piece.is_model}:
            (folder / name).write_text(FAKE.format(python=sys.executable, status=status))
            (folder / name).chmod(0o755)
        return ("--bin", folder, "--out", tmp_path / "out", "--only", "spmm_rnn")

    return make


def rows_of(path):
    return [row["n"] for row in json.loads(path.read_text())["rows"]]


def test_the_list_names_every_piece_with_its_place_in_the_paper():
    done = paper("--list")
    assert done.returncode == 0
    for piece in PIECES + MORE:
        assert piece.name in done.stdout and piece.what in done.stdout
    assert sum(piece.seconds for piece in PIECES) < 1200


def test_a_piece_goes_on_with_what_is_missing_and_is_then_not_measured_again(programs, tmp_path):
    options = programs()
    first = paper(*options, "--seconds", 20)
    assert first.returncode == 1 and "cut short" in first.stdout and "goes on with: spmm_rnn" in first.stdout
    out = tmp_path / "out"
    assert rows_of(out / "spmm_rnn.json") == [0]
    second = paper(*options, "--seconds", 100)
    assert second.returncode == 0, second.stdout
    assert rows_of(out / "spmm_rnn.json") == [0] and rows_of(out / "spmm_rnn_rest.json") == [1, 2]
    third = paper(*options, "--seconds", 100)
    assert "complete already" in third.stdout and not (out / "spmm_rnn_rest2.json").exists()
    again = paper(*options, "--seconds", 100, "--again")
    assert again.returncode == 0
    assert rows_of(out / "spmm_rnn.json") == [0, 1, 2] and not (out / "spmm_rnn_rest.json").exists()
    assert "about" in again.stderr and "s for the rest" in again.stderr


def test_what_is_wrong_or_cannot_run_is_told(programs, tmp_path):
    wrong = paper(*programs(status=1), "--seconds", 100)
    assert wrong.returncode == 1 and "failed (1)" in wrong.stdout
    assert [path.name for path in (tmp_path / "out").glob("*.[jf]*")] == ["spmm_rnn.failed"]
    options = ("--out", tmp_path / "out", "--bin", tmp_path / "none", "--only", "spmm_rnn")
    assert "left out: " in paper(*options).stdout and "was not built" in paper(*options).stdout
    unlisted = paper(*programs()[:4], "--only", "ablation", "--data", tmp_path)
    assert "has no problems.txt" in unlisted.stdout
    assert "not reached" in paper(*programs(), "--seconds", 1, "--again").stdout
    assert "invalid choice: 'none'" in paper("--only", "none").stderr


def test_every_benchmark_of_it_runs_at_toy_size(tmp_path):
    folder = Path(os.environ.get("VOSTOK_TOOL", "")).parent
    if not (folder / "bench_spmm").exists():
        pytest.skip("the benchmarks were not built")
    names = [piece.name for piece in PIECES if not piece.is_model]
    done = paper("--smoke", "--bin", folder, "--out", tmp_path, "--only", *names)
    logs = "".join(path.read_text()[-2000:] for path in tmp_path.glob("*.log"))
    assert done.returncode == 0, done.stdout + logs
    for name in names:
        assert json.loads((tmp_path / f"{name}.json").read_text())["complete"]
