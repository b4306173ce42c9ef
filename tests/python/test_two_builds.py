"""bench/two_builds.py over programs that only pretend to measure."""

import json
import subprocess
import sys

from made_results import ROOT, measured

PROGRAM = """#!{python}
import argparse, json, pathlib, sys
parser = argparse.ArgumentParser()
parser.add_argument("--no-peers", action="store_true")
for name in ("--cache", "--out", "--filter", "--dtype"):
    parser.add_argument(name, default="")
for name in ("--skip", "--max-problems"):
    parser.add_argument(name, type=int, default=0)
options = parser.parse_args()
folder = pathlib.Path(__file__).parent
turns = folder / "turns"
turn = int(turns.read_text()) if turns.exists() else 0
turns.write_text(str(turn + 1))
everything = json.loads((folder / "rows.json").read_text())
rows = [row for row in everything if options.filter in f"{{row['file']}} n={{row['n']}}"]
rows = rows[options.skip :][: options.max_problems or None]
if not rows:
    sys.exit(f'bench_spmm: cannot run a benchmark: no problem is left by --filter "" and --skip {{options.skip}}')
for row in rows:
    times = row.pop("times")
    if times:
        row["ours"]["median_us"] = times[turn % len(times)]
    else:
        row["skipped"] = row.pop("ours") and "there is nothing to compute"
(folder / "cache").write_text(options.cache)
pathlib.Path(options.out).write_text(json.dumps({{"rows": rows, "commit": folder.name}}))
"""


def build(folder, times, **ours):
    """A folder with a program that takes these times of each problem, one after another."""
    folder.mkdir()
    rows = [{"file": f"matrix {i}", "n": 64, "times": own, "ours": measured(0, **ours)} for i, own in enumerate(times)]
    (folder / "rows.json").write_text(json.dumps(rows))
    program = folder / "bench_spmm"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    return folder


def run(tmp_path, before, after, *options):
    out = tmp_path / "out.json"
    command = [sys.executable, ROOT / "bench/two_builds.py", before, after, "spmm", "--json", out, *options]
    done = subprocess.run([*command, "--", "--dtype", "f16"], capture_output=True, text=True)
    return done, json.loads(out.read_text()) if out.exists() else None


def test_what_is_slower_in_every_turn_is_told(tmp_path):
    before = build(tmp_path / "before", [[10.0], [20.0], [30.0], [40.0]])
    after = build(tmp_path / "after", [[10.0], [22.0], [29.0], [40.0]])
    done, result = run(tmp_path, before, after, "--chunk", "2")  # the last run of all has no problem left
    assert done.returncode == 1, done.stderr
    assert "matrix 1 n=64: 20.00 20.00 20.00 20.00 20.00 20.00 us before" in done.stdout
    assert [row["problem"] for row in result["rows"] if row["slower"]] == ["matrix 1 n=64"]
    assert result["summary"]["problems"] == 4
    assert (result["before"], result["commit"]) == ("before", "after")


def test_problems_raced_before_are_passed_over(tmp_path):
    before, after = (build(tmp_path / name, [[10.0], [20.0], [30.0]]) for name in ("before", "after"))
    done, result = run(tmp_path, before, after, "--chunk", "2", "--skip", "2")
    assert done.returncode == 0, done.stderr
    assert [row["problem"] for row in result["rows"]] == ["matrix 2 n=64"]


def test_what_is_as_fast_when_run_again_is_not(tmp_path):
    before = build(tmp_path / "before", [[10.0], [20.0]])
    after = build(tmp_path / "after", [[11.0, 11.0, 10.0], [20.0]])
    done, result = run(tmp_path, before, after)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [len(row["after_us"]) for row in result["rows"]] == [4, 2]
    assert result["summary"]["slower"] == 0


def test_what_has_nothing_to_compute_is_passed(tmp_path):
    before = build(tmp_path / "before", [[10.0], [], [30.0]])
    after = build(tmp_path / "after", [[10.0], [], [30.0]])
    done, result = run(tmp_path, before, after, "--chunk", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["problem"] for row in result["rows"]] == ["matrix 0 n=64", "matrix 2 n=64"]
    assert result["complete"]


def test_kernels_of_a_build_stay_where_a_folder_is_given(tmp_path):
    before = build(tmp_path / "before", [[10.0]])
    after = build(tmp_path / "after", [[10.0]])
    done, _ = run(tmp_path, before, after, "--caches", tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    told = [(folder / "cache").read_text() for folder in (before, after)]
    assert told == [str(tmp_path / "kept" / build) for build in ("before", "after")]


def test_a_wrong_output_ends_the_race(tmp_path):
    before = build(tmp_path / "before", [[10.0]])
    after = build(tmp_path / "after", [[10.0]], wrong="C[3, 4] is 7, not 8")
    rows = json.loads((after / "rows.json").read_text())
    rows[0]["ours"]["verified"] = False
    (after / "rows.json").write_text(json.dumps(rows))
    done, result = run(tmp_path, before, after)
    assert done.returncode == 2
    assert "matrix 0 n=64 is wrong: C[3, 4] is 7, not 8" in done.stderr
    assert result is None


def test_what_was_measured_before_a_failure_is_kept(tmp_path):
    before = build(tmp_path / "before", [[10.0], [20.0]])
    after = build(tmp_path / "after", [[10.0], [20.0]])
    rows = json.loads((after / "rows.json").read_text())
    rows[1]["ours"]["verified"] = False
    (after / "rows.json").write_text(json.dumps(rows))
    done, result = run(tmp_path, before, after, "--chunk", "1")
    assert done.returncode == 2
    assert not result["complete"]
    assert [row["problem"] for row in result["rows"]] == ["matrix 0 n=64"]


def test_a_program_that_cannot_run_is_named(tmp_path):
    before = build(tmp_path / "before", [[10.0]])
    (tmp_path / "empty").mkdir()
    done, _ = run(tmp_path, before, tmp_path / "empty")
    assert done.returncode == 2
    assert "bench_spmm" in done.stderr
