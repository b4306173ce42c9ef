"""Attention whose scores have biases, against float64."""

import pytest
import torch
from cases import assert_close, weight

import vostok.torch as vt

HALVES = [torch.float16, torch.bfloat16]
QUERIES, KEYS, SIZE = 20, 26, 16
BEYOND = {"softcap": 0.75, "is_causal": True}


@pytest.fixture
def mask(device):
    return weight(QUERIES, KEYS, device=device) != 0


def drawn(dtype, device, heads=(2, 4), key_heads=(2, 4), value_size=8, size=SIZE):
    shapes = (*heads, QUERIES, size), (*key_heads, KEYS, size), (*key_heads, KEYS, value_size)
    return [torch.randn(shape, device=device).to(dtype).requires_grad_() for shape in shapes]


def biases(nonzeros, dtype, device, *heads):
    """One of eight leaves an element out."""
    bias = torch.randn(*heads, nonzeros, device=device)
    return bias.masked_fill(torch.rand_like(bias) < 0.125, float("-inf")).to(dtype).requires_grad_()


def dense(q, k, v, bias, mask, softcap=0.0, is_causal=False):
    """In float64. A query without keys gets zeros."""
    groups = q.shape[-3] // k.shape[-3]
    k, v = (tensor.repeat_interleave(groups, -3) for tensor in (k, v))
    scores = q.shape[-1] ** -0.5 * (q @ k.mT)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    spread = bias[..., (mask.flatten().cumsum(0) - 1).clamp(min=0).view(mask.shape)]
    seen = mask.tril(mask.shape[1] - mask.shape[0]) if is_causal else mask
    seen = seen & (spread > float("-inf"))
    there = seen.any(-1, keepdim=True)
    scores = scores + torch.where(seen, spread, 0.0)
    return torch.softmax(scores.masked_fill(~seen & there, float("-inf")), -1) * there @ v


def check(operands, bias, reference, call, factor=8):
    """Output and gradients of call(q, k, v, bias) are those of reference(...) in float64."""
    tensors = [tensor.detach().requires_grad_() for tensor in (*operands, bias)]
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    y, expected = call(*tensors), reference(*exact)
    assert_close(y, expected, factor=factor)
    gradient = torch.randn_like(y)
    found = torch.autograd.grad(y, tensors, gradient)
    for some, other in zip(found, torch.autograd.grad(expected, exact, gradient.double())):
        assert_close(some, other, factor=2 * factor)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("heads", [(), (2, 4), (4,), (2, 1)])
@pytest.mark.parametrize("options", [{}, BEYOND])
def test_biases_are_those_of_dense_scores(device, mask, dtype, heads, options):
    bias = biases(int(mask.sum()), dtype, device, *heads)
    for key_heads in (4, 2):
        check(
            drawn(dtype, device, key_heads=(2, key_heads)),
            bias,
            lambda q, k, v, b: dense(q, k, v, b, mask, **options),
            lambda q, k, v, b: vt.attention(q, k, v, mask, bias=b, **options),
        )


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_wide_heads_have_biases_caps_and_diagonals(device, mask, dtype):
    check(
        drawn(dtype, device, (4,), (2,), value_size=136, size=200),
        biases(int(mask.sum()), dtype, device),
        lambda q, k, v, b: dense(q, k, v, b, mask, **BEYOND),
        lambda q, k, v, b: vt.attention(q, k, v, mask, bias=b, **BEYOND),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_mask_for_each_sequence_takes_the_biases_of_one_behind_those_of_another(device, dtype):
    masks = [weight(QUERIES, KEYS, share, device=device) != 0 for share in (0.3, 0.5)]
    counts = [int(each.sum()) for each in masks]

    def reference(q, k, v, bias):
        parts = zip(q, k, v, bias.split(counts, -1), masks)
        return torch.stack([dense(*tensors, mask) for *tensors, mask in parts])

    for heads in ((), (4,)):
        check(
            drawn(dtype, device),
            biases(sum(counts), dtype, device, *heads),
            reference,
            lambda q, k, v, b: vt.attention(q, k, v, masks, bias=b),
        )


def test_a_bias_needs_no_gradient_and_inputs_need_none_where_it_does(device, mask):
    q, k, v = drawn(torch.float16, device)
    bias = biases(int(mask.sum()), torch.float16, device, 2, 4)
    gradient = torch.randn(2, 4, QUERIES, 8, device=device).half()
    whole = torch.autograd.grad(vt.attention(q, k, v, mask, bias=bias), (q, k, v, bias), gradient)
    some = torch.autograd.grad(vt.attention(q, k, v, mask, bias=bias.detach()), (q, k, v), gradient)
    assert all(map(torch.equal, some, whole))
    constant = (tensor.detach() for tensor in (q, k, v))
    (own,) = torch.autograd.grad(vt.attention(*constant, mask, bias=bias), (bias,), gradient)
    assert torch.equal(own, whole[3])


def test_compiled_programs_add_biases(device, mask):
    a = vt.csr(mask.to(torch.float16))
    call = torch.compile(
        lambda q, k, v, b: vt.attention(q, k, v, a, bias=b, **BEYOND), backend="aot_eager", fullgraph=True
    )
    operands = [*drawn(torch.float16, device, (4,), (2,)), biases(int(mask.sum()), torch.float16, device)]
    y, eager = call(*operands), vt.attention(*operands[:3], a, bias=operands[3], **BEYOND)
    assert torch.equal(y, eager)
    found = torch.autograd.grad(y.sum(), operands)
    assert all(map(torch.equal, found, torch.autograd.grad(eager.sum(), operands)))


def test_autocast_converts_the_bias(device, mask):
    operands = [tensor.float() for tensor in drawn(torch.float16, device)]
    bias = biases(int(mask.sum()), torch.float32, device)
    with torch.autocast(device if isinstance(device, str) else device.type, torch.bfloat16):
        y = vt.attention(*operands, mask, bias=bias)
    halves = [tensor.bfloat16() for tensor in (*operands, bias)]
    assert torch.equal(y, vt.attention(*halves[:3], mask, bias=halves[3]))


def test_opcheck_of_biases_finds_nothing(device, mask):
    a = vt.csr(mask.to(torch.float16))
    q, k, v = drawn(torch.float16, device, (4,), (2,))
    for heads in ((), (4,)):
        bias = biases(int(mask.sum()), torch.float16, device, *heads).detach().clamp(min=-9).requires_grad_()
        arguments = (q, k, v, a.row_offsets, a.column_indices, 0.5, "none", "accurate", 2.0, True, bias)
        result = torch.library.opcheck(torch.ops.vostok.attention.default, arguments)
        assert set(result.values()) == {"SUCCESS"}, result


def test_biases_that_do_not_fit_are_refused_by_name(device, mask):
    q, k, v = drawn(torch.float16, device)
    nonzeros = int(mask.sum())
    for shape in ((nonzeros + 1,), (3, nonzeros), (2, 4, nonzeros - 1), (1, 2, 4, nonzeros), ()):
        with pytest.raises(ValueError, match="bias has shape .*, and must have .*, for all heads, or"):
            vt.attention(q, k, v, mask, bias=torch.zeros(shape, dtype=torch.float16, device=device))
    with pytest.raises(TypeError, match="bias"):
        vt.attention(q, k, v, mask, bias=torch.zeros(nonzeros, device=device))
