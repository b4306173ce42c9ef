"""vostok::linear: y = activation(x W^T + bias + residual), or x W where transposed, without a transpose being made.

x [tokens.., in] is a column-major B of the library and y [tokens.., out] a column-major C, as they lie.
"""

from __future__ import annotations

from typing import Any

import torch

from .._errors import fail
from .._problems import Spmm
from ._calls import execute_spmm, pack_spmm, spmm_size
from ._checks import check_linear
from ._devices import ELEMENTS, stream_of, workspace
from ._entries import Known, Prepared
from ._lookup import LOOKUP, made_plan
from ._registry import below_autograd, casting, is_plain, refuse_transforms, register, transforms_active, wants_gradient

MaybeTensor = torch.Tensor | None

SCHEMA = (
    "(Tensor x, Tensor values, Tensor row_offsets, Tensor column_indices, SymInt rows, SymInt cols, Tensor? bias=None, "
    "Tensor? residual=None, bool transpose=False, str activation='none', str math='accurate') -> Tensor"
)
_float32 = torch.float32
_entry = LOOKUP.entry
_found = LOOKUP.found


def bucket_of(tokens: int) -> int:
    """The number of tokens that a call with so many is planned for: the next power of two."""
    return 1 << (tokens - 1).bit_length()


def policy_of(context: Any, topology: Any, element_bytes: int, chosen: str = "") -> str:
    """What was chosen, else cold for weights that leave the cache before the next call. The emulator's is warm."""
    if not context.device.gpu:
        return "warm"
    return chosen or ("cold" if is_evicted(context, topology.nonzeros * (element_bytes + 4)) else "warm")


def is_evicted(context: Any, size: int) -> bool:
    """Whether so many bytes, read in turn, find little of themselves in the last-level cache: more than half of it,
    since activations lie there too."""
    return context.device.gpu and size > context.device.l2_bytes // 2


def bias_fields(bias: torch.dtype | None) -> dict[str, Any]:
    """The problem's fields for a bias of this type."""
    if bias is None:
        return {}
    return {"bias": "per_row", "bias_element": ELEMENTS[bias]}


def plan_linear(
    entry: Any,
    dtype: torch.dtype,
    tokens: int,
    bias: torch.dtype | None,
    residual: bool,
    transpose: bool,
    activation: str,
    math: str,
    alignment: int = 16,
    **options: Any,
) -> Prepared:
    """The plan of linear for up to bucket_of(tokens) tokens. options: of Context.plan."""
    bucket = bucket_of(tokens)
    problem = Spmm(
        n_values=(bucket,),
        element=ELEMENTS[dtype],
        sparse_transposed=transpose,
        dense_layout="column_major",
        output_layout="column_major",
        alignment_bytes=alignment,
        math=math,
        residual=residual,
        activation=activation,
        **bias_fields(bias),
    )

    def make(context: Any) -> Prepared:
        policy = policy_of(context, entry.topology, dtype.itemsize)
        return made_plan(context, problem, entry.topology, policy=policy, **options)

    key = ("linear", dtype, bucket, bias, residual, transpose, activation, math, alignment)
    return LOOKUP.plan("linear", entry, key, make)


