"""Sparse matrices made on the device: from dense ones and back, transposes, sorted columns, linear indices, masks.

`context` defaults to vostok.default_context(); calls go behind `stream`, else behind the arrays' own streams.
Errors of all: InvalidArgument and InvalidType naming the value, OutOfMemory; capture_active, no_compiler.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np

from . import _c
from . import _structures as s
from ._arrays import DeviceArray, View, element_of, view
from ._context import Context, default_context
from ._csr import Csr, converted
from ._dense import packed, typed
from ._errors import InvalidArgument, InvalidType, check
from ._handles import made, make
from ._numbers import Stream, chosen, fill, integer, real, stream_number
from ._placement import Placement
from ._topology import Topology, matrix_shape

__all__ = [
    "attention_mask",
    "banded_mask",
    "block_mask",
    "linear_indices",
    "sort_columns",
    "sparse_above",
    "sparse_largest",
    "to_dense",
    "transpose",
    "uniform_mask",
]


def sparse_above(
    dense: Any,
    threshold: float = 0.0,
    *,
    element: str | None = None,
    context: Context | None = None,
    stream: Stream = 0,
) -> Csr:
    """The elements of dense [rows, cols] whose magnitude is above the threshold, columns ascending; a NaN is above
    every threshold, a negative one keeps all."""
    where = "make a sparse matrix"
    limit = ctypes.c_float(real(where, "threshold", threshold))
    return _sparse(where, _c.library.vostok_sparse_above, dense, (limit,), element, context, stream)


def sparse_largest(
    dense: Any,
    count: int,
    *,
    per: str = "matrix",
    element: str | None = None,
    context: Context | None = None,
    stream: Stream = 0,
) -> Csr:
    """The `count` elements of the largest magnitude of dense [rows, cols], or of each of its rows (per="row")."""
    where = "make a sparse matrix"
    number = ctypes.c_int64(integer(where, "count", count))
    unit = ctypes.c_int32(chosen(where, "per", per, "per"))
    return _sparse(where, _c.library.vostok_sparse_largest, dense, (number, unit), element, context, stream)


def _sparse(
    where: str,
    function: Any,
    dense: Any,
    arguments: tuple[Any, ...],
    element: str | None,
    context: Context | None,
    stream: Stream,
) -> Csr:
    chosen_context = default_context() if context is None else context
    seen = converted(where, "dense", dense, element)
    found = element_of(seen, element)
    if found is None:
        raise InvalidType(f"cannot {where}: dense has elements of {seen.dtype}, and must have f32, f16 or bf16")
    if len(seen.shape) != 2:
        raise InvalidArgument(f"cannot {where}: dense has shape {seen.shape}, and must have two axes")
    seen = packed(where, "dense", typed(where, "dense", seen, found))
    place = Placement(where, chosen_context, stream, seen)
    matrix = _dense_structure(place.input(seen), found)
    handle, values = made(function, chosen_context.handle, ctypes.byref(matrix), *arguments, place.stream, results=2)
    topology = Topology(handle, chosen_context)
    return Csr(topology, _array(values, chosen_context, (topology.nonzeros,), seen.dtype), element=found)


def _dense_structure(seen: View, element: str) -> Any:
    matrix: Any = s.Dense()
    _c.library.vostok_dense_init(ctypes.byref(matrix), ctypes.sizeof(matrix))
    matrix.data = seen.address
    matrix.rows, matrix.cols = seen.shape
    matrix.element = _c.ENUMERATIONS["dtype"].index(element)
    return matrix


def _array(handle: int, context: Context, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """What the library allocated: NumPy's view of it on the emulator."""
    array = DeviceArray(handle, context, shape, dtype)
    return array if context.device.gpu else array.numpy()


