"""The functions: spmm, linear, sddmm, softmax, attention. Differentiable by every floating operand."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import InvalidArgument
from . import _attention, _linear, _products, _softmax
from ._csr import Csr, csr
from ._joined import JoinedMask, apart, behind, check_causal, is_several, join_masks, joined_axes
from ._masks import RuleMask, mask_csr

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


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: Csr | RuleMask | JoinedMask | torch.Tensor | Any,  # Any: a BlockMask, a list of masks
    *,
    bias: MaybeTensor = None,
    scale: float | None = None,
    softcap: float = 0.0,
    is_causal: bool = False,
    dropout: float = 0.0,
    math: str = "accurate",
) -> torch.Tensor:
    """softmax(scale * q k^T, at the mask) v: q [.., heads, queries, size], k and v [.., heads, keys, size], one mask
    [queries, keys] for all heads: a Csr (its values are not read), BandedMask, BigBirdMask, FlexAttention's BlockMask
    of one sequence and head, torch.sparse or a dense one, true where attended. scale: 1 / sqrt(size). math: strict,
    accurate or tf32. A query without keys gets zeros. Heads that lie side by side, as in views of one [tokens, heads,
    3 * size], are read as they lie; the output's then lie so, too.

    k and v may have fewer heads, a divisor of q's: each serves as many heads of q that follow one another, as
    enable_gqa of scaled_dot_product_attention has it. softcap: scores become softcap * tanh(scores / softcap), as in
    Gemma 2. is_causal: no query sees keys of its row behind its own; the last query's is the last key. dropout: the
    share of probabilities to drop at random, between 0 and 1, and the others are divided by 1 - dropout; pass 0 where a
    model does not train. torch's generator of the device draws what is dropped, anew at every replay of a CUDA graph.
    softcap, is_causal, bias and dropout have gradients by 16-bit tensors.

    bias: a number for each of the mask's elements in CSR order, [nonzeros] of all heads or [.., heads, nonzeros], added
    to its scaled and capped score; leading axes of one element or none are broadcast, and copied. -infinity leaves an
    element out. It is in the type of q. With several masks it has the elements of one behind those of another,
    [all nonzeros] or [.., heads, all nonzeros] without the axes that masks are for.

    A list of masks has one [queries, keys] for each element of the leading axis: for each sequence of q [sequences,
    heads, queries, size], or for each head of q [heads, queries, size]. Lists in the list have one for each sequence
    and head. Heads share keys only where they share masks. It is one call with their block-diagonal mask: join_masks()
    keeps it for the same masks, takes lengths that differ, and is to be called before a compiled program. Masks for
    each sequence read views of [sequences, tokens, heads, size] as they lie, masks for each head contiguous operands;
    others are copied. The output lies so, too. is_causal takes them where all but the first are square."""
    joined: Any = mask
    if is_several(mask):
        joined = join_masks(mask, (q.shape[-2], k.shape[-2]), device=q.device)
    if isinstance(joined, JoinedMask):
        if is_causal:
            check_causal(joined)
        if joined is not mask or joined.shape != (q.shape[-2], k.shape[-2]):
            leading = joined_axes(joined, q, k, v)
            q, k, v = (behind(tensor, len(leading)) for tensor in (q, k, v))
            options: dict[str, Any] = {"bias": bias, "softcap": softcap, "is_causal": is_causal}
            options |= {"dropout": dropout, "math": math}
            return apart(attention(q, k, v, joined.matrix, scale=scale, **options), leading)
        mask = joined.matrix
    a = mask_csr(mask, q, k)
    if a.shape != (q.shape[-2], k.shape[-2]):
        raise InvalidArgument(
            f"cannot run vostok::attention: the mask has shape {a.shape}, and q and k have {q.shape[-2]} queries and "
            f"{k.shape[-2]} keys"
        )
    chosen = 1.0 / max(q.shape[-1], 1) ** 0.5 if scale is None else float(scale)
    structure = (a.row_offsets, a.column_indices)
    state = torch.randint(2**63 - 1, (2,), device=q.device) if dropout > 0 else None
    rest = ("none", math, softcap, is_causal, _of_heads(bias, q, a), float(dropout), state)
    output: torch.Tensor = _attention.ATTENTION(q, k, v, *structure, chosen, *rest)[0]
    return output


def _of_heads(bias: MaybeTensor, q: torch.Tensor, a: Csr) -> MaybeTensor:
    """The bias of each head; one without other axes is that of all."""
    shape = (*q.shape[:-2], a.column_indices.shape[0])
    if bias is None or bias.dim() <= 1 or bias.shape == shape:
        return bias
    fits = bias.dim() <= len(shape) and all(own in (1, full) for own, full in zip(bias.shape[-2::-1], shape[-2::-1]))
    if not fits or bias.shape[-1] != shape[-1]:
        raise InvalidArgument(
            f"cannot run vostok::attention: bias has shape {tuple(bias.shape)}, and must have {shape[-1:]}, for all "
            f"heads, or {shape}"
        )
    return bias.expand(shape)
