"""Plans: what executes. Each call takes addresses as ints, and costs about half a microsecond here."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any, Callable

from . import _c
from . import _structures as s
from ._arrays import DeviceArray
from ._errors import InvalidType, fail
from ._handles import Handle, make
from ._numbers import Stream, chosen, integer, stream_number

if TYPE_CHECKING:
    from ._context import Context
    from ._packed import PackedValues
    from ._topology import Topology

BAD_ARGUMENT = (struct.error, ctypes.ArgumentError, TypeError, AttributeError)

_CODES = {
    ctypes.c_int32: "i",
    ctypes.c_uint32: "I",
    ctypes.c_int64: "q",
    ctypes.c_float: "f",
    ctypes.c_void_p: "P",
}


def _packer(structure: type[ctypes.Structure]) -> tuple[int, Callable[..., bytes]]:
    """The size of a structure, and what makes its bytes of its fields: faster than ctypes, and nothing is shared."""
    layout = struct.Struct("@" + "".join(_CODES[field[1]] for field in structure._fields_))
    end = layout.size + -layout.size % 8
    assert end == ctypes.sizeof(structure), structure
    return end, struct.Struct(layout.format + "0q").pack


class Plan(Handle):
    """Decided, compiled and loaded: immutable, and used by several threads at once.

    `execute` queues work on a stream (an int: cudaStream_t; 0 is the legacy default stream). It never compiles, loads,
    allocates, locks or synchronises, and is legal while the stream is being captured. Operands are addresses in device
    memory (on the emulator, of the process) as ints, which are believed: nothing can check what they point to. Errors:
    MisalignedPointer; InvalidArgument for one that is missing or not asked for; InvalidType for what is no int.
    """

    __slots__ = ("context",)
    _release = staticmethod(_c.library.vostok_plan_release)

    def __init__(self, handle: int, context: Context) -> None:
        super().__init__(handle)
        self.context = context

    @property
    def workspace_bytes(self) -> int:
        """Device memory that each concurrent execute needs, 256-byte aligned; nothing in it is kept between calls."""
        return int(_c.library.vostok_plan_workspace_bytes(self._handle))

    def make_workspace(self) -> DeviceArray | None:
        """Such memory, or None where none is needed."""
        size = self.workspace_bytes
        return DeviceArray.bytes(self.context, size) if size else None

    @property
    def provenance(self) -> str:
        """Where the choice came from: tuned_here, tuned_elsewhere, shipped, nearest_problem, nearest_device or
        heuristic."""
        return _c.ENUMERATIONS["provenance"][int(_c.library.vostok_plan_provenance(self._handle))]

    @property
    def family(self) -> str:
        """The kernels' algorithm, e.g. "row_tile"; of a composed plan, of its last step."""
        return _c.text(_c.library.vostok_plan_family(self._handle))

    @property
    def config(self) -> dict[str, str]:
        """The algorithm's settings."""
        words = _c.text(_c.library.vostok_plan_config(self._handle)).split()
        return dict((field, value) for field, _, value in (word.partition("=") for word in words))

    def explain(self, detail: str = "choice") -> str:
        """Which choice was made, and from where.

        "trials" adds what became of every candidate: some tenths of a second where there are many.
        """
        number = chosen("explain the plan", "detail", detail, "detail")
        return _c.text(_c.library.vostok_plan_explain(self._handle, number))

    def _rebound(self, topology: Topology) -> int:
        return make(_c.library.vostok_plan_rebind, self._handle, topology.handle)


def _refuse(error: Exception) -> InvalidType:
    return InvalidType(f"cannot execute the plan: an argument is no address or number ({error})")


_execute_spmm = _c.raw_execute("spmm")
_spmm_size, _pack_spmm = _packer(s.SpmmArguments)


