"""Tools, packed values and cache files."""

import gc
import os
import stat
import weakref

import numpy as np
import pytest

import vostok
from harness import OnDevice, assert_close, csr, execute, needs_host_memory, numbers, poisoned, sparse, wide


def test_dense_to_sparse_and_back(context, rng):
    for element in ("f32", "f16", "bf16"):
        parts = sparse(rng, 12, 16, element=element)
        a = csr(context, parts, element)
        assert_close(a.todense(), parts[1], element)
        assert_close(a.T.todense(), parts[1].T, element)
        again = vostok.tools.sparse_above(a.todense(), element=element, context=context)
        assert np.array_equal(again.values, parts[0][wide(parts[0], element) != 0])
    out = poisoned((12, 16))
    a = csr(context, sparse(rng, 12, 16))
    assert vostok.tools.to_dense(a, out=out) is out and np.array_equal(out, a.todense())
    needs_host_memory(context)
    assert isinstance(vostok.tools.sparse_above(OnDevice(out), context=context).todense(), np.ndarray)


def test_repeated_columns_add_up_and_order_can_be_had(context):
    offsets, columns = np.array([0, 3, 4]), np.array([2, 0, 2, 1])
    a = vostok.csr((np.array([1, 2, 3, 4], np.float32), columns, offsets, (2, 3)), context=context)
    assert a.topology.statistics.duplicates and not a.topology.statistics.sorted
    assert np.array_equal(a.todense(), np.array([[2, 0, 4], [0, 4, 0]], np.float32))
    ordered, positions = vostok.tools.sort_columns(a.topology)
    assert np.array_equal(positions, [1, 0, 2, 3]) and np.array_equal(ordered.read()[1], [0, 2, 2, 1])
    turned, positions = vostok.tools.transpose(a.topology)
    assert turned.shape == (3, 2) and np.array_equal(positions, [1, 3, 0, 2])
    assert np.array_equal(vostok.tools.linear_indices(a.topology), [2, 0, 2, 4])
    assert vostok.tools.linear_indices(a.topology, "int32").dtype == np.int32
    with pytest.raises(vostok.InvalidType, match="index_type"):
        vostok.tools.linear_indices(a.topology, "uint8")


def test_a_topology_is_read_as_it_was_given(context, rng):
    _, dense, offsets, columns = sparse(rng, 12, 16)
    topology = context.topology(offsets, columns, (12, 16))
    for kind in ("int32", "int64"):
        found = topology.read(kind)
        assert np.array_equal(found[0], offsets) and np.array_equal(found[1], columns) and found[1].dtype.name == kind
    lengths = np.diff(offsets)
    statistics = topology.statistics
    assert (statistics.rows, statistics.cols, statistics.nonzeros) == (12, 16, columns.size)
    assert (statistics.longest_row, statistics.empty_rows) == (lengths.max(), (lengths == 0).sum())
    assert topology.device_bytes > 0
    data, indices, indptr = csr(context, (numbers(rng, columns.shape), dense, offsets, columns)).numpy()
    assert np.array_equal(indices, columns) and np.array_equal(indptr, offsets) and data.shape == columns.shape


def test_arrays_at_addresses(context, rng):
    _, dense, offsets, columns = sparse(rng, 12, 16)
    wider = offsets.astype(np.int64)
    topology = context.topology_at(wider.ctypes.data, columns.ctypes.data, 12, 16, row_offset_bytes=8)
    assert np.array_equal(topology.read()[1], columns)
    with pytest.raises(vostok.VostokError, match="3"):
        context.topology_at(wider.ctypes.data, columns.ctypes.data, 12, 16, row_offset_bytes=3)
    with pytest.raises(vostok.InvalidType, match="row_offsets is None"):
        context.topology_at(None, columns.ctypes.data, 12, 16)


