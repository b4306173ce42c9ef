"""vostok::spmm and vostok::sddmm: each is the other's gradient."""

from __future__ import annotations

import math as _math
from typing import Any

import torch

from .._problems import Sddmm, Spmm
from ._calls import run, run_spmm
from ._checks import check_sddmm, check_spmm
from ._devices import ELEMENTS, alignment_of, stream_of
from ._entries import Prepared
from ._linear import activate, bias_fields, policy_of, sum_to
from ._lookup import LOOKUP, made_plan
from ._registry import below_autograd, casting, is_plain, refuse_transforms, register, transforms_active, wants_gradient

MaybeTensor = torch.Tensor | None

SPMM_SCHEMA = (
    "(Tensor values, Tensor row_offsets, Tensor column_indices, SymInt rows, SymInt cols, Tensor dense, "
    "Tensor? bias=None, Tensor? residual=None, bool transpose=False, str activation='none', float scale=1.0, "
    "str math='accurate') -> Tensor"
)
SDDMM_SCHEMA = (
    "(Tensor row_offsets, Tensor column_indices, SymInt rows, SymInt cols, Tensor lhs, Tensor rhs, float scale=1.0, "
    "Tensor? multiplier=None, str math='accurate') -> Tensor"
)


def matrices(tensor: torch.Tensor) -> tuple[torch.Tensor, str]:
    """A tensor of matrices as it lies, row-major or column-major without gaps, else a row-major copy."""
    if tensor.is_contiguous():
        return tensor, "row_major"
    if tensor.mT.is_contiguous():
        return tensor, "column_major"
    return tensor.contiguous(), "row_major"


def spmm(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    dense: torch.Tensor,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    transpose: bool = False,
    activation: str = "none",
    scale: float = 1.0,
    math: str = "accurate",
) -> torch.Tensor:
    """The kernel, for tensors of both devices: activation(scale * A dense + bias + residual)."""
    shape = check_spmm(
        values, row_offsets, column_indices, rows, cols, dense, bias, residual, transpose, activation, math
    )
    output = dense.new_empty(shape)
    if not output.numel():
        return output
    values = values.contiguous()
    dense, layout = matrices(dense)
    bias = None if bias is None else bias.contiguous()
    residual = None if residual is None else residual.contiguous()
    operands = [0 if tensor is None else tensor.data_ptr() for tensor in (values, dense, output, bias, residual)]
    addresses = 0
    for address in operands:
        addresses |= address
    index = dense.get_device()
    stream = stream_of(index)
    entry = LOOKUP.entry("spmm", row_offsets, column_indices, rows, cols, stream)
    n = shape[-1]
    batch = _math.prod(shape[:-2])
    problem = Spmm(
        n=n,
        batch=batch,
        values_per_batch=values.dim() > 1,
        element=ELEMENTS[dense.dtype],
        sparse_transposed=transpose,
        dense_layout=layout,
        alignment_bytes=alignment_of(addresses),
        math=math,
        residual=residual is not None,
        activation=activation,
        scale="one" if scale == 1.0 else "host",
        **bias_fields(None if bias is None else bias.dtype),
    )

    def make(context: Any) -> Prepared:
        policy = policy_of(context, entry.topology, values.dtype.itemsize)
        return made_plan(context, problem, entry.topology, policy=policy)

    prepared = LOOKUP.plan("spmm", entry, problem, make)
    value_address, dense_address, output_address, bias_address, residual_address = operands
    run_spmm(
        prepared,
        stream,
        dense,
        scale,
        value_address,
        0,
        dense_address,
        output_address,
        bias_address,
        residual_address,
        0,
    )
    return output


def _fake_spmm(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: Any,
    cols: Any,
    dense: torch.Tensor,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    transpose: bool = False,
    activation: str = "none",
    scale: float = 1.0,
    math: str = "accurate",
) -> torch.Tensor:
    return dense.new_empty(
        check_spmm(values, row_offsets, column_indices, rows, cols, dense, bias, residual, transpose, activation, math)
    )