class SpmmPlan(Plan):
    """A plan for Spmm."""

    __slots__ = ()

    def execute(
        self,
        stream: int = 0,
        *,
        values: int = 0,
        packed: PackedValues | None = None,
        dense: int = 0,
        output: int = 0,
        bias: int = 0,
        residual: int = 0,
        scale: float = 1.0,
        device_scale: int = 0,
        workspace: int = 0,
        n: int = 0,
    ) -> None:
        """values: nonzeros in CSR order of A, or `packed`: what pack returned. dense: B. output: C. bias, residual,
        scale, device_scale: where the problem has them. n: only for a plan of several."""
        try:
            handle = 0 if packed is None else packed._handle
            status = _execute_spmm(
                self._handle,
                stream,
                _pack_spmm(
                    _spmm_size, scale, values, handle, dense, output, bias, residual, device_scale, workspace, n
                ),
            )
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)

    @property
    def packed_bytes(self) -> int:
        """Device memory that pack takes; 0 where values are passed at every call."""
        return int(_c.library.vostok_plan_packed_bytes(self._handle))

    @property
    def packed_format(self) -> str:
        """What pack makes; "" where values are passed at every call."""
        return _c.text(_c.library.vostok_plan_packed_format(self._handle))

    def pack(self, values: int, stream: Stream = 0) -> PackedValues:
        """Packs values, given as to execute, for this plan and every other that reads the same format of the same
        topology. Reads them behind the work queued on `stream`; 0: they must be complete (1: behind the legacy
        stream). Errors: InvalidArgument, MisalignedPointer, OutOfMemory; capture_active."""
        from ._packed import PackedValues

        address = integer("pack values", "values", values, ctypes.c_void_p)
        order = stream_number("pack values", stream)
        return PackedValues(make(_c.library.vostok_plan_pack, self._handle, order, address), self.context)

    def pack_into(self, memory: Any, values: int, stream: Stream = 0) -> PackedValues:
        """As pack, into an array in device memory of at least packed_bytes, 256-byte aligned, which is kept as long as
        the values are. Values that were packed there before become these; whoever reads them must have done so."""
        from ._packed import Memory, memory_of

        address = integer("pack values", "values", values, ctypes.c_void_p)
        order = stream_number("pack values", stream)
        target = memory if isinstance(memory, Memory) else memory_of("pack values", memory, True)[0]
        function = _c.library.vostok_plan_pack_into
        return target.make(self.context, function, self._handle, order, address, ctypes.byref(target.structure))

    def rebind(self, topology: Topology) -> SpmmPlan:
        """A plan for another mask of the same shape, which keeps the decision where it can."""
        return SpmmPlan(self._rebound(topology), self.context)


_execute_sddmm = _c.raw_execute("sddmm")
_sddmm_size, _pack_sddmm = _packer(s.SddmmArguments)


class SddmmPlan(Plan):
    """A plan for Sddmm."""

    __slots__ = ()

    def execute(
        self,
        stream: int = 0,
        *,
        lhs: int = 0,
        rhs: int = 0,
        output: int = 0,
        multiplier: int = 0,
        scale: float = 1.0,
        device_scale: int = 0,
        workspace: int = 0,
    ) -> None:
        """lhs: A [m,n], rhs: B [k,n], output: D's nonzeros in CSR order."""
        try:
            status = _execute_sddmm(
                self._handle,
                stream,
                _pack_sddmm(_sddmm_size, scale, lhs, rhs, output, multiplier, device_scale, workspace),
            )
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)

    def rebind(self, topology: Topology) -> SddmmPlan:
        """A plan for another mask of the same shape, which keeps the decision where it can."""
        return SddmmPlan(self._rebound(topology), self.context)


_execute_softmax = _c.raw_execute("softmax")
_softmax_size, _pack_softmax = _packer(s.SoftmaxArguments)


class SoftmaxPlan(Plan):
    """A plan for Softmax."""

    __slots__ = ()

    def execute(
        self,
        stream: int = 0,
        *,
        values: int = 0,
        output: int = 0,
        row_statistics: int = 0,
        scale: float = 1.0,
        device_scale: int = 0,
        workspace: int = 0,
    ) -> None:
        """values and output: nonzeros in CSR order; the output may be the values."""
        try:
            status = _execute_softmax(
                self._handle,
                stream,
                _pack_softmax(_softmax_size, scale, values, output, row_statistics, device_scale, workspace),
            )
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)

    def rebind(self, topology: Topology) -> SoftmaxPlan:
        """A plan for another mask of the same shape, which keeps the decision where it can."""
        return SoftmaxPlan(self._rebound(topology), self.context)


_execute_softmax_backward = _c.raw_execute("softmax_backward")
_softmax_backward_size, _pack_softmax_backward = _packer(s.SoftmaxBackwardArguments)


