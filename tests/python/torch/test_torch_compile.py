"""torch.compile, torch.export and AOTInductor. Two tests go through Inductor, which takes half a minute each here; the
others through aot_eager, which has the same tracing, functionalisation and gradients."""

import copy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cases import assert_close, layer, matrix
from torch import nn

import vostok.torch as vt


@pytest.fixture(autouse=True)
def without_leftovers():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Counter:
    """aot_eager, and how many graphs were made."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)


def block(device):
    return nn.Sequential(layer(32, 24, device=device)[0], nn.GELU(), layer(16, 32, device=device, activation="relu")[0])


def test_a_block_compiles_to_one_graph_and_dynamic_batches_to_one_more(device):
    model, counter = block(device), Counter()
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    for tokens in (3, 5, 9, 17):
        x = torch.randn(tokens, 24, device=device, requires_grad=True)
        expected = model(x)
        (gradient,) = torch.autograd.grad(expected.square().sum(), x)
        y = compiled(x)
        y.square().sum().backward()
        assert torch.equal(y, expected)
        assert torch.allclose(x.grad, gradient, rtol=1e-5, atol=1e-5)
    assert counter.graphs <= 3


def test_gradients_of_parameters_are_the_same_compiled(device):
    model = block(device)
    x = torch.randn(4, 24, device=device)
    model(x).square().sum().backward()
    eager = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.compile(model, backend="aot_eager", fullgraph=True)(x).square().sum().backward()
    for parameter, expected in zip(model.parameters(), eager):
        assert torch.allclose(parameter.grad, expected, rtol=1e-5, atol=1e-5)


def test_every_function_compiles(device):
    a, _ = matrix(8, 8, device=device)

    def f(x, values):
        b = vt.softmax(a.with_values(vt.sddmm(a, x, x, multiplier=values)), scale=0.5)
        return vt.attention(x, x, vt.spmm(b, x, activation="silu"), a) + vt.linear(x, b)[..., :4].sum()

    x, values = torch.randn(8, 8, device=device), a.values.clone().requires_grad_()
    expected = f(x, values)
    expected.sum().backward()
    eager, values.grad = values.grad, None
    found = torch.compile(f, backend="aot_eager", fullgraph=True)(x, values)
    found.sum().backward()
    assert torch.equal(found, expected) and torch.allclose(values.grad, eager, rtol=1e-4, atol=1e-5)


def test_layers_of_equal_nonzeros_share_a_graph_and_others_do_where_shapes_are_dynamic(device):
    def layers(counts):
        return [vt.SparseLinear(vt.csr(torch.randn(16, 16, device=device), count=n, per="row")) for n in counts]

    x = torch.randn(3, 16, device=device)
    for counts, static, graphs in (((5,) * 4, True, 1), ((3, 4, 5, 6), True, 4), ((3, 4, 5, 6), False, 2)):
        torch._dynamo.reset()
        counter = Counter()
        with torch._dynamo.config.patch(force_parameter_static_shapes=static):

            def forward(module, x):
                return module(x)

            compiled = torch.compile(forward, backend=counter, fullgraph=True)
            for each in layers(counts):
                compiled(each, x)
        assert counter.graphs == graphs, (counts, static)


def test_autocast_is_the_same_compiled(device):
    model = block(device)
    x = torch.randn(3, 24, device=device)

    def f(x):
        with torch.autocast(device, torch.bfloat16):
            return model(x)

    y = torch.compile(f, backend="aot_eager", fullgraph=True)(x)
    assert y.dtype == torch.bfloat16 and torch.equal(y, f(x))


def test_second_derivatives_are_refused_compiled_by_torch(device):
    model = block(device)
    x = torch.randn(3, 24, device=device, requires_grad=True)
    y = torch.compile(model, backend="aot_eager", fullgraph=True)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


def test_frozen_layers_compile(device):
    frozen = layer(16, 24, device=device)[0].freeze(4)
    x = torch.randn(3, 24, device=device)
    with torch.no_grad():
        assert torch.equal(torch.compile(frozen, backend="aot_eager", fullgraph=True)(x), frozen(x))


def test_a_new_mask_in_a_compiled_layer_is_used(device):
    sparse, dense = layer(16, 24, device=device)
    compiled = torch.compile(sparse, backend="aot_eager", fullgraph=True)
    x = torch.randn(3, 24, device=device)
    compiled(x)
    mask = vt.csr((torch.rand(16, 24, device=device) < 0.5).float())
    sparse.set_mask(mask.row_offsets, mask.column_indices)
    wide = (dense.weight * vt.dense(mask)).double()
    assert_close(compiled(x), x.double() @ wide.mT + dense.bias.double())


def test_index_tensors_are_marked_as_static(device):
    a, _ = matrix(8, 8, device=device)
    sparse = vt.SparseLinear(a)
    sparse.load_state_dict(vt.SparseLinear(matrix(8, 8, device=device)[0]).state_dict(), assign=True)
    for tensor in (a.row_offsets, a.column_indices, sparse.row_offsets, sparse.column_indices):
        assert tensor._dynamo_static_input_type == "unguarded"


def test_what_names_a_structure_is_marked_wherever_it_comes_from(device):
    """CUDA-graph trees copy inputs that are not, and a copy is another structure at every call."""
    a, dense = matrix(8, 8, device=device)
    sparse, mask = vt.SparseLinear(a), matrix(8, 8, device=device)[0]
    sparse.set_mask(mask.row_offsets, mask.column_indices)
    frozen = vt.SparseLinear(a).freeze(2)
    frozen.load_state_dict(vt.SparseLinear(mask).freeze(2).state_dict(), assign=True)
    made = [dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_bsr((4, 4)), dense]
    structures = [*map(vt.csr, made), vt.BandedMask(3).csr(8, 8, device), sparse.csr(), copy.deepcopy(sparse).csr()]
    tensors = [tensor for each in structures for tensor in (each.row_offsets, each.column_indices)]
    for tensor in (*tensors, frozen.packed, copy.deepcopy(frozen).packed):
        assert tensor._dynamo_static_input_type == "unguarded"


def test_sizes_of_a_matrix_may_be_symbols(device):
    counter = Counter()

    @torch.compile(backend=counter, fullgraph=True, dynamic=True)
    def f(x, values, offsets, columns):
        sizes = offsets.shape[0] - 1, x.shape[1]
        y = torch.ops.vostok.linear(x, values, offsets, columns, *sizes)
        return torch.ops.vostok.spmm(values, offsets, columns, *sizes, y, transpose=True)

    for rows, cols in ((6, 9), (11, 7), (13, 20)):
        a, dense = matrix(rows, cols, device=device)
        x = torch.randn(rows, cols, device=device)
        expected = dense.double().mT @ (x.double() @ dense.double().mT)
        assert_close(f(x, a.values, a.row_offsets, a.column_indices), expected, factor=16)
    assert counter.graphs == 1


def test_an_exported_program_is_saved_loaded_and_right_for_any_batch(device, tmp_path):
    model = block(device).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    x = torch.randn(4, 24, device=device)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "model.pt2")
    loaded = torch.export.load(tmp_path / "model.pt2").module()
    for tokens in (1, 4, 9):
        x = torch.randn(tokens, 24, device=device)
        assert torch.equal(loaded(x), model(x))


def inductor_reason():
    return None if torch.cuda.is_available() or shutil.which("g++") else "Inductor needs g++"


@pytest.mark.skipif(inductor_reason() is not None, reason=str(inductor_reason()))
def test_inductor_trains_a_block(device):
    model = block(device)
    x = torch.randn(4, 24, device=device, requires_grad=True)
    expected = model(x)
    (gradient,) = torch.autograd.grad(expected.square().sum(), x)
    y = torch.compile(model, fullgraph=True)(x)
    y.square().sum().backward()
    assert_close(y, expected.double(), factor=16)
    assert torch.allclose(x.grad, gradient, rtol=1e-4, atol=1e-4)


def packages(kind, device, folder):
    """The process that loads two AOTInductor packages one after the other."""
    folder.mkdir()
    command = [sys.executable, str(Path(__file__).with_name("aoti_packages.py")), str(folder), device, kind]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


@pytest.mark.skipif(inductor_reason() is not None, reason=str(inductor_reason()))
def test_aotinductor_packages_loaded_one_after_the_other_have_their_own_masks(device, tmp_path):
    done = packages("sparse", device, tmp_path / "sparse")
    if done.returncode < 0:  # a signal: is it torch's loader alone?
        without = packages("dense", device, tmp_path / "dense")
        if without.returncode < 0:
            pytest.skip(f"torch {torch.__version__} cannot load two AOTInductor packages, of nn.Linear either")
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
    assert done.stdout.endswith("right\n")
