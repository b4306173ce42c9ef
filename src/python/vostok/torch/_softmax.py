"""vostok::softmax over the rows of a sparse matrix, and vostok::softmax_backward."""

from __future__ import annotations

import math as _math
from typing import Any

import torch

from .._problems import Softmax, SoftmaxBackward
from ._calls import run
from ._checks import check_softmax
from ._devices import ELEMENTS, alignment_of, stream_of
from ._lookup import LOOKUP, made_plan
from ._registry import below_autograd, is_plain, refuse_transforms, register, transforms_active, wants_gradient

SCHEMA = (
    "(Tensor values, Tensor row_offsets, Tensor column_indices, SymInt rows, SymInt cols, float scale=1.0) -> Tensor"
)
BACKWARD_SCHEMA = (
    "(Tensor probabilities, Tensor gradient, Tensor row_offsets, Tensor column_indices, SymInt rows, SymInt cols, "
    "float scale=1.0) -> Tensor"
)


def _execute(
    op: str,
    problem_type: Any,
    operands: tuple[torch.Tensor, ...],
    structure: tuple[torch.Tensor, torch.Tensor, int, int],
    scale: float,
) -> torch.Tensor:
    like = operands[0]
    output = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    if not output.numel():
        return output
    packed = [tensor.contiguous() for tensor in operands]
    addresses = [tensor.data_ptr() for tensor in (*packed, output)]
    joined = 0
    for address in addresses:
        joined |= address
    stream = stream_of(like.get_device())
    entry = LOOKUP.entry(op, *structure, stream)
    problem = problem_type(
        batch=_math.prod(like.shape[:-1]),
        element=ELEMENTS[like.dtype],
        alignment_bytes=alignment_of(joined),
        scale="one" if scale == 1.0 else "host",
    )
    prepared = LOOKUP.plan(op, entry, problem, lambda context: made_plan(context, problem, entry.topology))
    unasked = (0, 0) if op == "softmax" else (0,)  # statistics and a scale in device memory
    run(op, prepared, stream, like, scale, *addresses, *unasked)
    return output


def softmax(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    scale: float = 1.0,
) -> torch.Tensor:
    """The kernel, for tensors of both devices: probabilities at the nonzeros."""
    check_softmax("softmax", values, row_offsets, column_indices, rows)
    return _execute("softmax", Softmax, (values,), (row_offsets, column_indices, rows, cols), scale)


def softmax_backward(
    probabilities: torch.Tensor,
    gradient: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    scale: float = 1.0,
) -> torch.Tensor:
    """The kernel of the gradient: scale * y * (dy - the row's sum of y * dy)."""
    check_softmax("softmax_backward", probabilities, row_offsets, column_indices, rows, gradient)
    structure = (row_offsets, column_indices, rows, cols)
    return _execute("softmax_backward", SoftmaxBackward, (probabilities, gradient), structure, scale)


def _fake(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: Any,
    cols: Any,
    scale: float = 1.0,
) -> torch.Tensor:
    return values.new_empty(check_softmax("softmax", values, row_offsets, column_indices, rows))


def _fake_backward(
    probabilities: torch.Tensor,
    gradient: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: Any,
    cols: Any,
    scale: float = 1.0,
) -> torch.Tensor:
    return probabilities.new_empty(
        check_softmax("softmax_backward", probabilities, row_offsets, column_indices, rows, gradient)
    )


class SoftmaxFunction(torch.autograd.Function):
    """The gradient of softmax."""

    @staticmethod
    def forward(
        ctx: Any,
        plain: bool,
        values: torch.Tensor,
        row_offsets: torch.Tensor,
        column_indices: torch.Tensor,
        rows: int,
        cols: int,
        scale: float,
    ) -> torch.Tensor:
        arguments = (values, row_offsets, column_indices, rows, cols, scale)
        probabilities = softmax(*arguments) if plain else below_autograd(SOFTMAX, arguments)
        ctx.save_for_backward(probabilities, row_offsets, column_indices)
        ctx.rest = rows, cols, scale
        return probabilities

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        probabilities, row_offsets, column_indices = ctx.saved_tensors
        dvalues = SOFTMAX_BACKWARD(probabilities, gradient, row_offsets, column_indices, *ctx.rest)
        return None, dvalues, None, None, None, None, None


class OnceFunction(torch.autograd.Function):
    """Around a gradient that has no gradient itself: who asks for it is told so."""

    @staticmethod
    def forward(ctx: Any, op: Any, plain: bool, kernel: Any, *arguments: Any) -> Any:
        ctx.name = op._schema.name
        ctx.count = len(arguments)
        return kernel(*arguments) if plain else below_autograd(op, arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        raise RuntimeError(f"cannot differentiate {ctx.name}: second derivatives are there for linear, spmm and sddmm")


_softmax_function: Any = SoftmaxFunction.apply
once: Any = OnceFunction.apply


def _differentiable(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    scale: float = 1.0,
) -> torch.Tensor:
    if transforms_active():
        refuse_transforms("softmax", (values,))
    plain = is_plain(values, row_offsets, column_indices)
    arguments = (values, row_offsets, column_indices, rows, cols, scale)
    if wants_gradient(values):
        return _softmax_function(plain, *arguments)
    return softmax(*arguments) if plain else below_autograd(SOFTMAX, arguments)


def _differentiable_backward(
    probabilities: torch.Tensor,
    gradient: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    scale: float = 1.0,
) -> torch.Tensor:
    if transforms_active():
        refuse_transforms("softmax_backward", (probabilities, gradient))
    plain = is_plain(probabilities, gradient, row_offsets, column_indices)
    arguments = (probabilities, gradient, row_offsets, column_indices, rows, cols, scale)
    if wants_gradient(probabilities, gradient):
        return once(SOFTMAX_BACKWARD, plain, softmax_backward, *arguments)
    return softmax_backward(*arguments) if plain else below_autograd(SOFTMAX_BACKWARD, arguments)


SOFTMAX = register("softmax", SCHEMA, softmax, _fake, _differentiable)
SOFTMAX_BACKWARD = register(
    "softmax_backward", BACKWARD_SCHEMA, softmax_backward, _fake_backward, _differentiable_backward
)
