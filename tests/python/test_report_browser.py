"""The page of `./run report` in a browser without a window: no script error, tables that sort, themes, widths."""

import re
import shutil
import subprocess

import pytest

from made_results import ROOT, matrix, report, result, row, write

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
)

# A page in a frame of a width that no window of a browser has tells the page around it how much it is wider.
TELL = """<script>addEventListener("load", () => {
  const root = document.documentElement;
  parent.postMessage([innerWidth, root.scrollWidth - root.clientWidth, root.dataset.errors ?? ""].join(), "*");
});</script>"""
FRAME = """<!doctype html><html><body><script>
addEventListener("message", (event) => { document.documentElement.dataset.told = event.data; });
</script><iframe style="width: WIDTHpx; height: 900px; border: 0" src="page.html#theme=THEME"></iframe></body></html>"""


@pytest.fixture(scope="module")
def browser():
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("the report's page in a browser: there is no chromium here")
    return found


def make(out, results):
    done = report("--out", out, "--results", results, "--shared", out.parent / "nothing")
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    return make(tmp_path_factory.mktemp("committed") / "page.html", ROOT / "bench/results")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A page of three problems, whose times are in another order than their names."""
    folder = tmp_path_factory.mktemp("small")
    times = {0: 30, 1: 10, 2: 20}
    rows = [row(matrix(i), us, peers=[("cusparse", 2 * us), ("cublas_sgemm", 40)]) for i, us in times.items()]
    write(folder / "results", "spmm_small", result(rows))
    return make(folder / "page.html", folder / "results")


def open_page(browser, page, fragment=""):
    """(the page's elements as the browser has them, what it wrote to its log)"""
    profile = page.parent / "profile"
    command = [browser, *QUIET, f"--user-data-dir={profile}", "--enable-logging=stderr"]
    command += ["--window-size=1400,1000", "--virtual-time-budget=4000", "--dump-dom", f"file://{page}{fragment}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "<body>" in done.stdout, done.stderr[-2000:]
    return done.stdout, done.stderr


def root_of(document):
    return dict(re.findall(r'([\w-]+)="([^"]*)"', re.search(r"<html[^>]*>", document)[0]))


def errors_of(document, log):
    said = [line for line in log.splitlines() if "CONSOLE" in line]
    return [root_of(document)["data-errors"], *said] if "data-errors" in root_of(document) else said


def problems_of(document):
    table = document[document.index('id="problems-table"') :].split("</table>")[0]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", one) for one in re.findall(r"<tr>(.*?)</tr>", table)]
    return [(one[0].replace("<wbr>", ""), float(one[5])) for one in cells if one]


@pytest.mark.parametrize(
    "fragment", ["", "#theme=dark", "#theme=light", "#sort=-ours", "#filter=softmax", "#sort=2&table=headline-table"]
)
def test_no_script_of_the_page_fails(browser, committed, fragment):
    document, log = open_page(browser, committed, fragment)
    assert errors_of(document, log) == []
    assert re.search(r'id="problems-count">[\d,]+ of [\d,]+ rows<', document)


def test_an_error_of_a_script_would_be_seen(browser, committed, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text(committed.read_text().replace('getElementById("problems-filter")', 'getElementById("absent")'))
    document, log = open_page(browser, broken)
    assert errors_of(document, log) != []


def test_the_theme_is_what_the_address_asks_for(browser, small):
    for theme in ("light", "dark"):
        document, _ = open_page(browser, small, f"#theme={theme}")
        assert root_of(document)["data-theme"] == theme and f"Theme: {theme}" in document
    assert "data-theme" not in root_of(open_page(browser, small)[0])


def test_the_table_of_problems_sorts_in_both_orders(browser, small):
    up = problems_of(open_page(browser, small, "#sort=ours")[0])
    assert [us for _, us in up] == [10, 20, 30]
    down, _ = open_page(browser, small, "#sort=-ours")
    assert problems_of(down) == up[::-1]
    assert 'aria-sort="descending"' in down
    assert [name for name, _ in problems_of(open_page(browser, small, "#sort=matrix")[0])] == [
        matrix(i) for i in range(3)
    ]


def test_the_table_of_problems_filters_by_every_word(browser, small):
    document, _ = open_page(browser, small, "#filter=SPMM%20layer_1")
    assert problems_of(document) == [(matrix(1), 10)]
    assert ">1 of 3 rows<" in document
    assert problems_of(open_page(browser, small, "#filter=sddmm")[0]) == []


def test_a_table_of_the_page_sorts_by_numbers(browser, committed):
    for sign, reverse in (("", False), ("-", True)):
        document, _ = open_page(browser, committed, f"#sort={sign}2&table=headline-table")
        shown = [float(value) for value in re.findall(r'data-key="[^"]*" data-ratio="([^"]*)"', document)]
        assert len(shown) > 15 and shown == sorted(shown, reverse=reverse)


@pytest.mark.parametrize("width", [320, 390, 1200])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_no_wider_than_its_window(browser, committed, tmp_path, width, theme):
    (tmp_path / "page.html").write_text(committed.read_text().replace("</body>", TELL + "</body>"))
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(width)).replace("THEME", theme))
    document, log = open_page(browser, frame)
    assert errors_of(document, log) == []
    assert root_of(document)["data-told"] == f"{width},0,"
