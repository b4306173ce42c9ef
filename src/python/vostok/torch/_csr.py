"""Csr: a sparse matrix of plain tensors, which compiles, exports and saves; and what makes it of other things."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .._errors import InvalidArgument, InvalidType

MaybeTensor = torch.Tensor | None
_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}


class Csr(NamedTuple):
    """values [nonzeros] or [batch.., nonzeros], row_offsets [rows + 1], column_indices [nonzeros] (int32 or int64) on
    one device, and (rows, cols). Index tensors are not to be written to: make new ones."""

    values: torch.Tensor
    row_offsets: torch.Tensor
    column_indices: torch.Tensor
    shape: tuple[int, int]

    def with_values(self, values: torch.Tensor) -> Csr:
        """The same structure with other values."""
        return Csr(values, self.row_offsets, self.column_indices, self.shape)


def as_static(indices: torch.Tensor) -> torch.Tensor:
    """Marks an index tensor as one that stays where it is, so that CUDA-graph trees do not copy it, and with it its
    identity, at every call."""
    torch._dynamo.mark_static_address(indices, guard=False)
    return indices


def make_csr(values: torch.Tensor, row_offsets: torch.Tensor, column_indices: torch.Tensor, shape: Any) -> Csr:
    """A Csr whose index tensors are marked as static."""
    rows, cols = shape
    return Csr(values, as_static(row_offsets), as_static(column_indices), (int(rows), int(cols)))


def csr(
    x: torch.Tensor | Csr,
    *,
    threshold: float = 0.0,
    mask: MaybeTensor = None,
    count: int | None = None,
    per: str = "matrix",
) -> Csr:
    """A matrix as Csr, on its device: of a dense one the elements whose magnitude is above `threshold` (a NaN is),
    those where `mask` is true, or exactly `count` elements, `per` "matrix" or "row", of largest magnitude (equal ones:
    the first in row-major order; a NaN is larger than infinity). Also of torch.sparse_csr, sparse_coo and sparse_bsr.

    The values are differentiable by x. Errors: InvalidArgument and InvalidType, which are ValueError and TypeError.
    """
    if isinstance(x, Csr):
        return x
    if not isinstance(x, torch.Tensor):
        raise InvalidType(f"cannot make a Csr: x is {type(x).__name__}, and must be a tensor")
    if x.layout != torch.strided:
        return _of_sparse(x)
    if x.dim() != 2:
        raise InvalidArgument(f"cannot make a Csr: x has shape {tuple(x.shape)}, and must have two axes")
    if mask is not None:
        if mask.shape != x.shape:
            raise InvalidArgument(f"cannot make a Csr: mask has shape {tuple(mask.shape)}, and x has {tuple(x.shape)}")
        chosen = mask.to(x.device) != 0
    elif count is not None:
        chosen = largest(x.detach(), count, per)
    else:
        if threshold != threshold:
            raise InvalidArgument("cannot make a Csr: threshold is NaN")
        chosen = (x.detach().abs() > threshold) | x.detach().isnan()
    offsets, columns = structure_of(chosen)
    return make_csr(x[chosen], offsets, columns, x.shape)


def largest(x: torch.Tensor, count: int, per: str) -> torch.Tensor:
    """Where the `count` elements of largest magnitude are, of the matrix or of each row."""
    if per not in ("matrix", "row"):
        raise InvalidArgument(f"cannot make a Csr: per is {per!r}, and may be 'matrix' or 'row'")
    if x.dtype not in _BITS:
        raise InvalidType(f"cannot make a Csr: x has dtype {x.dtype}, and may have {', '.join(map(str, _BITS))}")
    bits = (
        x.abs().contiguous().view(_BITS[x.dtype])
    )  # magnitudes are ordered as their bits are; NaNs are above infinity
    infinity = int(torch.tensor(float("inf"), dtype=x.dtype).view(_BITS[x.dtype]))
    lines = bits.clamp(max=infinity + 1).reshape(1 if per == "matrix" else x.shape[0], -1)
    if not 0 <= count <= lines.shape[1]:
        raise InvalidArgument(f"cannot make a Csr: count is {count}, and may be 0 to {lines.shape[1]}")
    order = torch.argsort(lines, dim=1, descending=True, stable=True)
    chosen = torch.zeros_like(lines, dtype=torch.bool)
    chosen.scatter_(1, order[:, :count], True)
    return chosen.reshape(x.shape)


def structure_of(chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Row offsets and column indices, int32, of a boolean matrix."""
    counts = chosen.sum(dim=1)
    offsets = torch.zeros(chosen.shape[0] + 1, dtype=torch.int32, device=chosen.device)
    offsets[1:] = counts.cumsum(0)
    return offsets, chosen.nonzero()[:, 1].to(torch.int32)


def _of_sparse(x: torch.Tensor) -> Csr:
    """Of torch's sparse layouts. A CSR keeps its index tensors, whose type is taken as it is."""
    if x.layout == torch.sparse_csr and x.dim() == 2:
        return make_csr(x.values(), x.crow_indices(), x.col_indices(), x.shape)
    if x.layout == torch.sparse_coo and x.dim() == 2:
        matrix = x if x.is_coalesced() else x.coalesce()
        row, column = matrix.indices()
        return make_csr(matrix.values(), offsets_of(row, x.shape[0]), column.to(torch.int32), x.shape)
    if x.layout == torch.sparse_bsr and x.dim() == 2:
        return _of_blocks(x)
    raise InvalidType(f"cannot make a Csr: x has layout {x.layout} and shape {tuple(x.shape)}")


def offsets_of(rows: torch.Tensor, count: int) -> torch.Tensor:
    """Row offsets, int32, of the rows that nonzeros are in."""
    offsets = torch.zeros(count + 1, dtype=torch.int32, device=rows.device)
    offsets[1:] = torch.bincount(rows, minlength=count).cumsum(0)
    return offsets


def _of_blocks(x: torch.Tensor) -> Csr:
    """Of sparse_bsr: every element of its blocks."""
    blocks, height, width = x.values().shape
    starts = x.crow_indices()
    row = torch.repeat_interleave(
        torch.arange(starts.numel() - 1, device=x.device), starts[1:] - starts[:-1], output_size=blocks
    )
    rows = row[:, None, None] * height + torch.arange(height, device=x.device)[:, None]
    columns = x.col_indices()[:, None, None] * width + torch.arange(width, device=x.device)
    rows, columns = (tensor.expand(blocks, height, width).reshape(-1) for tensor in (rows, columns))
    order = torch.argsort(rows, stable=True)
    return make_csr(
        x.values().reshape(-1)[order], offsets_of(rows, x.shape[0]), columns[order].to(torch.int32), x.shape
    )


def row_indices(a: Csr) -> torch.Tensor:
    """The row of every nonzero, int64."""
    rows = torch.arange(a.shape[0], device=a.values.device)
    offsets = a.row_offsets
    return torch.repeat_interleave(rows, offsets[1:] - offsets[:-1], output_size=a.column_indices.shape[0])


def dense(a: Csr) -> torch.Tensor:
    """The dense matrix [.., rows, cols]; columns that repeat in a row add up. Differentiable by the values."""
    a = csr(a)
    places = row_indices(a) * a.shape[1] + a.column_indices
    flat = a.values.new_zeros((*a.values.shape[:-1], a.shape[0] * a.shape[1]))
    return flat.index_add(-1, places, a.values).reshape(*a.values.shape[:-1], *a.shape)