def test_masks(context):
    tools = vostok.tools
    assert tools.uniform_mask((16, 32), 0.75, context=context).nonzeros == 128
    band = tools.banded_mask((16, 16), 3, causal=True, context=context)
    assert np.array_equal(np.diff(band.read()[0]), [1, 2] + [3] * 14)
    block = tools.block_mask((16, 16), 4, 0.5, context=context)
    assert block.nonzeros == 128
    mask = tools.attention_mask((64, 64), 8, 0.9, causal=True, seed=5, context=context)
    assert np.array_equal(
        mask.read()[1], tools.attention_mask((64, 64), 8, 0.9, causal=True, seed=5, context=context).read()[1]
    )
    with pytest.raises(vostok.InvalidArgument, match="sparsity"):
        tools.uniform_mask((16, 32), 1.5, context=context)
    with pytest.raises(vostok.InvalidArgument, match="seed is -1"):
        tools.uniform_mask((16, 32), 0.5, seed=-1, context=context)
    with pytest.raises(vostok.InvalidType, match="sparsity is 'much'"):
        tools.uniform_mask((16, 32), "much", context=context)


@pytest.mark.parametrize("element", ("f32", "f16"))
def test_packed_values_multiply_are_saved_and_loaded(context, rng, tmp_path, element):
    parts = sparse(rng, 32, 64, element=element)
    a = csr(context, parts, element)
    packed = a.pack((1, 16))
    for n in (1, 7, 16):
        x = numbers(rng, (64, n), element)
        assert_close(packed @ x, parts[1] @ wide(x, element), element)
    with pytest.raises(vostok.InvalidArgument, match="n up to 16"):
        packed @ numbers(rng, (64, 17), element)
    assert packed.nbytes > 0 and packed.packed.format and packed.packed.topology.shape == (32, 64)
    path = tmp_path / "weights.vostok"
    packed.save(path)
    assert path.read_bytes() == packed.packed.to_bytes() and list(tmp_path.iterdir()) == [path]
    x = numbers(rng, (64, 16), element)
    loaded = context.load_packed(path, a.topology)
    plan = context.plan(packed.problem, a.topology)
    assert plan.packed_format == loaded.format and plan.packed_bytes == loaded.nbytes
    again = context.load_packed(path.read_bytes(), a.topology)
    assert again.to_bytes() == path.read_bytes()


def test_packed_values_stand_alone(context, rng, tmp_path):
    parts = sparse(rng, 32, 64)
    packed = csr(context, parts).pack(8, family="unpack_mma")
    x = numbers(rng, (64, 8))
    packed.save(tmp_path / "weights.vostok")
    for keep in ("everything", "packing", "execution"):
        loaded = vostok.load_packed(tmp_path / "weights.vostok", 8, context=context, keep=keep)
        assert loaded.shape == (32, 64) and loaded.packed.format == packed.packed.format
        assert_close(loaded @ x, parts[1] @ x)
    other = vostok.Context("emulator", log=lambda level, line: None)
    assert_close(vostok.load_packed(packed.packed.to_bytes(), 8, context=other) @ x, parts[1] @ x)
    with pytest.raises(vostok.InvalidArgument, match="keep is 'all'"):
        context.load_packed(packed.packed.to_bytes(), keep="all")


def test_packed_values_lie_in_memory_of_the_callers(context, rng):
    parts = sparse(rng, 32, 64)
    a, x = csr(context, parts), numbers(rng, (64, 8))
    packed = a.pack(8, family="unpack_mma")
    data, head = packed.packed.to_bytes(), packed.packed.head()
    assert data.startswith(head) and len(head) % 256 == 0 and len(data) == len(head) + packed.nbytes

    class Mine(vostok.DeviceArray):
        __slots__ = ()

    def memory(content):
        array = context.array(np.frombuffer(content, np.uint8))
        return Mine(vostok._c.library.vostok_array_retain(array.handle), context, array.shape, array.dtype)

    def product(values):
        output = poisoned((32, 8))
        execute(packed.plan, packed=values, dense=x, output=output, n=8)
        return output

    for content, start in ((data[len(head) :], head), (data, None)):
        array = memory(content)
        kept = weakref.ref(array)
        adopted = context.adopt_packed(array, start, topology=a.topology)
        del array
        gc.collect()
        assert kept() is not None  # as long as the values
        assert_close(product(adopted), parts[1] @ x)
        assert adopted.to_bytes() == data
        del adopted
        gc.collect()
        assert kept() is None
    array = memory(bytes(packed.nbytes))
    kept = weakref.ref(array)
    values = context.array(2 * parts[0])
    doubled = packed.plan.pack_into(array, values.address, 1)
    assert_close(product(doubled), 2 * parts[1] @ x)
    with pytest.raises(vostok.VostokError):
        packed.plan.pack_into(memory(bytes(16)), context.array(parts[0]).address)
    del array, doubled
    gc.collect()
    assert kept() is None
    with pytest.raises(vostok.IoFailure):
        context.adopt_packed(memory(bytes(4096)))


