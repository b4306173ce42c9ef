"""The operations against float64, for element types, index types, layouts, alignments and empty operands."""

import pytest
import torch
from cases import assert_close, matrix, weight

import vostok
import vostok.torch as vt

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_linear_and_its_gradients_are_those_of_the_dense_layer(device, dtype):
    a, dense = matrix(48, 64, dtype=dtype, device=device)
    x = torch.randn(2, 5, 64, device=device).to(dtype)
    bias = torch.randn(48, device=device).to(dtype)
    gradient = torch.randn(2, 5, 48, device=device).to(dtype)
    operands = [tensor.clone().requires_grad_() for tensor in (x, a.values, bias)]
    y = vt.linear(operands[0], a.with_values(operands[1]), operands[2])
    y.backward(gradient)
    exact = [tensor.double().requires_grad_() for tensor in (x, dense, bias)]
    reference = exact[0] @ exact[1].mT + exact[2]
    reference.backward(gradient.double())
    assert_close(y, reference)
    assert_close(operands[0].grad, exact[0].grad)
    assert_close(operands[1].grad, exact[1].grad[dense != 0])
    assert_close(operands[2].grad, exact[2].grad)
    assert [tensor.grad.dtype for tensor in operands] == [dtype] * 3


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_torchs_with_and_without_gradient(device, name):
    a, dense = matrix(16, 24, device=device)
    x = torch.randn(4, 24, device=device)
    reference = ACTIVATIONS[name](x.double() @ dense.double().mT)
    assert_close(vt.linear(x, a, activation=name), reference, factor=8)
    assert_close(vt.linear(x.requires_grad_(), a, activation=name), reference, factor=8)


def test_indices_of_64_bits_are_taken(device):
    a, dense = matrix(16, 24, device=device)
    wide = vt.Csr(a.values, a.row_offsets.long(), a.column_indices.long(), a.shape)
    x = torch.randn(4, 24, device=device)
    assert torch.equal(vt.linear(x, wide), vt.linear(x, a))


def test_operands_that_are_not_contiguous_are_right(device):
    a, dense = matrix(16, 24, device=device)
    wide = torch.randn(8, 48, device=device)
    for x in (wide[::2, :24], wide[:, ::2], wide.t()[:24].t(), wide[:4, 1:25]):
        assert_close(vt.linear(x, a), x.double() @ dense.double().mT)
    b = torch.randn(6, 24, device=device)
    for dense_operand in (b.t(), torch.randn(24, 12, device=device)[:, ::2]):
        assert_close(vt.spmm(a, dense_operand), dense.double() @ dense_operand.double())


def test_operands_at_any_address_of_elements_are_right(device):
    a, dense = matrix(16, 24, device=device)
    memory = torch.randn(4 * 24 + 1, device=device)
    x = memory[1:].view(4, 24)
    assert x.data_ptr() % 16 == 4
    values = torch.cat([a.values.new_zeros(1), a.values])[1:]
    assert_close(vt.linear(x, a.with_values(values)), x.double() @ dense.double().mT)


@pytest.mark.parametrize("shape", [(0, 24), (2, 0, 24)])
def test_no_tokens_give_no_rows_and_zero_gradients(device, shape):
    a, _ = matrix(16, 24, device=device)
    values = a.values.clone().requires_grad_()
    y = vt.linear(torch.randn(shape, device=device), a.with_values(values))
    y.sum().backward()
    assert y.shape == (*shape[:-1], 16)
    assert torch.equal(values.grad, torch.zeros_like(values))


def test_a_matrix_without_nonzeros_gives_the_bias(device):
    a = vt.csr(torch.zeros(8, 12, device=device))
    bias = torch.randn(8, device=device)
    assert torch.equal(vt.linear(torch.randn(3, 12, device=device), a, bias), bias.expand(3, 8))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_spmm_of_batches_with_one_and_with_many_values(device, batched, transpose):
    a, dense = matrix(10, 14, device=device)
    b = torch.randn(3, 10 if transpose else 14, 6, device=device)
    values = torch.stack([a.values, 2 * a.values, -a.values]) if batched else a.values
    values = values.clone().requires_grad_()
    full = vt.dense(a.with_values(values.detach())).double()
    full = full.mT if transpose else full
    rows = full.shape[-2]
    bias, residual = torch.randn(rows, device=device), torch.randn(3, rows, 6, device=device)
    c = vt.spmm(a.with_values(values), b, transpose=transpose, bias=bias, residual=residual, scale=0.5)
    assert_close(c, 0.5 * full @ b.double() + bias.double()[:, None] + residual.double())
    c.backward(torch.ones_like(c))
    wide = 0.5 * torch.ones_like(c).double() @ b.double().mT
    wide = wide.mT if transpose else wide
    places = (dense != 0).expand_as(wide)
    expected = wide[places].reshape(3, -1)
    assert_close(values.grad, expected if batched else expected.sum(0))


