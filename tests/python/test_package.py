"""What `import vostok` brings into a process, and what installing it asks for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def output_of(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_librarys_symbols_stay_its_own():
    """Processes with torch hold other copies of what the library is made of."""
    script = """
import ctypes
import vostok
from vostok import _c
_c.raw_execute("spmm")
everywhere = ctypes.CDLL(None)
own = ctypes.CDLL(str(_c.LIBRARY_PATH))
for name in ("vostok_version", "vostok_execute_spmm"):
    print(hasattr(own, name), hasattr(everywhere, name))
"""
    assert output_of(script) == ["True", "False"] * 2


def test_the_package_imports_neither_torch_nor_scipy():
    script = """
import sys
import vostok, vostok.cache, vostok.tools, vostok.tuning
print(*sorted({name.split(".")[0] for name in sys.modules} & {"numpy", "scipy", "torch", "sqlite3", "vostok"}))
"""
    assert output_of(script) == ["numpy", "vostok"]


def project():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib to read pyproject.toml with")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_numpy_alone_is_needed_and_torch_is_never_bounded_from_above():
    """pip follows bounds and pins of what it installs, and would put another torch in the place of the user's."""
    about = project()
    assert about["dependencies"] == ["numpy"]
    extras = about["optional-dependencies"]
    assert [name for name, wanted in extras.items() if any(each.startswith("torch") for each in wanted)] == ["torch"]
    assert [re.fullmatch(r"torch>=[0-9.]+", each) is not None for each in extras["torch"]] == [True]


def test_torch_of_the_tests_is_pinned_to_the_toolkits_cuda():
    """LD_LIBRARY_PATH goes before torch's own folders: a toolkit's NCCL serves a torch of the same CUDA only."""
    lines = (ROOT / "tests" / "python" / "requirements-torch.txt").read_text().splitlines()
    wanted = [line.split(";")[0].strip() for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", each) for each in wanted), wanted
    assert not [each for each in wanted if each.startswith("nvidia-") and "cu1" in each and "-cu13" not in each]
    torch = pytest.importorskip("torch", reason="torch is not installed")
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    toolkit = {path.name.split(".")[2] for folder in folders for path in folder.glob("libcudart.so.*")}
    if not toolkit or torch.version.cuda is None:
        pytest.skip("LD_LIBRARY_PATH names no CUDA toolkit, or torch is not for CUDA: torch finds its own libraries")
    assert torch.version.cuda.split(".")[0] in toolkit


def test_cache_files_are_read_by_another_process_and_the_module_says_why(tmp_path, monkeypatch):
    """Two copies of SQLite in one process take each other's POSIX locks away."""
    import vostok

    tool = tmp_path / "vostok"
    tool.write_text('#!/bin/sh\necho "$$ $*"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("VOSTOK_TOOL", str(tool))
    for read, words in ((vostok.cache.dump, "cache dump a.db"), (vostok.cache.verify, "cache verify a.db")):
        process, said = read("a.db").split(maxsplit=1)
        assert int(process) != os.getpid() and said.strip() == words
    script = """
import sys
import vostok
context = vostok.Context("emulator", log=lambda level, line: None)
vostok.csr([[1.0, 0.0], [0.0, 2.0]], element="f32", context=context)
vostok.cache.dump("a.db")
print("sqlite3" in sys.modules)
"""
    assert output_of(script) == ["False"]
    said = " ".join(vostok.cache.__doc__.split())
    assert "sqlite3" in said and "locks" in said and "read a copy" in said
