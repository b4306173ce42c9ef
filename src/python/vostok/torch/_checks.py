"""What operands must be. Fake kernels check on every call and real ones when something looks wrong, by the same code,
so that compiled and eager programs read the same sentence."""

from __future__ import annotations

from math import inf
from typing import Any, Callable

import torch

from .. import _c
from .._errors import InvalidArgument, InvalidType
from .._problems import shares_heads
from ._devices import ELEMENTS, INDEX_BYTES

MaybeTensor = torch.Tensor | None


def require(condition: Any, kind: type[Exception], op: str, text: Callable[[], str]) -> None:
    """Raises where the condition, which may be symbolic, does not hold."""
    torch._check_with(kind, condition, lambda: f"cannot run vostok::{op}: {text()}")


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


def check_element(op: str, name: str, tensor: torch.Tensor) -> None:
    """The element types that kernels have."""
    require(
        tensor.dtype in ELEMENTS,
        InvalidType,
        op,
        lambda: f"{name} has dtype {tensor.dtype}, and may have torch.float32, torch.float16 or torch.bfloat16",
    )


def check_same(op: str, name: str, tensor: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """One element type and one device."""
    check_element(op, name, tensor)
    require(
        tensor.dtype == other.dtype,
        InvalidType,
        op,
        lambda: f"{name} has dtype {tensor.dtype}, and {other_name} has {other.dtype}",
    )
    check_device(op, name, tensor, other_name, other)


def check_device(op: str, name: str, tensor: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """One device."""
    require(
        tensor.device == other.device,
        InvalidType,
        op,
        lambda: f"{name} is on {tensor.device}, and {other_name} is on {other.device}",
    )


def check_structure(
    op: str, offsets: torch.Tensor, columns: torch.Tensor, rows: Any, like_name: str, like: torch.Tensor
) -> None:
    """Index tensors of a sparse matrix, beside an operand."""
    for name, tensor in (("row_offsets", offsets), ("column_indices", columns)):
        require(
            tensor.dtype in INDEX_BYTES,
            InvalidType,
            op,
            lambda: f"{name} has dtype {tensor.dtype}, and may have torch.int32 or torch.int64",
        )
        require(
            tensor.dim() == 1, InvalidArgument, op, lambda: f"{name} has shape {_shape(tensor)}, and must have one axis"
        )
        check_device(op, name, tensor, like_name, like)
    require(
        offsets.shape[0] == rows + 1,
        InvalidArgument,
        op,
        lambda: f"row_offsets has {offsets.shape[0]} elements, and must have rows + 1 = {rows + 1}",
    )


def check_packed(op: str, offsets: torch.Tensor, columns: torch.Tensor) -> None:
    """Index tensors without gaps: they are read where they lie, and known by where they lie."""
    for name, tensor in (("row_offsets", offsets), ("column_indices", columns)):
        require(
            tensor.is_contiguous(),
            InvalidArgument,
            op,
            lambda: f"{name} has strides {tensor.stride()}, and must be contiguous",
        )


def check_values(op: str, name: str, values: torch.Tensor, columns: torch.Tensor, batched: bool) -> None:
    """One value for each nonzero."""
    check_element(op, name, values)
    require(
        values.dim() >= 1 and (batched or values.dim() == 1),
        InvalidArgument,
        op,
        lambda: f"{name} has shape {_shape(values)}, and must have {'an' if batched else 'one'} axis of nonzeros",
    )
    require(
        values.shape[-1] == columns.shape[0],
        InvalidArgument,
        op,
        lambda: f"{name} has {values.shape[-1]} elements, and column_indices has {columns.shape[0]}",
    )


def check_axis(op: str, name: str, tensor: torch.Tensor, axis: int, size: Any, size_name: str) -> None:
    """The length of an axis that is counted from the end."""
    require(
        tensor.dim() >= -axis,
        InvalidArgument,
        op,
        lambda: f"{name} has shape {_shape(tensor)}, and must have {-axis} axes at least",
    )
    require(
        tensor.shape[axis] == size,
        InvalidArgument,
        op,
        lambda: f"{name} has shape {_shape(tensor)}, and axis {axis} must have {size_name} = {size}",
    )


def check_bias(op: str, bias: MaybeTensor, size: Any, like_name: str, like: torch.Tensor) -> None:
    """A vector: float32, or of the element type."""
    if bias is None:
        return
    require(
        bias.dtype == torch.float32 or bias.dtype == like.dtype,
        InvalidType,
        op,
        lambda: f"bias has dtype {bias.dtype}, and may have torch.float32 or {like_name}'s {like.dtype}",
    )
    check_device(op, "bias", bias, like_name, like)
    require(
        bias.dim() == 1 and bias.shape[0] == size,
        InvalidArgument,
        op,
        lambda: f"bias has shape {_shape(bias)}, and must have ({size},)",
    )


def check_residual(op: str, residual: MaybeTensor, shape: tuple[Any, ...], like_name: str, like: torch.Tensor) -> None:
    """Of the output's shape and type."""
    if residual is None:
        return
    check_same(op, "residual", residual, like_name, like)
    require(
        residual.dim() == len(shape) and all(a == b for a, b in zip(residual.shape, shape)),
        InvalidArgument,
        op,
        lambda: f"residual has shape {_shape(residual)}, and must have {tuple(shape)}",
    )


def check_word(op: str, name: str, word: str, enumeration: str) -> None:
    """One of an enumeration's names."""
    known = _c.ENUMERATIONS[enumeration]
    require(word in known, InvalidArgument, op, lambda: f"{name} is {word!r}, and may be {', '.join(known)}")


def check_linear(
    x: torch.Tensor,
    values: torch.Tensor,
    offsets: torch.Tensor,
    columns: torch.Tensor,
    rows: Any,
    cols: Any,
    bias: MaybeTensor,
    residual: MaybeTensor,
    transpose: bool,
    activation: str,
    math: str,
) -> tuple[Any, ...]:
    """Operands of linear; returns the output's shape."""
    op = "linear"
    width, out = (rows, cols) if transpose else (cols, rows)
    check_same(op, "x", x, "values", values)
    check_structure(op, offsets, columns, rows, "x", x)
    check_values(op, "values", values, columns, False)
    check_axis(op, "x", x, -1, width, "rows" if transpose else "cols")
    shape = (*x.shape[:-1], out)
    check_bias(op, bias, out, "x", x)
    check_residual(op, residual, shape, "x", x)
    check_word(op, "activation", activation, "activation")
    check_word(op, "math", math, "math")
    return shape


def _check_bytes(
    op: str, packed_name: str, packed: torch.Tensor, head_name: str, head: torch.Tensor, x: torch.Tensor
) -> None:
    """Packed weights where x is, and their head wherever it is."""
    for name, tensor in ((packed_name, packed), (head_name, head)):
        if tensor.dtype is not torch.uint8 or tensor.dim() != 1:
            require(False, InvalidType, op, lambda: _not_bytes(name, tensor))
    if packed.device != x.device:  # asked here, since frozen layers are called for a token at a time
        check_device(op, packed_name, packed, "x", x)


def _not_bytes(name: str, tensor: torch.Tensor) -> str:
    return f"{name} has dtype {tensor.dtype} and shape {_shape(tensor)}, and must have one axis of torch.uint8"


def check_linear_packed(
    x: torch.Tensor,
    packed: torch.Tensor,
    head: torch.Tensor,
    rows: Any,
    cols: Any,
    bias: MaybeTensor,
    residual: MaybeTensor,
    activation: str,
    packed_few: MaybeTensor = None,
    head_few: MaybeTensor = None,
) -> tuple[Any, ...]:
    """Operands of linear_packed; returns the output's shape."""
    op = "linear_packed"
    check_element(op, "x", x)
    _check_bytes(op, "packed", packed, "head", head, x)
    if packed_few is not None and head_few is not None:
        _check_bytes(op, "packed_few", packed_few, "head_few", head_few, x)
    elif packed_few is not None or head_few is not None:
        given, other = ("packed_few", "head_few") if head_few is None else ("head_few", "packed_few")
        require(False, InvalidArgument, op, lambda: f"{given} is given without {other}")
    check_axis(op, "x", x, -1, cols, "cols")
    shape = (*x.shape[:-1], rows)
    check_bias(op, bias, rows, "x", x)
    check_residual(op, residual, shape, "x", x)
    check_word(op, "activation", activation, "activation")
    return shape


def _check_leading(op: str, name: str, tensor: torch.Tensor, axes: int, leading: tuple[Any, ...], of: str) -> None:
    found = tensor.shape[: tensor.dim() - axes]
    require(
        len(found) == len(leading) and all(a == b for a, b in zip(found, leading)),
        InvalidArgument,
        op,
        lambda: f"{name} has shape {_shape(tensor)}, and its leading axes must be those of {of}, {tuple(leading)}",
    )


def check_spmm(
    values: torch.Tensor,
    offsets: torch.Tensor,
    columns: torch.Tensor,
    rows: Any,
    cols: Any,
    dense: torch.Tensor,
    bias: MaybeTensor,
    residual: MaybeTensor,
    transpose: bool,
    activation: str,
    math: str,
) -> tuple[Any, ...]:
    """Operands of spmm; returns the output's shape."""
    op = "spmm"
    width, out = (rows, cols) if transpose else (cols, rows)
    check_same(op, "dense", dense, "values", values)
    check_structure(op, offsets, columns, rows, "dense", dense)
    check_values(op, "values", values, columns, True)
    check_axis(op, "dense", dense, -2, width, "rows" if transpose else "cols")
    leading = dense.shape[:-2]
    if values.dim() > 1:
        _check_leading(op, "values", values, 1, leading, "dense")
    shape = (*leading, out, dense.shape[-1])
    check_bias(op, bias, out, "dense", dense)
    check_residual(op, residual, shape, "dense", dense)
    check_word(op, "activation", activation, "activation")
    check_word(op, "math", math, "math")
    return shape


def check_sddmm(
    offsets: torch.Tensor,
    columns: torch.Tensor,
    rows: Any,
    cols: Any,
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    multiplier: MaybeTensor,
    math: str,
) -> tuple[Any, ...]:
    """Operands of sddmm; returns the output's shape."""
    op = "sddmm"
    check_same(op, "lhs", lhs, "rhs", rhs)
    check_structure(op, offsets, columns, rows, "lhs", lhs)
    check_axis(op, "lhs", lhs, -2, rows, "rows")
    check_axis(op, "rhs", rhs, -2, cols, "cols")
    check_axis(op, "rhs", rhs, -1, lhs.shape[-1], "lhs.shape[-1]")
    leading = lhs.shape[:-2]
    _check_leading(op, "rhs", rhs, 2, leading, "lhs")
    if multiplier is not None:
        check_same(op, "multiplier", multiplier, "lhs", lhs)
        check_values(op, "multiplier", multiplier, columns, True)
        if multiplier.dim() > 1:
            _check_leading(op, "multiplier", multiplier, 1, leading, "lhs")
    check_word(op, "math", math, "math")
    return (*leading, columns.shape[0])


def check_softmax(
    op: str, values: torch.Tensor, offsets: torch.Tensor, columns: torch.Tensor, rows: Any, gradient: MaybeTensor = None
) -> tuple[Any, ...]:
    """Operands of softmax and softmax_backward; returns the output's shape."""
    name = "values" if gradient is None else "probabilities"
    check_structure(op, offsets, columns, rows, name, values)
    check_values(op, name, values, columns, True)
    if gradient is not None:
        check_same(op, "gradient", gradient, name, values)
        _check_leading(op, "gradient", gradient, 0, tuple(values.shape), name)
    return tuple(values.shape)


def _check_bias(op: str, bias: torch.Tensor, shape: tuple[Any, ...], q: torch.Tensor) -> None:
    """One for each element of the mask, of all heads or of each."""
    check_same(op, "bias", bias, "q", q)
    require(
        tuple(bias.shape) in (shape[-1:], shape),
        InvalidArgument,
        op,
        lambda: f"bias has shape {_shape(bias)}, and must have {shape[-1:]}, for all heads, or {shape}",
    )


def _check_dropout(op: str, dropout: float, state: torch.Tensor | None, like: torch.Tensor) -> None:
    require(
        0.0 <= dropout < 1.0,
        InvalidArgument,
        op,
        lambda: f"dropout is {dropout}, and must be between 0 and 1, or 0 for none",
    )
    if state is None:
        require(dropout == 0.0, InvalidArgument, op, lambda: f"dropout is {dropout}, and has no dropout_state")
        return
    found = (state.dtype, tuple(state.shape), state.device, state.is_contiguous())
    require(
        dropout > 0.0 and found == (torch.int64, (2,), like.device, True),
        InvalidArgument,
        op,
        lambda: f"dropout_state has {found[:3]}, and must be int64 [2] on {like.device}, where dropout is not 0",
    )


def check_attention(
    op: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    offsets: torch.Tensor,
    columns: torch.Tensor,
    saved: str,
    math: str,
    softcap: float,
    bias: torch.Tensor | None,
    dropout: float,
    dropout_state: torch.Tensor | None,
) -> tuple[Any, ...]:
    """Operands of attention; returns the output's shape."""
    check_same(op, "q", q, "k", k)
    check_same(op, "v", v, "k", k)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        require(
            tensor.dim() >= 2,
            InvalidArgument,
            op,
            lambda: f"{name} has shape {_shape(tensor)}, and must have 2 axes at least",
        )
    check_structure(op, offsets, columns, q.shape[-2], "q", q)
    check_axis(op, "k", k, -1, q.shape[-1], "q.shape[-1]")
    check_axis(op, "v", v, -2, k.shape[-2], "k.shape[-2]")
    leading = q.shape[:-2]
    _check_leading(op, "v", v, 2, k.shape[:-2], "k")
    if not shares_heads(leading, k.shape[:-2]):
        _check_leading(op, "k", k, 2, leading, "q")
    if bias is not None:
        _check_bias(op, bias, (*leading, columns.shape[0]), q)
    require(
        0.0 <= softcap < inf,
        InvalidArgument,
        op,
        lambda: f"softcap is {softcap}, and must be positive, or 0 for none",
    )
    _check_dropout(op, dropout, dropout_state, q)
    require(
        saved in ("none", "row_statistics"),
        InvalidArgument,
        op,
        lambda: f"saved is {saved!r}, and may be none or row_statistics",
    )
    check_word(op, "math", math, "math")
    return (*leading, q.shape[-2], v.shape[-1])
