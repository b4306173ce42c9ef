"""Arrays: memory of the device with an owner, and what is known of arrays that users pass."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _c
from ._errors import InvalidArgument, InvalidType, check
from ._handles import Handle, make

if TYPE_CHECKING:
    from ._context import Context

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
_NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
}


def numpy_type(element: str) -> np.dtype[Any]:
    """The NumPy type of an element type: bf16 is its bits as uint16."""
    return _NUMPY_TYPES[element]


def element_of(seen: View, declared: str | None) -> str | None:
    """f32, f16 or bf16; None for other types. uint16 counts as bf16 where that was declared."""
    if seen.element is None and declared == "bf16" and seen.dtype == np.uint16:
        return "bf16"
    return seen.element


def _element(dtype: np.dtype[Any]) -> str | None:
    """What a type says of itself; bf16 is ml_dtypes' bfloat16, which is known by its name."""
    if dtype.name == "bfloat16":
        return "bf16"
    return {"=f4": "f32", "=f2": "f16"}.get(dtype.str.replace("<", "=") if dtype.isnative else "")


@dataclass
class View:
    """An array that was passed: where it lies and how. Strides count bytes; `stream` orders what produces it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    on_device: bool
    writable: bool
    stream: int
    owner: Any
    element: str | None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def is_packed(self) -> bool:
        """Row-major without gaps; what has no elements is."""
        return self.size == 0 or self.strides == packed_strides(self.shape, self.dtype.itemsize)


def packed_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Byte strides of a row-major array without gaps, where those of axes of length 1 are what they would be."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def view(where: str, name: str, array: Any, stream: int = 0) -> View:
    """What `array` is: in device memory (DeviceArray, __cuda_array_interface__) or in the host's (NumPy, whatever
    numpy.asarray takes)."""
    if isinstance(array, View):
        return array
    if isinstance(array, DeviceArray):
        strides = packed_strides(array.shape, array.dtype.itemsize)
        return View(array.address, array.shape, strides, array.dtype, True, True, array.stream, array, array.element)
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return _device_view(where, name, array, interface)
    try:
        host = np.asarray(array)
    except (TypeError, ValueError) as error:
        raise InvalidType(f"cannot {where}: {name} is {type(array).__name__}, and no array: {error}") from None
    if host.dtype.kind not in "fiub" and host.dtype.name != "bfloat16":
        raise InvalidType(f"cannot {where}: {name} has elements of {host.dtype}, and must have numbers")
    return _host_view(host)


def _host_view(host: np.ndarray[Any, Any]) -> View:
    strides = normal_strides(host.shape, host.strides, host.dtype.itemsize)
    return View(
        host.ctypes.data, host.shape, strides, host.dtype, False, host.flags.writeable, 0, host, _element(host.dtype)
    )


def normal_strides(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of axes of length 1 mean nothing: they get those that a packed array has."""
    normal = list(strides)
    for axis in range(len(shape) - 1, -1, -1):
        if shape[axis] == 1:
            last = axis + 1 == len(shape)
            normal[axis] = itemsize if last else normal[axis + 1] * max(shape[axis + 1], 1)
    return tuple(normal)


def _device_view(where: str, name: str, array: Any, interface: dict[str, Any]) -> View:
    """As the specification of __cuda_array_interface__ has it, version 3."""
    try:
        shape = tuple(int(length) for length in interface["shape"])
        address, read_only = interface["data"]
        dtype = np.dtype(interface["typestr"])
        strides = interface.get("strides")
        strides = packed_strides(shape, dtype.itemsize) if strides is None else tuple(int(step) for step in strides)
        stream = interface.get("stream")
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidType(
            f"cannot {where}: {name} has a __cuda_array_interface__ that makes no sense: {error!r}"
        ) from None
    if interface.get("mask") is not None:
        raise InvalidType(f"cannot {where}: {name} has a mask in its __cuda_array_interface__, which is not supported")
    if stream is not None and (not isinstance(stream, int) or stream == 0 or stream < 0):
        raise InvalidArgument(f"cannot {where}: {name} says that its stream is {stream!r}: 1, 2 or a handle may be")
    element = _element(dtype)
    if str(getattr(array, "dtype", "")).endswith("bfloat16"):  # torch has no NumPy type for it
        dtype, element = numpy_type("bf16"), "bf16"
    strides = normal_strides(shape, strides, dtype.itemsize)
    return View(int(address or 0), shape, strides, dtype, True, not read_only, stream or 0, array, element)


