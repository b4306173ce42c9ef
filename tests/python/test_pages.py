"""The Python blocks of the pages, each a program in a process of its own."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
for folder in ("bench", "cache", "src", "templates", "tests"):
    PAGES += sorted((ROOT / folder).glob("**/README.md"))
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [
    pytest.param(info.strip(), program, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, (info, program) in enumerate(BLOCK.findall(page.read_text()), 1)
]


def test_the_first_page_has_a_program_in_python():
    assert any("numpy" in program.values[1] for program in PROGRAMS)
    assert {program.values[0] for program in PROGRAMS} <= {"", "needs: torch"}


@pytest.mark.parametrize("info, program", PROGRAMS)
def test_a_program_of_a_page_runs(info, program, tmp_path):
    needed = [module for module in ("scipy", "torch") if re.search(rf"\b{module}\b", info + program)]
    for module in needed:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"a program of the pages needs {module}, which is not here")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
