"""Where the operands of one call lie: in device memory, or in the host's and copied to and fro."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import DeviceArray, View, numpy_type, packed_strides, settle, view
from ._dense import typed
from ._errors import InvalidArgument
from ._numbers import Stream
from ._topology import stream_of

if TYPE_CHECKING:
    from ._context import Context

WORKSPACE_ALIGNMENT = 256


class Placement:
    """Operands of one call. Those in host memory are copied to a GPU and back; on the emulator they are used in place.

    The call goes behind `stream`, else behind the stream of the arrays; work that other streams do on them is waited
    for. Without any it goes behind the legacy default stream. Results lie where the first operand does.
    """

    def __init__(self, where: str, context: Context, stream: Stream, *inputs: View | None) -> None:
        given = [seen for seen in inputs if seen is not None]
        self.where = where
        self.context = context
        self.stream = stream_of(where, stream, *given)
        self.on_device = given[0].on_device
        self._bf16 = next((seen.dtype for seen in given if seen.dtype.name == "bfloat16"), None)
        self._used: list[View] = []
        self._copies: list[tuple[np.ndarray[Any, Any], DeviceArray]] = []
        for seen in given:
            if context.device.gpu and seen.stream not in (0, self.stream) and seen.size:
                settle(context, seen.address, seen.stream)

    def input(self, seen: View) -> View:
        """Where kernels read it. A packed matrix and its transpose keep their strides."""
        if not seen.on_device and self.context.device.gpu:
            host = seen.owner
            turned = host.flags.f_contiguous and not host.flags.c_contiguous
            copy = DeviceArray.of(self.context, host.T if turned else host, self.stream)
            strides = host.strides if turned else packed_strides(seen.shape, seen.dtype.itemsize)
            seen = replace(seen, address=copy.address, strides=strides, on_device=True, stream=0, owner=copy)
        self._used.append(seen)
        return seen

    def output(self, shape: tuple[int, ...], element: str, out: Any = None, name: str = "out") -> View:
        """Where kernels write: `out`, else new memory where the inputs lie."""
        if out is not None:
            seen = self._checked(typed(self.where, name, out, element), shape, name)
        elif self.on_device:
            seen = view(self.where, name, DeviceArray.empty(self.context, shape, self._type(element), element))
        else:
            seen = view(self.where, name, np.empty(shape, self._type(element)))
        if not seen.on_device and self.context.device.gpu:
            copy = DeviceArray.of(self.context, seen.owner, self.stream)
            self._copies.append((seen.owner, copy))
            seen = view(self.where, name, copy)
        self._used.append(seen)
        return seen

    def _type(self, element: str) -> np.dtype[Any]:
        """bf16 is given in the type that it came in."""
        return self._bf16 if element == "bf16" and self._bf16 is not None else numpy_type(element)

    def _checked(self, seen: View, shape: tuple[int, ...], name: str) -> View:
        if seen.shape != shape:
            raise InvalidArgument(f"cannot {self.where}: {name} has shape {seen.shape}, and must have {shape}")
        if not seen.writable:
            raise InvalidArgument(f"cannot {self.where}: {name} is read-only")
        return seen

    def workspace(self, size: int) -> tuple[int, Any]:
        """An address of so many bytes, and what owns them."""
        if size == 0:
            return 0, None
        if self.context.device.gpu:
            array = _device_workspace(self.context, self.stream, size)
            return array.address, array
        memory = np.empty(size + WORKSPACE_ALIGNMENT, np.uint8)
        return memory.ctypes.data + -memory.ctypes.data % WORKSPACE_ALIGNMENT, memory

    def finish(self, *outputs: View) -> Any:
        """What the caller gets of what was written: complete where it lies in host memory."""
        for seen in self._used:
            if isinstance(seen.owner, DeviceArray):
                seen.owner.stream = self.stream or 1
        hosts = {id(copy): host for host, copy in self._copies}
        for host, copy in self._copies:
            host[...] = copy.numpy()
        results = tuple(hosts.get(id(seen.owner), seen.owner) for seen in outputs)
        return results[0] if len(results) == 1 else results


_workspaces = threading.local()


def _device_workspace(context: Context, stream: int, size: int) -> DeviceArray:
    """One for each thread and stream, whose calls follow one another. It grows, and lives as long as the thread."""
    kept: dict[tuple[int, int], DeviceArray] = _workspaces.__dict__.setdefault("kept", {})
    key = context.handle, stream
    array = kept.get(key)
    if array is None or array.nbytes < size:
        array = kept[key] = DeviceArray.bytes(context, size)
        array.stream = stream or 1
    return array