class SoftmaxBackwardPlan(Plan):
    """A plan for SoftmaxBackward."""

    __slots__ = ()

    def execute(
        self,
        stream: int = 0,
        *,
        probabilities: int = 0,
        output_gradient: int = 0,
        input_gradient: int = 0,
        scale: float = 1.0,
        device_scale: int = 0,
        workspace: int = 0,
    ) -> None:
        """All of them nonzeros in CSR order; input_gradient may be output_gradient."""
        try:
            status = _execute_softmax_backward(
                self._handle,
                stream,
                _pack_softmax_backward(
                    _softmax_backward_size,
                    scale,
                    probabilities,
                    output_gradient,
                    input_gradient,
                    device_scale,
                    workspace,
                ),
            )
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)

    def rebind(self, topology: Topology) -> SoftmaxBackwardPlan:
        """A plan for another mask of the same shape, which keeps the decision where it can."""
        return SoftmaxBackwardPlan(self._rebound(topology), self.context)


_execute_attention = _c.raw_execute("attention")
_attention_size, _pack_attention = _packer(s.AttentionArguments)


class AttentionPlan(Plan):
    """A plan for SparseAttention."""

    __slots__ = ()

    def execute(
        self,
        stream: int = 0,
        *,
        query: int = 0,
        key: int = 0,
        value: int = 0,
        bias: int = 0,
        output: int = 0,
        saved: int = 0,
        scale: float = 0.0,
        softcap: float = 0.0,
        workspace: int = 0,
        dropout: float = 0.0,
        dropout_state: int = 0,
    ) -> None:
        """saved: saved_bytes long, 256-byte aligned. scale 0: 1 / sqrt(n). softcap: where the problem is capped.
        dropout: where it is dropped, the share, and the address of a seed and an offset as uint64 [2]."""
        operands = query, key, value, output, saved, workspace
        rest = softcap, dropout, bias, dropout_state
        try:
            packed = _pack_attention(_attention_size, scale, *operands, *rest)
            status = _execute_attention(self._handle, stream, packed)
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)

    @property
    def saved_bytes(self) -> int:
        """Bytes that a forward pass leaves in `saved` for its backward pass."""
        return int(_c.library.vostok_plan_saved_bytes(self._handle))

    def rebind(self, topology: Topology) -> AttentionPlan:
        """A plan for another mask of the same shape, which keeps the decision where it can."""
        return AttentionPlan(self._rebound(topology), self.context)


_execute_attention_backward = _c.raw_execute("attention_backward")
_attention_backward_size, _pack_attention_backward = _packer(s.AttentionBackwardArguments)


class AttentionBackwardPlan(Plan):
    """A plan for SparseAttentionBackward."""

    __slots__ = ()

    def execute(
        self,
        stream: int = 0,
        *,
        query: int = 0,
        key: int = 0,
        value: int = 0,
        bias: int = 0,
        output: int = 0,
        output_gradient: int = 0,
        saved: int = 0,
        query_gradient: int = 0,
        key_gradient: int = 0,
        value_gradient: int = 0,
        bias_gradient: int = 0,
        scale: float = 0.0,
        softcap: float = 0.0,
        workspace: int = 0,
        dropout: float = 0.0,
        dropout_state: int = 0,
    ) -> None:
        """Gradients are laid out as the inputs whose gradients they are. `output` and `saved` are those of the forward
        pass: the output is read only where the problem saves row statistics. bias_gradient: packed [batch, nonzeros];
        0: not wanted. dropout_state: the forward pass's numbers."""
        operands = query, key, value, output_gradient, saved
        gradients = query_gradient, key_gradient, value_gradient
        rest = softcap, dropout, output, bias, bias_gradient, dropout_state
        try:
            packed = _pack_attention_backward(
                _attention_backward_size, scale, *operands, *gradients, workspace, *rest
            )
            status = _execute_attention_backward(self._handle, stream, packed)
        except BAD_ARGUMENT as error:
            raise _refuse(error) from None
        if status:
            fail(status)

    @property
    def saved_bytes(self) -> int:
        """Bytes of `saved` that the forward pass leaves."""
        return int(_c.library.vostok_plan_saved_bytes(self._handle))

    def rebind(self, topology: Topology) -> AttentionBackwardPlan:
        """A plan for another mask of the same shape, which keeps the decision where it can."""
        return AttentionBackwardPlan(self._rebound(topology), self.context)
