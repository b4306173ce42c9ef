"""Frozen layers with a second format for few tokens: which calls use it, and that it goes wherever the first does."""

import contextlib
import copy
import pickle

import pytest
import torch
from cases import OPS, assert_close, layer, matrix
from torch import nn
from torch._subclasses import FakeTensorMode

import vostok
import vostok.torch as vt
import vostok.torch.distributed
from vostok.torch import _files, _packed

FEW, MOST = 3, 16
BUFFERS = ["head", "head_few", "packed", "packed_few"]


@pytest.fixture(autouse=True)
def without_leftovers():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def frozen_layer(device, dtype=torch.float32, **options):
    """Frozen with both formats, and the dense layer of the same values."""
    sparse, dense = layer(64, 96, device=device, **options)
    return sparse.to(dtype).freeze(MOST, FEW), dense.to(dtype)


def reference(dense, x):
    return x.double() @ dense.weight.double().mT + dense.bias.double()


def entries(frozen):
    """The look-up's entries of both formats."""
    return [_packed.adopted(packed, head, 0) for packed, head in frozen.formats]


def uses(frozen, call):
    """How many executions of each format call() makes."""
    of, counts = [entry.packed[1].handle for entry in entries(frozen)], [0, 0]
    run = _packed.run_spmm

    def counted(prepared, stream, like, scale, values, packed, *rest):
        counts[of.index(packed)] += 1
        run(prepared, stream, like, scale, values, packed, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_packed, "run_spmm", counted)
        call()
    return counts


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("tokens", [1, FEW - 1, FEW, FEW + 1, MOST, MOST + 1, 2 * MOST + FEW])
def test_calls_of_at_most_few_tokens_use_the_second_format_and_all_are_right(device, tokens, dtype):
    frozen, dense = frozen_layer(device, dtype)
    with torch.no_grad():
        for shape in ((tokens, 96), (tokens, 1, 96)):
            x = torch.randn(shape, device=device).to(dtype)
            assert_close(frozen(x), reference(dense, x))
            expected = [0, 1] if tokens <= FEW else [-(-tokens // MOST), 0]
            assert uses(frozen, lambda x=x: frozen(x)) == expected
        assert frozen(torch.randn(0, 96, device=device, dtype=dtype)).shape == (0, 64)


def test_the_formats_and_their_plans_differ(device):
    frozen, dense = frozen_layer(device, torch.bfloat16)
    many, few = entries(frozen)
    assert (many.packed[0].max_tokens, few.packed[0].max_tokens) == (MOST, FEW)
    if device == "cpu":
        assert many.packed[1].format.startswith("strip") and few.packed[1].format.startswith("runs")
    with torch.no_grad():
        frozen(torch.randn(FEW, 96, device=device, dtype=torch.bfloat16))
        assert [len(entry.plans) for entry in (many, few)] == [0, 1]
        frozen(torch.randn(FEW + 1, 96, device=device, dtype=torch.bfloat16))
    assert [len(entry.plans) for entry in (many, few)] == [1, 1]
    text = vt.explain(frozen)
    assert f"max_tokens={MOST}: {many.packed[1].format}" in text and f"max_tokens={FEW}: {few.packed[1].format}" in text
    assert f"bytes={frozen.packed.nbytes}, bytes_few={frozen.packed_few.nbytes}, bias" in repr(frozen)


def test_prepare_leaves_nothing_to_plan_for_either_format(device, fresh):
    frozen, _ = frozen_layer(device)
    vt.clear()
    report = vt.prepare(frozen, progress=False)
    assert [row.operation for row in report] == ["linear_packed", "linear_packed few"]
    assert not any(row.error for row in report)
    start = fresh.misses
    with torch.no_grad():
        for tokens in (1, FEW, FEW + 1, MOST):
            frozen(torch.randn(tokens, 96, device=device))
    assert fresh.misses == start


def test_numbers_of_tokens_that_make_no_sense_are_refused(device):
    sparse, _ = layer(16, 24, device=device)
    text = "cannot freeze: few_tokens is {}, and must be at least 1 and less than max_tokens, 4"
    for few in (0, 4, 5):
        for freeze in (sparse.freeze, lambda *counts: vt.freeze_(nn.Sequential(sparse), *counts)):
            with pytest.raises(vostok.InvalidArgument, match=text.format(few)):
                freeze(4, few)
        with pytest.raises(vostok.InvalidArgument, match=text.format(few)):
            vt.sparsify_(nn.Sequential(nn.Linear(8, 8)), freeze=True, max_tokens=4, few_tokens=few)
    with pytest.raises(vostok.InvalidArgument, match="max_tokens is 0"):
        sparse.freeze(0, 1)
    with pytest.raises(vostok.InvalidArgument, match="packed_few and head_few must be given together"):
        frozen = sparse.freeze(4)
        vt.FrozenSparseLinear(frozen.packed, frozen.head, 16, 24, packed_few=frozen.packed)


def test_a_half_of_the_second_format_is_refused_with_the_same_text_eager_and_compiled(device):
    frozen, _ = frozen_layer(device)
    x = torch.randn(2, 96, device=device)
    call = lambda *few: OPS.linear_packed(x, frozen.packed, frozen.head, 64, 96, None, None, "none", *few)  # noqa: E731
    text = "cannot run vostok::linear_packed: "
    for few, kind, end in (
        ((frozen.packed_few, None), ValueError, "packed_few is given without head_few"),
        ((None, frozen.head_few), ValueError, "head_few is given without packed_few"),
        ((frozen.packed_few, frozen.head_few.float()), TypeError, "head_few has dtype torch.float32"),
        ((frozen.packed_few.to("meta"), frozen.head_few), TypeError, "packed_few is on meta"),
    ):
        with torch.no_grad(), pytest.raises(kind, match=text + end) as eager:
            call(*few)
        assert isinstance(eager.value, vostok.VostokError)
        for mode in (FakeTensorMode(allow_non_fake_inputs=True), contextlib.nullcontext()):
            compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
            with torch.no_grad(), mode, pytest.raises(Exception, match=text + end):
                (call if isinstance(mode, FakeTensorMode) else compiled)(*few)


@pytest.mark.parametrize("tokens", [1, MOST])
def test_second_formats_of_other_weights_are_refused_for_any_number_of_tokens(device, tokens):
    a, _ = matrix(16, 24, device=device)
    wide, _ = matrix(16, 25, device=device)
    pack = lambda a, *counts, **options: vt.SparseLinear(a, **options).freeze(*counts).formats[-1]  # noqa: E731
    x = torch.randn(tokens, 24, device=device)
    packed, head = pack(a, 8)
    half = vt.Csr(a.values.half(), a.row_offsets, a.column_indices, a.shape)
    for few, text in (
        (pack(wide, 2), r"head_few is of \(\(16, 25\), 'f32', 'accurate'\), and head is of \(\(16, 24\), 'f32'"),
        (pack(half, 2), r"head_few is of \(\(16, 24\), 'f16', 'accurate'\), and head is of \(\(16, 24\), 'f32'"),
        (pack(a, 2, math="strict"), r"head_few is of .* 'strict'\), and head is of .* 'accurate'\)"),
        (pack(a, 8), "head_few is for 8 tokens, and must be for fewer than head, 8"),
        (pack(a, 9), "head_few is for 9 tokens, and must be for fewer than head, 8"),
    ):
        for _ in range(2):
            with torch.no_grad(), pytest.raises(vostok.InvalidArgument, match=f"vostok::linear_packed: {text}"):
                OPS.linear_packed(x, packed, head, 16, 24, None, None, "none", *few)
    right, few = pack(a, 8), pack(a, 2)
    with torch.no_grad():
        OPS.linear_packed(x, *right, 16, 24, None, None, "none", *few)
        with pytest.raises(vostok.InvalidArgument, match="and must be for fewer than head, 2"):
            OPS.linear_packed(x, *pack(a, 2), 16, 24, None, None, "none", *few)  # compared with another head before


@pytest.mark.parametrize("tokens", [2, 5])
def test_opcheck_finds_nothing(device, tokens):
    frozen, _ = frozen_layer(device)
    bias = torch.randn(64, device=device, requires_grad=True)
    arguments = (torch.randn(tokens, 96, device=device), frozen.packed, frozen.head, 64, 96, bias)
    options = {"packed_few": frozen.packed_few, "head_few": frozen.head_few}
    result = torch.library.opcheck(OPS.linear_packed.default, arguments, options)
    assert set(result.values()) == {"SUCCESS"}, result


def test_the_bias_has_a_gradient_and_what_listens_hears_one_operator(device):
    frozen, _ = frozen_layer(device)
    frozen.bias.requires_grad_()
    for tokens in (FEW, FEW + 1):
        frozen(torch.randn(tokens, 96, device=device)).sum().backward()
        assert torch.equal(frozen.bias.grad, torch.full((64,), float(tokens), device=device))
        frozen.bias.grad = None
    frozen.bias.requires_grad_(False)
    x = torch.randn(FEW, 96, device=device)
    heard = []

    class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            heard.append(str(function))
            return function(*args, **(kwargs or {}))

    expected = frozen(x)
    with Dispatched():
        found = frozen(x)
    assert torch.equal(found, expected) and heard == ["vostok.linear_packed.default"]


def test_state_has_the_second_format_where_there_is_one_and_loading_takes_it_over(device):
    x = torch.randn(FEW, 96, device=device)
    for assign in (False, True):
        one, two = layer(64, 96, device=device)[0].freeze(MOST), frozen_layer(device)[0]
        assert sorted(one.state_dict()) == ["bias", "head", "packed"]
        assert sorted(two.state_dict()) == ["bias", *BUFFERS]
        with torch.no_grad():
            first, second = one(x), two(x)
        states = [copy.deepcopy(each.state_dict()) for each in (one, two)]
        one.load_state_dict(states[1], assign=assign)
        two.load_state_dict(states[0], assign=assign)
        assert two.packed_few is None and two.head_few is None and len(one.formats) == 2
        with torch.no_grad():
            assert torch.equal(one(x), second) and uses(one, lambda one=one: one(x)) == [0, 1]
            assert_close(two(x), first.double())
        assert all(tensor._dynamo_static_input_type == "unguarded" for tensor in (*one.formats[1], two.packed))
    for name in ("packed_few", "head_few"):
        state = {key: tensor for key, tensor in states[1].items() if key != name}
        for target in (one, two):
            with pytest.raises(RuntimeError, match=f'Missing key.*: "{name}"'):
                target.load_state_dict(state)
    other = frozen_layer(device)[0]
    other.load_state_dict({"bias": torch.zeros(64)}, strict=False)
    assert len(other.formats) == 2


def test_copies_and_conversions_keep_both_formats_and_heads_in_host_memory(device):
    frozen, _ = frozen_layer(device)
    x = torch.randn(FEW, 96, device=device)
    with torch.no_grad():
        expected = frozen(x)
        for other in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen).to(device)):
            assert other.packed_few.data_ptr() != frozen.packed_few.data_ptr()
            assert torch.equal(other(x), expected) and uses(other, lambda other=other: other(x)) == [0, 1]
        frozen.half().float().to(device)
    tensors = [tensor for pair in frozen.formats for tensor in pair]
    assert [tensor.device.type for tensor in tensors] == [device, "cpu", device, "cpu"]
    assert {tensor.dtype for tensor in tensors} == {torch.uint8}
    meta = copy.deepcopy(frozen).to("meta")
    assert [tensor.device.type for pair in meta.formats for tensor in pair] == ["meta", "cpu", "meta", "cpu"]


