"""A context: one device, its caches, and everything made from them."""

from __future__ import annotations

import ctypes
import os
import threading
from dataclasses import dataclass, fields
from typing import Any, Callable, Iterable, Sequence, TypeVar

from . import _c, _dense_plans, _plans
from . import _structures as s
from ._arrays import DeviceArray
from ._errors import InvalidArgument, InvalidType, VostokError, check, error_of
from ._handles import Bytes, Handle, make
from ._numbers import Stream, stream_number
from ._options import Options
from ._packed import LoadOptions, PackedValues, adopt_packed, load_packed
from ._planning import PlanOptions, Progress, Stop, checked_effort, interruptible, progress_of
from ._problems import Problem, problem_structure
from ._topology import Topology, csr_structure, topology_of_arrays

P = TypeVar("P")

_PLAN_TYPES: dict[str, Any] = {
    "spmm": _plans.SpmmPlan,
    "sddmm": _plans.SddmmPlan,
    "softmax": _plans.SoftmaxPlan,
    "softmax_backward": _plans.SoftmaxBackwardPlan,
    "attention": _plans.AttentionPlan,
    "attention_backward": _plans.AttentionBackwardPlan,
    "depthwise": _dense_plans.DepthwisePlan,
    "bias_activation": _dense_plans.BiasActivationPlan,
    "im2col": _dense_plans.Im2colPlan,
}


@dataclass(frozen=True)
class DeviceInfo:
    """The device as the library sees it. clock_mhz: the highest. A peak of 0 is not known."""

    name: str
    uuid: str
    architecture: str
    gpu: bool
    multiprocessors: int
    clock_mhz: int
    memory_clock_mhz: int
    memory_bytes: int
    l2_bytes: int
    driver: str
    peak_fp32_gflops: float
    peak_bandwidth_gb: float


@dataclass(frozen=True)
class Counters:
    """What a context did so far. Hits and misses are of caches; compile_us is summed over threads."""

    kernels_compiled: int
    compile_us: int
    code_hits: int
    tuning_hits: int
    tuning_misses: int
    invalid_rows: int
    cache_warnings: int
    memo_hits: int
    trials_measured: int


