"""How plans are found: by storage, version and shape; what is forgotten, refused and tried again."""

import copy
import gc
import os
import pickle
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
import torch
from cases import assert_close, layer, matrix

import vostok
import vostok.torch as vt
from vostok.torch import _devices, _entries, _lookup


def test_a_second_call_plans_nothing_and_other_tokens_only_past_a_power_of_two(device, fresh):
    a, _ = matrix(16, 24, device=device)
    vt.linear(torch.randn(5, 24, device=device), a)
    first = fresh.misses
    for tokens in (5, 6, 7, 8):
        vt.linear(torch.randn(tokens, 24, device=device), a)
    assert fresh.misses == first == 2  # a topology and a plan
    vt.linear(torch.randn(9, 24, device=device), a)
    assert fresh.misses == 3


def test_index_tensors_that_were_written_to_are_another_structure(device):
    a, dense = matrix(8, 12, device=device)
    x = torch.randn(3, 12, device=device)
    before = vt.linear(x, a)
    flipped = dense.flip(0)
    b = vt.csr(flipped)
    a.row_offsets.copy_(b.row_offsets)
    a.column_indices.copy_(b.column_indices)
    assert_close(vt.linear(x, a.with_values(b.values)), x.double() @ flipped.double().mT)
    assert not torch.equal(before, vt.linear(x, b))


def test_memory_that_is_used_again_is_another_structure():
    """Two AOTInductor packages, one loaded after the other, had index tensors of equal addresses and versions."""
    masks = [torch.eye(8, dtype=torch.bool), torch.eye(8, dtype=torch.bool).flip(0)]
    memory = np.zeros(8, dtype=np.int32)
    offsets = torch.arange(9, dtype=torch.int32)
    x, values = torch.randn(3, 8), torch.randn(8)
    for mask in masks:
        memory[:] = mask.nonzero()[:, 1].numpy()
        columns = torch.from_numpy(memory)
        address, version = columns.data_ptr(), columns._version
        dense = torch.zeros(8, 8)
        dense[mask] = values
        assert_close(vt.linear(x, vt.Csr(values, offsets, columns, (8, 8))), x.double() @ dense.double().mT)
        del columns
        gc.collect()
    assert (address, version) == (memory.ctypes.data, 0)


def test_tensors_in_memory_of_those_before_are_another_structure_and_nothing_is_held_for_these(device, fresh):
    x = torch.randn(2, 64, device=device)
    for _ in range(8):
        a = vt.csr(torch.randn(32, 64, device=device), count=9, per="row")  # as many nonzeros, in memory as large
        assert_close(vt.linear(x, a), x.double() @ vt.dense(a).double().mT)
        assert sum(not entry.is_expired for entry in fresh.lookup.entries.values()) == 1
        kept = weakref.ref(a.column_indices)
        del a
        gc.collect()
        assert kept() is None
    (entry,) = fresh.lookup.entries.values()  # a miss forgets those whose tensors are gone
    assert entry.is_expired


def test_views_of_indices_with_gaps_are_refused(device):
    a, _ = matrix(8, 12, device=device)
    gaps = torch.stack([a.column_indices, a.column_indices], 1)[:, 0]
    with pytest.raises(ValueError, match="column_indices has strides"):
        vt.linear(torch.randn(2, 12, device=device), vt.Csr(a.values, a.row_offsets, gaps, a.shape))


def test_inference_tensors_are_looked_up_too(device, fresh):
    with torch.inference_mode():
        a, dense = matrix(8, 12, device=device)
        x = torch.randn(3, 12, device=device)
        for _ in range(3):
            assert_close(vt.linear(x, a), x.double() @ dense.double().mT)
    assert fresh.misses == 2


def test_what_was_used_longest_ago_goes_where_the_limit_is_reached(device, fresh, monkeypatch):
    x = torch.randn(2, 64, device=device)
    matrices = [matrix(32, 64, device=device)[0] for _ in range(4)]
    vt.linear(x, matrices[0])
    size = next(iter(fresh.lookup.entries.values())).held_bytes
    index = -1 if device == "cpu" else 0
    before = _lookup.LOOKUP.limit(index)
    vt.set_limit(int(2.5 * size), device)
    monkeypatch.setattr(_lookup.LOOKUP, "told_of_limit", False)
    try:
        with pytest.warns(UserWarning, match="more than the limit of .*: the oldest is forgotten") as told:
            for a in matrices[1:]:
                vt.linear(x, matrices[0])
                vt.linear(x, a)
        assert len(told) == 1 and len(fresh.lookup.entries) == 2
        start = fresh.misses
        vt.linear(x, matrices[0])
        vt.linear(x, matrices[3])
        assert fresh.misses == start
    finally:
        _lookup.LOOKUP.limits[index] = before


