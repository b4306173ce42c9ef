"""vostok::attention, whose score matrix is sparse, and vostok::attention_backward."""

from __future__ import annotations

import math as _math
from functools import partial
from typing import Any

import torch

from .._errors import InvalidArgument
from .._problems import SparseAttention, SparseAttentionBackward
from ._calls import run
from ._checks import check_attention, check_same, require
from ._devices import ELEMENTS, WORKSPACE_ALIGNMENT, aligned_memory, alignment_of, stream_of
from ._layouts import all_laid_out, empty_like, empty_output, laid_out, laid_out_densely
from ._lookup import LOOKUP, made_plan
from ._registry import below_autograd, casting, is_plain, refuse_transforms, register, transforms_active, wants_gradient
from ._softmax import once

MaybeTensor = torch.Tensor | None
Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]

SCHEMA = (
    "(Tensor q, Tensor k, Tensor v, Tensor row_offsets, Tensor column_indices, float scale, str saved='none', "
    "str math='accurate', float softcap=0., bool is_causal=False, Tensor? bias=None, float dropout=0., "
    "Tensor? dropout_state=None) -> (Tensor, Tensor)"
)
BACKWARD_SCHEMA = (
    "(Tensor gradient, Tensor q, Tensor k, Tensor v, Tensor output, Tensor saved, Tensor row_offsets, "
    "Tensor column_indices, float scale, str math='accurate', float softcap=0., bool is_causal=False, "
    "Tensor? bias=None, bool needs_bias=False, float dropout=0., Tensor? dropout_state=None) "
    "-> (Tensor, Tensor, Tensor, Tensor)"
)


def _problem(
    q: torch.Tensor,
    v: torch.Tensor,
    addresses: int,
    saved: str,
    math: str,
    softcap: float,
    is_causal: bool,
    bias: MaybeTensor,
    dropped: bool,
    **layout: Any,
) -> SparseAttention:
    heads, key_heads = _math.prod(q.shape[:-2]), _math.prod(v.shape[:-2])
    return SparseAttention(
        n=q.shape[-1],
        value_size=v.shape[-1],
        batch=heads,
        key_heads=key_heads if key_heads != heads else 0,
        element=ELEMENTS[q.dtype],
        alignment_bytes=alignment_of(addresses),
        math=math,
        saved=saved,
        capped=softcap > 0,
        causal=is_causal,
        biased=bias is not None,
        bias_stride=bias.shape[-1] if bias is not None and bias.dim() > 1 else 0,
        dropped=dropped,
        **layout,
    )


def _joined(*tensors: torch.Tensor) -> int:
    joined = 0
    for tensor in tensors:
        joined |= tensor.data_ptr()
    return joined


