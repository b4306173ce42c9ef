"""Contexts: options, callbacks, counters, and which NVRTC and tool they are given."""

import ctypes.util
import os
import subprocess
import sys

import numpy as np
import pytest

import vostok
from harness import assert_close, csr, numbers, sparse
from vostok import _nvrtc, _tool


def test_what_the_device_says_of_itself(emulator):
    device = emulator.device
    assert (device.architecture, device.gpu) == ("emulator", False)
    assert device.multiprocessors >= 1 and device.memory_bytes > 0 and "emulator" in device.name
    assert "emulator" in repr(emulator)


def test_options_that_make_no_sense_are_named():
    for options, kind, words in (
        ({"device": "tpu"}, ValueError, "tpu"),
        ({"device": 3}, TypeError, "device is 3"),
        ({"device": "emul\0ator"}, ValueError, "device holds a NUL"),
        ({"compile": "sometimes"}, ValueError, "compile is 'sometimes', and may be allow or never"),
        ({"first_run": "here"}, ValueError, "first_run is 'here'"),
        ({"compile_threads": -1}, ValueError, "compile_threads .*-1"),
        ({"compile_threads": 1.5}, TypeError, "compile_threads is 1.5"),
        ({"max_workspace_bytes": 2**63}, ValueError, "max_workspace_bytes"),
        ({"worker_timeout_seconds": "long"}, TypeError, "worker_timeout_seconds"),
        ({"cache": 3}, TypeError, "cache is 3"),
        ({"read_only": "folder"}, TypeError, "read_only is 'folder', and must be a list"),
        ({"log": "file"}, TypeError, "log is 'file'"),
        ({"allocator": object()}, TypeError, "no method allocate"),
    ):
        with pytest.raises(kind, match=words) as caught:
            vostok.Context(**{"device": "emulator", **options})
        assert isinstance(caught.value, vostok.VostokError)
    with pytest.raises(TypeError):
        vostok.Context("emulator", speed=11)


def test_without_a_gpu_and_an_emulator_there_is_no_device(tmp_path):
    with pytest.raises(vostok.VostokError, match="libcuda|cuda:99") as caught:
        vostok.Context("cuda:99", cache=tmp_path)
    assert caught.value.code == "no_device"


def test_a_log_is_called_with_level_and_line(tmp_path, rng):
    lines = []
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    context = vostok.Context("emulator", cache=blocked, log=lambda level, line: lines.append((level, line)))
    parts = sparse(rng, 8, 8)
    assert_close(csr(context, parts) @ numbers(rng, (8, 4)) * 0, np.zeros((8, 4)))
    assert any(level == "warning" and str(blocked) in line for level, line in lines), lines
    assert context.counters().cache_warnings >= 1


class Pool:
    """Device memory of the caller's: counted, and refused past a limit."""

    def __init__(self, limit=1 << 40):
        self.limit = limit
        self.held = {}

    def allocate(self, size):
        if sum(map(len, self.held.values())) + size > self.limit:
            return None
        memory = np.empty(size + 256, np.uint8)
        address = memory.ctypes.data + -memory.ctypes.data % 256
        self.held[address] = memory
        return address

    def release(self, address):
        del self.held[address]


def test_an_allocator_serves_all_device_memory(rng):
    pool = Pool()
    context = vostok.Context("emulator", allocator=pool, log=lambda level, line: None)
    parts = sparse(rng, 16, 16)
    a, x = csr(context, parts), numbers(rng, (16, 4))
    assert_close(a @ x, parts[1] @ x)
    array = context.array(x)
    assert pool.held and array.address in pool.held
    assert np.array_equal(array.numpy(), x)
    pool.limit = 0
    with pytest.raises(vostok.OutOfMemory, match="1048"):
        context.empty((1 << 20,), np.uint8)
    with pytest.raises(MemoryError):
        csr(context, sparse(rng, 16, 16))
    pool.limit = 1 << 40
    assert_close(a @ x, parts[1] @ x)
    del a, array, context
    assert not pool.held