class Context(Handle):
    """A device with its caches. Thread-safe. It does not survive fork: in the child what needs it is AfterFork.

    device: "auto" (a GPU, else the emulator), "cuda:I", "emulator", or "compile:NAME". cuda_context: a CUcontext to
    live in. allocator: an object with allocate(bytes) -> address (256-byte aligned; None: there is none left) and
    release(address), which serves all device memory. cache: False, or the folder. compile: "allow" or "never".
    nvrtc: libnvrtc; default: VOSTOK_NVRTC, else that of this interpreter's environment, else it is searched for.
    log: called with (level, line), level "info" or "warning", from any thread; default: warnings go to stderr.
    first_run: where kernels that were never verified are measured, "worker" or "this_process". worker_tool: the
    program for that; default: the package's own. The others: vostok::Options.

    Errors: InvalidArgument and InvalidType name the option; VostokError with no_device; IoFailure.
    """

    __slots__ = ("device", "_options")
    _release = staticmethod(_c.library.vostok_context_release)

    def __init__(
        self,
        device: str = "auto",
        *,
        allow_emulator: bool = True,
        cuda_context: int | None = None,
        allocator: Any = None,
        max_workspace_bytes: int | None = None,
        cache: bool | str | os.PathLike[str] = True,
        cache_environment: bool = True,
        read_only: Sequence[str | os.PathLike[str]] = (),
        allow_network_folder: bool = False,
        lock_timeout_ms: int | None = None,
        shipped: str | os.PathLike[str] | None = None,
        max_code_bytes: int | None = None,
        trusted_keys: Sequence[str | os.PathLike[str]] = (),
        compile: str = "allow",
        check_shipped: bool = False,
        cache_only: bool = False,
        compile_threads: int = 0,
        nvrtc: str | os.PathLike[str] | None = None,
        log: Callable[[str, str], None] | None = None,
        first_run: str = "worker",
        worker_tool: str | os.PathLike[str] | None = None,
        worker_timeout_seconds: float | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self._options = Options(given)  # kept for its callbacks
        super().__init__(make(_c.library.vostok_context_create, ctypes.byref(self._options.structure)))
        found: Any = s.DeviceInfo()
        found.size = ctypes.sizeof(found)
        check(_c.library.vostok_context_device(self._handle, ctypes.byref(found)))
        values = {field.name: getattr(found, field.name) for field in fields(DeviceInfo)}
        texts = {name: _c.text(value) for name, value in values.items() if isinstance(value, (bytes, type(None)))}
        self.device = DeviceInfo(**{**values, **texts, "gpu": bool(found.gpu)})

    def topology(self, row_offsets: Any, column_indices: Any, shape: tuple[int, int], stream: Stream = 0) -> Topology:
        """Copies and checks a CSR structure of [rows, cols]: row_offsets [rows + 1], column_indices [nonzeros], int32,
        int64 or uint16, in host or device memory. Arrays in device memory are read behind `stream` (default: their
        own; without one they must be complete). Errors: InvalidTopology naming row and value; InvalidArgument,
        InvalidType, OutOfMemory; capture_active."""
        return topology_of_arrays(self, row_offsets, column_indices, shape, stream)

    def topology_at(
        self,
        row_offsets: int,
        column_indices: int,
        rows: int,
        cols: int,
        nonzeros: int = -1,
        *,
        row_offset_bytes: int = 4,
        column_index_bytes: int = 4,
        stream: Stream = 0,
    ) -> Topology:
        """The same of arrays at these addresses, whose indices have 2, 4 or 8 bytes."""
        csr = csr_structure(row_offsets, column_indices, rows, cols, nonzeros, (row_offset_bytes, column_index_bytes))
        order = stream_number("make a topology", stream)
        return Topology(make(_c.library.vostok_topology_create, self._handle, ctypes.byref(csr), order), self)

    def plan(
        self,
        problem: Problem[P],
        topology: Topology | None = None,
        *,
        effort: str = "cached",
        stream: Stream = 0,
        budget_seconds: float = 30.0,
        seed: int = 1,
        family: str = "",
        packed_format: str = "",
        policy: str = "warm",
        overlap_calls: bool = True,
        progress: Progress = None,
        stop: Stop = None,
    ) -> P:
        """Decides, compiles and loads. The topology: for problems with a sparse matrix.

        effort: heuristic, cached (never measures), quick or full (measure, `budget_seconds` at most). stream: checked
        for capture. family, packed_format: the only ones to be considered. policy: warm, or cold for operands that
        caches do not hold.
        progress: called with a line at a time; True: a line on stderr. stop: asked between measurements; True ends
        them. What was measured is kept; so it is with Ctrl-C, which is raised afterwards.
        Errors: InvalidArgument, InvalidType, WrongDevice, OutOfMemory; unsupported, capture_active, no_compiler, ...
        """
        where = f"plan {type(problem).__name__}"
        structure = problem_structure(problem)
        arguments: list[Any] = [self._handle]
        if problem.masked:
            if not isinstance(topology, Topology):
                raise InvalidType(f"cannot {where}: topology is {topology!r}, and must be a Topology")
            arguments.append(topology.handle)
        elif topology is not None:
            raise InvalidArgument(f"cannot {where}: it has no sparse matrix, and a topology was given")
        effort = checked_effort(where, effort)
        with interruptible(effort) as interrupted:
            options = PlanOptions(
                where,
                progress_of(where, progress),
                _either(stop, interrupted),
                effort=effort,
                stream=stream_number(where, stream),
                budget_seconds=budget_seconds,
                seed=seed,
                family=family,
                packed_format=packed_format,
                policy=policy,
                overlap_calls=overlap_calls,
            )
            function = getattr(_c.library, f"vostok_plan_{problem.operation}")
            handle = make(function, *arguments, ctypes.byref(structure), ctypes.byref(options.structure))
            plan: P = _PLAN_TYPES[problem.operation](handle, self)
        if options.failure is not None:
            raise options.failure
        return plan

    def prepare(
        self,
        problems: Iterable[Problem[Any] | tuple[Problem[Any], Topology]],
        *,
        effort: str = "cached",
        stream: Stream = 0,
        budget_seconds: float = 30.0,
        policy: str = "warm",
        progress: Progress = None,
        stop: Stop = None,
    ) -> list[VostokError | None]:
        """Plans every problem, several at a time, and lets the plans go: a later plan() finds all that is needed.
        Problems with a sparse matrix come as (problem, topology). The result has an entry for each: None, or why it
        cannot be planned. Raises where nothing was tried: capture_active."""
        pairs = [pair if isinstance(pair, tuple) else (pair, None) for pair in problems]
        array = (s.Preparation * len(pairs))()
        structures = []
        for entry, (problem, topology) in zip(array, pairs):
            structures.append(problem_structure(problem))
            entry.size = ctypes.sizeof(entry)
            entry.operation = _c.ENUMERATIONS["operation"].index(problem.operation)
            entry.problem = ctypes.addressof(structures[-1])
            entry.topology = topology.handle if topology is not None else None
        where = "prepare problems"
        statuses = (ctypes.c_int32 * len(pairs))()
        effort = checked_effort(where, effort)
        with interruptible(effort) as interrupted:
            options = PlanOptions(
                where,
                progress_of(where, progress),
                _either(stop, interrupted),
                effort=effort,
                stream=stream_number(where, stream),
                budget_seconds=budget_seconds,
                policy=policy,
            )
            failures = make(
                _c.library.vostok_prepare,
                self._handle,
                array,
                len(pairs),
                ctypes.byref(options.structure),
                statuses,
            )
        sentences = Bytes(failures).take().decode("utf-8", "backslashreplace").split("\n")
        if options.failure is not None:
            raise options.failure
        return [error_of(status, text) if status else None for status, text in zip(statuses, sentences)]

    def load_packed(
        self, source: Any, topology: Topology | None = None, *, keep: str = "everything", stream: Stream = 0
    ) -> PackedValues:
        """Packed values that PackedValues.save or to_bytes wrote: a path, or bytes. topology: one of the same
        structure, where it is there already; None: it is made of what was saved, and keeps "everything", what "packing"
        reads, or what "execution" reads. Bytes of unknown origin do no harm. Errors: IoFailure; format_mismatch
        (another structure), WrongDevice, InvalidArgument, OutOfMemory."""
        return load_packed(self, source, LoadOptions(topology, keep, stream))

    def adopt_packed(
        self,
        memory: Any,
        head: bytes | None = None,
        *,
        topology: Topology | None = None,
        keep: str = "everything",
        stream: Stream = 0,
    ) -> PackedValues:
        """Packed values that stay where they are: `memory` is an array in device memory (of bytes, 256-byte aligned),
        which is kept as long as they are, and which nobody may write. It begins with what follows `head`, the bytes
        that PackedValues.head gave; without a head it holds all that to_bytes gave. It is read behind `stream`,
        default: its own. Errors: as load_packed; MisalignedPointer."""
        return adopt_packed(self, memory, head, LoadOptions(topology, keep, stream))

    def counters(self) -> Counters:
        """What this context did so far."""
        found: Any = s.Counters()
        found.size = ctypes.sizeof(found)
        check(_c.library.vostok_context_counters(self._handle, ctypes.byref(found)))
        return Counters(**{field.name: getattr(found, field.name) for field in fields(Counters)})

    def reload(self) -> None:
        """Asks the cache files again, with what other processes wrote meanwhile. Plans that were made stay."""
        check(_c.library.vostok_context_reload(self._handle))

    def export_cache(self) -> bytes:
        """The choices and trials of the user's own cache and of memory, as text; without kernels."""
        return Bytes(make(_c.library.vostok_context_export_cache, self._handle)).take()

    def import_cache(self, data: bytes) -> None:
        """Adds such rows to the user's own cache, or to memory; what was measured on this very device stays. Errors:
        InvalidArgument naming the line that is wrong; nothing is added then."""
        if not isinstance(data, (bytes, bytearray)):
            raise InvalidType(f"cannot import a cache: data is {type(data).__name__}, and must be bytes")
        buffer = ctypes.cast(ctypes.c_char_p(bytes(data)), ctypes.c_void_p)
        check(_c.library.vostok_context_import_cache(self._handle, buffer, len(data)))

    def array(self, host: Any, stream: Stream = 0) -> DeviceArray:
        """A copy of a NumPy array in device memory, behind the work queued on `stream`. Errors: OutOfMemory."""
        return DeviceArray.of(self, host, stream_number("make an array", stream))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Device memory with anything in it. Errors: OutOfMemory."""
        import numpy

        return DeviceArray.empty(self, tuple(shape), numpy.dtype(dtype))

    def __repr__(self) -> str:
        return f"Context({self.device.name!r}, architecture={self.device.architecture!r})"


def _either(stop: Stop, interrupted: Callable[[], bool]) -> Callable[[], bool]:
    return interrupted if stop is None else lambda: interrupted() or bool(stop())


_default: Context | None = None
_default_lock = threading.Lock()


def default_context() -> Context:
    """The context of calls that are given none: Context(), made when first needed. A child of fork gets its own."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Context()
        return _default


def _forget_default() -> None:
    global _default, _default_lock
    _default = None
    _default_lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_default)