class SpmmFunction(torch.autograd.Function):
    """The gradient of spmm, which is differentiable again."""

    @staticmethod
    def forward(
        ctx: Any,
        plain: bool,
        values: torch.Tensor,
        row_offsets: torch.Tensor,
        column_indices: torch.Tensor,
        rows: int,
        cols: int,
        dense: torch.Tensor,
        bias: MaybeTensor,
        residual: MaybeTensor,
        transpose: bool,
        scale: float,
        math: str,
    ) -> torch.Tensor:
        needs = ctx.needs_input_grad
        ctx.save_for_backward(values if needs[6] else None, row_offsets, column_indices, dense if needs[1] else None)
        ctx.sizes = rows, cols
        ctx.options = transpose, scale, math
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.values_batched = values.dim() > 1
        arguments = (
            values,
            row_offsets,
            column_indices,
            rows,
            cols,
            dense,
            bias,
            residual,
            transpose,
            "none",
            scale,
            math,
        )
        return spmm(*arguments) if plain else below_autograd(SPMM, arguments)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        values, row_offsets, column_indices, dense = ctx.saved_tensors
        structure = (row_offsets, column_indices, *ctx.sizes)
        transpose, scale, math = ctx.options
        needs = ctx.needs_input_grad
        dvalues = ddense = dbias = None
        if needs[1]:
            left, right = (dense, gradient) if transpose else (gradient, dense)
            dvalues = SDDMM(*structure, left, right, scale, None, math)
            if not ctx.values_batched and dvalues.dim() > 1:
                dvalues = dvalues.sum(tuple(range(dvalues.dim() - 1)))
        if needs[6]:
            ddense = SPMM(values, *structure, gradient, None, None, not transpose, "none", scale, math)
        if ctx.bias_dtype is not None and needs[7]:
            axes = tuple(axis for axis in range(gradient.dim()) if axis != gradient.dim() - 2)
            dbias = sum_to(gradient, ctx.bias_dtype, axes)
        residual_gradient = gradient if needs[8] else None
        return None, dvalues, None, None, None, None, ddense, dbias, residual_gradient, None, None, None


_spmm_function: Any = SpmmFunction.apply


def _differentiable_spmm(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    dense: torch.Tensor,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    transpose: bool = False,
    activation: str = "none",
    scale: float = 1.0,
    math: str = "accurate",
) -> torch.Tensor:
    if transforms_active():
        refuse_transforms("spmm", (values, dense, bias, residual))
    plain = is_plain(values, row_offsets, column_indices, dense)
    structure = (row_offsets, column_indices, rows, cols)
    if wants_gradient(values, dense, bias, residual):
        pre = _spmm_function(plain, values, *structure, dense, bias, residual, transpose, scale, math)
        return activate(pre, activation)
    arguments = (values, *structure, dense, bias, residual, transpose, activation, scale, math)
    return spmm(*arguments) if plain else below_autograd(SPMM, arguments)


def sddmm(
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    scale: float = 1.0,
    multiplier: MaybeTensor = None,
    math: str = "accurate",
) -> torch.Tensor:
    """The kernel, for tensors of both devices: scale * (lhs rhs^T) at the nonzeros, times multiplier."""
    shape = check_sddmm(row_offsets, column_indices, rows, cols, lhs, rhs, multiplier, math)
    output = lhs.new_empty(shape)
    if not output.numel():
        return output
    lhs, lhs_layout = matrices(lhs)
    rhs, rhs_layout = matrices(rhs)
    multiplier = None if multiplier is None else multiplier.contiguous()
    addresses = [0 if tensor is None else tensor.data_ptr() for tensor in (lhs, rhs, output, multiplier)]
    index = lhs.get_device()
    stream = stream_of(index)
    entry = LOOKUP.entry("sddmm", row_offsets, column_indices, rows, cols, stream)
    problem = Sddmm(
        n=lhs.shape[-1],
        batch=_math.prod(shape[:-1]),
        element=ELEMENTS[lhs.dtype],
        lhs_layout=lhs_layout,
        rhs_layout=rhs_layout,
        multiplier_stride=shape[-1] if multiplier is not None and multiplier.dim() > 1 else 0,
        alignment_bytes=alignment_of(addresses[0] | addresses[1] | addresses[2] | addresses[3]),
        math=math,
        scale="one" if scale == 1.0 else "host",
        multiply=multiplier is not None,
    )
    prepared = LOOKUP.plan("sddmm", entry, problem, lambda context: made_plan(context, problem, entry.topology))
    run("sddmm", prepared, stream, lhs, scale, *addresses, 0)
    return output