def test_spmm_takes_torchs_sparse_layouts_and_vectors(device):
    _, dense = matrix(12, 16, device=device)
    b = torch.randn(16, 3, device=device)
    for a in (dense.to_sparse_csr(), dense.to_sparse(), dense.to_sparse_bsr((4, 4)), vt.csr(dense)):
        assert_close(vt.spmm(a, b), dense.double() @ b.double())
        assert_close(vt.spmm(a, b[:, 0]), dense.double() @ b[:, 0].double())


def test_sddmm_reads_both_layouts_and_multiplies(device):
    a, dense = matrix(10, 14, device=device)
    lhs, rhs = torch.randn(2, 10, 6, device=device), torch.randn(2, 14, 6, device=device)
    wide = (lhs.double() @ rhs.double().mT)[(dense != 0).expand(2, 10, 14)].reshape(2, -1)
    for left, right in ((lhs, rhs), (lhs.mT.contiguous().mT, rhs), (lhs, rhs.mT.contiguous().mT)):
        assert_close(vt.sddmm(a, left, right), wide)
        assert_close(vt.sddmm(a, left, right, scale=2.0, multiplier=a.values), 2 * wide * a.values.double())


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_and_attention_are_those_of_the_dense_scores(device, dtype):
    dense = weight(12, 16, device=device)
    a = vt.csr(dense)
    scores = dense.double().masked_fill(dense == 0, float("-inf"))
    probabilities = torch.nan_to_num(torch.softmax(0.5 * scores, -1))
    assert_close(vt.dense(vt.softmax(a, scale=0.5)), probabilities)
    q, k, v = (torch.randn(2, 3, n, 8, device=device).to(dtype).requires_grad_() for n in (12, 16, 16))
    y = vt.attention(q, k, v, a)
    exact = [tensor.detach().double().requires_grad_() for tensor in (q, k, v)]
    wide = (exact[0] @ exact[1].mT / 8**0.5).masked_fill(dense == 0, float("-inf"))
    reference = torch.softmax(wide[:, :, 1:], -1) @ exact[2]  # the first query has no keys
    assert_close(y[:, :, 1:], reference, factor=8)
    assert not y[:, :, 0].any()
    gradient = torch.randn_like(y)
    y.backward(gradient)
    reference.backward(gradient[:, :, 1:].double())
    for tensor, other in zip((q, k, v), exact):
        assert_close(tensor.grad, other.grad, factor=16)


