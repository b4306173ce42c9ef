"""Type hints and style of the package, as its users' tools see them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "python" / "vostok"


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """What checks files; the runs share a cache, since NumPy's types take most of the time."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    cache = tmp_path_factory.mktemp("mypy")

    def check(*files):
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *map(str, files)]
        return subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent)

    return check


def test_mypy_accepts_the_package(mypy, tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "import numpy as np\n"
        "import vostok\n"
        "context = vostok.Context('emulator')\n"
        "mask = vostok.tools.uniform_mask((8, 8), 0.5, context=context)\n"
        "plan: vostok.SpmmPlan = context.plan(vostok.Spmm(n=4), mask)\n"
        "other: vostok.SoftmaxPlan = context.plan(vostok.Softmax(), mask)\n"
        "matrix: vostok.Csr = vostok.csr(np.eye(8, dtype=np.float32))\n"
        "plan.execute(0, values=1, dense=2, output=3)\n"
    )
    done = mypy(*sorted(PACKAGE.glob("*.py")), user)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_accepts_the_part_for_torch(mypy, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    user = tmp_path / "user.py"
    user.write_text(
        "import torch\n"
        "import vostok.torch as vt\n"
        "a: vt.Csr = vt.csr(torch.eye(8))\n"
        "y: torch.Tensor = vt.linear(torch.ones(2, 8), a, activation='relu')\n"
        "layer: vt.SparseLinear = vt.SparseLinear(a)\n"
        "frozen: vt.FrozenSparseLinear = layer.freeze(4, 1, policy='cold')\n"
        "report: vt.Report = vt.sparsify_(torch.nn.Sequential(layer))\n"
    )
    done = mypy(*sorted((PACKAGE / "torch").glob("*.py")), user)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_sees_a_wrong_call(mypy, tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "import vostok\n"
        "context = vostok.Context('emulator')\n"
        "plan: vostok.SpmmPlan = context.plan(vostok.Softmax(), vostok.tools.uniform_mask((8, 8), 0.5))\n"
        "plan.execute(0, values='x')\n"
    )
    done = mypy(user)
    assert done.returncode == 1 and "Found 2 errors" in done.stdout, done.stdout + done.stderr


def test_the_package_declares_its_types_and_every_public_name_its_meaning():
    import inspect

    import vostok

    assert (PACKAGE / "py.typed").exists()
    for module in (vostok, vostok.tools, vostok.tuning, vostok.cache):
        for name, member in vars(module).items():
            if not name.startswith("_") and (inspect.isclass(member) or inspect.isfunction(member)):
                if member.__module__.startswith("vostok"):
                    assert inspect.getdoc(member), f"{module.__name__}.{name}"