def test_device_arrays_are_copied_and_reshaped(context, emulator, rng):
    x = numbers(rng, (3, 4))
    array = context.array(x[:, ::2])
    assert np.array_equal(np.asarray(array), x[:, ::2]) and array.nbytes == 24 and len(array) == 3
    assert np.array_equal(array.reshape((2, 3)).numpy(), x[:, ::2].reshape(2, 3))
    with pytest.raises(vostok.InvalidArgument, match=r"\(3, 2\), and cannot have \(4,\)"):
        array.reshape((4,))
    assert not hasattr(emulator.array(x), "__cuda_array_interface__")  # the emulator's memory is no CUDA memory
    assert context.empty((0, 5), np.float32).numpy().shape == (0, 5)


def test_counters_tell_what_happened(tmp_path, rng):
    parts = sparse(rng, 16, 16)
    counts = []
    for _ in range(2):
        context = vostok.Context("emulator", cache=tmp_path / "cache", log=lambda level, line: None)
        context.plan(vostok.Spmm(n=4), csr(context, parts).topology)
        counts.append(context.counters())
    assert counts[0].kernels_compiled > 0
    assert counts[1].kernels_compiled == 0 and counts[1].code_hits > 0


def test_a_context_that_may_not_compile_says_what_is_missing(tmp_path, rng):
    context = vostok.Context("emulator", cache=tmp_path, compile="never", log=lambda level, line: None)
    with pytest.raises(vostok.VostokError) as caught:
        context.plan(vostok.Spmm(n=4), csr(context, sparse(rng, 16, 16)).topology)
    assert caught.value.code == "missing_kernel"


def test_choices_travel_as_bytes(context):
    data = vostok.cache.export_cache(context)
    assert isinstance(data, bytes)
    vostok.cache.import_cache(data, context)
    vostok.cache.reload(context)
    with pytest.raises(vostok.InvalidArgument, match="line"):
        context.import_cache(b"nonsense\n")
    with pytest.raises(vostok.InvalidType):
        context.import_cache("text")


def test_many_problems_are_prepared_and_each_tells_how_it_fared(context, rng):
    mask = csr(context, sparse(rng, 16, 16)).topology
    found = vostok.tuning.prepare(
        [
            (vostok.Spmm(n=4), mask),
            (vostok.Spmm(n=-4), mask),
            (vostok.Softmax(), mask),
            vostok.Im2col(channels=1, height=4, width=4),
        ],
        context=context,
    )
    assert [error is None for error in found] == [True, False, True, True]
    assert isinstance(found[1], vostok.InvalidArgument) and "-4" in str(found[1])
    assert context.prepare([]) == []
    with pytest.raises(vostok.InvalidType, match="no problem"):
        context.prepare(["spmm"])


def test_a_plan_explains_itself(tmp_path, rng):
    context = vostok.Context("emulator", cache=tmp_path, log=lambda level, line: None)
    plan = context.plan(vostok.Spmm(n=4), csr(context, sparse(rng, 16, 16)).topology)
    assert plan.provenance == "heuristic" and plan.family and plan.config
    assert plan.family in plan.explain() and len(plan.explain("trials")) > len(plan.explain())
    with pytest.raises(vostok.InvalidArgument, match="detail is 'all'"):
        plan.explain("all")
    assert plan.rebind(csr(context, sparse(rng, 16, 16)).topology).family


def nvrtc(folder, name):
    library = folder / name
    library.parent.mkdir(parents=True, exist_ok=True)
    library.write_bytes(b"")
    return library