class DeviceArray(Handle):
    """Packed row-major device memory of the library, with a shape and a NumPy type.

    On a GPU it has __cuda_array_interface__ (version 3), so that CuPy, Numba and torch take it without a copy; on the
    emulator it is memory of the process. `numpy()` copies it to the host.
    """

    __slots__ = ("context", "shape", "dtype", "element", "address", "stream")
    _release = staticmethod(_c.library.vostok_array_release)

    def __init__(
        self,
        handle: int,
        context: Context,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        element: str | None = None,
    ) -> None:
        super().__init__(handle)
        self.element = element or _element(dtype)
        self.context = context
        self.shape = shape
        self.dtype = dtype
        self.address = int(_c.library.vostok_array_data(handle) or 0) if handle else 0
        self.stream = 0  # what was last queued on it lies there; 0: it is complete

    @classmethod
    def bytes(cls, context: Context, size: int) -> DeviceArray:
        """Memory without a type. Errors: OutOfMemory."""
        return cls.empty(context, (size,), np.dtype(np.uint8))

    @classmethod
    def empty(
        cls, context: Context, shape: tuple[int, ...], dtype: np.dtype[Any], element: str | None = None
    ) -> DeviceArray:
        """Memory with anything in it. Errors: OutOfMemory."""
        size = math.prod(shape) * dtype.itemsize
        handle = make(_c.library.vostok_array_create, context.handle, size) if size else 0
        return cls(handle, context, shape, dtype, element)

    @classmethod
    def of(cls, context: Context, host: Any, stream: int = 0) -> DeviceArray:
        """A copy of a host array. Errors: OutOfMemory."""
        packed = np.ascontiguousarray(host)
        array = cls.empty(context, packed.shape, packed.dtype)
        if packed.nbytes:
            check(
                _c.library.vostok_copy_to_device(
                    context.handle, array.address, packed.ctypes.data, packed.nbytes, stream or _c.STREAM_LEGACY
                )
            )
        return array

    def reshape(self, shape: tuple[int, ...]) -> DeviceArray:
        """The same memory with another shape of as many elements."""
        if math.prod(shape) != math.prod(self.shape):
            raise InvalidArgument(f"cannot reshape an array: it has shape {self.shape}, and cannot have {shape}")
        handle = int(_c.library.vostok_array_retain(self._handle) or 0) if self._handle else 0
        turned = DeviceArray(handle, self.context, shape, self.dtype, self.element)
        turned.stream = self.stream
        return turned

    @property
    def nbytes(self) -> int:
        """Its length in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy in host memory, behind the work that was queued on the array."""
        host = np.empty(self.shape, self.dtype)
        if host.nbytes:
            copy_to_host(self.context, host, self.address, self.stream)
        return host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        host = self.numpy()
        return host if dtype is None else host.astype(dtype)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self.context.device.gpu:
            raise AttributeError("memory of the emulator is no CUDA memory: use numpy()")
        interface: dict[str, Any] = {
            "shape": self.shape,
            "typestr": self.dtype.str if self.dtype.name != "bfloat16" else "<V2",
            "data": (self.address, False),
            "version": 3,
            "strides": None,
        }
        if self.stream:
            interface["stream"] = self.stream
        return interface

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, address={self.address:#x})"

    def __del__(self) -> None:
        if getattr(self, "stream", 0) and getattr(self, "_handle", 0):
            settle(self.context, self.address, self.stream)
        super().__del__()


def copy_to_host(context: Context, host: np.ndarray[Any, Any], address: int, stream: int) -> None:
    """Fills a packed host array from device memory, behind the work queued on `stream` (0: the legacy stream)."""
    check(
        _c.library.vostok_copy_to_host(
            context.handle, host.ctypes.data, address, host.nbytes, stream or _c.STREAM_LEGACY
        )
    )


def settle(context: Context, address: int, stream: int) -> None:
    """Waits for the work queued on `stream`: one byte at `address` is copied behind it. Failures are left to others."""
    byte = ctypes.c_uint8()
    _c.library.vostok_copy_to_host(context.handle, ctypes.addressof(byte), address, 1, stream)
