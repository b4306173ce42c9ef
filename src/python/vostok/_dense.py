"""Dense operands: how a matrix lies in memory, and the copies that are made where that cannot be used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrays import View, element_of, normal_strides, view
from ._errors import InvalidArgument, InvalidType, MisalignedPointer

MOST_ALIGNMENT = 16


@dataclass
class Matrices:
    """A batch of matrices [rows, columns]. Leading dimension and stride count elements; a stride of 0: there is one."""

    view: View
    layout: str
    leading: int
    stride: int


_NAMES = {"f32": "float32", "f16": "float16"}


def typed(where: str, name: str, array: Any, element: str) -> View:
    """A view whose elements have that type; others are refused, since a conversion would hide what it costs."""
    seen = view(where, name, array)
    found = element_of(seen, element)
    if found != element:
        hint = f"convert it with {name}.astype(numpy.{_NAMES[element]})" if element in _NAMES else "convert it"
        raise InvalidType(f"cannot {where}: {name} has elements of {seen.dtype}, and must have {element}: {hint}")
    return aligned(where, name, seen)


def bias_of(where: str, array: Any, length: int, element: str) -> tuple[View, str]:
    """A bias of that length, packed, and its element type: that of the operands, else f32."""
    seen = view(where, "bias", array)
    kind = element if element_of(seen, element) == element else "f32"
    seen = packed(where, "bias", typed(where, "bias", seen, kind))
    if seen.shape != (length,):
        raise InvalidArgument(f"cannot {where}: bias has shape {seen.shape}, and must have {(length,)}")
    return seen, kind


def aligned(where: str, name: str, seen: View) -> View:
    """Elements must lie at multiples of their size: the host's are copied where they do not."""
    size = seen.dtype.itemsize
    if seen.address % size == 0 and all(step % size == 0 for step in seen.strides):
        return seen
    if seen.on_device:
        raise MisalignedPointer(
            f"cannot {where}: {name} lies at {seen.address:#x}, which is no multiple of {size} bytes"
        )
    return view(where, name, np.array(seen.owner, copy=True, order="C"))


def packed(where: str, name: str, seen: View) -> View:
    """Row-major without gaps: the host's are copied, those of the device refused."""
    if seen.is_packed():
        return seen
    if seen.on_device:
        raise InvalidArgument(
            f"cannot {where}: {name} has shape {seen.shape} and strides {seen.strides}: copy it first"
        )
    return view(where, name, np.array(seen.owner, copy=True, order="C"))


def matrices(where: str, name: str, seen: View, is_output: bool = False) -> Matrices:
    """How [.., rows, columns] lies, without a copy where it can be used as it is: row- or column-major, with leading
    dimensions and batch strides."""
    found = _layout(seen)
    if found is not None:
        return found
    if seen.on_device or is_output:
        raise InvalidArgument(
            f"cannot {where}: {name} has shape {seen.shape} and strides {seen.strides}, and must have rows or columns "
            "without gaps and batches at equal distances: copy it first"
        )
    copy = _layout(view(where, name, np.array(seen.owner, copy=True, order="C")))
    assert copy is not None
    return copy


def turned(seen: View) -> View:
    """The same memory with the last two axes exchanged."""
    shape = (*seen.shape[:-2], seen.shape[-1], seen.shape[-2])
    strides = normal_strides(shape, (*seen.strides[:-2], seen.strides[-1], seen.strides[-2]), seen.dtype.itemsize)
    owner = seen.owner if seen.on_device else np.swapaxes(seen.owner, -1, -2)
    return replace(seen, shape=shape, strides=strides, owner=owner)


def row_major(where: str, name: str, seen: View, is_output: bool = False) -> Matrices:
    """As matrices(), of operands that cannot be column-major."""
    found = matrices(where, name, seen, is_output)
    if found.layout == "row_major":
        return found
    if seen.on_device or is_output:
        raise InvalidArgument(
            f"cannot {where}: {name} has shape {seen.shape} and strides {seen.strides}: copy it first"
        )
    return matrices(where, name, packed(where, name, seen))


def _layout(seen: View) -> Matrices | None:
    rows, columns = seen.shape[-2:]
    size = seen.dtype.itemsize
    if seen.size == 0 or seen.is_packed():
        return Matrices(seen, "row_major", columns, rows * columns)
    if any(step <= 0 for step in seen.strides):
        return None
    row_step, column_step = (step // size for step in seen.strides[-2:])
    stride = _batch_stride(seen)
    if stride is None:
        return None
    if column_step == 1 and row_step >= columns:
        return Matrices(seen, "row_major", row_step, stride)
    if row_step == 1 and column_step >= rows:
        return Matrices(seen, "column_major", column_step, stride)
    if rows == 1 and column_step == 1:
        return Matrices(seen, "row_major", columns, stride)
    return None


def _batch_stride(seen: View) -> int | None:
    """Elements between two of the batch; 0 where there is one, None where they do not lie at equal distances."""
    shape, strides = seen.shape[:-2], seen.strides[:-2]
    if math.prod(shape) == 1:
        return 0
    flat = [(length, step) for length, step in zip(shape, strides) if length != 1]
    for (_, outer), (length, inner) in zip(flat, flat[1:]):
        if outer != inner * length:
            return None
    return flat[-1][1] // seen.dtype.itemsize


def alignment(*views: View | None) -> int:
    """The largest alignment that a problem may declare for these operands."""
    bits = MOST_ALIGNMENT
    for seen in views:
        if seen is not None:
            bits |= seen.address
    return bits & -bits
