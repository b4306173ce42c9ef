"""The functions: spmm, linear, sddmm, softmax, attention. Differentiable by every floating operand."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import torch

from .._errors import InvalidArgument
from . import _attention, _linear, _products, _softmax
from ._csr import Csr, csr, make_csr, structure_of

MaybeTensor = torch.Tensor | None


def activation_name(activation: str | None) -> str:
    """None is "none"."""
    return "none" if activation is None else activation


def linear(
    x: torch.Tensor,
    w: Csr | torch.Tensor,
    bias: MaybeTensor = None,
    *,
    activation: str | None = None,
    math: str = "accurate",
) -> torch.Tensor:
    """activation(x W^T + bias): x [tokens.., in], w [out, in], bias [out] -> [tokens.., out]. No transposes are made.

    activation: relu, gelu, gelu_tanh or silu. math: strict, accurate or tf32. Errors: InvalidArgument (ValueError) for
    shapes, InvalidType (TypeError) for element types and devices; both are RuntimeError too.
    """
    a = csr(w)
    y: torch.Tensor = _linear.OP(
        x, a.values, a.row_offsets, a.column_indices, *a.shape, bias, None, False, activation_name(activation), math
    )
    return y


def spmm(
    a: Csr | torch.Tensor,
    b: torch.Tensor,
    *,
    transpose: bool = False,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    activation: str | None = None,
    scale: float = 1.0,
    math: str = "accurate",
) -> torch.Tensor:
    """activation(scale * A b + bias + residual): a [m, k] (values also [.., nonzeros]), b [.., k, n] -> [.., m, n], or
    of A^T: b [.., m, n] -> [.., k, n]. bias [m], one for each row of the output. A vector b [k] gives [m]."""
    a = csr(a)
    vector = b.dim() == 1
    dense = b.unsqueeze(-1) if vector else b
    if vector and residual is not None:
        residual = residual.unsqueeze(-1)
    if a.values.dim() > 1 and dense.dim() == 2:
        dense = dense.expand(*a.values.shape[:-1], *dense.shape)
    output: torch.Tensor = _products.SPMM(
        a.values,
        a.row_offsets,
        a.column_indices,
        *a.shape,
        dense,
        bias,
        residual,
        transpose,
        activation_name(activation),
        scale,
        math,
    )
    return output.squeeze(-1) if vector else output


def sddmm(
    mask: Csr | torch.Tensor,
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    *,
    scale: float = 1.0,
    multiplier: MaybeTensor = None,
    math: str = "accurate",
) -> torch.Tensor:
    """scale * (lhs rhs^T), at the mask's nonzeros only, times multiplier: lhs [.., m, n], rhs [.., k, n] ->
    [.., nonzeros]. Column-major operands (`.mT` of a tensor) are read as they lie."""
    a = csr(mask)
    values: torch.Tensor = _products.SDDMM(a.row_offsets, a.column_indices, *a.shape, lhs, rhs, scale, multiplier, math)
    return values


def softmax(a: Csr | torch.Tensor, *, scale: float = 1.0) -> Csr:
    """softmax(scale * A) over each row's nonzeros; what is not there counts as -infinity."""
    a = csr(a)
    return a.with_values(_softmax.SOFTMAX(a.values, a.row_offsets, a.column_indices, *a.shape, scale))


@dataclass(frozen=True)
class BandedMask:
    """`width` keys around each query, or, causal, up to it."""

    width: int
    causal: bool = True

    def csr(self, rows: int, cols: int, device: Any = "cpu", dtype: torch.dtype = torch.float32) -> Csr:
        """The mask as a Csr whose values are ones; made once for each shape and device."""
        return _banded(self, rows, cols, torch.device(device), dtype)


MASKS_KEPT = 32
_masks: OrderedDict[Any, Any] = OrderedDict()


def _kept(key: Any, make: Any) -> Any:
    """What make() returns, made once for each key: a mask that is made anew at every call would be planned anew."""
    found = _masks.get(key)
    if found is None:
        found = _masks[key] = make()
        while len(_masks) > MASKS_KEPT:
            _masks.popitem(last=False)
    return found


def _banded(mask: BandedMask, rows: int, cols: int, device: torch.device, dtype: torch.dtype) -> Csr:
    if mask.width < 1:
        raise InvalidArgument(f"cannot make a banded mask: width is {mask.width}, and must be at least 1")

    def make() -> Csr:
        query = torch.arange(rows, device=device)
        first = query - (mask.width - 1 if mask.causal else mask.width // 2)
        last = query + (0 if mask.causal else mask.width - 1 - mask.width // 2)
        first, last = first.clamp(0, cols), last.clamp(-1, cols - 1)
        counts = (last - first + 1).clamp(min=0)
        offsets = torch.zeros(rows + 1, dtype=torch.int64, device=device)
        offsets[1:] = counts.cumsum(0)
        size = int(offsets[-1])
        within = torch.arange(size, device=device) - torch.repeat_interleave(offsets[:-1], counts, output_size=size)
        columns = torch.repeat_interleave(first, counts, output_size=size) + within
        ones = torch.ones(size, dtype=dtype, device=device)
        return make_csr(ones, offsets.to(torch.int32), columns.to(torch.int32), (rows, cols))

    return _kept((mask, rows, cols, device, dtype), make)


def _mask_csr(mask: Csr | BandedMask | torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> Csr:
    if isinstance(mask, BandedMask):
        return mask.csr(q.shape[-2], k.shape[-2], q.device)
    if not isinstance(mask, torch.Tensor) or mask.layout != torch.strided:
        return csr(mask)
    if mask.dim() != 2:
        raise InvalidArgument(
            f"cannot run vostok::attention: mask has shape {tuple(mask.shape)}, and must have two axes"
        )
    if torch.compiler.is_compiling():
        raise RuntimeError(
            "cannot compile vostok::attention with a dense mask: make a Csr of it first, by vostok.torch.csr"
        )
    storage = mask.untyped_storage()
    version = None if mask.is_inference() else mask._version
    key = (storage._cdata, mask.data_ptr(), mask.shape, mask.stride(), version)

    def make() -> tuple[Csr, Any]:
        offsets, columns = structure_of(mask != 0)
        return make_csr(columns.new_empty(0, dtype=q.dtype), offsets, columns, mask.shape), (mask, storage)

    return _kept(key, make)[0]


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: Csr | BandedMask | torch.Tensor,
    *,
    scale: float | None = None,
    math: str = "accurate",
) -> torch.Tensor:
    """softmax(scale * q k^T, at the mask) v: q [.., heads, queries, size], k and v [.., heads, keys, size], one mask
    [queries, keys] for all heads: a Csr (its values are not read), BandedMask, torch.sparse or a dense one, true where
    attended. scale: 1 / sqrt(size). math: strict, accurate or tf32. A query without keys gets zeros. Heads that lie
    side by side, as in views of one [tokens, heads, 3 * size], are read as they lie; the output's then lie so, too."""
    a = _mask_csr(mask, q, k)
    if a.shape != (q.shape[-2], k.shape[-2]):
        raise InvalidArgument(
            f"cannot run vostok::attention: the mask has shape {a.shape}, and q and k have {q.shape[-2]} queries and "
            f"{k.shape[-2]} keys"
        )
    chosen = 1.0 / max(q.shape[-1], 1) ** 0.5 if scale is None else float(scale)
    output: torch.Tensor = _attention.ATTENTION(q, k, v, a.row_offsets, a.column_indices, chosen, "none", math)[0]
    return output
