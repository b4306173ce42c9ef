"""The report's models: rows with several sides, the paper's own case, and row lengths with and without row swizzle."""

import re

import pytest

from made_results import headline_of, measured, page_of, report, result, write


def side(us, gigabytes=None, **more):
    facts = measured(us, 0.01 * us) | more
    return facts | ({"peak_bytes": 0.75e9 * gigabytes, "outside_bytes": 0.25e9 * gigabytes} if gigabytes else {})


def case(sides, **fields):
    """A row of a model."""
    left_out = {"flex": "no room"}
    right = all(one["verified"] for one in sides.values())
    return fields | {"clocks": {"sm_mhz": 1980}, "sides": sides, "left_out": left_out, "verified": right}


def transformer(us, *, mask="paper", numbers="fp32", batch=1, train=False):
    sides = {
        "vostok": side(us, 1.0, tokens_s=12288e6 / us),
        "vostok strict": side(us / 100),
        "materialised": side(3 * us, 11.0),
        "sdpa dense": side(2 * us),
        "sdpa": side(us / 2) | {"verified": False},
    }
    return case(sides, mask=mask, numbers=numbers, batch=batch, train=train)


def test_the_transformer_is_that_of_the_papers_case(tmp_path):
    rows = [transformer(9000, numbers="bf16"), transformer(1000), transformer(50, mask="window")]
    write(tmp_path / "results", "transformer_h200", result(rows, benchmark="transformer"))
    page = page_of(tmp_path, tmp_path / "results")
    lines = headline_of(page)
    assert lines["transformer-materialised"][1][2] == "3.00x" and lines["transformer-sdpa-dense"][1][2] == "2.00x"
    assert lines["transformer-materialised"][1][9] == "2.09x"
    short = page[page.index('id="verdicts"') :].split("</section>")[0]
    assert "3.00x beside materialised; 2.00x beside sdpa dense<" in short  # no other, for none was right
    assert "11.0x less than materialised" in short
    assert "flex: no room (3 cases)" in page
    assert "a training step of the Transformer. Made by" in page


def test_a_newer_training_step_does_not_hide_the_forward_pass(tmp_path):
    folder = tmp_path / "results"
    write(folder, "transformer_h200", result([transformer(1000)], benchmark="transformer"))
    later = result([transformer(1000, train=True)], benchmark="transformer", date="2026-12-01T00:00:00Z")
    write(folder, "transformer_train_h200", later)
    assert headline_of(page_of(tmp_path, folder))["transformer-materialised"][1][10] == "transformer_h200"


def test_models_of_another_gpu_are_named_with_it(tmp_path):
    folder = tmp_path / "results"
    write(folder, "mobilenet_h200", result([mobilenet(100, 1.5, 1.2)] * 3, benchmark="mobilenet"))
    write(folder, "transformer_h100", result([transformer(1000)], benchmark="transformer", gpu="NVIDIA H100"))
    page = page_of(tmp_path, folder)
    assert "2.00x beside sdpa dense (NVIDIA H100)" in page
    assert "2.50x (1.5 / 1.2)<" in page


def mobilenet(us, sparse_width, dense_width, batch=1, element="f32"):
    sides = {
        "vostok": side(us, frames_s=batch * 1e6 / us),
        "fp32 NCHW eager": side(4 * us),
        "fp32 NHWC fused": side(2.5 * us, frames_s=batch * 1e6 / (2.5 * us)),
        "tf32 NHWC fused": side(1.5 * us),
        "masked dense": side(us / 10),
    }
    return case(sides, sparse_width=sparse_width, dense_width=dense_width, batch=batch, element=element)


def test_mobilenet_stands_beside_the_fastest_dense_network_of_like_accuracy(tmp_path):
    rows = [mobilenet(100, 1.3, 1.0), mobilenet(100, 1.0, 1.0), mobilenet(100, 1.5, 1.2, batch=8)]
    write(tmp_path / "results", "mobilenet_h200", result(rows, benchmark="mobilenet"))
    page = page_of(tmp_path, tmp_path / "results")
    lines = {key: cells for key, (_, cells) in headline_of(page).items()}
    assert list(lines) == ["mobilenet-1.3"]
    assert lines["mobilenet-1.3"][2] == "2.50x" and lines["mobilenet-1.3"][9] == f"{2874 / 2518:.2f}x"
    assert "Vostok, width 1.3: 10,000 frames/s" in page
    assert "dense fp32, here, width 1.0: 4,000 frames/s" in page


