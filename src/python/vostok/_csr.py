"""A sparse matrix with its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import DeviceArray, View, element_of, numpy_type, view
from ._context import Context, default_context
from ._dense import packed, typed
from ._errors import InvalidArgument, InvalidType
from ._numbers import Stream
from ._topology import Topology

if TYPE_CHECKING:
    from ._packed_matrix import PackedMatrix

_WHERE = "make a sparse matrix"


class Csr:
    """A sparse matrix [rows, cols]: a topology, and values [nonzeros] or [.., nonzeros] (one matrix for each of a
    batch) in CSR order, of f32, f16 or bf16. Immutable; `a.T` is the transpose without a copy.

    `a @ x` and `x @ a` multiply by dense arrays: vostok.spmm and vostok.linear have bias, activation and the rest.
    """

    __slots__ = ("topology", "transposed", "_values")
    __array_ufunc__ = None  # NumPy leaves x @ a to this class

    def __init__(
        self, topology: Topology, values: Any, *, element: str | None = None, transposed: bool = False
    ) -> None:
        """values: an array whose type tells the element type; element: "bf16" where they are its bits as uint16."""
        seen = view(_WHERE, "values", values)
        found = element_of(seen, element)
        if found is None or (element is not None and found != element):
            wanted = element or "f32, f16 or bf16 (element= converts)"
            raise InvalidType(f"cannot {_WHERE}: values have elements of {seen.dtype}, and must have {wanted}")
        if not seen.shape or seen.shape[-1] != topology.nonzeros:
            raise InvalidArgument(
                f"cannot {_WHERE}: values have shape {seen.shape}, and there are {topology.nonzeros} nonzeros"
            )
        self.topology = topology
        self.transposed = transposed
        seen = packed(_WHERE, "values", typed(_WHERE, "values", seen, found))
        self._values = seen if isinstance(values, View) else _owned(topology.context, seen)

    @property
    def context(self) -> Context:
        """The device that it lies on."""
        return self.topology.context

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, cols)."""
        rows, cols = self.topology.shape
        return (cols, rows) if self.transposed else (rows, cols)

    @property
    def nnz(self) -> int:
        """Nonzeros of the structure, explicit zeros among them."""
        return self.topology.nonzeros

    @property
    def batch(self) -> tuple[int, ...]:
        """Leading axes of the values; () for one matrix."""
        return self._values.shape[:-1]

    @property
    def element(self) -> str:
        """f32, f16 or bf16."""
        found = element_of(self._values, "bf16")
        assert found is not None
        return found

    @property
    def values(self) -> Any:
        """The array of values, where it lies: NumPy's on the emulator, else device memory; in CSR order of the matrix
        that is not transposed."""
        return self._values.owner

    @property
    def T(self) -> Csr:
        """The transpose, of the same memory."""
        return Csr(self.topology, self._values, element=self.element, transposed=not self.transposed)

    def with_values(self, values: Any) -> Csr:
        """The same structure with other values."""
        return Csr(self.topology, values, element=self.element, transposed=self.transposed)

    def todense(self) -> np.ndarray[Any, Any]:
        """Every element [.., rows, cols] as a NumPy array; where a column repeats in a row, its values add up."""
        from .tools import to_dense

        dense: np.ndarray[Any, Any] = np.asarray(to_dense(self))
        return dense

    def numpy(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """(data, indices, indptr) as scipy.sparse.csr_matrix takes them, of the matrix that is not transposed."""
        offsets, columns = self.topology.read()
        owner = self._values.owner
        return np.array(owner.numpy() if isinstance(owner, DeviceArray) else owner), columns, offsets

    def __matmul__(self, x: Any) -> Any:
        from ._products import spmm

        return spmm(self, x)

    def __rmatmul__(self, x: Any) -> Any:
        from ._products import linear

        return linear(x, self.T)

    def pack(self, n: int | tuple[int, ...], **options: Any) -> PackedMatrix:
        """The values packed once for products with n columns, or up to the largest of several.

        Options: math; effort; family, the only one to be considered. Errors: InvalidArgument, OutOfMemory; unsupported
        where that family does not pack.
        """
        from ._packed_matrix import pack

        return pack(self, n, **options)

    def __repr__(self) -> str:
        batch = f", batch={self.batch}" if self.batch else ""
        return f"Csr(shape={self.shape}, nnz={self.nnz}, element={self.element!r}{batch})"


def _owned(context: Context, values: View) -> View:
    """Host memory is copied once: to a GPU, or so that nobody else changes it."""
    if values.on_device:
        return values
    host = np.array(values.owner)
    return view(_WHERE, "values", DeviceArray.of(context, host) if context.device.gpu else host)


def csr(
    matrix: Any,
    *,
    threshold: float = 0.0,
    count: int | None = None,
    per: str = "matrix",
    element: str | None = None,
    context: Context | None = None,
    stream: Stream = 0,
) -> Csr:
    """A sparse matrix on the device, of:

    - a scipy.sparse matrix or array of any format;
    - (data, indices, indptr, shape), as scipy.sparse.csr_matrix has them: NumPy arrays or arrays in device memory;
    - a dense array [rows, cols]: its elements whose magnitude is above `threshold`, or the `count` largest `per`
      "matrix" or "row".

    element: f32, f16 or bf16; default: the array's own, which must be one of them. Naming one converts the host's
    arrays. context: default vostok.default_context(). Errors: InvalidArgument, InvalidTopology, InvalidType,
    OutOfMemory.
    """
    chosen = default_context() if context is None else context
    if isinstance(matrix, Csr):
        return matrix
    if isinstance(matrix, tuple):
        return _of_arrays(matrix, element, chosen, stream)
    if hasattr(matrix, "tocsr"):
        found = matrix.tocsr()
        return _of_arrays((found.data, found.indices, found.indptr, found.shape), element, chosen, stream)
    return _of_dense(matrix, threshold, count, per, element, chosen, stream)


def _of_arrays(parts: tuple[Any, ...], element: str | None, context: Context, stream: Stream) -> Csr:
    if len(parts) != 4:
        raise InvalidType(
            f"cannot {_WHERE}: a tuple must be (data, indices, indptr, shape), and has {len(parts)} parts"
        )
    data, indices, indptr, shape = parts
    topology = context.topology(indptr, indices, shape, stream)
    seen = converted(_WHERE, "data", data, element)
    return Csr(topology, seen.owner, element=element)


def converted(where: str, name: str, array: Any, element: str | None) -> View:
    """The array with that element type: the host's are converted where one is named."""
    seen = view(where, name, array)
    if element is None or element_of(seen, element) == element:
        return seen
    if seen.on_device or element == "bf16":
        raise InvalidType(f"cannot {where}: {name} has elements of {seen.dtype}, and must have {element}")
    if element not in ("f32", "f16"):
        raise InvalidArgument(f"cannot {where}: element is {element!r}, and may be f32, f16 or bf16")
    return view(where, name, np.asarray(seen.owner).astype(numpy_type(element)))


def _of_dense(
    matrix: Any, threshold: float, count: int | None, per: str, element: str | None, context: Context, stream: Stream
) -> Csr:
    from . import tools

    seen = converted(_WHERE, "matrix", matrix, element)
    if count is not None:
        return tools.sparse_largest(seen, count, per=per, element=element, context=context, stream=stream)
    return tools.sparse_above(seen, threshold, element=element, context=context, stream=stream)
