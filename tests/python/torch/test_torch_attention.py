"""Attention whose heads share keys, whose scores are capped and whose queries are causal, against float64."""

import pytest
import torch
from cases import assert_close, weight

import vostok.torch as vt

HALVES = [torch.float16, torch.bfloat16]
QUERIES, KEYS, SIZE = 20, 26, 16


@pytest.fixture
def mask(device):
    return weight(QUERIES, KEYS, device=device) != 0


def drawn(dtype, device, heads=(2, 4), key_heads=(2, 4), value_size=8):
    shapes = (*heads, QUERIES, SIZE), (*key_heads, KEYS, SIZE), (*key_heads, KEYS, value_size)
    return [torch.randn(shape, device=device).to(dtype).requires_grad_() for shape in shapes]


def dense(q, k, v, mask, softcap=0.0, is_causal=False, scale=SIZE**-0.5):
    """In float64. A query without keys gets zeros."""
    groups = q.shape[-3] // k.shape[-3]
    k, v = (tensor.repeat_interleave(groups, -3) for tensor in (k, v))
    scores = scale * (q @ k.mT)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if is_causal:
        mask = mask.tril(KEYS - QUERIES)
    there = mask.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~mask & there, float("-inf")), -1) * there @ v


def check(operands, mask, factor=8, **options):
    operands = [tensor.detach().requires_grad_() for tensor in operands]
    y = vt.attention(*operands, mask, **options)
    exact = [tensor.detach().double().requires_grad_() for tensor in operands]
    reference = dense(*exact, mask, **options)
    assert_close(y, reference, factor=factor)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    reference.backward(gradient.double())
    for tensor, other in zip(operands, exact):
        assert tensor.grad.shape == tensor.shape
        assert_close(tensor.grad, other.grad, factor=2 * factor)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("key_heads", [1, 2])
def test_heads_that_share_keys_are_those_of_repeated_keys(device, mask, dtype, key_heads):
    check(drawn(dtype, device, (2, 4), (2, key_heads)), mask)


def test_heads_share_keys_whose_heads_lie_side_by_side(device, mask):
    tokens = torch.randn(QUERIES, (6 + 2 * 2) * SIZE, device=device)
    q, k, v = (part.unflatten(-1, (-1, SIZE)).transpose(0, 1) for part in tokens.split((6 * SIZE, *2 * [2 * SIZE]), -1))
    square = mask[:, :QUERIES]
    packed = vt.attention(q.contiguous(), k.contiguous(), v.contiguous(), square)
    assert torch.equal(vt.attention(q, k, v, square), packed)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("options", [{"softcap": 0.75}, {"is_causal": True}, {"softcap": 2.0, "is_causal": True}])
def test_caps_and_causal_queries_are_those_of_dense_scores(device, mask, dtype, options):
    check(drawn(dtype, device), mask, **options)
    check(drawn(dtype, device, (8,), (2,)), mask, scale=-0.5, **options)


def test_heads_that_share_keys_are_those_of_torch(device, mask):
    q, k, v = drawn(torch.float32, device, key_heads=(2, 2))
    full = torch.ones_like(mask)
    wide = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), enable_gqa=True)
    assert_close(vt.attention(q, k, v, full), wide, factor=8)


def test_compiled_programs_share_keys_and_cap_scores(device, mask):
    a = vt.csr(mask.to(torch.float16))
    options = {"softcap": 3.0, "is_causal": True}
    compiled = torch.compile(lambda q, k, v: vt.attention(q, k, v, a, **options), backend="aot_eager", fullgraph=True)
    operands = drawn(torch.float16, device, (4,), (2,))
    y, eager = compiled(*operands), vt.attention(*operands, a, **options)
    assert torch.equal(y, eager)
    found = torch.autograd.grad(y.sum(), operands)
    assert all(map(torch.equal, found, torch.autograd.grad(eager.sum(), operands)))


def test_opcheck_of_shared_keys_finds_nothing(device, mask):
    a = vt.csr(mask.to(torch.float16))
    q, k, v = drawn(torch.float16, device, (4,), (2,))
    arguments = (q, k, v, a.row_offsets, a.column_indices, 0.5, "none", "accurate", 2.0, True)
    result = torch.library.opcheck(torch.ops.vostok.attention.default, arguments)
    assert set(result.values()) == {"SUCCESS"}, result


def test_what_attention_cannot_do_is_refused_by_name(device, mask):
    q, k, v = drawn(torch.float32, device, (4,), (3,))
    with pytest.raises(ValueError, match="k has shape .*, and its leading axes must be those of q"):
        vt.attention(q, k, v, mask)
    q, k, v = drawn(torch.float32, device, (4,), (4,))
    for softcap in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="softcap is"):
            vt.attention(q, k, v, mask, softcap=softcap)