def linear(
    x: torch.Tensor,
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    transpose: bool = False,
    activation: str = "none",
    math: str = "accurate",
    known: Known | None = None,
) -> torch.Tensor:
    """The kernel, for tensors of both devices. known: what the layer found before, if one calls."""
    width, out_width = (rows, cols) if transpose else (cols, rows)
    shape = x.shape
    dtype = x.dtype
    if (
        not shape
        or dtype is not values.dtype
        or shape[-1] != width
        or values.shape != column_indices.shape
        or row_offsets.shape != (rows + 1,)
        or x.get_device() != values.get_device()
        or residual is not None
        or (bias is not None and (bias.shape != (out_width,) or bias.get_device() != x.get_device()))
        or (bias is not None and bias.dtype is not _float32 and bias.dtype is not dtype)
        or not x.is_contiguous()
        or not values.is_contiguous()
        or dtype not in ELEMENTS
    ):
        check_linear(x, values, row_offsets, column_indices, rows, cols, bias, residual, transpose, activation, math)
        x = x.contiguous()
        values = values.contiguous()
    output = x.new_empty((*shape[:-1], out_width))
    tokens = shape[0] if len(shape) == 2 else (output.numel() // out_width if out_width else 0)
    if not tokens or not out_width:
        return output
    index = x.get_device()
    stream = stream_of(index)
    entry = None if known is None else _found(known, row_offsets, column_indices, stream)
    if entry is None:
        entry = _entry("linear", row_offsets, column_indices, rows, cols, stream)
        if known is not None:
            known.note(entry, row_offsets, column_indices)
    if entry.index != index:
        check_linear(x, values, row_offsets, column_indices, rows, cols, bias, residual, transpose, activation, math)
    x_address = x.data_ptr()
    value_address = values.data_ptr()
    output_address = output.data_ptr()
    bias_address = residual_address = 0
    bias_dtype = None
    if bias is not None:
        bias = bias.contiguous()
        bias_address = bias.data_ptr()
        bias_dtype = bias.dtype
    if residual is not None:
        residual = residual.contiguous()
        residual_address = residual.data_ptr()
    low = (x_address | value_address | output_address | bias_address | residual_address) & 15
    alignment = low & -low if low else 16
    key = (
        "linear",
        dtype,
        1 << (tokens - 1).bit_length(),
        bias_dtype,
        residual is not None,
        transpose,
        activation,
        math,
        alignment,
    )
    prepared = entry.plans.get(key)
    if prepared is None:
        prepared = plan_linear(entry, dtype, tokens, *key[3:])
    memory = None
    address = 0
    if prepared.workspace_bytes:
        memory, address = workspace(x, prepared.workspace_bytes, stream)
    status = execute_spmm(
        prepared.handle,
        stream,
        pack_spmm(
            spmm_size,
            1.0,
            value_address,
            0,
            x_address,
            output_address,
            bias_address,
            residual_address,
            0,
            address,
            tokens,
        ),
    )
    if status:
        fail(status)
    del memory
    return output


def _fake(
    x: torch.Tensor,
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: Any,
    cols: Any,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    transpose: bool = False,
    activation: str = "none",
    math: str = "accurate",
) -> torch.Tensor:
    return x.new_empty(
        check_linear(x, values, row_offsets, column_indices, rows, cols, bias, residual, transpose, activation, math)
    )


def activate(pre: torch.Tensor, activation: str) -> torch.Tensor:
    """torch's own activation of that name, for gradients."""
    if activation == "relu":
        return torch.relu(pre)
    if activation == "silu":
        return torch.nn.functional.silu(pre)
    if activation in ("gelu", "gelu_tanh"):
        return torch.nn.functional.gelu(pre, approximate="tanh" if activation == "gelu_tanh" else "none")
    return pre


def sum_to(gradient: torch.Tensor, like: torch.dtype, axes: tuple[int, ...]) -> torch.Tensor:
    """The sum over axes, of a bias's type."""
    return gradient.sum(axes, dtype=like) if axes else gradient.to(like)


class LinearFunction(torch.autograd.Function):
    """The gradient. Old-style, since that costs a third of the new style; backward is made of operations that are
    differentiable themselves, so that it can be differentiated again."""

    @staticmethod
    def forward(
        ctx: Any,
        plain: bool,
        x: torch.Tensor,
        values: torch.Tensor,
        row_offsets: torch.Tensor,
        column_indices: torch.Tensor,
        rows: int,
        cols: int,
        bias: MaybeTensor,
        residual: MaybeTensor,
        transpose: bool,
        math: str,
    ) -> torch.Tensor:
        needs = ctx.needs_input_grad
        ctx.save_for_backward(x if needs[2] else None, values if needs[1] else None, row_offsets, column_indices)
        ctx.sizes = rows, cols
        ctx.options = transpose, math
        ctx.bias_dtype = None if bias is None else bias.dtype
        arguments = (x, values, row_offsets, column_indices, rows, cols, bias, residual, transpose, "none", math)
        return linear(*arguments) if plain else below_autograd(OP, arguments)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        x, values, row_offsets, column_indices = ctx.saved_tensors
        structure = (row_offsets, column_indices, *ctx.sizes)
        transpose, math = ctx.options
        needs = ctx.needs_input_grad
        dx = dvalues = dbias = None
        if needs[1]:
            dx = OP(gradient, values, *structure, None, None, not transpose, "none", math)
        if needs[2]:
            left, right = (x, gradient) if transpose else (gradient, x)
            flat_left, flat_right = left.reshape(-1, left.shape[-1]), right.reshape(-1, right.shape[-1])
            dvalues = torch.ops.vostok.sddmm(*structure, flat_left.mT, flat_right.mT, 1.0, None, math)
        if ctx.bias_dtype is not None and needs[7]:
            dbias = sum_to(gradient, ctx.bias_dtype, tuple(range(gradient.dim() - 1)))
        return None, dx, dvalues, None, None, None, None, dbias, gradient if needs[8] else None, None, None


_linear_function: Any = LinearFunction.apply


def _differentiable(
    x: torch.Tensor,
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    transpose: bool = False,
    activation: str = "none",
    math: str = "accurate",
) -> torch.Tensor:
    if transforms_active():
        refuse_transforms("linear", (x, values, bias, residual))
    plain = is_plain(x, values, row_offsets, column_indices)
    if wants_gradient(x, values, bias, residual):
        pre = _linear_function(
            plain, x, values, row_offsets, column_indices, rows, cols, bias, residual, transpose, math
        )
        return activate(pre, activation)
    arguments = (x, values, row_offsets, column_indices, rows, cols, bias, residual, transpose, activation, math)
    return linear(*arguments) if plain else below_autograd(OP, arguments)


OP = register("linear", SCHEMA, linear, _fake, _differentiable, casting(0, 1, 7))