def test_recurrent_cells_are_a_mean_over_rows_that_were_right(tmp_path):
    rows = []
    for states, dense in ((1024, 200), (2048, 800)):
        sides = {"vostok": side(100.0), "cublas fp32": side(float(dense)), "cublas tf32": side(50.0)}
        rows.append(case(sides, cell="lstm", states=states, sparsity=0.9, batch=32, element="f32"))
    rows.append(case(rows[0]["sides"] | {"vostok": side(1.0) | {"verified": False}}, sparsity=0.9, element="f32"))
    rows.append({"cell": "gru", "sparsity": 0.9, "element": "f32", "failure": "no room", "verified": False})
    write(tmp_path / "results", "recurrent_h200", result(rows, benchmark="recurrent"))
    page = page_of(tmp_path, tmp_path / "results")
    _, cells = headline_of(page)["recurrent-lstm-1024+2048-90"]
    assert (cells[2], cells[8]) == ("4.00x", "2")
    assert "gru f32 sparsity=0.9 failed: no room" in page


def test_files_of_other_recurrent_cells_stand_beside_each_other(tmp_path):
    def cells(name, date, cell, dense, **others):
        sides = {"vostok": side(100.0), "cublas fp32": side(dense)}
        row = case(sides, cell=cell, states=1024, sparsity=0.9, batch=32, element="f32")
        write(tmp_path / "results", name, result([row], benchmark="recurrent", date=date, **others))

    cells("recurrent_h200", "2026-11-25T00:00:00Z", "lstm", 300.0)
    cells("recurrent_h200_again", "2026-11-26T00:00:00Z", "lstm", 200.0)
    cells("recurrent_gru_h200", "2026-11-24T00:00:00Z", "gru", 400.0)
    lines = headline_of(page_of(tmp_path, tmp_path / "results"))
    shown = {key: cells[2] for key, (_, cells) in lines.items()}
    assert shown == {"recurrent-gru-1024-90": "4.00x", "recurrent-lstm-1024-90": "2.00x"}


def test_row_swizzle_is_shown_against_row_lengths(tmp_path):
    rows = []
    for variation, us, without in ((0.0, 100, 100), (1.0, 125, 200)):
        end = f"/cov={variation:.2f}" if variation else ""
        techniques = [{"technique": "row swizzle (V-C)", "slowdown": without / us, "median_us": without}]
        name = f"row_variation/0.750/8192x2048{end}"
        rows.append({"file": name, "n": 128, "whole": measured(us), "without": techniques})
    write(tmp_path / "results", "ablation_row_variation", result(rows, benchmark="ablation", set="row_variation"))
    page = page_of(tmp_path, tmp_path / "results")
    assert "row_tile keeps 80 % at a CoV of 1. row_tile without row swizzle keeps 50 % at a CoV of 1." in page
    assert "Fig. 6, throughput against row-length CoV. Made by" not in page
    assert "Table II, techniques of SpMM. Made by" in page  # which is over the collection


def test_what_certificates_cost_is_no_technique_of_the_paper(tmp_path):
    techniques = [{"technique": "trust in sums", "slowdown": 1.5, "median_us": 15}]
    rows = [{"file": "transformer/a.smtx", "n": 256, "whole": measured(10), "without": techniques}]
    for family, shown in (("row_tile", True), ("", False)):
        write(tmp_path / "results", "ablation", result(rows, benchmark="ablation", family=family))
        assert ("trust in sums" in page_of(tmp_path, tmp_path / "results")) == shown


@pytest.mark.parametrize("broken", [{"vostok": {"median_us": "fast"}}, ["vostok"], {"vostok": None}])
def test_sides_that_are_none_are_an_error_that_names_the_row(tmp_path, broken):
    rows = [{"mask": "paper", "sides": broken}]
    path = write(tmp_path / "results", "transformer", result(rows, benchmark="transformer"))
    done = report("--out", tmp_path / "page.html", "--results", tmp_path / "results")
    assert done.returncode == 1 and re.search(rf"cannot read {path}: .* in row 0, 'sides'", done.stderr)
