"""What only a GPU shows: order behind streams, CUDA graphs, reduce-overhead, memory, and what calls cost the host."""

import pytest
import torch
from cases import assert_close, layer, matrix

import vostok.torch as vt


def busy(milliseconds=50):
    """Work on the current stream that takes about as long."""
    torch.cuda._sleep(int(milliseconds * 1_500_000))


def test_both_formats_of_a_frozen_layer_are_captured_once_prepared(gpu, fresh):
    sparse, dense = layer(64, 96, device=gpu)
    frozen = sparse.freeze(8, 2)
    vt.prepare(frozen, progress=False)
    start = fresh.misses
    with torch.no_grad():
        for tokens in (8, 1):
            x, graph = torch.randn(tokens, 96, device=gpu), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = frozen(x)
            for _ in range(2):
                x.copy_(torch.randn(tokens, 96, device=gpu))
                graph.replay()
                assert_close(y, x.double() @ dense.weight.double().mT + dense.bias.double())
    assert fresh.misses == start


@pytest.mark.parametrize("own", [False, True])
def test_index_tensors_that_are_still_being_made_are_waited_for(gpu, fresh, own):
    a, dense = matrix(64, 96, device=gpu)
    x = torch.randn(4, 96, device=gpu)
    expected = x.double() @ dense.double().mT
    stream = torch.cuda.Stream() if own else torch.cuda.default_stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        offsets, columns = torch.full_like(a.row_offsets, 7), torch.zeros_like(a.column_indices)
        busy()
        offsets.copy_(a.row_offsets)
        columns.copy_(a.column_indices)
        y = vt.linear(x, vt.Csr(a.values, offsets, columns, a.shape))
    torch.cuda.synchronize()
    assert_close(y, expected)


def test_packing_waits_for_values_that_are_still_being_made(gpu):
    sparse, dense = layer(64, 96, device=gpu)
    values = sparse.values.detach().clone()
    with torch.no_grad():
        sparse.values.zero_()
        torch.cuda.synchronize()
        busy()
        sparse.values.copy_(values)
        frozen = sparse.freeze(4)
        x = torch.randn(4, 96, device=gpu)
        assert_close(frozen(x), x.double() @ dense.weight.double().mT + dense.bias.double())


def test_a_captured_call_is_replayed_with_new_inputs_and_an_unplanned_one_refused(gpu, fresh):
    sparse, dense = layer(64, 96, device=gpu)
    x = torch.randn(8, 96, device=gpu)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        with pytest.raises(RuntimeError, match="cannot plan vostok::linear while the stream is being captured"):
            with torch.cuda.graph(graph):
                sparse(x)
        vt.prepare(sparse, [8], progress=False)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = sparse(x)
        assert all(entry.captured for entry in fresh.lookup.entries.values())
        vt.set_limit(0)
        try:
            vt.linear(torch.randn(2, 96, device=gpu), matrix(64, 96, device=gpu)[0])  # evicts what may go
            for _ in range(3):
                x.copy_(torch.randn(8, 96, device=gpu))
                graph.replay()
                assert_close(y, x.double() @ dense.weight.double().mT + dense.bias.double())
        finally:
            fresh.lookup.limits.clear()


def test_an_evicted_entry_lives_until_its_work_has_run(gpu, fresh):
    x = torch.randn(4, 96, device=gpu)
    a, dense = matrix(64, 96, device=gpu)
    other, _ = matrix(64, 96, device=gpu)
    vt.linear(x, a)
    vt.prepare(vt.SparseLinear(other), [4], progress=False)
    fresh.lookup.clear()
    torch.cuda.synchronize()
    vt.linear(x, a)
    vt.set_limit(0)
    try:
        busy()
        y = vt.linear(x, a)
        vt.linear(x, other)
        vt.linear(x, a)
        assert_close(y, x.double() @ dense.double().mT)
        torch.cuda.synchronize()
        fresh.lookup._settle()
        assert not fresh.lookup.retired
    finally:
        fresh.lookup.limits.clear()


@pytest.mark.parametrize("counts", [None, (8,), (8, 4), (16, 8)])
def test_reduce_overhead_runs_in_cuda_graphs_without_planning_again(gpu, fresh, counts):
    pytest.importorskip("triton", reason="triton is not installed")
    model = torch.nn.Sequential(layer(64, 96, device=gpu)[0], torch.nn.GELU(), layer(32, 64, device=gpu)[0]).eval()
    if counts:
        vt.freeze_(model, *counts)
    torch._dynamo.reset()
    compiled = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    with torch.no_grad():
        for call in range(6):
            torch.compiler.cudagraph_mark_step_begin()
            x = torch.randn(8, 96, device=gpu)
            y = compiled(x).clone()
            assert_close(y, model(x).double(), factor=16)
            if call == 2:
                misses = fresh.misses
    assert fresh.misses == misses


def test_gradients_are_scaled_and_unscaled(gpu):
    sparse, _ = layer(64, 96, device=gpu)
    optimizer = torch.optim.SGD(sparse.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    before = sparse.values.detach().clone()
    with torch.autocast("cuda", torch.float16):
        loss = sparse(torch.randn(8, 96, device=gpu)).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(sparse.values, before) and sparse.values.isfinite().all()


def test_streams_that_run_at_once_have_workspaces_of_their_own(gpu):
    a, dense = matrix(256, 256, device=gpu)
    inputs = [torch.randn(64, 256, device=gpu) for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in inputs]
    vt.linear(inputs[0], a)
    torch.cuda.synchronize()
    results = []
    for _ in range(10):
        for x, stream in zip(inputs, streams):
            with torch.cuda.stream(stream):
                results.append((x, vt.linear(x, a)))
    torch.cuda.synchronize()
    for x, y in results:
        assert_close(y, x.double() @ dense.double().mT, factor=16)


def test_a_second_gpu_has_a_context_of_its_own(gpu):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU only")
    a, dense = matrix(64, 96, device="cuda:1")
    x = torch.randn(4, 96, device="cuda:1")
    assert_close(vt.linear(x, a), x.double() @ dense.double().mT)
    with pytest.raises(TypeError, match="is on cuda:0"):
        vt.linear(x.to("cuda:0"), a)


def test_calls_of_the_default_stream_share_a_workspace_beside_those_of_another(gpu, fresh):
    from vostok.torch import _devices

    matrices = [matrix(64, 96, device=gpu) for _ in range(4)]
    x = torch.randn(24, 96, device=gpu)
    for a, _ in matrices:
        vt.linear(x, a)
    prepared = [plan for entry in fresh.lookup.entries.values() for plan in entry.plans.values()]
    assert sum(0 < plan.workspace_bytes <= _devices._SHARED_BYTES for plan in prepared) > 1
    other = torch.cuda.Stream()
    other.wait_stream(torch.cuda.default_stream())
    results = []
    for i in range(200):
        a, dense = matrices[i % 4]
        with torch.cuda.stream(other if i % 3 == 0 else torch.cuda.default_stream()):
            results.append((vt.linear(x, a), dense))
    torch.cuda.synchronize()
    for y, dense in results:
        assert_close(y, x.double() @ dense.double().mT)
