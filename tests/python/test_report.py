"""The page of `./run report`: its numbers are those of the result files, and it works in a browser."""

import html
import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest

from made_results import ROOT, headline_of, matrix, page_of, report, result, row, write

RESULTS = ROOT / "bench/results"
MOST_BYTES = 2_000_000
MODELS = ("decoder", "rigl", "transformer", "mobilenet", "recurrent")


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The page of the committed results."""
    folder = tmp_path_factory.mktemp("report")
    return page_of(folder, RESULTS)


# --- Numbers ---------------------------------------------------------------------------------------------------------


def fastest(row_, name):
    times = [p["median_us"] for p in row_["peers"] if p["name"] == name and p.get("verified") and p.get("median_us")]
    return min(times, default=None)


def other_time(row_, beside):
    """Recomputed apart from the report: microseconds of what a line of the headline names as beside it."""
    stored = row_["baseline"].get("sputnik", -1)
    stored = stored if stored > 0 else None
    if beside == "Sputnik":
        return stored
    if beside == "cuSPARSE or Sputnik":
        cusparse = fastest(row_, "cusparse") or row_["baseline"].get("cusparse")
        return min((time for time in (cusparse, stored) if time and time > 0), default=None)
    names = {
        "cuSPARSE": "cusparse",
        "dense SGEMM": "cublas_sgemm",
        "dense TF32": "cublas_tf32",
        "dense f16": "cublas_f16",
    }
    return fastest(row_, names[beside])


def ratios_of(cells):
    rows = rows_of_files(cells)
    zeros = re.search(r"(\d+) % zeros", cells[0])
    found = []
    for one in rows:
        if not one.get("ours", {}).get("verified") or (zeros and round(100 * one["sparsity"]) != int(zeros[1])):
            continue
        other = other_time(one, cells[1])
        if other:
            found.append(other / one["ours"]["median_us"])
    return np.array(found)


def rows_of_files(cells):
    """Of all files that a line of the headline names: a run, and what went on with it."""
    files = [json.loads((RESULTS / f"{name}.json").read_text()) for name in cells[-1].split(", ")]
    return [one for file in sorted(files, key=lambda file: file["date"]) for one in file["rows"]]


def median(row_, side):
    return row_["sides"][side]["median_us"]


def model_ratio(key, cells):
    """Recomputed apart from the report."""
    rows = rows_of_files(cells)
    kind, _, rest = key.partition("-")
    if kind in ("rigl", "decoder"):
        named = {f"decoder-{round(100 * one.get('sparsity', 0))}-{one.get('batch')}": one for one in rows}
        one = named[key] if kind == "decoder" else rows[0]
        return one["dense"]["median_us"] / one["sparse"]["median_us"]
    if kind == "transformer":
        wanted = {"mask": "paper", "numbers": "fp32", "batch": 1, "train": False}
        one = next(one for one in rows if wanted.items() <= one.items())
        return median(one, rest.replace("-", " ")) / median(one, "vostok")
    if kind == "mobilenet":
        one = next(
            one
            for one in rows
            if (str(one["sparse_width"]), one["batch"], one["element"]) == (rest, 1, "f32")
            and one["sparse_width"] != one["dense_width"]
        )
        return min(median(one, side) for side in one["sides"] if side.startswith("fp32 ")) / median(one, "vostok")
    ratios = [
        min(median(one, side) for side in ("cublas fp32", "cudnn fp32") if side in one["sides"]) / median(one, "vostok")
        for one in rows
        if one["element"] == "f32" and round(100 * one["sparsity"]) == int(rest.split("-")[-1]) and "sides" in one
    ]
    return np.exp(np.log(ratios).mean())


def test_every_number_of_the_headline_is_that_of_the_files(committed):
    lines = headline_of(committed)
    assert len(lines) > 15
    for key, (attributes, cells) in lines.items():
        shown = float(attributes["data-ratio"])
        if key.split("-")[0] in MODELS:
            assert shown == pytest.approx(model_ratio(key, cells))
            continue
        ratios = ratios_of(cells)
        assert shown == pytest.approx(np.exp(np.log(ratios).mean())), key
        low, high = np.percentile(ratios, [10, 90])
        assert cells[2:4] == [f"{shown:.2f}x", f"{low:.2f}x to {high:.2f}x"], key
        assert cells[5:7] == [f"{ratios.min():.2f}x", f"{ratios.max():.2f}x"], key
        assert cells[7:9] == [f"{100 * (ratios >= 1).mean():.0f} %", str(len(ratios))], key


def test_the_headline_agrees_with_what_the_benchmark_itself_wrote(committed):
    names = {"cuSPARSE": "cusparse", "cuSPARSE or Sputnik": "better sparse peer", "Sputnik": "sputnik (baseline)"}
    names |= {"dense SGEMM": "cublas_sgemm", "dense TF32": "cublas_tf32", "dense f16": "cublas_f16"}
    compared = 0
    for key, (attributes, cells) in headline_of(committed).items():
        if "zeros" in cells[0]:
            continue
        if key.split("-")[0] in MODELS or ", " in cells[-1]:
            continue
        summary = json.loads((RESULTS / f"{cells[-1]}.json").read_text())["summary"][names[cells[1]]]["groups"]["all"]
        assert float(attributes["data-ratio"]) == pytest.approx(summary["geomean"], rel=1e-4), key
        compared += 1
    assert compared > 8  # the others are of several files


def test_tiles_and_conditions_stand_with_the_numbers(committed):
    tiles = re.findall(r'<div class="tile[^"]*"><div class="value">([\d.]+)x</div>', committed)
    shown = {f"{float(attributes['data-ratio']):.2f}" for attributes, _ in headline_of(committed).values()}
    assert tiles and set(tiles) <= shown
    figures = re.findall(r'<figure class="chart[^"]*">(.*?)</figure>', committed, re.DOTALL)
    assert len(figures) > 15
    for figure in figures:
        assert re.search(r'class="conditions">(.*(GPU|H\d00|V100).*)</p>', figure), figure[:200]
        assert not re.search(r"\b(nan|inf)\b", re.sub(r"<title>.*?</title>", "", figure))


def test_the_newest_verified_times_count(tmp_path):
    folder = tmp_path / "results"
    old = [row(matrix(i), 10, peers=[("cusparse", 10)]) for i in range(4)]
    new = [row(matrix(i), 10, peers=[("cusparse", 20), ("cusparse", 40)]) for i in range(4)]
    new.append(row(matrix(4), 1, peers=[("cusparse", 1000)]))
    new[-1]["ours"]["verified"] = False
    new.append(row(matrix(5), 10, peers=[("cusparse", 1)]))
    new[-1]["peers"][0]["verified"] = False
    write(folder, "spmm_old", result(old, date="2026-11-01T00:00:00Z"))
    write(folder, "spmm_new", result(new))
    attributes, cells = headline_of(page_of(tmp_path, folder))["spmm-f32-cusparse"]
    assert float(attributes["data-ratio"]) == 2
    assert cells[8:] == ["4", "3.58x (Table I)", "spmm_new"]


def test_a_run_and_what_went_on_with_it_count_together(tmp_path):
    folder = tmp_path / "results"
    write(folder, "spmm_a", result([row(matrix(i), 10, peers=[("cusparse", 20)]) for i in range(2)]))
    rest = [row(matrix(i), 10, peers=[("cusparse", 40)]) for i in range(1, 4)]
    write(folder, "spmm_a_rest", result(rest, date="2026-11-25"))
    _, cells = headline_of(page_of(tmp_path, folder))["spmm-f32-cusparse"]
    assert cells[2] == f"{(2 * 4 * 4 * 4) ** 0.25:.2f}x"
    assert (cells[8], cells[10]) == ("4", "spmm_a, spmm_a_rest")


def test_the_better_of_two_peers_is_of_a_run_that_knows_both(tmp_path):
    folder = tmp_path / "results"
    with_both = [row(matrix(i), 10, peers=[("cusparse", 30)], baseline={"sputnik": 20}) for i in range(4)]
    write(folder, "spmm_both", result(with_both))
    newer = [row(matrix(i), 10, peers=[("cusparse", 40)]) for i in range(4)]
    write(folder, "spmm_newer", result(newer, date="2026-11-25"))
    found = headline_of(page_of(tmp_path, folder))
    assert found["spmm-f32-sparse"][1][2] == "2.00x"
    assert found["spmm-f32-cusparse"][1][2] == "4.00x"


def test_the_headline_is_of_one_gpu_but_for_what_it_has_no_result_of(tmp_path):
    folder = tmp_path / "results"
    write(folder, "spmm_h200", result([row(matrix(i), 10, peers=[("cusparse", 30)]) for i in range(4)]))
    other = [row(matrix(i), 10, peers=[("cusparse", 50)]) for i in range(2)]
    write(folder, "spmm_h100", result(other, gpu="NVIDIA H100", date="2026-12-01"))
    write(folder, "sddmm_h100", result(other[:1], benchmark="sddmm", gpu="NVIDIA H100"))
    page = page_of(tmp_path, folder)
    assert {key: cells[2] for key, (_, cells) in headline_of(page).items() if "cusparse" in key} == {
        "spmm-f32-cusparse": "3.00x",
        "sddmm-f32-cusparse": "5.00x",
    }
    assert "one GPU, NVIDIA H200, but for what it has no result of: Fig. 9 and Table I, SDDMM f32 (NVIDIA H100)" in page
    assert "the table of problems and the changes are also of NVIDIA H100" in page


def test_every_row_of_every_file_is_in_the_table(committed):
    data = json.loads(re.search(r'id="problems-data">(.*?)</script>', committed, re.DOTALL)[1])
    files = {path.stem: json.loads(path.read_text()) for path in RESULTS.glob("*.json")}
    columns = dict(zip(data["keys"], data["columns"]))
    assert len(columns["ours"]) == sum(len(file["rows"]) for file in files.values())
    words = data["words"]
    shown = {
        (words[r], words[p], n): us for r, p, n, us in zip(*(columns[k] for k in ("result", "matrix", "n", "ours")))
    }
    for name, file in files.items():
        for one in file["rows"] if file["benchmark"] in ("spmm", "sddmm", "softmax") else ():
            if one.get("ours", {}).get("verified"):
                assert shown[name, one["file"], one["n"]] == pytest.approx(one["ours"]["median_us"], rel=1e-3)


def test_a_bound_is_that_of_bytes_and_operations(tmp_path):
    one = row(matrix(0), 50, n=256, weights={"bytes": 4_300_000})
    write(tmp_path / "results", "spmm", result([one]))
    data = json.loads(re.search(r'id="problems-data">(.*?)</script>', page_of(tmp_path, tmp_path / "results"))[1])
    bytes_us = (4_300_000 + (1024 + 512) * 256 * 4) / 4.3e6
    loads_us = one["nonzeros"] * 256 * 4 / 33e6
    shown = dict(zip(data["keys"], data["columns"]))["ceiling"][0]
    assert shown == pytest.approx(100 * max(bytes_us, loads_us) / 50, rel=1e-3)


def test_a_choice_far_over_its_limit_is_an_outlier(tmp_path):
    limit = 3 + 2 * 1024 * 512 * 128 * 3 / 790e6  # a launch and the dense product, which is longer than the bytes' time
    rows = [row(matrix(0), 2.02 * limit), row(matrix(1), 1.98 * limit)]
    write(tmp_path / "results", "spmm", result(rows))
    page = page_of(tmp_path, tmp_path / "results")
    assert "There are: spmm f32 1 of 2." in page
    assert '"2.0x its limit"' in page


def test_a_gpu_of_unknown_ceilings_has_no_roofline(tmp_path):
    write(tmp_path / "results", "spmm", result([row(matrix(0), 50)], gpu="NVIDIA A100"))
    page = page_of(tmp_path, tmp_path / "results")
    assert "No result of an H200" in page and "roofline</figcaption>" not in page


# --- What is missing, what changed, what others reached -------------------------------------------------------------


def test_what_was_not_measured_is_said_with_its_command(tmp_path):
    write(tmp_path / "results", "spmm", result([row(matrix(0), 50, peers=[("cusparse", 60)])]))
    page = page_of(tmp_path, tmp_path / "results")
    missing = page[page.index('<section id="missing">') :]
    assert "SDDMM f32. Made by <code>./run bench --paper --only sddmm_dlmc_f32</code>" in missing
    assert "the sparse Transformer. Made by <code>./run bench --paper --only transformer</code>" in missing
    assert "SpMM f32. Made by" not in missing
    assert "MergeSpmm and ASpT are left out: rnn_mergespmm_aspt_h200.csv is not here" in page


def test_recurrent_layers_stand_beside_mergespmm_and_aspt(tmp_path):
    shared = tmp_path / "shared/baselines"
    shared.mkdir(parents=True)
    lines = "op,m,k,n,sparsity,nnz,mergespmm_us,aspt_us\nspmm,1024,512,128,0.90,1,30,-1\nspmm,9,9,9,0.90,1,30,5\n"
    (shared / "rnn_mergespmm_aspt_h200.csv").write_text(lines)
    write(tmp_path / "results", "spmm_rnn", result([row("rnn/0.900/1024x512", 10)], set="rnn"))
    page = page_of(tmp_path, tmp_path / "results", "--shared", shared.parent)
    assert re.search(r"MergeSpmm \(stored\)</td><td[^>]*><b>3\.00x</b>", page)
    assert "ASpT (stored)</td>" not in page
    (shared / "rnn_mergespmm_aspt_h200.csv").write_text(lines.replace("30", "fast"))
    done = report("--out", tmp_path / "x.html", "--results", tmp_path / "results", "--shared", shared.parent)
    assert done.returncode == 1 and "cannot read rnn_mergespmm_aspt_h200.csv" in done.stderr


def git(folder, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize("is_committed", [True, False])
def test_changes_are_counted_beyond_the_spread(tmp_path, is_committed):
    if shutil.which("git") is None:
        pytest.skip("changes of result files: git is not here")
    folder = tmp_path / "results"
    times = [(20, 10), (10, 10.015), (10, 20)]  # faster, within both spreads, slower
    write(folder, "spmm_before", result([row(matrix(i), old) for i, (old, _) in enumerate(times)], date="2026-11-01"))
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "before")
    git(folder, "mv", "spmm_before.json", "spmm_now.json")
    if not is_committed:
        git(folder, "commit", "-qm", "another name")
    write(folder, "spmm_now", result([row(matrix(i), new) for i, (_, new) in enumerate(times)], overlap_calls=True))
    if is_committed:
        git(folder, "commit", "-qam", "another name and other times")
    page = page_of(tmp_path, folder)
    cells = next(cells for cells in rows_in(page, "changes") if cells[0] == "spmm_now")
    mean = math.prod(old / new for old, new in times) ** (1 / 3)
    assert cells[3:] == ["3", f"{mean:.2f}x", "1", "1", "overlap_calls: -, now True"]
    assert "2 of 2: those that changed most" in page


def rows_in(page, section):
    body = page[page.index(f'<section id="{section}">') :].split("</section>")[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body)
    strip = re.compile(r"<[^>]*>")
    return [[html.unescape(strip.sub("", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", one)] for one in rows]


def test_a_folder_without_history_says_so(tmp_path):
    write(tmp_path / "results", "spmm", result([row(matrix(0), 50)]))
    assert "Left out: results is not in a git repository" in page_of(tmp_path, tmp_path / "results")


def test_two_builds_in_turns_stand_with_what_is_slower(tmp_path):
    turns = [("quicker", [10.0, 10.1], [8.0, 8.1], False), ("slower", [10.0, 10.1], [12.0, 12.1], True)]
    rows = [
        {"problem": f"{name} n=64", "before_us": old, "after_us": new, "ratio": new[0] / old[0], "slower": slower}
        for name, old, new, slower in turns
    ]
    summary = {"problems": 2, "ratio": 0.98, "least_ratio": 0.8, "most_ratio": 1.2, "slower": 1}
    made = result(rows, benchmark="two_builds") | {"before": "abcdef", "summary": summary}
    write(tmp_path / "results", "two_builds_h200", made)
    page = page_of(tmp_path, tmp_path / "results")
    found = rows_in(page, "changes")
    assert ["two_builds_h200", "abcdef", "0123456789ab", "2", "0.980", "0.800", "1.20", "1", "yes"] in found
    assert ["two_builds_h200", "slower n=64", "1.20", "10.0, 10.1", "12.0, 12.1"] in found
    assert not any("quicker n=64" in cells for cells in found) and "other-two_builds" not in page


def test_a_race_in_several_files_is_one_line(tmp_path):
    def part(names, ratio, **more):
        rows = [
            {"problem": name, "before_us": [10.0], "after_us": [10 * ratio], "ratio": ratio, "slower": False}
            for name in names
        ]
        return result(rows, benchmark="two_builds", **more) | {"before": "abcdef"}

    first, rest = part(["a", "b"], 0.5), part(["b", "c"], 2.0)
    write(tmp_path / "results", "two_builds_h200_spmm", first | {"date": "2026-11-28T01:00:00Z", "complete": False})
    write(tmp_path / "results", "two_builds_h200_spmm_rest_2", rest | {"date": "2026-11-28T02:00:00Z"})
    found = [cells for cells in rows_in(page_of(tmp_path, tmp_path / "results"), "changes") if "abcdef" in cells]
    # The later of two times of one problem counts: 0.5, 2 and 2.
    assert found == [["two_builds_h200_spmm", "abcdef", "0123456789ab", "3", "1.26", "0.500", "2.00", "0", "yes"]]


def test_a_benchmark_without_a_section_has_a_table(tmp_path):
    write(tmp_path / "results", "teapot_h200", result([{"name": "brew", "frames_s": 10000}], benchmark="teapot"))
    page = page_of(tmp_path, tmp_path / "results")
    assert '<section class="sub" id="other-teapot">' in page and "10,000" in page


# --- Files that are none ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "it is no JSON"),
        ('{"name": "vostok", "version": 1}', "it is no result file, for it has no field 'schema'"),
        ("[1, 2]", "the outermost value is [1, 2]"),
        (result([]) | {"schema": 9}, "its schema is 9"),
        (result([{"file": "a.smtx", "n": 1}]), "'m' is null in row 0"),
        (result([row("a.smtx", "fast")]), "'median_us' is \"fast\" in row 0, 'ours'"),
        (json.dumps(result([row("a.smtx", 1.5)])).replace("1.5", "NaN"), "NaN is no number"),
        (result([{"sparsity": 0.9}], benchmark="decoder"), "'batch' is null in row 0"),
        (result([{"file": "a", "n": 1, "without": [{}]}], benchmark="ablation"), "'technique' is null"),
        (result([row("a.smtx", 1, baseline={"sputnik": "fast"})]), "'sputnik' is \"fast\""),
    ],
)
def test_a_file_that_is_no_result_is_named_with_the_reason(tmp_path, content, reason):
    path = write(tmp_path / "results", "broken", content)
    done = report("--out", tmp_path / "page.html", "--results", tmp_path / "results")
    assert done.returncode == 1 and not (tmp_path / "page.html").exists()
    assert f"report: cannot read {path}: " in done.stderr and reason in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_files_is_an_error(tmp_path):
    done = report("--out", tmp_path / "page.html", "--results", tmp_path)
    assert done.returncode == 1 and f"cannot read {tmp_path}" in done.stderr


# --- The page --------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_but_itself(committed, tmp_path):
    assert len(committed.encode()) < MOST_BYTES
    for name, value in re.findall(r'\b(href|src|srcset|action|data)="([^"]*)"', committed):
        assert name == "href" and (value.startswith("#") or value == "data:,"), (name, value)
    code = committed[committed.rindex("<script>") :] + committed[: committed.index("</style>")]
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(", code)
    for target in re.findall(r'href="#([^"]+)"', committed):
        assert f'id="{target}"' in committed
    assert page_of(tmp_path, RESULTS) == committed  # the same files make the same bytes


def test_names_in_files_are_text_in_the_page(tmp_path):
    evil = '</script><img src="x" onerror="boom()">.smtx'
    write(tmp_path / "results", "spmm", result([row(evil, 10, peers=[("cusparse", 20)])]))
    page = page_of(tmp_path, tmp_path / "results")
    assert "<img" not in page


def test_the_command_prints_where_the_page_is(tmp_path):
    out = tmp_path / "new/page.html"
    done = subprocess.run([ROOT / "run", "report", "--out", out], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{out}: [\d,]+ kB\n", done.stdout)