def _fake_sddmm(
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: Any,
    cols: Any,
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    scale: float = 1.0,
    multiplier: MaybeTensor = None,
    math: str = "accurate",
) -> torch.Tensor:
    return lhs.new_empty(check_sddmm(row_offsets, column_indices, rows, cols, lhs, rhs, multiplier, math))


class SddmmFunction(torch.autograd.Function):
    """The gradient of sddmm, which is differentiable again."""

    @staticmethod
    def forward(
        ctx: Any,
        plain: bool,
        row_offsets: torch.Tensor,
        column_indices: torch.Tensor,
        rows: int,
        cols: int,
        lhs: torch.Tensor,
        rhs: torch.Tensor,
        scale: float,
        multiplier: MaybeTensor,
        math: str,
    ) -> torch.Tensor:
        ctx.save_for_backward(row_offsets, column_indices, lhs, rhs, multiplier)
        ctx.sizes = rows, cols
        ctx.options = scale, math
        arguments = (row_offsets, column_indices, rows, cols, lhs, rhs, scale, multiplier, math)
        return sddmm(*arguments) if plain else below_autograd(SDDMM, arguments)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        row_offsets, column_indices, lhs, rhs, multiplier = ctx.saved_tensors
        structure = (row_offsets, column_indices, *ctx.sizes)
        scale, math = ctx.options
        needs = ctx.needs_input_grad
        dlhs = drhs = dmultiplier = None
        scaled = gradient if multiplier is None else gradient * multiplier
        if needs[5]:
            dlhs = SPMM(scaled, *structure, rhs, None, None, False, "none", scale, math)
        if needs[6]:
            drhs = SPMM(scaled, *structure, lhs, None, None, True, "none", scale, math)
        if multiplier is not None and needs[8]:
            dmultiplier = gradient * SDDMM(*structure, lhs, rhs, scale, None, math)
            extra = dmultiplier.dim() - multiplier.dim()
            dmultiplier = dmultiplier.sum(tuple(range(extra))) if extra else dmultiplier
        return None, None, None, None, None, dlhs, drhs, None, dmultiplier, None


_sddmm_function: Any = SddmmFunction.apply


def _differentiable_sddmm(
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    scale: float = 1.0,
    multiplier: MaybeTensor = None,
    math: str = "accurate",
) -> torch.Tensor:
    if transforms_active():
        refuse_transforms("sddmm", (lhs, rhs, multiplier))
    plain = is_plain(row_offsets, column_indices, lhs, rhs)
    arguments = (row_offsets, column_indices, rows, cols, lhs, rhs, scale, multiplier, math)
    if wants_gradient(lhs, rhs, multiplier):
        return _sddmm_function(plain, *arguments)
    return sddmm(*arguments) if plain else below_autograd(SDDMM, arguments)


SPMM = register("spmm", SPMM_SCHEMA, spmm, _fake_spmm, _differentiable_spmm, casting(0, 5, 7))
SDDMM = register("sddmm", SDDMM_SCHEMA, sddmm, _fake_sddmm, _differentiable_sddmm, casting(4, 5, 7))