def heads_of(tensor, heads, size):
    """Queries, keys and values [heads, tokens, size], as a product [tokens, heads * 3 * size] leaves them."""
    return tensor.view(-1, heads, 3, size).permute(2, 1, 0, 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_attention_reads_heads_that_lie_side_by_side_without_a_copy(device, dtype):
    mask = vt.BandedMask(3)
    q, k, v = heads_of(torch.randn(10, 4 * 3 * 8, device=device).to(dtype), 4, 8)
    packed = vt.attention(q.contiguous(), k.contiguous(), v.contiguous(), mask)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        found = vt.attention(q, k, v, mask)
    assert torch.equal(found, packed)
    assert found.transpose(0, 1).is_contiguous(), "heads of the output lie side by side, too"
    assert not [event for event in profile.key_averages() if event.key in ("aten::copy_", "aten::clone")]
    mixed = vt.attention(q.contiguous(), k, v.mT.contiguous().mT, mask)  # the last is copied
    assert mixed.is_contiguous() and torch.equal(mixed, packed)
    sequences = [part.unflatten(0, (2, 2)) for part in (q, k, v)]
    assert torch.equal(vt.attention(*sequences, mask).flatten(0, 1), packed)
    # Two axes of heads that cannot be taken as one:
    apart = [part.unflatten(0, (2, 2)).transpose(0, 1) for part in (q, k, v)]
    assert torch.equal(vt.attention(*apart, mask).transpose(0, 1).flatten(0, 1), packed)


def test_gradients_of_heads_side_by_side_are_those_of_packed_ones(device):
    mask = vt.BandedMask(3)
    qkv = torch.randn(10, 4 * 3 * 8, device=device, requires_grad=True)
    weight_of = torch.randn(4, 10, 8, device=device)
    (found,) = torch.autograd.grad((vt.attention(*heads_of(qkv, 4, 8), mask) * weight_of).sum(), qkv)
    parts = [part.contiguous() for part in heads_of(qkv, 4, 8)]
    (packed,) = torch.autograd.grad((vt.attention(*parts, mask) * weight_of).sum(), qkv)
    assert torch.equal(found, packed)


def test_gradients_lie_as_heads_side_by_side_do_and_copy_none_of_them(device):
    mask = vt.BandedMask(3)
    q, k, v = (torch.randn(10, 4, 8, device=device).transpose(0, 1).requires_grad_() for _ in range(3))
    gradient = torch.randn(10, 4, 8, device=device).transpose(0, 1)
    found = torch.autograd.grad(vt.attention(q, k, v, mask), (q, k, v), gradient)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        again = torch.autograd.grad(vt.attention(q, k, v, mask), (q, k, v), gradient)
    packed = torch.autograd.grad(
        vt.attention(*(part.contiguous() for part in (q, k, v)), mask), (q, k, v), gradient.contiguous()
    )
    for one, same, other in zip(found, again, packed):
        assert one.stride() == q.stride() and torch.equal(one, same) and torch.equal(one, other)
    copies = [event for event in profile.key_averages() if event.key in ("aten::copy_", "aten::clone")]
    assert not copies or device == "cpu", copies  # a CPU tensor of statistics may be misaligned


def test_attention_takes_the_math_of_its_products(device, fresh):
    q, k, v = (torch.randn(2, 10, 8, device=device) for _ in range(3))
    mask = vt.BandedMask(4)
    wide = [tensor.double() for tensor in (q, k, v)]
    places = vt.dense(mask.csr(10, 10, device)) != 0
    exact = torch.softmax((wide[0] @ wide[1].mT / 8**0.5).masked_fill(~places, float("-inf")), -1) @ wide[2]
    misses = {}
    for math in ("strict", "accurate", "tf32"):
        assert_close(vt.attention(q, k, v, mask, math=math), exact, factor=2**10 if math == "tf32" else 8)
        misses[math] = fresh.misses
    assert len(set(misses.values())) == 3, "each is a plan of its own"
    with pytest.raises(ValueError, match="math is 'exact', and may be"):
        vt.attention(q, k, v, mask, math="exact")


def test_banded_and_dense_masks_are_made_once(device, fresh):
    q = torch.randn(2, 10, 4, device=device)
    mask = vt.BandedMask(3, causal=True)
    dense = vt.dense(mask.csr(10, 10, device)) != 0
    assert torch.equal(dense, torch.ones(10, 10, device=device).tril().triu(-2) != 0)
    first = vt.attention(q, q, q, mask)
    second = vt.attention(q, q, q, dense)
    misses = fresh.misses
    assert torch.equal(first, vt.attention(q, q, q, mask)) and torch.equal(second, vt.attention(q, q, q, dense))
    assert fresh.misses == misses


def test_csr_keeps_what_is_asked_for(device):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1, nan, inf, 2.0], [3, 3, 3, -4]], device=device)
    assert vt.csr(x, count=2, per="row").column_indices.tolist() == [1, 2, 0, 3]
    assert vt.csr(x, count=3).column_indices.tolist() == [1, 2, 3]
    assert vt.csr(x, threshold=2.5).column_indices.tolist() == [1, 2, 0, 1, 2, 3]
    assert vt.csr(x, mask=x == 3).row_offsets.tolist() == [0, 0, 3]
    with pytest.raises(ValueError, match="count is 5"):
        vt.csr(x, count=5, per="row")


def bad_calls():
    a, _ = matrix(8, 12)
    x = torch.randn(3, 12)
    rest = (a.row_offsets, a.column_indices, 8, 12)
    yield TypeError, "x has dtype torch.float16, and values has torch.float32", (x.half(), a.values, *rest)
    yield TypeError, "x has dtype torch.float64, and may have", (x.double(), a.values.double(), *rest)
    yield ValueError, "axis -1 must have cols = 12", (x[:, :5], a.values, *rest)
    yield ValueError, "column_indices has", (x, a.values[:4], *rest)
    yield TypeError, "row_offsets has dtype torch.float32", (x, a.values, a.row_offsets.float(), *rest[1:])
    yield ValueError, "must have rows [+] 1 = 9", (x, a.values, a.row_offsets[:5], *rest[1:])
    yield ValueError, "bias has shape", (x, a.values, *rest, torch.zeros(5))
    yield TypeError, "bias has dtype torch.float16", (x, a.values, *rest, torch.zeros(8).half())
    yield ValueError, "residual has shape", (x, a.values, *rest, None, torch.zeros(3, 5))
    yield ValueError, "activation is 'tanh'", (x, a.values, *rest, None, None, False, "tanh")


@pytest.mark.parametrize("number", range(10))
def test_errors_have_a_type_and_the_same_text_eager_and_compiled(number):
    kind, text, arguments = list(bad_calls())[number]
    with pytest.raises(kind, match=text) as eager:
        torch.ops.vostok.linear(*arguments)
    assert isinstance(eager.value, vostok.VostokError)
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]

    def call(*given):
        supply = iter(given)
        return torch.ops.vostok.linear(*(next(supply) if isinstance(v, torch.Tensor) else v for v in arguments))

    torch._dynamo.reset()
    with pytest.raises(Exception, match=text):
        torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=False)(*tensors)


def test_a_structure_that_is_none_is_refused_by_name(device):
    a, _ = matrix(8, 12, device=device)
    columns = a.column_indices.clone()
    columns[3] = 99
    with pytest.raises(vostok.InvalidTopology, match="99"):
        vt.linear(torch.randn(2, 12, device=device), vt.Csr(a.values, a.row_offsets, columns, a.shape))