def test_packed_files_that_are_none(context, rng, tmp_path):
    a = csr(context, sparse(rng, 32, 64))
    path = tmp_path / "weights.vostok"
    with pytest.raises(OSError, match="weights.vostok: No such file") as caught:
        context.load_packed(path, a.topology)
    assert caught.value.code == "io_failure"
    data = a.pack(8).packed.to_bytes()
    for damaged in (b"", b"nonsense", data[:-7], data[:100]):
        with pytest.raises(vostok.IoFailure):
            context.load_packed(damaged, a.topology)
    with pytest.raises(vostok.VostokError) as caught:
        context.load_packed(data, csr(context, sparse(rng, 32, 64)).topology)
    assert caught.value.code == "format_mismatch"
    with pytest.raises(vostok.InvalidType, match="source is 3"):
        context.load_packed(3, a.topology)
    with pytest.raises(OSError):
        a.pack(8).save(tmp_path / "nowhere" / "weights.vostok")
    os.symlink(tmp_path / "target", tmp_path / "link")
    a.pack(8).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and stat.S_IMODE((tmp_path / "target").stat().st_mode) & 0o600 == 0o600


def test_the_source_of_a_topology_can_be_given_back(context, rng):
    parts = sparse(rng, 32, 64)
    a = csr(context, parts)
    with pytest.raises(vostok.InvalidArgument):
        a.topology.release_source()
    packed = a.pack(8, family="unpack_mma")
    a.topology.release_source()
    x = numbers(rng, (64, 8))
    assert_close(packed @ x, parts[1] @ x)
    with pytest.raises(vostok.InvalidArgument):
        a @ x


def needs_tool():
    if vostok.cache.tool_path() is None:
        pytest.skip("the tool is not here: VOSTOK_TOOL names none")


def test_cache_files_are_handled_by_the_tool(tmp_path):
    needs_tool()
    files = []
    for name in ("one", "two"):
        context = vostok.Context(
            "emulator", cache=tmp_path / name, first_run="this_process", log=lambda level, line: None
        )
        mask = vostok.tools.uniform_mask((16, 16 + 16 * len(files)), 0.5, context=context)
        vostok.tuning.tune([(vostok.Spmm(n=4), mask)], effort="quick", seconds=5, progress=False, context=context)
        files.append(tmp_path / name / "tuning.db")
        del mask, context
    joined = tmp_path / "joined.db"
    vostok.cache.merge(*files, out=joined)
    text = vostok.cache.dump(joined)
    assert text.count("spmm") >= 2
    (tmp_path / "joined.tuning.txt").write_text(text)
    vostok.cache.load(tmp_path / "joined.tuning.txt", into=tmp_path / "again.db")
    assert vostok.cache.dump(tmp_path / "again.db") == text
    assert "joined.db" in vostok.cache.verify(joined)
    with pytest.raises(vostok.VostokError, match="nowhere.db"):
        vostok.cache.dump(tmp_path / "nowhere.db")
    with pytest.raises(vostok.InvalidType):
        vostok.cache.dump(3)


def test_the_module_hands_over_to_the_tool():
    needs_tool()
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "vostok", "doctor"], capture_output=True, text=True, timeout=120)
    assert "NVRTC" in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "vostok", "frobnicate"], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "frobnicate" in done.stderr
    environment = {**os.environ, "VOSTOK_TOOL": "/nowhere/vostok"}
    done = subprocess.run([sys.executable, "-m", "vostok"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "cannot run /nowhere/vostok" in done.stderr