def test_a_compiled_layer_crosses_the_number_of_few_tokens_in_one_graph(device):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    frozen, dense = frozen_layer(device)
    compiled = torch.compile(frozen, backend=backend, dynamic=True, fullgraph=True)
    with torch.no_grad():
        for tokens in (2, FEW, FEW + 1, MOST, 2 * MOST + 1):
            x = torch.randn(tokens, 96, device=device)
            assert_close(compiled(x), reference(dense, x))
            assert uses(frozen, lambda x=x: compiled(x))[tokens <= FEW] > 0
    assert len(graphs) == 1


def test_an_exported_layer_crosses_the_number_of_few_tokens(device, tmp_path):
    frozen, dense = frozen_layer(device)
    batch = torch.export.Dim("batch", min=1, max=64)
    x = torch.randn(FEW + 2, 96, device=device)
    program = torch.export.export(frozen.eval(), (x,), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "layer.pt2")
    loaded = torch.export.load(tmp_path / "layer.pt2").module()
    assert sorted(name for name, _ in loaded.named_buffers()) == BUFFERS
    with torch.no_grad():
        for tokens in (1, FEW, FEW + 1, MOST + 1):
            x = torch.randn(tokens, 96, device=device)
            assert_close(loaded(x), reference(dense, x))
            assert torch.equal(loaded(x), frozen(x))