def test_the_newest_nvrtc_of_the_interpreters_environment_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("VOSTOK_NVRTC", raising=False)
    site = tmp_path / "lib" / "site-packages"
    assert _nvrtc.find_nvrtc([site]) is None
    old = nvrtc(site, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    nvrtc(site, "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.13.9")
    nvrtc(site, "nvidia/cuda_nvrtc/lib/libnvrtc.alt.so.14")
    assert _nvrtc.find_nvrtc([site]) == old
    new = nvrtc(site, "nvidia/cu13/lib/libnvrtc.so.13")
    assert _nvrtc.find_nvrtc([tmp_path, site]) == new
    monkeypatch.setenv("VOSTOK_NVRTC", "/elsewhere")
    assert _nvrtc.find_nvrtc([site]) is None


def test_nvrtc_is_found_from_an_environment_that_is_not_activated(tmp_path):
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    library = nvrtc(_nvrtc.Path(site), "nvidia/cu13/lib/libnvrtc.so.13")
    code = f"import importlib.util as u; s = u.spec_from_file_location('n', {_nvrtc.__file__!r}); " \
           "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.find_nvrtc())"  # fmt: skip
    clean = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "VOSTOK_NVRTC", "PYTHONPATH")
    }
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, env=clean).stdout.strip()
    assert found == str(library)


def test_the_library_is_told_of_that_nvrtc(monkeypatch, tmp_path):
    from vostok._options import Options

    library = nvrtc(tmp_path, "nvidia/cu13/lib/libnvrtc.so.13")
    monkeypatch.delenv("VOSTOK_NVRTC", raising=False)
    monkeypatch.setattr(_nvrtc, "site_folders", lambda: [tmp_path])
    assert Options({}).structure.nvrtc == str(library).encode()
    assert Options({"nvrtc": "/mine"}).structure.nvrtc == b"/mine"
    monkeypatch.setenv("VOSTOK_NVRTC", "/theirs")
    assert Options({}).structure.nvrtc is None


def test_the_packages_tool_is_the_worker_unless_another_is_named(monkeypatch, tmp_path):
    from vostok._options import Options

    monkeypatch.setenv("VOSTOK_TOOL", "/theirs/vostok")
    assert Options({}).structure.worker_tool == b"/theirs/vostok"
    assert Options({"worker_tool": "/mine"}).structure.worker_tool == b"/mine"
    monkeypatch.delenv("VOSTOK_TOOL")
    tool = tmp_path / "bin" / "vostok"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    monkeypatch.setattr(_tool, "package_folders", lambda: [tmp_path / "nowhere", tmp_path])
    assert Options({}).structure.worker_tool is None  # it cannot be executed
    tool.chmod(0o755)
    assert Options({}).structure.worker_tool == str(tool).encode()


def test_the_library_of_an_editable_installation_is_found(monkeypatch, tmp_path):
    from vostok import _c

    monkeypatch.delenv("VOSTOK_LIBRARY", raising=False)
    monkeypatch.setattr(_nvrtc, "site_folders", lambda: [tmp_path])
    library = tmp_path / "vostok" / "lib" / "libvostok.so.0"
    library.parent.mkdir(parents=True)
    if not (_nvrtc.package_folders()[0] / "lib").exists():
        with pytest.raises(ImportError, match="in none of .*VOSTOK_LIBRARY"):
            _c._library_path()
        library.touch()
        assert _c._library_path() == library
    assert _nvrtc.package_folders()[1] == tmp_path / "vostok"


def test_the_default_context_is_one():
    script = "import vostok; c = vostok.default_context(); assert c is vostok.default_context(); print(c.device.name)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_library_that_cannot_be_loaded_is_an_import_error(tmp_path):
    other = tmp_path / "libvostok.so"
    other.write_bytes(b"no library")
    environment = {**os.environ, "VOSTOK_LIBRARY": str(other)}
    done = subprocess.run([sys.executable, "-c", "import vostok"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and f"ImportError: cannot load {other}" in done.stderr
    environment["VOSTOK_LIBRARY"] = ctypes.util.find_library("c") or "libc.so.6"
    done = subprocess.run([sys.executable, "-c", "import vostok"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "vostok_version" in done.stderr
