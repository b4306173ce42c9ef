"""Contexts of the devices that tensors lie on, and the streams that calls are queued on."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from typing import Any, Callable, Iterator, TypeVar

import numpy
import torch

from .. import _c
from .._arrays import DeviceArray
from .._context import Context
from .._errors import OutOfMemory

Made = TypeVar("Made")

ELEMENTS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
INDEX_BYTES = {torch.int32: 4, torch.int64: 8}
WORKSPACE_ALIGNMENT = 256

_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_SHARED_BYTES = 1 << 20
_shared_workspaces: dict[int, DeviceArray] = {}  # by torch's number of the GPU
_contexts: dict[int, Context] = {}  # by torch's number of the GPU; -1: the CPU
_lock = threading.RLock()


def context_of(index: int) -> Context:
    """The context of cuda:`index`, which lives in torch's primary context; -1: the emulator, for tensors on the CPU."""
    context = _contexts.get(index)
    if context is None:
        with _lock:
            context = _contexts.get(index)
            if context is None:
                context = _contexts[index] = Context(device="emulator" if index < 0 else f"cuda:{index}")
    return context


def set_context(device: torch.device | str, context: Context) -> None:
    """Uses this context for tensors on `device`, in place of one with default options. Call it before the first
    operation there, or after clear()."""
    where = torch.device(device)
    index = -1 if where.type == "cpu" else (where.index if where.index is not None else torch.cuda.current_device())
    with _lock:
        _contexts[index] = context


def _forget_contexts() -> None:
    global _lock
    _lock = threading.RLock()
    _contexts.clear()


os.register_at_fork(after_in_child=_forget_contexts)


def _no_stream(index: int) -> int:
    return 0


_raw_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", _no_stream)
_current_device: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", lambda: -1)
_capturing: Callable[[], bool] = getattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: False)


def stream_of(index: int) -> int:
    """The current stream of the device, as execute takes it."""
    return 0 if index < 0 else _raw_stream(index)


def making_stream(index: int) -> int:
    """The same for calls that make something of arrays, where 0 would mean that these are complete."""
    return 0 if index < 0 else (_raw_stream(index) or _c.STREAM_LEGACY)


def stream_object(index: int, stream: int) -> Any:
    """torch's object of a stream's handle; ExternalStream(0) would be a stream of its own, and not the default one."""
    return torch.cuda.ExternalStream(stream, device=index) if stream else torch.cuda.default_stream(index)


def is_capturing(index: int) -> bool:
    """Whether the device's current stream is being captured into a CUDA graph."""
    if index < 0:
        return False
    if index == _current_device():
        return _capturing()
    with torch.cuda.device(index):
        return _capturing()


@contextlib.contextmanager
def beside_captures() -> Iterator[None]:
    """Lets this thread query events and wait while another thread captures in CUDA's global mode, which such calls
    would end otherwise. By the driver: the runtime's function makes a context on the current device."""
    exchange = _exchange_capture_mode() if torch.cuda.is_initialized() else None
    mode = ctypes.c_int(_RELAXED)
    if exchange is not None:
        exchange(ctypes.byref(mode))
    try:
        yield
    finally:
        if exchange is not None:
            exchange(ctypes.byref(mode))


@functools.cache
def _exchange_capture_mode() -> Any:
    return ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode


def with_memory(index: int, make: Callable[[], Made]) -> Made:
    """What make() returns. Where device memory is out, torch's cached memory is given back, and it is tried again."""
    try:
        return make()
    except OutOfMemory:
        if index < 0 or is_capturing(index):
            raise
        torch.cuda.empty_cache()
        return make()


def aligned_memory(like: torch.Tensor, size: int) -> tuple[torch.Tensor, int]:
    """Memory of torch's allocator, and a 256-byte aligned address in it behind which `size` bytes lie."""
    memory = torch.empty(size + WORKSPACE_ALIGNMENT, dtype=torch.uint8, device=like.device)
    return memory, memory.data_ptr() + -memory.data_ptr() % WORKSPACE_ALIGNMENT


def workspace(like: torch.Tensor, size: int, stream: int) -> tuple[Any, int]:
    """The same for a call on the current stream. Calls on a GPU's default stream, which run one after the other and
    cannot be captured, share a small one that is none of torch's: allocating costs them two microseconds."""
    index = like.get_device()
    if stream or index < 0 or size > _SHARED_BYTES:
        return aligned_memory(like, size)
    shared = _shared_workspaces.get(index)
    if shared is None:
        shared = _shared_workspaces[index] = context_of(index).empty((_SHARED_BYTES,), numpy.uint8)
    return shared, shared.address


def alignment_of(addresses: int) -> int:
    """The largest power of two up to 16 that divides addresses which were joined by `|`."""
    low = addresses & 15
    return low & -low if low else 16


def current_context(device: Any) -> Context:
    """The context of a torch device."""
    where = torch.device(device)
    return context_of(-1 if where.type == "cpu" else (where.index or 0))