def test_packed_files_hold_both_formats(device, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    model = nn.Sequential(*(layer(32, 32, device=device)[0] for _ in range(2)))
    vt.freeze_(model, MOST, FEW)
    model.add_module("2", layer(32, 32, device=device)[0].freeze(MOST))
    path = tmp_path / "model.safetensors"
    vt.save_packed(model, path)
    with safetensors.safe_open(path, "pt") as file:
        names = {name for name in file.keys() if name.startswith(("0.", "2."))}  # noqa: SIM118
    assert names == {f"0.{name}" for name in ("bias", *BUFFERS)} | {"2.bias", "2.packed", "2.head"}
    dense = nn.Sequential(*(nn.Linear(32, 32) for _ in range(3))).to(device)
    one = vt.freeze_(nn.Sequential(*(layer(32, 32, device=device)[0] for _ in range(3))), MOST)
    for loaded in (vt.load_packed(dense, path), vt.load_packed(one, path)):
        assert [len(each.formats) for each in loaded] == [2, 2, 1]
        with torch.no_grad():
            for tokens in (1, FEW + 1):
                x = torch.randn(tokens, 32, device=device)
                assert torch.equal(loaded(x), model(x))
                assert uses(loaded[0], lambda x=x, loaded=loaded: loaded[0](x))[tokens <= FEW] == 1


def test_files_without_a_layers_bytes_are_refused(device):
    tensors = {"0.head": torch.zeros(256, dtype=torch.uint8)}
    model = nn.Sequential(nn.Linear(4, 4))
    sizes = {"out": 4, "in": 4, "activation": "none"}
    with pytest.raises(vostok.IoFailure, match="no packed bytes of layer '0'"):
        _files._freeze_in_place(model, dict(model.named_modules()), "0", sizes, tensors)


def test_sparsify_and_freeze_pack_both_formats_of_all_layers(device):
    model = nn.Sequential(*(layer(32, 32, device=device)[1] for _ in range(3)))
    x = torch.randn(FEW, 32, device=device)
    expected = model(x)
    report = vt.sparsify_(model, freeze=True, max_tokens=MOST, few_tokens=FEW, min_speedup=0, progress=False)
    assert [row.bytes_after for row in report] == [each.packed.nbytes + each.packed_few.nbytes for each in model]
    with torch.no_grad():
        assert_close(model(x), expected.double(), factor=64)
    assert len(vt.freeze_(layer(16, 24, device=device)[0], 4, 1).formats) == 2
    assert [name for name in vt.distributed.ignore_indices(model) if name.startswith("0.")] == [
        "0.packed",
        "0.head",
        "0.packed_few",
        "0.head_few",
    ]