def test_a_miss_under_capture_is_refused_before_anything_is_made(device, fresh, monkeypatch):
    a, _ = matrix(8, 12, device=device)
    x = torch.randn(3, 12, device=device)
    monkeypatch.setattr(_lookup, "is_capturing", lambda index: True)
    text = r"cannot plan vostok::linear while the stream is being captured: call vostok.torch.prepare\(model, tokens\)"
    with pytest.raises(RuntimeError, match=text):
        vt.linear(x, a)
    assert not fresh.lookup.entries
    monkeypatch.undo()
    vt.linear(x, a)
    monkeypatch.setattr(_lookup, "is_capturing", lambda index: True)
    vt.linear(x, a)  # is known: no miss
    with pytest.raises(RuntimeError, match=text):
        vt.linear(torch.randn(30, 12, device=device), a)


def test_out_of_memory_is_tried_once_more_with_torchs_memory_given_back(monkeypatch):
    given_back = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(1))
    monkeypatch.setattr(_devices, "is_capturing", lambda index: False)
    failures = [vostok.OutOfMemory("cannot allocate 12 bytes")]

    def make():
        if failures:
            raise failures.pop()
        return "made"

    assert _devices.with_memory(0, make) == "made" and given_back == [1]
    failures[:] = [vostok.OutOfMemory("a"), vostok.OutOfMemory("b")]
    with pytest.raises(vostok.OutOfMemory):
        _devices.with_memory(0, make)
    monkeypatch.setattr(_devices, "is_capturing", lambda index: True)
    failures[:] = [vostok.OutOfMemory("a")]
    with pytest.raises(vostok.OutOfMemory):
        _devices.with_memory(0, make)
    assert given_back == [1, 1]


def test_weights_larger_than_half_of_the_last_cache_are_planned_as_cold():
    from vostok.torch._linear import policy_of

    class Info:
        gpu = True
        l2_bytes = 1200

    class Context:
        device = Info

    class Topology:
        nonzeros = 100

    assert policy_of(Context, Topology, 2) == "warm"
    Topology.nonzeros = 101
    assert policy_of(Context, Topology, 2) == "cold"
    assert policy_of(Context, Topology, 2, "warm") == "warm"
    Topology.nonzeros, Info.gpu = 100, False
    assert policy_of(Context, Topology, 2, "cold") == "warm"


def test_stream_zero_is_named_where_something_is_made(monkeypatch):
    """For calls that make something 0 means that operands are complete: a race on PyTorch's default stream."""
    monkeypatch.setattr(_devices, "_raw_stream", lambda index: 0)
    assert _devices.making_stream(0) == 1 and _devices.stream_of(0) == 0
    monkeypatch.setattr(_devices, "_raw_stream", lambda index: 77)
    assert _devices.making_stream(0) == _devices.stream_of(0) == 77


def test_evicted_entries_wait_for_the_streams_that_used_them(monkeypatch, fresh):
    done, recorded = [], []

    class Event:
        def record(self, stream):
            recorded.append(stream)

        def query(self):
            return bool(done)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda index: ("default", index))
    monkeypatch.setattr(torch.cuda, "ExternalStream", lambda stream, device: (stream, device))
    entry = _entries.Entry(None, (torch.empty(1),), None, None)
    entry.index, entry.streams = 0, {0, 77}
    fresh.lookup._retire(entry)
    assert sorted(recorded, key=str) == [("default", 0), (77, 0)]
    fresh.lookup._settle()
    assert [kept for _, kept in fresh.lookup.retired] == [entry]
    done.append(1)
    fresh.lookup._settle()
    assert not fresh.lookup.retired


def test_threads_that_miss_together_plan_once(device, fresh, monkeypatch):
    make = _lookup.make_topology
    monkeypatch.setattr(_lookup, "make_topology", lambda *given: time.sleep(0.1) or make(*given))
    a, dense = matrix(16, 24, device=device)
    x = torch.randn(4, 24, device=device)
    results, barrier = [], threading.Barrier(4)

    def work():
        barrier.wait()
        results.append(vt.linear(x, a))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for y in results:
        assert_close(y, x.double() @ dense.double().mT)
    assert sum(len(entry.plans) for entry in fresh.lookup.entries.values()) == 1
    assert fresh.misses == 2  # a topology and a plan: none made again what another had made


def test_a_child_of_fork_plans_anew_on_the_emulator():
    a, dense = matrix(8, 12)
    x = torch.randn(3, 12)
    vt.linear(x, a)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            error = (vt.linear(x, a).double() - x.double() @ dense.double().mT).abs().max()
            os.write(write, b"right" if error < 1e-5 else b"wrong")
        except BaseException as error:
            os.write(write, repr(error).encode())
        os._exit(0)
    os.close(write)
    assert os.read(read, 1000) == b"right"
    os.waitpid(child, 0)


def test_index_tensors_that_are_rewritten_at_every_call_are_told_of(device, fresh):
    a, _ = matrix(8, 12, device=device)
    x = torch.randn(3, 12, device=device)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(6):
            a.row_offsets.copy_(a.row_offsets.clone())
            vt.linear(x, a)
    assert len([w for w in seen if "ignore_indices" in str(w.message)]) == 1


