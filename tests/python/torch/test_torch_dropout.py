"""Dropout of attention: what torch's generator draws, the gradients of what was kept, and CUDA graphs."""

import pytest
import torch
from cases import assert_close, weight

import vostok.torch as vt

OPS = torch.ops.vostok
HALVES = [torch.float16, torch.bfloat16]
QUERIES, KEYS, SIZE, RATE = 20, 26, 16, 0.3


@pytest.fixture
def mask(device):
    return weight(QUERIES, KEYS, device=device) != 0


def drawn(dtype, device, heads=(2, 4), key_heads=(2, 2), value_size=8):
    shapes = (*heads, QUERIES, SIZE), (*key_heads, KEYS, SIZE), (*key_heads, KEYS, value_size)
    return [torch.randn(shape, device=device).to(dtype).requires_grad_() for shape in shapes]


def ones_of(k):
    """Values that are one in a column of their own, so that outputs are probabilities."""
    return torch.eye(KEYS, 32, dtype=k.dtype, device=k.device).expand(*k.shape[:-1], 32)


def kept_of(q, k, a, state, **options):
    """Which probabilities are."""
    options = {"softcap": 0.0, "is_causal": False, "dropout": RATE, **options}
    found = OPS.attention(q, k, ones_of(k), a.row_offsets, a.column_indices, SIZE**-0.5, dropout_state=state, **options)
    return found[0][..., :KEYS] != 0


def dense(q, k, v, bias, mask, kept, softcap=0.0, is_causal=False):
    """In float64. The bias, if there is one, is finite."""
    groups = q.shape[-3] // k.shape[-3]
    k, v = (tensor.repeat_interleave(groups, -3) for tensor in (k, v))
    scores = SIZE**-0.5 * (q @ k.mT)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias[..., (mask.flatten().cumsum(0) - 1).clamp(min=0).view(mask.shape)]
    if is_causal:
        mask = mask.tril(KEYS - QUERIES)
    there = mask.any(-1, keepdim=True)
    p = torch.softmax(scores.masked_fill(~mask & there, float("-inf")), -1) * there
    return p * kept / (1 - RATE) @ v


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("options", [{}, {"softcap": 0.75, "is_causal": True}])
@pytest.mark.parametrize("biased", [False, True])
def test_outputs_and_gradients_are_those_of_what_was_kept(device, mask, dtype, options, biased):
    a = vt.csr(mask.to(dtype))
    operands = drawn(dtype, device)
    if biased:
        operands.append(torch.randn(2, 4, a.column_indices.numel(), device=device).to(dtype).requires_grad_())
    operands = [tensor.detach().requires_grad_() for tensor in operands]
    bias = operands[3] if biased else None
    state = torch.tensor([5, -7], device=device)
    with torch.no_grad():
        kept = kept_of(*operands[:2], a, state, bias=bias, **options)
    structure = (a.row_offsets, a.column_indices)
    given = {"bias": bias, "dropout": RATE, "dropout_state": state, **options}
    y, _ = OPS.attention(*operands[:3], *structure, SIZE**-0.5, **given)
    exact = [tensor.detach().double().requires_grad_() for tensor in operands]
    reference = dense(*exact[:3], exact[3] if biased else None, mask, kept, **options)
    assert_close(y, reference, factor=8)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    reference.backward(gradient.double())
    for tensor, other in zip(operands, exact):
        assert_close(tensor.grad, other.grad, factor=16)


def test_the_generator_says_what_is_dropped(device, mask):
    a = vt.csr(mask.half())
    q, k, _ = drawn(torch.float16, device)
    torch.manual_seed(1)
    first, second = (vt.attention(q, k, ones_of(k), a, dropout=RATE) for _ in range(2))
    torch.manual_seed(1)
    assert torch.equal(vt.attention(q, k, ones_of(k), a, dropout=RATE), first)
    assert not torch.equal(first, second)
    for y in (first, second):
        named = y[..., :KEYS][..., mask]
        assert abs((named == 0).float().mean().item() - RATE) < 6 * (RATE * (1 - RATE) / named.numel()) ** 0.5


def test_no_dropout_draws_nothing(device, mask):
    operands = drawn(torch.float16, device)
    numbers = torch.cuda.get_rng_state if device == "cuda" else torch.get_rng_state
    before = numbers()
    y = vt.attention(*operands, mask, dropout=0.0)
    assert torch.equal(before, numbers())
    assert torch.equal(y, vt.attention(*operands, mask))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_joined_masks_drop_too(device, mask, dtype):
    operands = drawn(dtype, device, (2, 3), (2, 3))
    masks = [mask, mask.flip(0)]
    torch.manual_seed(3)
    y = vt.attention(*operands, masks, dropout=RATE)
    torch.manual_seed(3)
    assert torch.equal(vt.attention(*operands, masks, dropout=RATE), y)
    assert not torch.equal(vt.attention(*operands, masks), y)
    y.sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in operands)


def test_compiled_programs_drop_what_eager_ones_do(device, mask):
    a = vt.csr(mask.half())
    compiled = torch.compile(
        lambda q, k, v: vt.attention(q, k, v, a, dropout=RATE), backend="aot_eager", fullgraph=True
    )
    operands = drawn(torch.float16, device)
    torch.manual_seed(4)
    y = compiled(*operands)
    torch.manual_seed(4)
    eager = vt.attention(*operands, a, dropout=RATE)
    assert torch.equal(y, eager)
    found = torch.autograd.grad(y.sum(), operands)
    assert all(map(torch.equal, found, torch.autograd.grad(eager.sum(), operands)))


def test_opcheck_finds_nothing(device, mask):
    a = vt.csr(mask.half())
    state = torch.tensor([1, 2], device=device)
    arguments = (*drawn(torch.float16, device), a.row_offsets, a.column_indices, 0.5)
    options = {"dropout": RATE, "dropout_state": state}
    result = torch.library.opcheck(OPS.attention.default, arguments, options)
    assert set(result.values()) == {"SUCCESS"}, result


def test_graphs_drop_others_at_each_replay(gpu, mask):
    a = vt.csr(mask.half())
    operands = drawn(torch.float16, gpu)
    torch.autograd.grad(vt.attention(*operands, a, dropout=RATE).sum(), operands)  # plans
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = vt.attention(*operands, a, dropout=RATE)
        gradients = torch.autograd.grad(y.sum(), operands)
    outputs, by_value = [], []
    for _ in range(3):
        graph.replay()
        outputs.append(y.clone())
        by_value.append(gradients[2].clone())
    assert not torch.equal(outputs[0], outputs[1]) and not torch.equal(outputs[1], outputs[2])
    assert not torch.equal(by_value[0], by_value[1])


def test_rates_that_are_none_are_refused_by_their_value(device, mask):
    operands = drawn(torch.float16, device)
    for rate in (-0.25, 1.0, 1.5, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=f"dropout is {rate}, and must be between 0 and 1"):
            vt.attention(*operands, mask, dropout=rate)
    a = vt.csr(mask.half())
    arguments = (*operands, a.row_offsets, a.column_indices, 0.5)
    with pytest.raises(ValueError, match="dropout is 0.3, and has no dropout_state"):
        OPS.attention(*arguments, dropout=RATE)
    for state in (torch.tensor([1, 2, 3], device=device), torch.tensor([1.0, 2.0], device=device)):
        with pytest.raises(ValueError, match="dropout_state has .*, and must be int64"):
            OPS.attention(*arguments, dropout=RATE, dropout_state=state)
    with pytest.raises(ValueError, match="where dropout is not 0"):
        OPS.attention(*arguments, dropout_state=torch.tensor([1, 2], device=device))
