"""How tensors of attention lie in memory: what kernels read as it lies, and copies of what they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _strides(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Elements between two rows and between two heads of [.., rows, size]; None: kernels cannot read it as it lies.
    Heads lie behind one another or, where a row of each fits between two rows of one, side by side."""
    rows, size = tensor.shape[-2:]
    leading, batch, stride = tensor.stride(-2), 1, 0
    if tensor.stride(-1) != 1 or leading < size:
        return None
    for axis in range(tensor.dim() - 3, -1, -1):
        if tensor.shape[axis] == 1:
            continue
        stride = stride or tensor.stride(axis)
        if tensor.stride(axis) != batch * stride:
            return None
        batch *= tensor.shape[axis]
    behind = stride >= (rows - 1) * leading + size
    if batch > 1 and not behind and not size <= stride <= (leading - size) // (batch - 1):
        return None
    return leading, stride


def _are_side_by_side(q: torch.Tensor) -> bool:
    """Whether the heads of queries lie so: those of the output then do, too."""
    if q.is_contiguous():
        return False
    strides = _strides(q)
    return strides is not None and 0 < strides[1] < q.shape[-2] * strides[0]


def empty_output(q: torch.Tensor, shape: tuple[Any, ...]) -> torch.Tensor:
    if not _are_side_by_side(q):
        return q.new_empty(shape)
    return q.new_empty((shape[-2], *shape[:-2], shape[-1])).movedim(0, -2)


def laid_out(name: str, tensor: torch.Tensor) -> tuple[torch.Tensor, dict[str, int]]:
    """The tensor, or a copy where kernels cannot read it as it lies, and the problem's fields of its layout."""
    strides = None if tensor.is_contiguous() else _strides(tensor)
    if strides is None:
        return tensor.contiguous(), {}
    return tensor, {f"{name}_leading": strides[0], f"{name}_stride": strides[1]}


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether nothing lies between the elements, so that another tensor may lie as this one does."""
    sizes, strides = tensor.shape, tensor.stride()
    return bool(sum((size - 1) * stride for size, stride in zip(sizes, strides)) + 1 == tensor.numel())


def all_laid_out(
    lay: Callable[[str, torch.Tensor], tuple[torch.Tensor, dict[str, int]]], **tensors: torch.Tensor
) -> tuple[list[torch.Tensor], dict[str, int]]:
    """Each tensor as lay(its name, tensor) gives it, and the fields of all."""
    laid = [lay(name, tensor) for name, tensor in tensors.items()]
    return [tensor for tensor, _ in laid], {name: value for _, fields in laid for name, value in fields.items()}


def laid_out_densely(name: str, tensor: torch.Tensor) -> tuple[torch.Tensor, dict[str, int]]:
    """As laid_out, and a copy, too, where a gradient that lies like the tensor would have gaps."""
    return laid_out(name, tensor) if _is_dense(tensor) else (tensor.contiguous(), {})


def empty_like(tensor: torch.Tensor) -> torch.Tensor:
    """What the gradient by a tensor is written to."""
    return torch.empty_like(tensor if _is_dense(tensor) and _strides(tensor) else tensor.contiguous())