def _statistics_shape(q: torch.Tensor, saved: str) -> tuple[Any, ...]:
    """Of what is kept for the gradient: a float32 for each row of scores."""
    return (0,) if saved == "none" else tuple(q.shape[:-1])


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    scale: float,
    saved: str = "none",
    math: str = "accurate",
    softcap: float = 0.0,
    is_causal: bool = False,
    bias: MaybeTensor = None,
    dropout: float = 0.0,
    dropout_state: MaybeTensor = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The kernel, for tensors of both devices. The second result is empty unless `saved` is row_statistics."""
    options = (saved, math, softcap, bias, dropout, dropout_state)
    output = empty_output(q, check_attention("attention", q, k, v, row_offsets, column_indices, *options))
    statistics = q.new_empty(_statistics_shape(q, saved), dtype=torch.float32)
    if not output.numel() and not statistics.numel():
        return output, statistics
    (q, k, v, _), layout = all_laid_out(laid_out, query=q, key=k, value=v, output=output)
    stream = stream_of(q.get_device())
    entry = LOOKUP.entry("attention", row_offsets, column_indices, q.shape[-2], k.shape[-2], stream)
    bias = None if bias is None else bias.contiguous()
    problem = _problem(q, v, _joined(q, k, v, output), saved, math, softcap, is_causal, bias, dropout > 0, **layout)
    prepared = LOOKUP.plan("attention", entry, problem, lambda context: made_plan(context, problem, entry.topology))
    scratch, address = _aligned(statistics)
    operands = (q.data_ptr(), k.data_ptr(), v.data_ptr(), output.data_ptr(), address)
    rest = (softcap, dropout, _address(bias), _address(dropout_state))
    run("attention", prepared, stream, q, scale, *operands, rest=rest)
    if scratch is not None:
        statistics.copy_(scratch)
    return output, statistics


def _address(tensor: MaybeTensor) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _aligned(statistics: torch.Tensor) -> tuple[torch.Tensor | None, int]:
    """Where kernels put statistics: in place, or in a copy where the address is no multiple of 256 (CPU tensors)."""
    if not statistics.numel():
        return None, 0
    if statistics.data_ptr() % WORKSPACE_ALIGNMENT == 0:
        return None, statistics.data_ptr()
    memory, address = aligned_memory(statistics, statistics.nbytes)
    start = address - memory.data_ptr()
    return memory[start : start + statistics.nbytes].view(torch.float32).view(statistics.shape), address


def attention_backward(
    gradient: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    output: torch.Tensor,
    saved: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    scale: float,
    math: str = "accurate",
    softcap: float = 0.0,
    is_causal: bool = False,
    bias: MaybeTensor = None,
    needs_bias: bool = False,
    dropout: float = 0.0,
    dropout_state: MaybeTensor = None,
) -> Gradients:
    """The kernel of the gradients by q, k, v and the bias, which is empty unless needed. `output` and `saved` are what
    the forward pass gave."""
    options = (math, softcap, bias, dropout, dropout_state)
    _check_backward(gradient, q, k, v, output, saved, row_offsets, column_indices, *options)
    (q, k, v, output), layout = all_laid_out(laid_out_densely, query=q, key=k, value=v, output=output)
    if gradient.stride() != output.stride():
        gradient = torch.empty_like(output).copy_(gradient)
    dq, dk, dv, saved = empty_like(q), empty_like(k), empty_like(v), saved.contiguous()
    bias = None if bias is None else bias.contiguous()
    dbias = q.new_empty(_bias_shape(bias, needs_bias, *q.shape[:-2]))
    if not gradient.numel():
        return dq.zero_(), dk.zero_(), dv.zero_(), _of_bias(dbias.zero_(), bias)
    stream = stream_of(q.get_device())
    entry = LOOKUP.entry("attention_backward", row_offsets, column_indices, q.shape[-2], k.shape[-2], stream)
    addresses = _joined(q, k, v, output, gradient, dq, dk, dv)
    forward = _problem(q, v, addresses, "row_statistics", math, softcap, is_causal, bias, dropout > 0, **layout)
    problem = SparseAttentionBackward(forward=forward)
    prepared = LOOKUP.plan(
        "attention_backward", entry, problem, lambda context: made_plan(context, problem, entry.topology)
    )
    scratch, address = _aligned(saved)
    if scratch is not None:
        scratch.copy_(saved)
    operands = (q.data_ptr(), k.data_ptr(), v.data_ptr(), gradient.data_ptr(), address)
    gradients = (dq.data_ptr(), dk.data_ptr(), dv.data_ptr())
    by_bias = dbias.data_ptr() if needs_bias else 0
    rest = (softcap, dropout, output.data_ptr(), _address(bias), by_bias, _address(dropout_state))
    run("attention_backward", prepared, stream, q, scale, *operands, *gradients, rest=rest)
    return dq, dk, dv, _of_bias(dbias, bias)


def _bias_shape(bias: MaybeTensor, needs_bias: bool, *heads: Any) -> tuple[Any, ...]:
    """Of the gradient by the bias of each of the heads."""
    return (*heads, bias.shape[-1]) if needs_bias and bias is not None else (0,)


def _of_bias(gradient: torch.Tensor, bias: MaybeTensor) -> torch.Tensor:
    """Summed where heads share the bias."""
    if bias is None or gradient.dim() <= bias.dim():
        return gradient
    return gradient.flatten(0, -2).sum(0)


def _wrong_shape(name: str, tensor: torch.Tensor, shape: tuple[Any, ...]) -> str:
    return f"{name} has shape {tuple(tensor.shape)}, and must have {tuple(shape)}"


def _check_backward(
    gradient: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    output: torch.Tensor,
    saved: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    math: str,
    softcap: float,
    bias: MaybeTensor,
    dropout: float,
    dropout_state: MaybeTensor,
) -> None:
    op = "attention_backward"
    options = ("row_statistics", math, softcap, bias, dropout, dropout_state)
    shape = check_attention(op, q, k, v, row_offsets, column_indices, *options)
    for name, tensor in (("gradient", gradient), ("output", output)):
        check_same(op, name, tensor, "q", q)
        require(tensor.shape == shape, InvalidArgument, op, partial(_wrong_shape, name, tensor, shape))
    found, wanted = (saved.dtype, tuple(saved.shape)), (torch.float32, tuple(q.shape[:-1]))
    require(found == wanted, InvalidArgument, op, lambda: f"saved has {found}, and must have {wanted}")


def _fake(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    scale: float,
    saved: str = "none",
    math: str = "accurate",
    softcap: float = 0.0,
    is_causal: bool = False,
    bias: MaybeTensor = None,
    dropout: float = 0.0,
    dropout_state: MaybeTensor = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    options = (saved, math, softcap, bias, dropout, dropout_state)
    output = empty_output(q, check_attention("attention", q, k, v, row_offsets, column_indices, *options))
    return output, q.new_empty(_statistics_shape(q, saved), dtype=torch.float32)


def _fake_backward(
    gradient: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    output: torch.Tensor,
    saved: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    scale: float,
    math: str = "accurate",
    softcap: float = 0.0,
    is_causal: bool = False,
    bias: MaybeTensor = None,
    needs_bias: bool = False,
    dropout: float = 0.0,
    dropout_state: MaybeTensor = None,
) -> Gradients:
    options = (math, softcap, bias, dropout, dropout_state)
    _check_backward(gradient, q, k, v, output, saved, row_offsets, column_indices, *options)
    dbias = q.new_empty(_bias_shape(bias, needs_bias, *(() if bias is None else bias.shape[:-1])))
    return empty_like(q), empty_like(k), empty_like(v), dbias


class AttentionFunction(torch.autograd.Function):
    """The gradient of attention."""

    @staticmethod
    def forward(
        ctx: Any,
        plain: bool,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        row_offsets: torch.Tensor,
        column_indices: torch.Tensor,
        scale: float,
        math: str,
        softcap: float,
        is_causal: bool,
        bias: MaybeTensor,
        dropout: float,
        dropout_state: MaybeTensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        options = (math, softcap, is_causal, bias, dropout, dropout_state)
        arguments = (q, k, v, row_offsets, column_indices, scale, "row_statistics", *options)
        output, statistics = attention(*arguments) if plain else below_autograd(ATTENTION, arguments)
        ctx.save_for_backward(q, k, v, output, statistics, row_offsets, column_indices, bias, dropout_state)
        ctx.options, ctx.dropout = (scale, math, softcap, is_causal), dropout
        ctx.mark_non_differentiable(statistics)
        return output, statistics

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, unused: Any) -> Any:
        *operands, bias, dropout_state = ctx.saved_tensors
        needs = ctx.needs_input_grad[-3]
        options = (*ctx.options, bias, needs, ctx.dropout, dropout_state)
        dq, dk, dv, dbias = ATTENTION_BACKWARD(gradient, *operands, *options)
        return None, dq, dk, dv, *([None] * 6), dbias if needs else None, None, None


_attention_function: Any = AttentionFunction.apply


def _given(*tensors: MaybeTensor) -> tuple[torch.Tensor, ...]:
    return tuple(tensor for tensor in tensors if tensor is not None)


def _differentiable(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    scale: float,
    saved: str = "none",
    math: str = "accurate",
    softcap: float = 0.0,
    is_causal: bool = False,
    bias: MaybeTensor = None,
    dropout: float = 0.0,
    dropout_state: MaybeTensor = None,
) -> Any:
    if transforms_active():
        refuse_transforms("attention", (q, k, v, bias))
    plain = is_plain(q, k, v, row_offsets, column_indices, *_given(bias, dropout_state))
    options = (math, softcap, is_causal, bias, dropout, dropout_state)
    if wants_gradient(q, k, v, bias):
        output, statistics = _attention_function(plain, q, k, v, row_offsets, column_indices, scale, *options)
        return output, statistics if saved != "none" else statistics.new_empty((0,))
    arguments = (q, k, v, row_offsets, column_indices, scale, saved, *options)
    return attention(*arguments) if plain else below_autograd(ATTENTION, arguments)


def _differentiable_backward(
    gradient: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    output: torch.Tensor,
    saved: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    scale: float,
    math: str = "accurate",
    softcap: float = 0.0,
    is_causal: bool = False,
    bias: MaybeTensor = None,
    needs_bias: bool = False,
    dropout: float = 0.0,
    dropout_state: MaybeTensor = None,
) -> Any:
    if transforms_active():
        refuse_transforms("attention_backward", (gradient, q, k, v, output, bias))
    options = (scale, math, softcap, is_causal, bias, needs_bias, dropout, dropout_state)
    arguments = (gradient, q, k, v, output, saved, row_offsets, column_indices, *options)
    plain = is_plain(*arguments[:8], *_given(bias, dropout_state))
    if wants_gradient(gradient, q, k, v, output, bias):
        return once(ATTENTION_BACKWARD, plain, attention_backward, *arguments)
    return attention_backward(*arguments) if plain else below_autograd(ATTENTION_BACKWARD, arguments)


ATTENTION = register("attention", SCHEMA, attention, _fake, _differentiable, casting(0, 1, 2, 10))
ATTENTION_BACKWARD = register(
    "attention_backward", BACKWARD_SCHEMA, attention_backward, _fake_backward, _differentiable_backward
)