def test_prepare_leaves_nothing_to_plan(device, fresh):
    sparse, _ = layer(16, 24, device=device, activation="relu")
    sparse.train()
    report = vt.prepare(sparse, [4], progress=False)
    assert len(report) == 4 and not any(row.error for row in report)
    start = fresh.misses
    sparse(torch.randn(4, 24, device=device, requires_grad=True)).sum().backward()
    with torch.no_grad():
        sparse(torch.randn(3, 24, device=device))
    assert fresh.misses == start
    text = vt.explain(sparse)
    assert "linear torch.float32" in text and "row_tile" in text or "from:" in text
    assert "1 topologies" in vt.doctor()


def test_explain_tells_of_all_calls_with_a_structure(device, fresh):
    a, _ = matrix(8, 8, device=device)
    assert "no plans yet" in vt.explain(a)
    q = torch.randn(2, 8, 4, device=device)
    vt.attention(q, q, q, a, math="strict")
    text = vt.explain(a)
    assert text.startswith(f"Csr(shape=(8, 8), nonzeros={a.values.shape[0]})")
    assert "math='strict'" in text and all(f"\n  {step} " in text for step in ("sddmm", "softmax", "spmm"))


def test_clear_forgets_and_calls_plan_again(device, fresh):
    a, _ = matrix(8, 12, device=device)
    x = torch.randn(3, 12, device=device)
    y = vt.linear(x, a)
    vt.clear()
    assert not fresh.lookup.entries
    assert torch.equal(vt.linear(x, a), y)


def test_sparse_csr_tensors_are_found_again(device, fresh):
    _, dense = matrix(16, 24, device=device)
    sparse, b = dense.to_sparse_csr(), torch.randn(24, 4, device=device)
    vt.spmm(sparse, b)
    first = fresh.misses
    vt.spmm(sparse, b)
    assert fresh.misses == first


def test_calls_that_must_not_overlap_are_planned_so(device, fresh, monkeypatch):
    a, _ = matrix(16, 24, device=device)
    x = torch.randn(2, 24, device=device)
    seen = []
    plan = vostok.Context.plan
    monkeypatch.setattr(
        vostok.Context, "plan", lambda *args, **kw: seen.append(kw["overlap_calls"]) or plan(*args, **kw)
    )
    vt.linear(x, a)
    vt.set_overlap_calls(False)
    try:
        vt.linear(x, a)
    finally:
        vt.set_overlap_calls(True)
    assert seen == [True, False]


def test_schemas_hold_tensors_and_numbers_only():
    """Handles as ints or strings recompile once a layer, opaque ones are not exported, CPU tensors move to the GPU."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("vostok::")]
    assert len(names) == 9
    for name in names:
        schema = getattr(torch.ops.vostok, name.split("::")[1]).default._schema
        for argument in schema.arguments:
            kind = str(argument.real_type)
            assert kind in ("Tensor", "Optional[Tensor]", "SymInt", "int", "float", "bool", "str"), (name, kind)
            assert kind not in ("int", "SymInt") or argument.name in ("rows", "cols", "max_tokens")
            assert kind != "str" or argument.name in ("activation", "math", "policy", "saved")
        assert " int rows" not in str(schema) and " int cols" not in str(schema)  # SymInt, which real_type calls int
        assert not schema.is_mutable and all(str(result.type) == "Tensor" for result in schema.returns)


def test_a_layers_shortcut_notices_whatever_becomes_of_its_index_tensors(device, fresh):
    sparse, _ = layer(16, 24, device=device)
    other, _ = layer(16, 24, device=device)
    other = copy.deepcopy(other)
    x = torch.randn(3, 24, device=device)

    def right():
        with torch.no_grad():
            assert_close(sparse(x), sparse.to_dense().double()(x.double()))
            start = fresh.misses
            sparse(x)
            assert fresh.misses == start

    right()
    vt.clear()
    right()
    sparse.set_mask(other.row_offsets, other.column_indices, other.values.detach())
    right()
    flipped = vt.csr(vt.dense(sparse.csr()).detach().flip(0))
    sparse.row_offsets.copy_(flipped.row_offsets)
    sparse.column_indices.copy_(flipped.column_indices)
    right()
    sparse.column_indices.data = (23 - sparse.column_indices.long()).to(torch.int32)  # counts no version
    right()
    sparse = copy.deepcopy(sparse)
    right()
    sparse = pickle.loads(pickle.dumps(sparse))
    right()
    with torch.inference_mode():
        sparse.row_offsets, sparse.column_indices = sparse.row_offsets.clone(), sparse.column_indices.clone()
        right()


def test_what_listens_to_operators_hears_a_layer_without_a_gradient(device):
    sparse, _ = layer(16, 24, device=device)
    x = torch.randn(3, 24, device=device)
    heard = []

    class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            heard.append(str(function))
            return function(*args, **(kwargs or {}))

    class Called(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            heard.append(str(function))
            return function(*args, **(kwargs or {}))

    with torch.no_grad():
        for mode in (Dispatched, Called):
            heard.clear()
            with mode():
                sparse(x)
            assert any("vostok" in name for name in heard)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            sparse(x)
        assert "vostok::linear" in {event.name for event in profile.events()}
        with torch.autocast(device, torch.bfloat16):
            assert sparse(x).dtype == torch.bfloat16
        with pytest.raises(RuntimeError, match="cannot transform vostok::linear by torch.func"):
            torch.func.vmap(sparse)(x)