def to_dense(matrix: Csr, *, out: Any = None, stream: Stream = 0) -> Any:
    """Every element [.., rows, cols]: zeros, and the values where the matrix has them; repeats add up, in CSR order. As
    a DeviceArray where the values lie in device memory that is not the emulator's, else as a NumPy array."""
    where = "make a dense matrix"
    source = matrix
    if matrix.transposed:
        source = _transposed(matrix, stream)
    values = source._values
    place = Placement(where, matrix.context, stream, values, None if out is None else view(where, "out", out))
    output = place.output((*matrix.batch, *matrix.shape), matrix.element, out)
    if not output.is_packed():
        raise InvalidArgument(f"cannot {where}: out has strides {output.strides}, and must be packed")
    rows, cols = matrix.shape
    used = place.input(values)
    size = used.dtype.itemsize
    for batch in range(output.size // max(rows * cols, 1)):
        one = replace(output, address=output.address + batch * rows * cols * size, shape=(rows, cols))
        structure = _dense_structure(one, matrix.element)
        address = used.address + batch * matrix.nnz * size
        check(_c.library.vostok_to_dense(source.topology.handle, address, ctypes.byref(structure), place.stream))
    return place.finish(output)


def _transposed(matrix: Csr, stream: Stream) -> Csr:
    """A Csr that is stored as what the transposed one means."""
    topology, positions = transpose(matrix.topology, stream=stream)
    order = np.asarray(positions)
    values = matrix._values.owner
    host = values.numpy() if isinstance(values, DeviceArray) else np.asarray(values)
    return Csr(topology, np.ascontiguousarray(host[..., order]), element=matrix.element)


def transpose(topology: Topology, *, stream: Stream = 0) -> tuple[Topology, Any]:
    """The transpose, and int32 [nonzeros]: where each of its values lies in the CSR order of the source. Columns
    ascend. Errors: unsupported (2^31 nonzeros and more)."""
    return _permuted(_c.library.vostok_transpose, topology, stream)


def sort_columns(topology: Topology, *, stream: Stream = 0) -> tuple[Topology, Any]:
    """The same matrix with ascending columns in each row, and where each value lies in the source's order."""
    return _permuted(_c.library.vostok_sort_columns, topology, stream)


def _permuted(function: Any, topology: Topology, stream: Stream) -> tuple[Topology, Any]:
    order = stream_number("permute a topology", stream)
    handle, positions = made(function, topology.handle, order, results=2)
    found = Topology(handle, topology.context)
    return found, _array(positions, topology.context, (found.nonzeros,), np.dtype(np.int32))


def linear_indices(topology: Topology, index_type: str = "int64", *, stream: Stream = 0) -> np.ndarray[Any, Any]:
    """row * cols + column of every nonzero, as a NumPy array of int32 or int64. Errors: InvalidArgument where int32
    cannot hold them."""
    dtype = np.dtype(index_type)
    if dtype.name not in ("int32", "int64"):
        raise InvalidType(f"cannot make linear indices: index_type is {index_type!r}, and may be int32 or int64")
    order = stream_number("make linear indices", stream)
    indices = DeviceArray.empty(topology.context, (topology.nonzeros,), dtype)
    check(_c.library.vostok_linear_indices(topology.handle, indices.address, dtype.itemsize, order))
    indices.stream = order or _c.STREAM_LEGACY
    return indices.numpy()


def uniform_mask(
    shape: tuple[int, int], sparsity: float, *, seed: int = 1, context: Context | None = None, stream: Stream = 0
) -> Topology:
    """round(rows * cols * (1 - sparsity)) nonzeros, spread over the rows as equally as possible; columns at random."""
    return _mask("uniform", context, stream, shape, sparsity=sparsity, seed=seed)


def block_mask(
    shape: tuple[int, int],
    block_size: int,
    sparsity: float,
    *,
    seed: int = 1,
    context: Context | None = None,
    stream: Stream = 0,
) -> Topology:
    """The same of square blocks, of which the last ones are cut by the matrix's edges."""
    return _mask("block", context, stream, shape, block_size=block_size, sparsity=sparsity, seed=seed)


def banded_mask(
    shape: tuple[int, int], width: int, *, causal: bool = False, context: Context | None = None, stream: Stream = 0
) -> Topology:
    """`width` elements of each row around the diagonal, or, causal, up to it."""
    return _mask("banded", context, stream, shape, width=width, causal=causal)


def attention_mask(
    shape: tuple[int, int],
    width: int = 256,
    sparsity: float = 0.95,
    *,
    causal: bool = False,
    seed: int = 1,
    context: Context | None = None,
    stream: Stream = 0,
) -> Topology:
    """A dense band, and beyond it elements at random, the rarer the farther from the diagonal (SC20 paper, VII-C)."""
    return _mask("attention", context, stream, shape, width=width, sparsity=sparsity, causal=causal, seed=seed)


def _mask(kind: str, context: Context | None, stream: Stream, shape: tuple[int, int], **values: Any) -> Topology:
    where = f"make a mask ({kind})"
    chosen_context = default_context() if context is None else context
    rows, cols = matrix_shape(where, shape)
    structure = s.STRUCTURES[f"vostok_{kind}_mask"]()
    getattr(_c.library, f"vostok_{kind}_mask_init")(ctypes.byref(structure), ctypes.sizeof(structure))
    fill(where, structure, {"rows": rows, "cols": cols, **values}, {})
    function = getattr(_c.library, f"vostok_make_{kind}_mask")
    order = stream_number(where, stream)
    return Topology(make(function, chosen_context.handle, ctypes.byref(structure), order), chosen_context)
