"""Where the nonzeros are."""

from __future__ import annotations

import contextlib
import ctypes
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from . import _c
from . import _structures as s
from ._arrays import DeviceArray, View, view
from ._errors import InvalidArgument, InvalidTopology, InvalidType, check
from ._handles import Handle, make
from ._numbers import Stream, integer, stream_number

if TYPE_CHECKING:
    from ._context import Context
    from ._problems import Problem

P = TypeVar("P")

_WHERE = "make a topology"
_INDEX_TYPES = {"<i4": 4, "<i8": 8, "<u2": 2}
PLANS_KEPT = 64


@dataclass(frozen=True)
class Statistics:
    """What the planner looks at. Row length: nonzeros of a row. row_variation: standard deviation of the row lengths by
    their mean. run_share: share of the nonzeros that end a run of 32 neighbouring columns in their row. span_share: mean
    share of the columns from a row's first entry to its last, 1/2 of a causal mask."""

    rows: int
    cols: int
    nonzeros: int
    longest_row: int
    empty_rows: int
    mean_row: float
    row_variation: float
    run_share: float
    span_share: float
    sorted: bool
    duplicates: bool


class Topology(Handle):
    """The structure of a sparse matrix on a device; made by Context.topology, tools and masks."""

    __slots__ = ("context", "statistics", "_plans")
    _release = staticmethod(_c.library.vostok_topology_release)

    def __init__(self, handle: int, context: Context) -> None:
        super().__init__(handle)
        self.context = context
        found: Any = s.Statistics()
        found.size = ctypes.sizeof(found)
        check(_c.library.vostok_topology_statistics(handle, ctypes.byref(found)))
        values = {name: getattr(found, name) for name in Statistics.__dataclass_fields__}
        self.statistics = Statistics(**{**values, "sorted": bool(found.sorted), "duplicates": bool(found.duplicates)})
        self._plans: OrderedDict[Any, Any] = OrderedDict()

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, cols)."""
        return self.statistics.rows, self.statistics.cols

    @property
    def nonzeros(self) -> int:
        """How many there are."""
        return self.statistics.nonzeros

    @property
    def device_bytes(self) -> int:
        """Device memory held, derived forms included."""
        size = ctypes.c_int64()
        check(_c.library.vostok_topology_device_bytes(self._handle, ctypes.byref(size)))
        return size.value

    def release_source(self) -> None:
        """Gives the CSR arrays back, where only plans that read packed values are executed. Errors: InvalidArgument
        where a plan that reads them is alive, or there is no packed form yet."""
        check(_c.library.vostok_topology_release_source(self._handle))

    def release_packing(self) -> None:
        """The same, and gives back what only packing reads: plans of packed values are made and executed as before;
        packing and loading are then InvalidArgument."""
        check(_c.library.vostok_topology_release_packing(self._handle))

    def read(self, index_type: str = "int32") -> tuple[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]]:
        """Row offsets [rows + 1] and column indices [nonzeros], as NumPy arrays of int32 or int64."""
        dtype = numpy.dtype(index_type)
        if dtype not in (numpy.dtype(numpy.int32), numpy.dtype(numpy.int64)):
            raise InvalidType(f"cannot read a topology: index_type is {index_type!r}, and may be int32 or int64")
        offsets = DeviceArray.empty(self.context, (self.shape[0] + 1,), dtype)
        columns = DeviceArray.empty(self.context, (self.nonzeros,), dtype)
        stream = _c.STREAM_LEGACY
        check(_c.library.vostok_topology_read(self._handle, offsets.address, columns.address, dtype.itemsize, stream))
        offsets.stream = columns.stream = stream
        return offsets.numpy(), columns.numpy()

    def plan_for(self, problem: Problem[P], effort: str = "cached", stream: Stream = 0) -> P:
        """The plan for a problem, made once: the last few are kept."""
        key = problem, effort
        plan: P | None = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self.context.plan(problem, self, effort=effort, stream=stream)
            while len(self._plans) > PLANS_KEPT:
                with contextlib.suppress(KeyError):  # another thread was first
                    self._plans.popitem(last=False)
        return plan

    def __repr__(self) -> str:
        return f"Topology(shape={self.shape}, nonzeros={self.nonzeros})"


def csr_structure(
    row_offsets: int, column_indices: int, rows: int, cols: int, nonzeros: int, widths: tuple[int, int]
) -> Any:
    """The C structure of a CSR matrix at these addresses."""
    csr: Any = s.Csr()
    _c.library.vostok_csr_init(ctypes.byref(csr), ctypes.sizeof(csr))
    csr.rows = integer(_WHERE, "rows", rows)
    csr.cols = integer(_WHERE, "cols", cols)
    csr.nonzeros = integer(_WHERE, "nonzeros", nonzeros)
    csr.row_offset_bytes, csr.column_index_bytes = widths
    csr.row_offsets = integer(_WHERE, "row_offsets", row_offsets, ctypes.c_void_p)
    csr.column_indices = integer(_WHERE, "column_indices", column_indices, ctypes.c_void_p)
    return csr


def topology_of_arrays(context: Context, row_offsets: Any, column_indices: Any, shape: Any, stream: Stream) -> Topology:
    """What Context.topology makes."""
    rows, cols = matrix_shape(_WHERE, shape)
    offsets = _indices("row_offsets", row_offsets)
    columns = _indices("column_indices", column_indices)
    if offsets.shape != (rows + 1,):
        raise InvalidArgument(f"cannot {_WHERE}: row_offsets has shape {offsets.shape}, and must have {(rows + 1,)}")
    widths = offsets.dtype.itemsize, columns.dtype.itemsize
    if not offsets.on_device and int(offsets.owner[-1]) != columns.size:
        last = int(offsets.owner[-1])
        raise InvalidTopology(
            f"cannot {_WHERE}: row_offsets[{rows}] is {last}, and there are {columns.size} column_indices"
        )
    csr = csr_structure(offsets.address, columns.address, rows, cols, columns.size, widths)
    order = stream_of(_WHERE, stream, offsets, columns)
    return Topology(make(_c.library.vostok_topology_create, context.handle, ctypes.byref(csr), order), context)


def matrix_shape(where: str, shape: Any) -> tuple[int, int]:
    """Two sizes."""
    try:
        rows, cols = shape
    except (TypeError, ValueError):
        raise InvalidType(f"cannot {where}: shape is {shape!r}, and must be (rows, cols)") from None
    sizes = integer(where, "rows", rows), integer(where, "cols", cols)
    if min(sizes) < 0:
        raise InvalidArgument(f"cannot {where}: shape is {sizes}, and must be of sizes from 0 up")
    return sizes


def _indices(name: str, array: Any) -> View:
    """An array of indices, packed; the host's are converted where that changes no value."""
    seen = view(_WHERE, name, array)
    if len(seen.shape) != 1:
        raise InvalidArgument(f"cannot {_WHERE}: {name} has shape {seen.shape}, and must have one axis")
    if seen.dtype.str in _INDEX_TYPES and seen.is_packed() and seen.address % seen.dtype.itemsize == 0:
        return seen
    if seen.on_device:
        found = f"elements of {seen.dtype}, {seen.strides[0]} bytes apart"
        raise InvalidType(f"cannot {_WHERE}: {name} has {found}, and must be a packed array of int32, int64 or uint16")
    host = seen.owner
    if host.size and not numpy.can_cast(host.dtype, numpy.int64):
        raise InvalidType(f"cannot {_WHERE}: {name} has elements of {host.dtype}, and must have integers")
    if host.dtype.str not in _INDEX_TYPES:
        host = host.astype(numpy.int64)
    return view(_WHERE, name, numpy.require(host, requirements=["C", "A"]))


def stream_of(where: str, stream: Stream, *views: View) -> int:
    """The stream that a call goes behind: as given, else the arrays' own; 0 where all is complete."""
    chosen = stream_number(where, stream)
    streams = {seen.stream for seen in views if seen.stream}
    if not chosen and len(streams) > 1:
        raise InvalidArgument(f"cannot {where}: the arrays' streams differ ({sorted(streams)}): give stream=")
    return chosen or (streams.pop() if streams else 0)
